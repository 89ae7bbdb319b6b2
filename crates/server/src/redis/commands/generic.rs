//! Keys of any type.

use crate::redis::prelude::*;
use std::vec::IntoIter;

commands! { del, exists, keys, object, randomkey, scan, sort, sort_ro, touch, r#type, unlink }

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

const BASE: Spec = Spec { keys: Keys::FIRST, ..GENERIC };

rows! { BASE;
    "expire" Expire -3 FAST_REMOVE "1.0.0" "key seconds [NX | XX | GT | LT]", "Sets when a key expires.",
        "Of deadlines that regions set at once the longest counts.";
    "pexpire" PExpire -3 FAST_REMOVE "2.6.0" "key milliseconds [NX | XX | GT | LT]", "Sets when a key expires.";
    "expireat" ExpireAt -3 FAST_REMOVE "1.2.0" "key unix-time-seconds [NX | XX | GT | LT]", "Sets when a key expires.";
    "pexpireat" PExpireAt -3 FAST_REMOVE "2.6.0" "key unix-time-milliseconds [NX | XX | GT | LT]", "Sets when a key expires.";
    "persist" Persist 2 FAST_REMOVE "2.2.0" "key", "Removes the deadline of a key.",
        "It wins against an EXPIRE in another region at once.";
    "ttl" Ttl 2 FAST_READ "1.0.0" "key", "Returns how many seconds a key has left.";
    "pttl" PTtl 2 FAST_READ "2.6.0" "key", "Returns how many milliseconds a key has left.";
    "expiretime" ExpireTime 2 FAST_READ "7.0.0" "key", "Returns when a key expires, in seconds since 1970.";
    "pexpiretime" PExpireTime 2 FAST_READ "7.0.0" "key", "Returns when a key expires, in milliseconds since 1970.";
    "dump" Dump 2 READ "2.6.0" "key", "Returns a value as Redis writes it into snapshots.",
        "The format is that of Redis 7.0.";
    "restore" Restore -4 WRITE "2.6.0" "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        "Creates a key from what DUMP returned, here or in Redis up to 7.2.",
        "IDLETIME and FREQ change nothing.";
}

group_rows! { BASE;
    "rename" Rename 3 REMOVE TWO by_row "1.0.0" "key newkey", "Renames a key.", "Keys of several partitions: under `tidemark` alone.";
    "renamenx" RenameNx 3 FAST_REMOVE TWO by_row "1.0.0" "key newkey", "Renames a key to one that does not exist.", "Keys of several partitions: under `tidemark` alone.";
    "copy" Copy -3 WRITE TWO by_row "6.2.0" "source destination [DB destination-db] [REPLACE]", "Copies a key.", "Keys of several partitions: under `tidemark` alone.";
}
