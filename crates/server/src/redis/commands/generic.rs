//! Keys of any type.

use crate::redis::prelude::*;
use std::vec::IntoIter;

commands! { del, exists, keys, object, scan, r#type, unlink }

const GENERIC: Spec = Spec { group: Group::Generic, ..Spec::DEFAULT };

/// A command that asks for the same operation on each of its keys, and counts.
struct ForEach {
    /// Those that have not been asked about yet.
    keys: IntoIter<Key>,
    count: i64,
    op: fn(Key) -> Op,
    /// Whether an outcome counts.
    counts: fn(Outcome) -> Result<bool, ErrorReply>,
}

/// `op` on each key that `request` names. The reply is how many of the outcomes count.
fn for_each(
    request: &mut Request<'_>,
    op: fn(Key) -> Op,
    counts: fn(Outcome) -> Result<bool, ErrorReply>,
) -> Task {
    if request.len() > 2 {
        return Task::several(ForEach { keys: request.keys(1).into_iter(), count: 0, op, counts });
    }
    Task::once(op(request.key(1)), move |outcome, out| {
        out.integer(i64::from(counts(outcome)?));
        Ok(())
    })
}

impl Steps for ForEach {
    fn begin(&mut self, _: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(match self.keys.next() {
            Some(key) => Step::Op((self.op)(key)),
            None => {
                out.integer(self.count);
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
        self.count += i64::from((self.counts)(outcome)?);
        self.begin(keyspace, out)
    }
}
