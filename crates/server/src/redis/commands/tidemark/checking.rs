//! TIDE.CHECKING.

use super::TIDEMARK;
use crate::redis::prelude::*;
use tidemark_contract::grouping::{Checking, CheckingGroup, NamedGroup};
use tidemark_node::follow::Choice;

pub(super) static SPEC: Spec = Spec {
    name: "tide.checking",
    arity: -1,
    syntax: "[<* | group[,group ...]> [command [arg ...]]]",
    summary: "Selects the checking groups of the connection or, before a command, of that command only. \
              Without arguments it returns those of the connection, and all that exist.",
    remark: "`*`, the choice at first and again after RESET, leaves the choice to each server. Only \
             protocols with checking groups (`accf`) have any.",
    handler: Handler::Prefix { own: |request| Ok(request.len().min(2)), answer },
    ..TIDEMARK
};

type Known<'a> = &'a [NamedGroup];

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let protocol = cx.info.protocol();
    let known = cx.info.checking_groups();
    let mut options = connection.options().clone();
    let Some(names) = call.arguments.first() else {
        show(known, options.checking.named(), &mut cx.out);
        return Ok(Next::Continue);
    };
    let named = find(known, &String::from_utf8_lossy(names), protocol)?;
    options.checking = match named.is_empty() {
        false => Choice::Named(named),
        true if call.command.is_none() => Choice::Node,
        // `*` before a command is a choice: the server's.
        true => Choice::Server,
    };
    connection.set_options(options, call, cx);
    Ok(Next::Continue)
}

fn show(known: Known<'_>, chosen: &[CheckingGroup], out: &mut Encoder<'_>) {
    let name =
        |group: &CheckingGroup| known.iter().find(|(id, _)| id == group).map(|(_, group)| &*group.name);
    // One that does not exist any more is answered for as if none had been selected.
    let mut chosen: Vec<&str> = chosen.iter().filter_map(name).collect();
    if chosen.is_empty() {
        chosen.push("*");
    }
    let known: Vec<&str> = known.iter().map(|(_, group)| &*group.name).collect();
    out.map(2);
    for (what, names) in [("checking", chosen), ("groups", known)] {
        out.bulk(what);
        out.array(names.len());
        names.iter().for_each(|name| out.bulk(name));
    }
}

/// The groups that `names` lists; none for `*`.
fn find(known: Known<'_>, names: &str, protocol: &str) -> Result<Checking, ErrorReply> {
    if known.is_empty() {
        return Err(ErrorReply::new(format!("ERR {protocol} has no checking groups")));
    }
    let mut found = Checking::default();
    for name in names.split(',').filter(|_| names != "*") {
        let group = known.iter().find(|(_, group)| group.name.eq_ignore_ascii_case(name));
        let (group, _) = group.ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(|(_, group)| &*group.name).collect();
            let known = known.join(", ");
            ErrorReply::new(format!("ERR no checking group is called '{name}'; there are {known}"))
        })?;
        if !found.contains(group) {
            found.push(*group);
        }
    }
    Ok(found)
}
