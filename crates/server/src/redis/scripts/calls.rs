//! The commands that a script calls. They are those of the table, and their operations are carried out within the script's own.

use super::News;
use crate::redis::arguments::Arguments as _;
use crate::redis::error::ErrorReply;
use crate::redis::programs::{carry_out, carry_out_and_tell};
use crate::redis::reserved;
use crate::redis::table::{Handler, Spec, Table};
use crate::redis::task::Task;
use crate::redis::{Command, Scripts, Work, parse};
use bytes::{Bytes, BytesMut};
use tidemark_contract::programs::Carry;
use tidemark_core::{Micros, Outcome, Reply};
use tidemark_wire::resp::{
    self, Decoder, Encoder, Request, RequestParser, Version, encode_request, parse_i64,
};

const UNKNOWN: Reply = Reply::error("ERR Unknown Redis command called from script");
const ARITY: Reply = Reply::error("ERR Wrong number of args calling Redis command from script");
const NOT_ALLOWED: Reply = Reply::error("ERR This Redis command is not allowed from script");
const OUT_OF_MEMORY: Reply = Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
/// Of commands that write, and of those that Redis takes for such: they may be replicated there.
const READS_ONLY: Reply = Reply::error("ERR Write commands are not allowed from read-only scripts.");

/// What the commands of one script share.
pub(super) struct Calls<'a> {
    /// Physical time.
    pub(super) now: Micros,
    /// It must not write.
    pub(super) reads_only: bool,
    /// Memory is at its limit, and it has written nothing so far.
    pub(super) adds_nothing: bool,
    /// Carries out operations on the script's keys.
    pub(super) carry: Carry<'a>,
    /// It has to tell of events.
    pub(super) tells: bool,
    /// What it tells, too.
    pub(super) news: Vec<News>,
}

impl Calls<'_> {
    /// Carries out one command: its reply in the types of RESP3, or what RESP2 makes of them. Null is [`Reply::Null`] in RESP3, and
    /// [`Reply::NullArray`] in RESP2: a script sees the two differently.
    pub(super) fn call(&mut self, words: &[Bytes], resp3: bool) -> Reply {
        let mut wire = Vec::new();
        encode_request(&mut wire, words);
        let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::from(&wire[..]));
        parser.set_authenticated(true);
        let Ok(Some(mut request)) = parser.parse(&mut buffer) else { return NOT_ALLOWED };
        let spec = match self.allowed(&request) {
            Ok(spec) => spec,
            Err(why) => return why,
        };
        if let Handler::Local(_) = spec.handler {
            return self.local(spec, words);
        }
        let version = if resp3 { Version::Resp3 } else { Version::Resp2 };
        let mut out = Vec::new();
        let done = match parse(&mut request) {
            Ok(Command { work: Work::Operations(task), .. }) => {
                self.operations(task, &mut Encoder::new(&mut out, version))
            }
            Ok(_) => return NOT_ALLOWED,
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => decoded(&out, resp3),
            Err(error) => Reply::Error(String::from_utf8_lossy(error.bytes()).into_owned().into()),
        }
    }

    /// The row of a command that a script may call.
    fn allowed(&mut self, request: &Request<'_>) -> Result<&'static Spec, Reply> {
        let spec = Table::get().meant(request).ok_or(UNKNOWN)?;
        if reserved::check(request).is_err() {
            return Err(NOT_ALLOWED);
        }
        if !spec.takes(request.len()) || matches!(spec.handler, Handler::Subcommands) {
            return Err(ARITY);
        }
        let tracks = matches!(spec.handler, Handler::Prefix { .. });
        if spec.has("noscript") || spec.has("admin") || tracks {
            return Err(NOT_ALLOWED);
        }
        let tells = || ["publish", "spublish", "pfcount"].contains(&spec.name);
        if self.reads_only && (spec.has("write") || tells()) {
            return Err(READS_ONLY);
        }
        if self.adds_nothing && spec.has("denyoom") {
            return Err(OUT_OF_MEMORY);
        }
        if matches!(spec.name, "xread" | "xreadgroup") && blocks(request, spec.name == "xreadgroup") {
            let name = String::from_utf8_lossy(&request[0]);
            return Err(Reply::Error(
                format!("ERR {name} command is not allowed with BLOCK option from scripts").into(),
            ));
        }
        if self.tells && spec.has("readonly") && !self.news.contains(&News::Read) {
            self.news.push(News::Read);
        }
        Ok(spec)
    }

    fn operations(&mut self, task: Task, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
        // A program tells of scripts and messages in its answer.
        let Self { tells, carry, news, adds_nothing, .. } = self;
        let carry = &mut |op| {
            let outcome = carry_out_and_tell(op, *tells, carry, news);
            *adds_nothing &= !matches!(outcome, Outcome::Written { stamp: Some(_), .. });
            outcome
        };
        carry_out(task, self.now, &Scripts::default(), carry, out)
    }

    /// A command that a connection answers itself.
    fn local(&mut self, spec: &Spec, words: &[Bytes]) -> Reply {
        match (spec.name, words) {
            ("ping", [_]) => Reply::Simple("PONG".into()),
            ("ping", [_, _, _, ..]) => Reply::error("ERR wrong number of arguments for 'ping' command"),
            ("ping" | "echo", [_, message]) => Reply::Bulk(message.clone()),
            ("select", [_, number]) if &number[..] == b"0" => Reply::Ok,
            ("select", [_, number]) if parse_i64(number).is_none() => {
                Reply::error("ERR value is not an integer or out of range")
            }
            ("select", _) => Reply::error("ERR DB index is out of range"),
            ("time", _) => {
                let part = |number: u64| Reply::Bulk(number.to_string().into());
                Reply::Array(vec![part(self.now / 1_000_000), part(self.now % 1_000_000)])
            }
            ("publish" | "spublish", [_, channel, payload]) => {
                let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
                let (shard, channel, payload) = (spec.name == "spublish", copy(channel), copy(payload));
                self.news.push(News::Message { shard, channel, payload });
                Reply::Int(0)
            }
            _ => NOT_ALLOWED,
        }
    }
}

