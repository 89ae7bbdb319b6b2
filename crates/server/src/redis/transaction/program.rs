//! A transaction where its keys live: its commands, one after the other, on what the partition carries out for them.

use crate::redis::command::{Work, parse};
use crate::redis::prelude::*;
use crate::redis::programs::{self, carry_out};
use crate::redis::scripts::{Scripts, wrap};
use bytes::BytesMut;
use tidemark_contract::programs::{Carry, Interpreted, Program};
use tidemark_wire::resp::{RequestParser, Version};

/// The program that carries out `requests` if the marks of `watched` are the same, and whose replies are of this version of RESP.
pub(super) fn compose(version: Version, watched: &[(Key, Bytes)], requests: Vec<Bytes>) -> Vec<Bytes> {
    let number = |number: usize| Bytes::from(number.to_string());
    let marks = watched.iter().map(|(_, mark)| mark.clone());
    let version = number(version.number() as usize);
    let head = std::iter::once(number(watched.len())).chain(marks).chain([version]);
    head.chain(requests).collect()
}

/// Interprets such a program. It answers with each reply as it is sent, and with what its scripts have published.
pub(in crate::redis) fn interpret(program: Program<'_>, carry: Carry<'_>) -> Interpreted {
    let mut args = program.command.args.iter();
    let count = args.next().and_then(|count| std::str::from_utf8(count).ok()?.parse::<usize>().ok());
    let Some(version) = count.and_then(|count| args.nth(count)) else {
        return Interpreted { reply: Reply::error("ERR this is no transaction"), void: true };
    };
    let version = if &version[..] == b"3" { Version::Resp3 } else { Version::Resp2 };
    let (scripts, mut replies) = (Scripts::default(), Vec::new());
    for request in args {
        match replied(request, version, program.now, &scripts, carry) {
            Ok(reply) => replies.push(Reply::Bulk(reply)),
            Err(reply) => return Interpreted { reply, void: true },
        }
    }
    Interpreted { reply: wrap(Reply::Array(replies), scripts.take_published()), void: false }
}

/// Carries a request out: its reply, as it is sent.
///
/// # Errors
/// It is a script that was stopped, with what it has answered: nothing of the transaction happens.
fn replied(
    request: &Bytes,
    version: Version,
    now: u64,
    scripts: &Scripts,
    carry: Carry<'_>,
) -> Result<Bytes, Reply> {
    let (mut bytes, mut stopped) = (Vec::new(), None);
    let mut out = Encoder::new(&mut bytes, version);
    let carry = &mut |op| match op {
        Op::Put { key, update: Update { command: Some(command), .. } } if command.verb.is_program() => {
            let keys: Vec<&Key> = std::iter::once(&key).chain(&command.keys).collect();
            let program = Program { command: &command, keys: &keys, now };
            let Interpreted { reply, void } = programs::interpret(program, carry);
            if void {
                stopped = Some(reply.clone());
            }
            let previous = Some(Found { reply: Some(Box::new(reply)), ..Found::default() });
            Outcome::Written { stamp: None, previous }
        }
        op => carry(op),
    };
    if let Err(error) = run(request, now, scripts, carry, &mut out) {
        error.write(&mut out);
    }
    stopped.map_or(Ok(bytes.into()), Err)
}

fn run(
    request: &Bytes,
    now: u64,
    scripts: &Scripts,
    carry: Carry<'_>,
    out: &mut Encoder<'_>,
) -> Result<(), ErrorReply> {
    let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::from(&request[..]));
    parser.set_authenticated(true);
    let Ok(Some(mut request)) = parser.parse(&mut buffer) else { return Err(ErrorReply::UNEXPECTED) };
    match parse(&mut request)?.work {
        Work::Operations(task) => carry_out(task, now, scripts, carry, out),
        Work::Local(_) => Err(ErrorReply::UNEXPECTED),
    }
}
