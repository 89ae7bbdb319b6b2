//! SCAN.

use super::GENERIC;
use crate::redis::glob::glob_matches;
use crate::redis::prelude::*;
use std::str::from_utf8;

/// About how many keys SCAN looks at by default.
const COUNT: u64 = 10;
/// The most that it looks at, whatever its COUNT.
const COUNT_MAX: u64 = 100_000;

pub(super) static SPEC: Spec = Spec {
    name: "scan",
    arity: -2,
    flags: &["readonly"],
    family: Family::Scan,
    since: "2.8.0",
    syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
    summary: "Iterates over the keys, some at a time.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let cursor = from_utf8(&request[1]).ok().and_then(|text| text.parse().ok());
    let cursor = cursor.and_then(Cursor::from_client).ok_or(ErrorReply::INVALID_CURSOR)?;
    let mut scan = Scan { cursor, pattern: None, count: COUNT, strings: true };
    for index in (2..request.len()).step_by(2) {
        let value = request.get(index + 1).ok_or(ErrorReply::SYNTAX)?;
        if request.is(index, "match") {
            scan.pattern = Some(Bytes::copy_from_slice(value));
        } else if request.is(index, "type") {
            scan.strings = is(value, "string");
        } else if request.is(index, "count") {
            let count = u64::try_from(integer(value)?).ok().filter(|count| *count > 0);
            scan.count = count.ok_or(ErrorReply::SYNTAX)?;
        } else {
            return Err(ErrorReply::SYNTAX);
        }
    }
    Ok(Task::several(scan))
}

struct Scan {
    cursor: Cursor,
    pattern: Option<Bytes>,
    count: u64,
    /// Whether strings are asked for: there are no other types.
    strings: bool,
}

impl Steps for Scan {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(Step::Op(self.cursor.scan(keyspace, self.count.min(COUNT_MAX) as u32)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let (mut keys, cursor) = scanned(outcome)?;
        let matches =
            |key: &Key| self.pattern.as_ref().is_none_or(|pattern| glob_matches(pattern, key, false));
        keys.retain(|key| self.strings && matches(key));
        out.array(2);
        out.bulk(Cursor::to_client(self.cursor.after(keyspace, cursor)).to_string());
        write_keys(&keys, out);
        Ok(Step::Done)
    }
}
