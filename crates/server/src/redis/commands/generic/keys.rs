//! KEYS.

use super::GENERIC;
use crate::redis::prelude::*;
use tidemark_core::glob::glob_matches;

pub(super) static SPEC: Spec = Spec {
    name: "keys",
    arity: 2,
    flags: &["readonly"],
    categories: &["@dangerous"],
    family: Family::Scan,
    syntax: "pattern",
    summary: "Returns the keys that match a pattern.",
    remark: "Scans every key: for debugging only. Use SCAN instead.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::several(KeysScan { pattern: request.take(1), cursor: Cursor::default(), found: Vec::new() }))
}

struct KeysScan {
    pattern: Bytes,
    cursor: Cursor,
    /// Keys that match, so far.
    found: Vec<Key>,
}

impl Steps for KeysScan {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(Step::Op(self.cursor.scan(keyspace, Cursor::KEYS_AT_ONCE)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let (keys, cursor) = scanned(outcome)?;
        self.found.extend(keys.into_iter().filter(|key| glob_matches(&self.pattern, key, false)));
        match self.cursor.after(keyspace, cursor) {
            Some(cursor) => {
                self.cursor = cursor;
                self.begin(keyspace, out)
            }
            None => {
                write_keys(&self.found, out);
                Ok(Step::Done)
            }
        }
    }
}