/// Whether XREAD or XREADGROUP comes to a BLOCK before something that is wrong.
fn blocks(request: &Request<'_>, in_group: bool) -> bool {
    let mut at = 1;
    while at + 1 < request.len() {
        at += match () {
            () if request.is(at, "block") => return true,
            () if request.is(at, "noack") && in_group => 1,
            () if request.is(at, "count") && parse_i64(&request[at + 1]).is_some() => 2,
            () if request.is(at, "group") && in_group => 3,
            () => return false,
        };
    }
    false
}

/// What was written for a client, as a value.
fn decoded(bytes: &[u8], resp3: bool) -> Reply {
    let mut limits = resp::DecoderLimits::default();
    limits.line_bytes_max = limits.line_bytes_max.max(bytes.len());
    match Decoder::new(limits).decode(&mut BytesMut::from(bytes)) {
        Ok(Some(reply)) => value(reply, resp3),
        _ => Reply::error("ERR the reply of a command cannot be understood"),
    }
}

fn value(reply: resp::Reply, resp3: bool) -> Reply {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned().into();
    let all = |items: Vec<resp::Reply>| items.into_iter().map(|item| value(item, resp3)).collect();
    match reply {
        resp::Reply::Simple(status) => Reply::Simple(text(&status)),
        resp::Reply::Error(error) | resp::Reply::BulkError(error) => Reply::Error(text(&error)),
        resp::Reply::Integer(int) => Reply::Int(int),
        resp::Reply::Bulk(bytes) => Reply::Bulk(bytes),
        resp::Reply::Null if resp3 => Reply::Null,
        resp::Reply::Null => Reply::NullArray,
        resp::Reply::Array(items) | resp::Reply::Push(items) => Reply::Array(all(items)),
        resp::Reply::Set(items) => Reply::Set(all(items)),
        resp::Reply::Map(pairs) => {
            Reply::Map(pairs.into_iter().map(|(k, v)| (value(k, resp3), value(v, resp3))).collect())
        }
        resp::Reply::Double(double) => Reply::Double(double),
        resp::Reply::Boolean(yes) => Reply::Bool(yes),
        resp::Reply::BigNumber(digits) => Reply::BigNumber(digits),
        resp::Reply::Verbatim(format, text) => Reply::Verbatim(format, text),
        resp::Reply::Attributed(_, reply) => value(*reply, resp3),
    }
}
