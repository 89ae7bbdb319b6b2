//! MEMORY USAGE.

use super::MEMORY;
use crate::redis::prelude::*;

/// What a key costs beside its bytes and its value, about: its entry, its place in a table, one version. The remark
/// names it.
const KEY_OVERHEAD_BYTES: usize = 120;

pub(super) static SPEC: Spec = Spec {
    name: "memory|usage",
    arity: -3,
    flags: &["readonly"],
    keys: Keys::SECOND,
    family: Family::Get,
    syntax: "key [SAMPLES count]",
    summary: "Estimates how many bytes a key takes on one node.",
    remark: "The sum of the key, the value that the session sees and 120 bytes for their entry. Other \
             versions of the key and the protocol's metadata are not counted; SAMPLES has no effect.",
    handler: Handler::Operations(parse),
    ..MEMORY
};

fn parse(request: &mut Request<'_>) -> Parsed {
    for index in (3..request.len()).step_by(2) {
        let samples = request.get(index + 1).filter(|_| request.is(index, "samples"));
        if integer(samples.ok_or(ErrorReply::SYNTAX)?)? < 0 {
            return Err(ErrorReply::SYNTAX);
        }
    }
    let key = request.key(2);
    let key_bytes = key.len();
    Ok(Task::once(typed::call(key, Command::new(Verb::Usage, Vec::new())), move |outcome, out| {
        match typed::answer(outcome)? {
            Reply::Int(bytes) => out.integer(bytes + (key_bytes + KEY_OVERHEAD_BYTES) as i64),
            _ => out.null(),
        }
        Ok(())
    }))
}
