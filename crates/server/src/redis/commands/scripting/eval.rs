//! EVAL and its kin: one update, whose commands are computed where the keys live.

use super::SCRIPTING;
use crate::redis::prelude::*;
use crate::redis::scripts::{
    NO_SCRIPT, Scripts, compile, program, run_without_keys, runs_when_full, says_no_writes, unwrap,
};
use tidemark_script::sha1_hex;

const FLAGS: &[&str] = &["noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
const READS: &[&str] = &["readonly", "noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];

const EVAL: Spec = Spec {
    arity: -3,
    flags: FLAGS,
    summary: "Runs a script in Lua.",
    remark: "Keys of several partitions: under `tidemark` alone. What the script writes happens at once. A script that runs for \
             longer than `busy-reply-threshold` (50 ms of processor time) is stopped, and has done nothing.",
    ..SCRIPTING
};

pub(in crate::redis::commands) static ROWS: &[&Spec] = &[
    &Spec {
        name: "eval",
        syntax: "script numkeys [key [key ...]] [arg [arg ...]]",
        handler: Handler::Operations(|request| parse(request, Verb::Eval, false)),
        ..EVAL
    },
    &Spec {
        name: "evalsha",
        syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        summary: "Runs a script that was loaded or run before, by its SHA-1 digest.",
        handler: Handler::Operations(|request| parse(request, Verb::Eval, true)),
        ..EVAL
    },
    &Spec {
        name: "eval_ro",
        flags: READS,
        since: "7.0.0",
        syntax: "script numkeys [key [key ...]] [arg [arg ...]]",
        summary: "Runs a script that only reads.",
        handler: Handler::Operations(|request| parse(request, Verb::EvalRo, false)),
        ..EVAL
    },
    &Spec {
        name: "evalsha_ro",
        flags: READS,
        since: "7.0.0",
        syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        summary: "Runs a script that only reads, by its SHA-1 digest.",
        handler: Handler::Operations(|request| parse(request, Verb::EvalRo, true)),
        ..EVAL
    },
];

/// The letters of a digest. Redis knows no script for another word, whatever follows it.
pub(in crate::redis) const DIGEST: usize = 40;

/// How many keys a request says that it has.
pub(in crate::redis) fn count_keys(count: &[u8], arguments: usize) -> Result<usize, ErrorReply> {
    let count = integer(count)?;
    if count > arguments as i64 {
        return Err(ErrorReply::fixed("ERR Number of keys can't be greater than number of args"));
    }
    usize::try_from(count).map_err(|_| ErrorReply::fixed("ERR Number of keys can't be negative"))
}

fn parse(request: &mut Request<'_>, verb: Verb, by_digest: bool) -> Parsed {
    if by_digest && request[1].len() != DIGEST {
        return Err(NO_SCRIPT);
    }
    let count = count_keys(&request[2], request.len() - 3)?;
    let script = request.take(1);
    let keys = (3..3 + count).map(|at| request.key(at)).collect();
    let arguments = (3 + count..request.len()).map(|at| request.take(at)).collect();
    Ok(Task::several(Evaluation { verb, by_digest, script, keys, arguments }))
}

/// A script that is to be run.
struct Evaluation {
    verb: Verb,
    by_digest: bool,
    /// Its text, or its digest.
    script: Bytes,
    keys: Vec<Key>,
    arguments: Vec<Bytes>,
}

impl Evaluation {
    /// The digest and the text.
    fn find(&self, keyspace: &Keyspace<'_>) -> Result<(String, Bytes), ErrorReply> {
        if self.by_digest {
            let source = keyspace.scripts.find(&self.script).ok_or(NO_SCRIPT)?;
            return Ok((String::from_utf8_lossy(&self.script).to_ascii_lowercase(), source));
        }
        let sha = sha1_hex(&self.script);
        if keyspace.scripts.find(sha.as_bytes()).is_none() {
            compile(&self.script, &sha).map_err(error)?;
            keyspace.scripts.keep(&sha, &self.script);
        }
        Ok((sha, self.script.clone()))
    }
}

pub(super) fn error(reply: Reply) -> ErrorReply {
    match reply {
        Reply::Error(text) => ErrorReply::new(text.as_bytes()),
        _ => ErrorReply::UNEXPECTED,
    }
}

/// Writes what a program has answered, and leaves what it tells for the gateway.
pub(super) fn answer(
    reply: Reply,
    keyspace: &Keyspace<'_>,
    out: &mut Encoder<'_>,
) -> Result<Step, ErrorReply> {
    let (reply, news) = unwrap(reply);
    keyspace.scripts.tell(news);
    if let Reply::Error(_) = reply {
        return Err(error(reply));
    }
    typed::write(&reply, out);
    Ok(Step::Done)
}

/// Runs a script, or a function, where its first key lives; at once if it has none. The `head` is its word and its text.
pub(super) fn run(
    verb: Verb,
    head: [Bytes; 2],
    (keys, arguments): (Vec<Key>, Vec<Bytes>),
    keyspace: &Keyspace<'_>,
    out: &mut Encoder<'_>,
) -> Result<Step, ErrorReply> {
    let mode = keyspace.scripts.mode().to_word();
    let declared = Bytes::from(keys.len().to_string());
    let args = head.into_iter().chain([mode, declared]).chain(arguments).collect();
    if !keys.is_empty() {
        return Ok(Step::Op(program(verb, keys, args)));
    }
    match run_without_keys(verb, args, keyspace.now) {
        Ok(reply) => answer(reply, keyspace, out),
        Err((key, args)) => Ok(Step::Op(program(verb, vec![key], args))),
    }
}

impl Steps for Evaluation {
    fn only_reads(&self, scripts: &Scripts) -> bool {
        let source = if self.by_digest { scripts.find(&self.script) } else { Some(self.script.clone()) };
        source.is_some_and(|source| says_no_writes(&source))
    }

    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let (sha, source) = self.find(keyspace)?;
        if keyspace.scripts.mode().full && !runs_when_full(&source) {
            return Err(ErrorReply::OUT_OF_MEMORY_FOR_SCRIPT);
        }
        let named = (std::mem::take(&mut self.keys), std::mem::take(&mut self.arguments));
        run(self.verb, [sha.into(), source], named, keyspace, out)
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        answer(typed::answer(outcome)?, keyspace, out)
    }
}
