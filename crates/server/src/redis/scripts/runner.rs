//! How scripts are run: as programs where their keys live, or at once if they have none.
//!
//! A program's arguments are the digest, or for a function [`function_word`], the text, its [`Mode`], how many keys are declared, and `ARGV`. Its answer is a pair: what the
//! script answers, and what it has to tell, which the node of the client passes on.

use super::calls::Calls;
use super::{Mode, News};
use crate::redis::error::ErrorReply;
use crate::redis::functions::Function;
use crate::redis::table::Table;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::time::Duration;
use tidemark_contract::programs::{Carry, Interpreted, Program};
use tidemark_core::{Command, Failure, Key, Micros, Op, Outcome, Reply, Update, Verb};
use tidemark_script::{Ended, Header, Host, Interpreter, Limits, Script, Shebang};

/// How much an interpreter may hold.
const MEMORY: usize = 64 << 20;

thread_local! {
    /// The interpreter of this thread; a new one is made if there is none.
    static INTERPRETER: RefCell<Option<Interpreter<Node>>> = const { RefCell::new(None) };
    /// How long a script may compute: `busy-reply-threshold`.
    static LIMIT: Cell<Duration> = const { Cell::new(Duration::from_millis(50)) };
}

/// Scripts of this thread may compute so long, in milliseconds; 0 is no limit.
pub(crate) fn limit_runs(limit_ms: i64) {
    let limit = u64::try_from(limit_ms).ok().filter(|limit| *limit > 0);
    LIMIT.set(limit.map_or(Duration::from_secs(u64::from(u32::MAX)), Duration::from_millis));
}

/// What scripts have of a node.
struct Node;

