//! Commands of data types: one operation on one key, evaluated where the key lives. The gateway knows their names and writes their
//! answers.

use super::arguments::{integer, is};
use super::error::ErrorReply;
use super::spread::Spread;
use super::table::Spec;
use super::task::Task;
use bytes::Bytes;
use tidemark_core::{Command, Found, Key, Op, Outcome, Reply, Update, Verb};
use tidemark_wire::resp::{self, Encoder, Request, Version};

/// The task of a command whose name has so many `words`; the key stands behind them.
pub(super) fn task(verb: Verb, words: usize, request: &mut Request<'_>) -> Task {
    let key = Key(request.take(words));
    let told = verb.tells_key().then(|| key.0.clone());
    let args = told.into_iter().chain((words + 1..request.len()).map(|index| request.take(index))).collect();
    Task::typed(call(key, Command { verb, keys: Vec::new(), args, seed: seed(verb) }))
}

/// The task of a command on several keys, which stand there; its other arguments stand there.
pub(super) fn group(verb: Verb, (keys, args): (&[usize], &[usize]), request: &mut Request<'_>) -> Task {
    // An argument can be taken once, in rising order.
    let mut places: Vec<usize> = keys.iter().chain(args).copied().collect();
    places.sort_unstable();
    places.dedup();
    let taken: Vec<(usize, Bytes)> = places.into_iter().map(|place| (place, request.take(place))).collect();
    let find = |place: &usize| {
        let at = taken.binary_search_by_key(place, |(place, _)| *place).expect("it was taken");
        taken[at].1.clone()
    };
    let mut keys = keys.iter().map(|place| Key(find(place)));
    let first = keys.next().expect("a command on several keys names one");
    let command = Command { verb, keys: keys.collect(), args: args.iter().map(find).collect(), seed: 0 };
    if verb.writes() { Task::typed(call(first, command)) } else { Task::several(Spread::new(first, command)) }
}

/// Every key as the row says; the rest are arguments.
pub(super) fn by_row(request: &Request<'_>, spec: &Spec) -> Result<(Vec<usize>, Vec<usize>), ErrorReply> {
    let len = request.len() as i32;
    let last = if spec.keys.last < 0 { len + spec.keys.last } else { spec.keys.last };
    let keys: Vec<usize> =
        (spec.keys.first..=last).step_by(spec.keys.step as usize).map(|at| at as usize).collect();
    let args = (1..request.len()).filter(|at| keys.binary_search(at).is_err()).collect();
    Ok((keys, args))
}

/// Keys and values in turn.
pub(super) fn by_pairs(request: &Request<'_>, spec: &Spec) -> Result<(Vec<usize>, Vec<usize>), ErrorReply> {
    if request.len().is_multiple_of(2) { Err(ErrorReply::arity(spec.name)) } else { by_row(request, spec) }
}

/// The first argument, and one more behind STORE or STOREDIST.
pub(super) fn by_store(request: &Request<'_>, _: &Spec) -> Result<(Vec<usize>, Vec<usize>), ErrorReply> {
    let word = |at: &usize| is(&request[*at], "store") || is(&request[*at], "storedist");
    let stored = (5..request.len() - 1).rfind(word).map(|at| at + 1);
    let keys: Vec<usize> = std::iter::once(1).chain(stored).collect();
    // The key to store in is an argument, too.
    Ok((keys, (2..request.len()).collect()))
}

/// A count of keys at `count`, and as many keys behind it; before it one more if it is the second argument.
pub(super) fn counted(
    request: &Request<'_>,
    spec: &Spec,
    count: usize,
) -> Result<(Vec<usize>, Vec<usize>), ErrorReply> {
    let number = match integer(&request[count]) {
        Ok(number) => usize::try_from(number).ok().filter(|number| *number > 0),
        Err(error) if unites(spec) => return Err(error),
        Err(_) => None,
    };
    let few = || match unites(spec) {
        true => ErrorReply::new(format!("ERR at least 1 input key is needed for '{}' command", spec.name)),
        false => ErrorReply::fixed("ERR numkeys should be greater than 0"),
    };
    let number = number.ok_or_else(few)?;
    let behind = count + 1 + number;
    if behind > request.len() {
        return Err(match spec.name {
            "sintercard" => ErrorReply::fixed("ERR Number of keys can't be greater than number of args"),
            _ => ErrorReply::SYNTAX,
        });
    }
    let keys = (1..count).chain(count + 1..behind).collect();
    Ok((keys, (behind..request.len()).collect()))
}

/// Whether a command is one of ZUNION and its kin, which have errors of their own.
fn unites(spec: &Spec) -> bool {
    spec.name.starts_with('z') && spec.name != "zmpop"
}

/// The keys behind a count that comes first.
pub(super) fn counted_first(
    request: &Request<'_>,
    spec: &Spec,
) -> Result<(Vec<usize>, Vec<usize>), ErrorReply> {
    counted(request, spec, 1)
}

