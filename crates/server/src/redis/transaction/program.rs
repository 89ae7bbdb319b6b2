//! A transaction where its keys live: its commands, one after the other, on what the partition carries out for them.

use crate::redis::command::{Work, parse};
use crate::redis::commands::scripting::fcall::called;
use crate::redis::prelude::*;
use crate::redis::programs::{self, carry_out, carry_out_and_tell};
use crate::redis::scripts::{Mode, News, Scripts, unwrap, wrap};
use bytes::BytesMut;
use tidemark_contract::programs::{Carry, Interpreted, Program};
use tidemark_core::Micros;
use tidemark_wire::resp::{RequestParser, Version};

/// The program that carries out `requests` if the marks of `watched` are the same. Its replies are of this version of RESP.
pub(in crate::redis) fn compose(
    (version, mode): (Version, Mode),
    watched: &[(Key, Bytes)],
    requests: Vec<Bytes>,
) -> Vec<Bytes> {
    let number = |number: usize| Bytes::from(number.to_string());
    let marks = watched.iter().map(|(_, mark)| mark.clone());
    let how = [number(version.number() as usize), mode.to_word()];
    std::iter::once(number(watched.len())).chain(marks).chain(how).chain(requests).collect()
}

/// Interprets such a program. It answers with each reply as it is sent, and with what it tells.
pub(in crate::redis) fn interpret(program: Program<'_>, carry: Carry<'_>) -> Interpreted {
    let mut args = program.command.args.iter();
    let count = args.next().and_then(|count| std::str::from_utf8(count).ok()?.parse::<usize>().ok());
    let (Some(version), Some(mode)) = (count.and_then(|count| args.nth(count)), args.next()) else {
        return Interpreted { reply: Reply::error("ERR this is no transaction"), void: true };
    };
    let version = if &version[..] == b"3" { Version::Resp3 } else { Version::Resp2 };
    let now = program.now;
    let mut transaction = Running {
        version,
        mode: Mode::of_word(mode),
        now,
        scripts: Scripts::default(),
        news: Vec::new(),
        carry,
    };
    let mut replies = Vec::new();
    for request in args {
        match transaction.replied(request) {
            Ok(reply) => replies.push(Reply::Bulk(reply)),
            Err(reply) => return Interpreted { reply, void: true },
        }
    }
    Interpreted { reply: wrap(Reply::Array(replies), transaction.news), void: false }
}

/// A transaction that is carried out.
struct Running<'a> {
    version: Version,
    mode: Mode,
    now: Micros,
    scripts: Scripts,
    news: Vec<News>,
    carry: Carry<'a>,
}

impl Running<'_> {
    /// Carries a request out: its reply, as it is sent.
    ///
    /// # Errors
    /// It is a script that was stopped, with what it has answered: nothing of the transaction happens.
    fn replied(&mut self, request: &Bytes) -> Result<Bytes, Reply> {
        let (mut bytes, mut stopped) = (Vec::new(), None);
        let Self { version, mode, now, scripts, news, carry } = self;
        let mut out = Encoder::new(&mut bytes, *version);
        let carry = &mut |op| match op {
            Op::Put { key, update: Update { command: Some(command), .. } } if command.verb.is_program() => {
                let keys: Vec<&Key> = std::iter::once(&key).chain(&command.keys).collect();
                let program = Program { command: &command, keys: &keys, now: *now };
                let Interpreted { reply, void } = programs::interpret(program, carry);
                if void {
                    stopped = Some(unwrap(reply.clone()).0);
                }
                let previous = Some(Found { reply: Some(Box::new(reply)), ..Found::default() });
                Outcome::Written { stamp: None, previous }
            }
            op => carry_out_and_tell(op, mode.tells, carry, news),
        };
        scripts.set_mode(*mode);
        if let Err(error) = run(request, *now, scripts, carry, &mut out) {
            error.write(&mut out);
        }
        news.extend(scripts.take_news());
        stopped.map_or(Ok(bytes.into()), Err)
    }
}

fn run(
    request: &Bytes,
    now: Micros,
    scripts: &Scripts,
    carry: Carry<'_>,
    out: &mut Encoder<'_>,
) -> Result<(), ErrorReply> {
    let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::from(&request[..]));
    parser.set_authenticated(true);
    let Ok(Some(mut request)) = parser.parse(&mut buffer) else { return Err(ErrorReply::UNEXPECTED) };
    if let Some(call) = called(&mut request) {
        return carry_out(call, now, scripts, carry, out);
    }
    match parse(&mut request)?.work {
        Work::Operations(task) => carry_out(task, now, scripts, carry, out),
        Work::Local(_) => Err(ErrorReply::UNEXPECTED),
    }
}