impl Host for Node {
    fn computed(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    fn log(&self, level: u8, text: &str) {
        match level {
            0 | 1 => tracing::debug!(target: "script", "{text}"),
            2 => tracing::info!(target: "script", "{text}"),
            _ => tracing::warn!(target: "script", "{text}"),
        }
    }

    fn knows(&self, command: &[u8]) -> bool {
        Table::get().command(command).is_some()
    }
}

/// Calls `run` with this thread's interpreter. None if a script runs already, or none can be made.
fn with<T>(run: impl FnOnce(&mut Interpreter<Node>) -> T) -> Option<T> {
    INTERPRETER.with_borrow_mut(|interpreter| {
        if interpreter.is_none() {
            *interpreter = Interpreter::new(Node).ok();
        }
        interpreter.as_mut().map(run)
    })
}

const NO_INTERPRETER: Reply = Reply::error("ERR there is no memory for an interpreter of scripts");

/// Whether a text is a script.
///
/// # Errors
/// It is none: the error as Redis answers it.
pub(crate) fn compile(source: &[u8], sha: &str) -> Result<(), Reply> {
    let (_, body) = shebang(source)?;
    with(|interpreter| interpreter.compile(body, sha)).unwrap_or(Err(NO_INTERPRETER))
}

/// The functions of a library, which is run once for it, within the limits of scripts.
///
/// # Errors
/// It is no library: the error as Redis answers it.
pub(crate) fn load_library(body: &[u8], sha: &str) -> Result<Vec<Function>, ErrorReply> {
    let limits = Limits { run: LIMIT.get(), memory: MEMORY };
    let load = |interpreter: &mut Interpreter<Node>| {
        let registered = interpreter.library(body, sha, limits)?.iter();
        Ok(registered
            .map(|function| Function {
                name: function.name.clone(),
                description: function.description.clone(),
                flags: function.flags.iter().map(ToString::to_string).collect(),
            })
            .collect())
    };
    with(load).unwrap_or(Err(NO_INTERPRETER)).map_err(|reply| match reply {
        Reply::Error(text) => ErrorReply::new(text.as_bytes()),
        _ => ErrorReply::UNEXPECTED,
    })
}

/// The first argument of a program that is a function: the digest of its library, and its name.
pub(crate) fn function_word(sha: &str, name: &str) -> Bytes {
    format!("@{sha}:{name}").into()
}

/// Whether a script says in its first line that it writes nothing.
pub(crate) fn says_no_writes(source: &[u8]) -> bool {
    shebang(source).is_ok_and(|(shebang, _)| shebang.no_writes)
}

/// Whether a script may be run while memory is at its limit. One without a first line that says what it does may, and is refused
/// commands that may add data as long as it has written nothing.
pub(crate) fn runs_when_full(source: &[u8]) -> bool {
    !source.starts_with(b"#!")
        || shebang(source).is_ok_and(|(shebang, _)| shebang.no_writes || shebang.allow_oom)
}

fn shebang(source: &[u8]) -> Result<(Shebang, &[u8]), Reply> {
    Shebang::of(source).map_err(|why| Reply::Error(format!("ERR {why}").into()))
}

/// The operation that runs a script on its keys, of which there is at least one.
pub(crate) fn program(verb: Verb, keys: Vec<Key>, args: Vec<Bytes>) -> Op {
    let mut keys = keys.into_iter();
    let key = keys.next().expect("a script without keys is no operation");
    let command = Command { verb, keys: keys.collect(), args, seed: fastrand::u64(..) };
    Op::Put { key, update: Update::call(command) }
}

/// Runs a script that declares no keys.
///
/// # Errors
/// It touches a key all the same, with its arguments: it has to be run where that key lives.
pub(crate) fn run_without_keys(
    verb: Verb,
    args: Vec<Bytes>,
    now: Micros,
) -> Result<Reply, (Key, Vec<Bytes>)> {
    let command = Command { verb, keys: Vec::new(), args, seed: fastrand::u64(..) };
    let mut touched = None;
    let mut carry = |op: Op| {
        touched = touched.take().or(match op {
            Op::Put { key, .. } | Op::Get { key } => Some(key),
            Op::Rotx { keys } | Op::Snapshot { keys } | Op::Query { keys, .. } => keys.into_iter().next(),
            _ => None,
        });
        Outcome::Failed(Failure::Refused("it concerns keys of all partitions".into()))
    };
    let ended = interpret(Program { command: &command, keys: &[], now }, &mut carry);
    match touched {
        Some(key) => Err((key, command.args)),
        None => Ok(ended.reply),
    }
}

/// The interpreter of programs: see [`tidemark_contract::programs`].
pub(crate) fn interpret(program: Program<'_>, carry: Carry<'_>) -> Interpreted {
    let error =
        |reply| Interpreted { reply: Reply::Array(vec![reply, Reply::Array(Vec::new())]), void: true };
    let [sha, source, mode, declared, arguments @ ..] = &program.command.args[..] else {
        return error(Reply::error("ERR a script without a text"));
    };
    let sha = String::from_utf8_lossy(sha);
    let (sha, function) = match sha.strip_prefix('@').and_then(|word| word.split_once(':')) {
        Some((sha, name)) => (sha, Some(name)),
        None => (&*sha, None),
    };
    let (only_reads, body) = match function {
        Some(_) => (false, Header::of(source).map_or(&source[..], |header| header.body)),
        None => match shebang(source) {
            Ok((shebang, body)) => (shebang.no_writes, body),
            Err(why) => return error(why),
        },
    };
    let declared = std::str::from_utf8(declared).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    let keys: Vec<Bytes> = program.keys.iter().take(declared).map(|key| key.0.clone()).collect();
    let seed = program.command.seed;
    let script = Script { source: body, sha, function, keys: &keys, arguments, seed };
    let limit = LIMIT.get();
    let reads_only = only_reads || !program.command.verb.writes();
    let Mode { tells, full } = Mode::of_word(mode);
    let adds_nothing = full && function.is_none() && !source.starts_with(b"#!");
    let mut calls = Calls { now: program.now, reads_only, adds_nothing, carry, tells, news: Vec::new() };
    let limits = Limits { run: limit, memory: MEMORY };
    let call = &mut |words: &[Bytes], resp3: bool| calls.call(words, resp3);
    let ended = with(|interpreter| interpreter.run(script, limits, call));
    let stopped =
        |why: String| Reply::Error(format!("ERR Error running script: {why}; it has done nothing").into());
    match ended {
        None => error(NO_INTERPRETER),
        Some(Ended::Answered(reply)) => Interpreted { reply: wrap(reply, calls.news), void: false },
        Some(Ended::Stopped("memory")) => {
            error(stopped("it was stopped after it had used 64 MiB of memory".into()))
        }
        Some(Ended::Stopped(_)) => {
            let limit = limit.as_millis();
            error(stopped(format!(
                "it was stopped after it had computed for {limit} ms (busy-reply-threshold)"
            )))
        }
    }
}

/// A program's answer: what its client is answered, and what it tells.
pub(crate) fn wrap(reply: Reply, news: Vec<News>) -> Reply {
    Reply::Array(vec![reply, Reply::Array(news.into_iter().map(News::into_reply).collect())])
}

/// Parts it again.
pub(crate) fn unwrap(reply: Reply) -> (Reply, Vec<News>) {
    let Reply::Array(mut pair) = reply else { return (reply, Vec::new()) };
    let (Some(Reply::Array(news)), Some(answer)) = (pair.pop(), pair.pop()) else {
        return (Reply::Null, Vec::new());
    };
    (answer, news.into_iter().filter_map(News::from_reply).collect())
}

impl News {
    fn into_reply(self) -> Reply {
        let (tag, parts) = match self {
            Self::Read => (2, [Bytes::new(), Bytes::new()]),
            Self::Message { shard, channel, payload } => (i64::from(shard), [channel, payload]),
            Self::Event { class, name, key } => (i64::from(u32::from(class)), [name, key]),
        };
        let [one, other] = parts.map(Reply::Bulk);
        Reply::Array(vec![Reply::Int(tag), one, other])
    }

    fn from_reply(reply: Reply) -> Option<Self> {
        let Reply::Array(parts) = reply else { return None };
        let Ok([Reply::Int(tag), Reply::Bulk(one), Reply::Bulk(other)]) = <[Reply; 3]>::try_from(parts)
        else {
            return None;
        };
        Some(match tag {
            0 | 1 => Self::Message { shard: tag == 1, channel: one, payload: other },
            2 => Self::Read,
            class => Self::Event { class: char::from(u8::try_from(class).ok()?), name: one, key: other },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_tells_comes_back_beside_its_answer() {
        let word = Bytes::from_static(b"x");
        let news = [
            News::Read,
            News::Message { shard: true, channel: word.clone(), payload: Bytes::new() },
            News::Event { class: '$', name: word.clone(), key: word },
        ];
        let (answer, back) = unwrap(wrap(Reply::Int(7), news.to_vec()));
        assert_eq!((answer, &back[..]), (Reply::Int(7), &news[..]));
        let (error, none) = unwrap(Reply::error("CROSSSLOT x"));
        assert_eq!((error, none.len()), (Reply::error("CROSSSLOT x"), 0));
    }
}