/// A destination, then the keys behind a count.
pub(super) fn counted_second(
    request: &Request<'_>,
    spec: &Spec,
) -> Result<(Vec<usize>, Vec<usize>), ErrorReply> {
    counted(request, spec, 2)
}

/// The operation of a command.
pub(super) fn call(key: Key, command: Command) -> Op {
    Op::Put { key, update: Update::call(command) }
}

/// Randomness for commands that draw.
fn seed(verb: Verb) -> u64 {
    match verb {
        Verb::SPop | Verb::SRandMember | Verb::HRandField | Verb::ZRandMember => fastrand::u64(..),
        // It tells updates apart that several commands put with one version.
        Verb::DocPut | Verb::DocCompact => fastrand::u64(..),
        _ => 0,
    }
}

/// Of a command of a data type: what it answers.
pub(super) fn answer(outcome: Outcome) -> Result<Reply, ErrorReply> {
    match outcome {
        Outcome::Written { previous: Some(Found { reply: Some(reply), .. }), .. } => match reply.plain() {
            Reply::Error(text) => Err(ErrorReply::new(text.as_bytes())),
            reply => Ok(reply),
        },
        _ => Err(ErrorReply::UNEXPECTED),
    }
}

/// The answer of a command of a data type, where a key of the wrong type need not be an error.
pub(super) enum Answered {
    /// A reply.
    Reply(Reply),
    /// A key has another type.
    WrongType,
    /// Another error.
    Error(ErrorReply),
}

/// Of a command of a data type, for one that may pass over keys of the wrong type.
pub(super) fn answered(outcome: Outcome) -> Answered {
    match answer(outcome) {
        Ok(reply) => Answered::Reply(reply),
        Err(error) if error == ErrorReply::WRONG_TYPE => Answered::WrongType,
        Err(error) => Answered::Error(error),
    }
}

/// Writes the reply to a command of a data type.
pub(super) fn reply(outcome: Outcome, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
    write(&answer(outcome)?, out);
    Ok(())
}

/// The errors of commands that were carried out together, if not all of them failed.
pub(super) fn errors(outcome: &Outcome) -> Vec<ErrorReply> {
    let Outcome::Written { previous: Some(Found { reply: Some(reply), .. }), .. } = outcome else {
        return Vec::new();
    };
    let Reply::Array(replies) = &**reply else { return Vec::new() };
    let error = |reply: &Reply| match reply {
        Reply::Error(text) => Some(ErrorReply::new(text.as_bytes())),
        _ => None,
    };
    replies.iter().filter_map(error).collect()
}

/// Writes the replies to so many commands that were carried out together.
pub(super) fn replies(outcome: Outcome, times: usize, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
    match answer(outcome)? {
        Reply::Array(replies) if replies.len() == times => replies.iter().for_each(|reply| write(reply, out)),
        _ => return Err(ErrorReply::UNEXPECTED),
    }
    Ok(())
}

/// Writes an answer.
pub(super) fn write(reply: &Reply, out: &mut Encoder<'_>) {
    match reply {
        Reply::Noted(reply) => write(reply, out),
        Reply::Null => out.null(),
        Reply::NullArray => out.null_array(),
        Reply::Ok => out.ok(),
        Reply::Simple(text) => out.simple(text),
        Reply::Int(int) => out.integer(*int),
        Reply::Double(double) => out.double(*double),
        Reply::Decimal(digits) => out.decimal(digits),
        Reply::Bulk(bytes) => out.bulk(bytes),
        Reply::Error(text) => out.error(text.as_bytes()),
        Reply::Array(items) => {
            out.array(items.len());
            items.iter().for_each(|item| write(item, out));
        }
        Reply::Strings(strings) => {
            out.array(strings.len());
            strings.iter().for_each(|string| out.bulk(string));
        }
        Reply::Bool(yes) => out.boolean(*yes),
        Reply::BigNumber(digits) => out.reply(&resp::Reply::BigNumber(digits.clone())),
        Reply::Verbatim(format, text) => out.verbatim(*format, text),
        Reply::Set(items) => {
            out.set(items.len());
            items.iter().for_each(|item| write(item, out));
        }
        Reply::Map(pairs) => {
            out.map(pairs.len());
            write_pairs(pairs, out);
        }
        Reply::Pairs(pairs) if out.version() == Version::Resp2 => {
            out.array(2 * pairs.len());
            write_pairs(pairs, out);
        }
        Reply::Pairs(pairs) => {
            out.array(pairs.len());
            for (left, right) in pairs {
                out.array(2);
                write(left, out);
                write(right, out);
            }
        }
    }
}

fn write_pairs(pairs: &[(Reply, Reply)], out: &mut Encoder<'_>) {
    for (left, right) in pairs {
        write(left, out);
        write(right, out);
    }
}
