//! Operations and outcomes in few words, for tests.

use super::{Feed, Lab};
use crate::Protocol;
use std::collections::BTreeMap;
use tidemark_core::{
    Condition, DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update,
    Write,
};
use tidemark_store::Version;

/// The server of partition `partition` in data centre `dc`, both by number.
pub fn server(dc: u8, partition: u16) -> ServerId {
    ServerId::new(DcId(dc), PartitionId(partition))
}

/// An unconditional PUT.
pub fn put(key: &Key, value: &str) -> Op {
    Op::Put { key: key.clone(), update: Update::put(Write::Assign(value.as_bytes().into())) }
}

/// A ROTX.
pub fn rotx(keys: &[&Key]) -> Op {
    Op::Rotx { keys: owned(keys) }
}

/// An outcome as text: values with `-` for none, keys in order, counts; blanks between them.
pub fn text(outcome: &Outcome) -> String {
    let value = |found: &Found| match &found.value {
        Some(value) => String::from_utf8_lossy(value).into_owned(),
        None => "-".to_string(),
    };
    match outcome {
        Outcome::Found(found) => value(found),
        Outcome::FoundAll(all) => all.iter().map(value).collect::<Vec<_>>().join(" "),
        Outcome::Keys { keys, .. } => {
            let mut keys: Vec<_> = keys.iter().map(Key::to_string).collect();
            keys.sort();
            keys.join(" ")
        }
        Outcome::Conflicts(all) => {
            let one = |(key, found): &(Key, Vec<Found>)| {
                format!("{key}: {}", found.iter().map(value).collect::<Vec<_>>().join(" "))
            };
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        Outcome::Count(count) => count.to_string(),
        Outcome::Written { stamp: Some(stamp), .. } => stamp.to_string(),
        Outcome::Written { stamp: None, .. } => "not written".to_string(),
        Outcome::Begun(snapshot) => format!("in {snapshot}"),
        Outcome::Bases(bases, _) => {
            bases.iter().map(|base| format!("{base:?}")).collect::<Vec<_>>().join(" ")
        }
        Outcome::Changed(keys) => format!("{keys:?}"),
        Outcome::Accepted(what) => format!("{what:?}"),
        Outcome::Adopted => "adopted".to_string(),
        Outcome::Failed(Failure::Unavailable(_) | Failure::Misconfigured(_)) => "unavailable".to_string(),
        Outcome::Failed(Failure::Refused(why)) => format!("refused: {why}"),
        Outcome::Failed(Failure::ClockSkew { .. }) => "clock skew".to_string(),
        Outcome::Failed(Failure::StaleSession(_)) => "stale session".to_string(),
        Outcome::Failed(Failure::Elsewhere(_)) => "elsewhere".to_string(),
        Outcome::Failed(Failure::Indefinite(_)) => "indefinite".to_string(),
    }
}

/// What logs hold of versions: what is stored beside each, for each of its keys.
pub(super) type Logged<P> = BTreeMap<(Key, Stamp), <P as Protocol>::Meta>;

/// A version is logged, or another copy of one.
pub(super) fn log<P: Protocol>(logged: &mut Logged<P>, key: &Key, version: &Version<P::Meta>) {
    for key in version.write.keys(key) {
        let copy = version.meta.clone();
        match (logged.get_mut(&(key.clone(), version.stamp)), P::EXTENSIONS.edge) {
            (Some(known), Some(edge)) if version.stamp.origin == DcId::EDGE => {
                (edge.copies.join)(known, copy)
            }
            _ => drop(logged.insert((key.clone(), version.stamp), copy)),
        }
    }
}

/// Whole operations: [`Lab::run`], in few words.
impl<P: Protocol> Lab<P> {
    /// GET, as text: the value, or `-` for none.
    pub fn get(&mut self, client: usize, key: &Key) -> String {
        text(&self.run(client, Op::Get { key: key.clone() }))
    }

    /// PUT; returns the time of the new version.
    pub fn put(&mut self, client: usize, key: &Key, value: &str) -> Hlc {
        let outcome = self.run(client, put(key, value));
        written(&outcome).unwrap_or_else(|| panic!("{outcome:?}"))
    }

    /// `SETNX`; returns the time of the new version, if the key held nothing.
    pub fn put_new(&mut self, client: usize, key: &Key, value: &str) -> Option<Hlc> {
        let write = Write::Assign(value.as_bytes().into());
        let update = Update { write, condition: Condition::IfAbsent, returns_previous: false, command: None };
        written(&self.run(client, Op::Put { key: key.clone(), update }))
    }

    /// DEL without looking: a tombstone.
    pub fn remove(&mut self, client: usize, key: &Key) {
        self.run(client, Op::Put { key: key.clone(), update: Update::put(Write::Remove) });
    }

    /// ROTX, as text: values separated by blanks, `-` for none.
    pub fn rotx(&mut self, client: usize, keys: &[&Key]) -> String {
        text(&self.run(client, rotx(keys)))
    }

    /// GET-SNAPSHOT, as text.
    pub fn snapshot(&mut self, client: usize, keys: &[&Key]) -> String {
        text(&self.run(client, Op::Snapshot { keys: owned(keys) }))
    }

    /// A read at a time, as text.
    pub fn as_of(&mut self, client: usize, time: Micros, keys: &[&Key]) -> String {
        text(&self.run(client, Op::At { keys: owned(keys), time }))
    }

    /// Every key that a SCAN of `partition` finds, sorted and separated by blanks, and then their COUNT.
    pub fn scan(&mut self, client: usize, partition: u16) -> String {
        let partition = PartitionId(partition);
        let keys = text(&self.run(client, Op::Scan { partition, cursor: 0, limit: u32::MAX }));
        format!("{keys} {}", text(&self.run(client, Op::Count { partition })))
    }
}

fn owned(keys: &[&Key]) -> Vec<Key> {
    keys.iter().map(|key| (*key).clone()).collect()
}

fn written(outcome: &Outcome) -> Option<Hlc> {
    match outcome {
        Outcome::Written { stamp, .. } => stamp.map(|stamp| stamp.ts),
        _ => None,
    }
}

pub(super) fn shown<M: std::fmt::Debug>(key: &Key, version: &Version<M>) -> String {
    format!("{key}={:?} {}, meta {:?}", version.write, version.stamp, version.meta)
}

impl<P: Protocol> Lab<P> {
    /// What `from` feeds to its peer `to` next, if it is taken: of a data centre that is excluded heartbeats are dropped, and later records
    /// stay where they are ([`Ends`](crate::extensions::Ends)).
    pub(super) fn next_of(&mut self, from: ServerId, to: ServerId) -> Option<Feed<P>> {
        let last = P::EXTENSIONS.ends.and_then(|ends| ends(self.protocol(to), from.dc));
        let (has, feed) = (self.servers[&to].records[from.dc.index()], self.feeds.get_mut(&(from, to))?);
        if let Some(last) = last {
            while let Some(Feed::Heartbeat(_)) = feed.front() {
                feed.pop_front();
            }
            if has >= last {
                return None;
            }
        }
        feed.pop_front()
    }
}
