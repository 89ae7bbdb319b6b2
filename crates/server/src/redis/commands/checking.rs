//! `TIDE.CHECKING`: by which checking groups a connection's operations are answered, or one command's are.

use super::super::command::{Command, parse};
use super::super::error::ErrorReply;
use super::super::table::{Group, Handler, Spec};
use tidemark_wire::resp::Request;

const NAME: &str = "tide.checking";

pub(in super::super) const SPECS: &[Spec] = &[Spec {
    name: NAME,
    arity: -1,
    group: Group::Tidemark,
    since: "0.1.0",
    syntax: "[<* | group[,group ...]> [command [arg ...]]]",
    summary: "Chooses the checking groups of the connection or, before a command, of that command; alone, returns the \
              connection's, and which there are.",
    remark: "`*`, as at first and again after RESET, leaves the choice to each server. Only protocols with checking groups \
             (`accf`) know any.",
    handler: Handler::Store(checking),
    ..Spec::DEFAULT
}];

fn checking(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    if request.len() == 1 {
        return Ok(Command::Checking { groups: None, command: None });
    }
    let groups = Some(String::from_utf8_lossy(&request[1]).into_owned());
    if request.len() == 2 {
        return Ok(Command::Checking { groups, command: None });
    }
    request.skip(2);
    // One inside the other would let a client nest as deep as its request is long.
    if request[0].eq_ignore_ascii_case(NAME.as_bytes()) || request[0].eq_ignore_ascii_case(b"tide.guarantee")
    {
        return Err(ErrorReply::fixed("ERR TIDE.CHECKING takes any command but itself and TIDE.GUARANTEE"));
    }
    let command = Some(Box::new(parse(request)?));
    Ok(Command::Checking { groups, command })
}
