//! What a session wrote and its snapshots do not have yet: the client's cache of protocols that read a little in the past,
//! such as Wren.
//!
//! It is right if whatever it holds is newer than all that snapshots have of the key, and if the session never reads but
//! through it. *The time of a snapshot overrules it, and not the version that was found*: a key may have been deleted later, and
//! its tombstone may have gone. Then nothing is found, which has no stamp.

use crate::one_round::Own;
use crate::{OneRound, Past as _};
use std::collections::BTreeMap;
use tidemark_core::{Found, Hlc, Key, Op, Outcome, Transact, Write};

crate::rules! { from crate::Rule::COMPONENTS + 12;
    SNAPSHOTS_OVERRULE_OWN,
}

/// The cache of one session.
#[derive(Debug, Default)]
pub struct OwnWrites {
    written: BTreeMap<Key, Found>,
    /// What the running operation reads.
    keys: Vec<Key>,
    /// What the running operation writes.
    writes: Vec<(Key, Write)>,
}

impl OwnWrites {
    fn begins(&mut self, op: &Op) {
        (self.keys, self.writes) = match op {
            Op::Get { key } => (vec![key.clone()], Vec::new()),
            Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } => (keys.clone(), Vec::new()),
            Op::Transact(step) => match &**step {
                Transact::Read { keys, .. } | Transact::ReadBase { keys, .. } => (keys.clone(), Vec::new()),
                Transact::Commit { writes, .. } => (Vec::new(), writes.clone()),
                Transact::Begin { .. }
                | Transact::End { .. }
                | Transact::Bases
                | Transact::Changed { .. }
                | Transact::Accept(_) => Default::default(),
            },
            Op::Put { key, update } => (Vec::new(), vec![(key.clone(), update.write.clone())]),
            Op::PutAll { writes } => (Vec::new(), writes.clone()),
            Op::Scan { .. } | Op::Count { .. } | Op::Conflicts { .. } | Op::Query { .. } => {
                Default::default()
            }
        };
    }

    /// Drops what snapshots have, up to `covered`, and puts the rest where it was read.
    fn ends(&mut self, outcome: &mut Outcome, covered: Hlc) {
        if !self.written.is_empty() && SNAPSHOTS_OVERRULE_OWN.kept() {
            self.written.retain(|_, own| own.stamp.is_some_and(|stamp| stamp.ts > covered));
        }
        let found = match outcome {
            Outcome::Found(found) => std::slice::from_mut(found),
            Outcome::FoundAll(all) => all,
            Outcome::Written { stamp: Some(stamp), .. } => {
                let own = |write: Write| Found::new(Some(*stamp), write.value().cloned());
                self.written.extend(self.writes.drain(..).map(|(key, write)| (key, own(write))));
                return;
            }
            _ => return,
        };
        for (key, found) in self.keys.iter().zip(found) {
            let newer = |own: &&Found| SNAPSHOTS_OVERRULE_OWN.kept() || own.stamp > found.stamp;
            if let Some(own) = self.written.get(key).filter(newer) {
                *found = own.clone();
            }
        }
    }
}

impl<P: OneRound> Own<P> for OwnWrites {
    fn begins(&mut self, op: &Op) {
        Self::begins(self, op);
    }

    fn ends(&mut self, outcome: &mut Outcome, past: &P::Past) {
        Self::ends(self, outcome, past.own_writes().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without;
    use tidemark_core::{DcId, Stamp, Update, Value};

    fn found(ts: u64, value: &str) -> Found {
        let value = (!value.is_empty()).then(|| Value::from(value.as_bytes()));
        Found::new(Some(Stamp::new(Hlc(ts), DcId(0))), value)
    }

    fn wrote(own: &mut OwnWrites, ts: u64, writes: &[(&str, Option<&str>)]) {
        let write = |value: Option<&str>| value.map_or(Write::Remove, |v| Write::Assign(v.as_bytes().into()));
        let writes = writes.iter().map(|(key, value)| (Key::from(*key), write(*value))).collect();
        own.begins(&Op::PutAll { writes });
        own.ends(&mut Outcome::Written { stamp: found(ts, "").stamp, previous: None }, Hlc::ZERO);
    }

    fn reads(own: &mut OwnWrites, covered: u64) -> Vec<Found> {
        own.begins(&Op::Rotx { keys: ["x", "y", "x"].map(Key::from).to_vec() });
        let mut outcome = Outcome::FoundAll(vec![found(1, "x"), found(1, "y"), found(1, "x")]);
        own.ends(&mut outcome, Hlc(covered));
        let Outcome::FoundAll(all) = outcome else { unreachable!("it stays what it is") };
        all
    }

    #[test]
    fn what_was_written_is_read_until_snapshots_have_it() {
        let mut own = OwnWrites::default();
        wrote(&mut own, 5, &[("x", Some("5")), ("y", Some("5"))]);
        wrote(&mut own, 7, &[("y", None)]);
        assert_eq!(reads(&mut own, 4), [found(5, "5"), found(7, ""), found(5, "5")]);
        assert_eq!(reads(&mut own, 5), [found(1, "x"), found(7, ""), found(1, "x")]);
        assert_eq!(reads(&mut own, 9), [found(1, "x"), found(1, "y"), found(1, "x")]);
    }

    /// The key was deleted later, and its tombstone has gone: what is found has no stamp.
    #[test]
    fn a_snapshot_in_which_nothing_is_found_overrules_it() {
        let read = || {
            let mut own = OwnWrites::default();
            wrote(&mut own, 5, &[("x", Some("5"))]);
            own.begins(&Op::Get { key: "x".into() });
            let mut outcome = Outcome::Found(Found::default());
            own.ends(&mut outcome, Hlc(9));
            outcome
        };
        assert_eq!(read(), Outcome::Found(Found::default()));
        assert_eq!(without(&[SNAPSHOTS_OVERRULE_OWN], read), Outcome::Found(found(5, "5")));
    }

    #[test]
    fn what_was_not_written_is_not_kept() {
        let mut own = OwnWrites::default();
        own.begins(&Op::Put { key: "x".into(), update: Update::put(Write::Remove) });
        own.ends(&mut Outcome::Written { stamp: None, previous: Some(found(1, "x")) }, Hlc::ZERO);
        assert_eq!(reads(&mut own, 0)[0], found(1, "x"));
    }
}
