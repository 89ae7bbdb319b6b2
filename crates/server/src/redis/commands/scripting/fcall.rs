//! FCALL and FCALL_RO: the libraries are read, then the function is called where its keys live, as a script is.

use super::SCRIPTING;
use super::eval::{answer, count_keys, run};
use crate::redis::functions::{Libraries, Read, Reading};
use crate::redis::prelude::*;
use crate::redis::scripts::{Scripts, function_word};
use tidemark_wire::resp::encode_request;

const FLAGS: &[&str] = &["noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
const READS: &[&str] = &["readonly", "noscript", "stale", "skip_monitor", "no_mandatory_keys", "movablekeys"];
const WRITES: ErrorReply =
    ErrorReply::fixed("ERR Can not execute a script with write flag using *_ro command.");

/// Where keys live, a call with its library's text begins so: no client's command does.
const IN_FULL: &[u8] = b"\0fcall";

const FCALL: Spec = Spec {
    arity: -3,
    flags: FLAGS,
    since: "7.0.0",
    syntax: "function numkeys [key [key ...]] [arg [arg ...]]",
    ..SCRIPTING
};

pub(in crate::redis::commands) static ROWS: &[&Spec] = &[
    &Spec {
        name: "fcall",
        summary: "Calls a function.",
        remark: "As `EVAL`. The session sees the libraries that it has to see: a function that it has loaded, in any region.",
        handler: Handler::Operations(|request| parse(request, false)),
        ..FCALL
    },
    &Spec {
        name: "fcall_ro",
        flags: READS,
        summary: "Calls a function that only reads.",
        handler: Handler::Operations(|request| parse(request, true)),
        ..FCALL
    },
];

fn parse(request: &mut Request<'_>, only_reads: bool) -> Parsed {
    let count = match integer(&request[2]) {
        Ok(_) => count_keys(&request[2], request.len() - 3),
        Err(_) => Err(ErrorReply::fixed("ERR Bad number of keys provided")),
    };
    let function = request.take(1);
    let named = count.map(|count| {
        let keys = (3..3 + count).map(|at| request.key(at)).collect();
        (keys, (3 + count..request.len()).map(|at| request.take(at)).collect())
    });
    Ok(Task::several(Call { only_reads, function, named, reading: Some(Reading::default()) }))
}

/// Keys and arguments of a call.
type Named = (Vec<Key>, Vec<Bytes>);

/// A function that is to be called.
struct Call {
    only_reads: bool,
    function: Bytes,
    /// Its keys and its arguments. That there is no such function is told before that they are wrong.
    named: Result<Named, ErrorReply>,
    /// None if it was called.
    reading: Option<Reading>,
}

/// The verb and the first arguments of the program that calls a function: its word, and the text of its library.
fn found(
    libraries: &Libraries,
    function: &[u8],
    only_reads: bool,
    scripts: &Scripts,
) -> Result<(Verb, [Bytes; 2]), ErrorReply> {
    let (library, function) = libraries.find(function)?;
    if only_reads && !function.only_reads() {
        return Err(WRITES);
    }
    if scripts.mode().full && !function.runs_when_full() {
        return Err(ErrorReply::OUT_OF_MEMORY_FOR_SCRIPT);
    }
    let verb = if function.only_reads() { Verb::EvalRo } else { Verb::Eval };
    Ok((verb, [function_word(&library.sha, &function.name), library.code.clone()]))
}

impl Steps for Call {
    fn only_reads(&self, scripts: &Scripts) -> bool {
        let known = scripts.known_libraries();
        known.is_some_and(|all| all.find(&self.function).is_ok_and(|(_, function)| function.only_reads()))
    }

    fn begin(&mut self, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let reading = self.reading.get_or_insert_default();
        Ok(Step::Op(reading.begin()))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let Some(reading) = &mut self.reading else {
            return answer(typed::answer(outcome)?, keyspace, out);
        };
        let libraries = match reading.step(outcome, keyspace.scripts)? {
            Read::Op(op) => return Ok(Step::Op(op)),
            Read::Libraries(_, libraries) => libraries,
        };
        self.reading = None;
        libraries.find(&self.function)?;
        let named = std::mem::replace(&mut self.named, Err(ErrorReply::UNEXPECTED))?;
        let (verb, head) = found(&libraries, &self.function, self.only_reads, keyspace.scripts)?;
        run(verb, head, named, keyspace, out)
    }
}

/// A call as it is carried out where its keys live.
///
/// # Errors
/// There is no such function, or it may not be called now.
pub(in crate::redis) fn in_full(
    request: &Request<'_>,
    scripts: &Scripts,
    libraries: &Libraries,
) -> Result<Bytes, ErrorReply> {
    let (verb, [word, code]) = found(libraries, &request[1], request.is(0, "fcall_ro"), scripts)?;
    let head = [IN_FULL, verb.name().as_bytes(), &word, &code];
    let mut full = Vec::new();
    encode_request(&mut full, &head.into_iter().chain(request.iter().skip(2)).collect::<Vec<_>>());
    Ok(full.into())
}

/// The call of such a request, if it is one.
pub(in crate::redis) fn called(request: &mut Request<'_>) -> Option<Task> {
    if &request[0] != IN_FULL || request.len() < 5 {
        return None;
    }
    let verb = if request.is(1, Verb::EvalRo.name()) { Verb::EvalRo } else { Verb::Eval };
    let count = count_keys(&request[4], request.len() - 5).ok()?;
    let head = [request.take(2), request.take(3)];
    let keys = (5..5 + count).map(|at| request.key(at)).collect();
    let arguments = (5 + count..request.len()).map(|at| request.take(at)).collect();
    Some(Task::several(Full { verb, head, named: Some((keys, arguments)) }))
}

/// A call whose library is known.
struct Full {
    verb: Verb,
    head: [Bytes; 2],
    /// Its keys and its arguments, until it is called.
    named: Option<Named>,
}

impl Steps for Full {
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let named = self.named.take().ok_or(ErrorReply::UNEXPECTED)?;
        run(self.verb, self.head.clone(), named, keyspace, out)
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
