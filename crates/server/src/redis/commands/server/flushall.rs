//! FLUSHALL.

use super::is_flush_mode;
use crate::redis::prelude::*;
use std::vec::IntoIter;

pub(super) const FLUSH: Spec = Spec {
    arity: -1,
    flags: &["write"],
    categories: &["@dangerous"],
    family: Family::Flush,
    syntax: "[ASYNC | SYNC]",
    remark: "Not atomic: this region deletes the keys that it sees, one by one. Writes that have not \
             arrived yet stay.",
    handler: Handler::Operations(parse),
    ..Spec::DEFAULT
};

pub(super) static SPEC: Spec = Spec { name: "flushall", summary: "Deletes every key.", ..FLUSH };

fn parse(request: &mut Request<'_>) -> Parsed {
    if request.len() > 2 || (request.len() == 2 && !is_flush_mode(&request[1])) {
        return Err(ErrorReply::SYNTAX);
    }
    Ok(Task::several(Flush { cursor: Some(Cursor::default()), doomed: Vec::new().into_iter() }))
}

struct Flush {
    /// Where the scan goes on, unless it has ended.
    cursor: Option<Cursor>,
    /// Keys that the scan has returned and that are to be deleted.
    doomed: IntoIter<Key>,
}

impl Steps for Flush {
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(match (self.doomed.next(), self.cursor) {
            (Some(key), _) => Step::Op(remove(key)),
            (None, Some(cursor)) => Step::Op(cursor.scan(keyspace, Cursor::KEYS_AT_ONCE)),
            (None, None) => {
                out.ok();
                Step::Done
            }
        })
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match (matches!(outcome, Outcome::Keys { .. }), self.cursor) {
            (true, Some(before)) => {
                let (keys, cursor) = scanned(outcome)?;
                (self.cursor, self.doomed) = (before.after(keyspace, cursor), keys.into_iter());
            }
            _ => drop(written(outcome)?),
        }
        self.begin(keyspace, out)
    }
}
