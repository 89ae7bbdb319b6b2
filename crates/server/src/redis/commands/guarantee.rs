//! `TIDE.GUARANTEE`: what a connection's operations ask for, or what one command does.

use super::super::command::{Command, parse};
use super::super::error::ErrorReply;
use super::super::table::{Group, Handler, Spec};
use tidemark_core::Guarantees;
use tidemark_wire::resp::Request;

const NAME: &str = "tide.guarantee";

pub(in super::super) const SPECS: &[Spec] = &[Spec {
    name: NAME,
    arity: -1,
    group: Group::Tidemark,
    since: "0.1.0",
    syntax: "[read=<eventual | monotonic-read | read-your-writes | both>] \
             [write=<eventual | writes-follow-reads | monotonic-writes | both>] [command [arg ...]]",
    summary: "Chooses the session guarantees of the connection or, before a command, of that command; alone, returns the \
              connection's.",
    remark: "Both are `both` at first, and again after RESET. Protocols that know no weaker operations accept it and give all \
             that they promise: the reply to the command alone says whether it is heeded.",
    handler: Handler::Store(guarantee),
    ..Spec::DEFAULT
}];

/// The levels that a command names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    reads: Option<&'static str>,
    writes: Option<&'static str>,
}

impl Levels {
    /// Takes the level that `word` names; false if it names none.
    fn take(&mut self, word: &[u8]) -> Result<bool, ErrorReply> {
        let (name, level) = match word.iter().position(|byte| *byte == b'=') {
            Some(place) => (&word[..place], String::from_utf8_lossy(&word[place + 1..])),
            None => return Ok(false),
        };
        let unknown = |error| ErrorReply::new(format!("ERR {error}"));
        if name.eq_ignore_ascii_case(b"read") {
            self.reads = Some(Guarantees::ALL.with_reads(&level).map_err(unknown)?.reads());
        } else if name.eq_ignore_ascii_case(b"write") {
            self.writes = Some(Guarantees::ALL.with_writes(&level).map_err(unknown)?.writes());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether it names none.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// `asked` with these levels in place of its own.
    #[must_use]
    pub fn over(self, asked: Guarantees) -> Guarantees {
        let asked = self.reads.map_or(asked, |level| asked.with_reads(level).unwrap_or(asked));
        self.writes.map_or(asked, |level| asked.with_writes(level).unwrap_or(asked))
    }
}

fn guarantee(request: &mut Request<'_>) -> Result<Command, ErrorReply> {
    let mut levels = Levels::default();
    for place in 1..request.len() {
        if levels.take(&request[place])? {
            continue;
        }
        if levels.is_empty() {
            let word = String::from_utf8_lossy(&request[place]);
            return Err(ErrorReply::new(format!("ERR '{word}' is neither read=LEVEL nor write=LEVEL")));
        }
        request.skip(place);
        // One inside the other would let a client nest as deep as its request is long.
        if request[0].eq_ignore_ascii_case(NAME.as_bytes())
            || request[0].eq_ignore_ascii_case(b"tide.checking")
        {
            return Err(ErrorReply::fixed(
                "ERR TIDE.GUARANTEE takes any command but itself and TIDE.CHECKING",
            ));
        }
        let command = Box::new(parse(request)?);
        return Ok(Command::Guarantee { levels, command: Some(command) });
    }
    Ok(Command::Guarantee { levels, command: None })
}
