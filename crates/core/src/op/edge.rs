//! Transactions of clients at the edge: they are committed where the client is, and accepted by a region later, once, whichever
//! regions they are sent to.

use crate::{DcId, Hlc, Key, Micros, Stamp, Update, Vector};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Names an edge client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub [u8; 16]);

impl ClientId {
    /// When a version was written, in whole microseconds as this client is told it: more than the `h` of a transaction of its own exactly
    /// if the version is above what that transaction writes, but for one in 65,536 of those of one `h` that two clients wrote. 0 for the
    /// stamp of zeros.
    pub fn told(&self, version: Stamp) -> Micros {
        let at_us = version.ts.micros();
        // Above all that this client may write at that microsecond.
        let own = Stamp { ts: Hlc::at(at_us), origin: DcId::EDGE, seq: seq(self, &[u8::MAX; 32]) };
        if version > own { at_us + 1 } else { at_us }
    }
}

/// The last part of the stamp of a client's transaction. The name comes first: so it is known which of two clients wins of writes at
/// one time. Two copies of a client's disk have one name, and other digests.
fn seq(client: &ClientId, digest: &Digest) -> u32 {
    u32::from_be_bytes([client.0[0], client.0[1], digest[0], digest[1]])
}

/// Says of all transactions of a client up to one what they are.
pub type Digest = [u8; 32];

/// What the keys begin with that hold how far the transactions of a client were accepted.
pub const GUARD_PREFIX: &[u8] = b"\0tidemark:edge:";

/// A transaction of an edge client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeTransaction {
    /// Whose it is.
    pub client: ClientId,
    /// Its number there, from 1.
    pub k: u64,
    /// When it was committed there, above everything that it depends on: the last writer wins by this time.
    pub h: Hlc,
    /// The base in which it was prepared: it depends on that, and on the client's transactions before.
    pub dep: Vector,
    /// The digest of the client's transactions before.
    pub before: Digest,
    /// The digest with this one.
    pub digest: Digest,
    /// It was not sent to another region, nor in an earlier connection: no one else can have accepted it.
    pub new: bool,
    /// Those of its client before it that are not here were lost for good, with regions: it is accepted without them.
    pub after_loss: bool,
    /// What it does to each key, in order, each with its place in the transaction.
    pub updates: Vec<(Key, Vec<(u32, Update)>)>,
}

impl EdgeTransaction {
    /// About how many bytes of keys and values it writes.
    pub fn len(&self) -> usize {
        let bytes =
            |update: &Update| update.command.as_ref().map_or(update.write.len(), |command| command.len());
        let of_key = |(key, updates): &(Key, Vec<(u32, Update)>)| {
            key.len() + updates.iter().map(|(_, update)| bytes(update)).sum::<usize>()
        };
        self.updates.iter().map(of_key).sum()
    }

    /// Whether it writes nothing.
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }

    /// The stamp of its versions, the same in every region that accepts it.
    pub fn stamp(&self) -> Stamp {
        Stamp { ts: self.h, origin: DcId::EDGE, seq: seq(&self.client, &self.digest) }
    }

    /// The key that holds how far the client's transactions were accepted.
    pub fn guard(&self) -> Key {
        guard_of(self.client)
    }
}

/// The key that holds how far the transactions of a client were accepted.
pub fn guard_of(client: ClientId) -> Key {
    Key(Bytes::from([GUARD_PREFIX, &client.0].concat()))
}

/// How far the transactions of a client were accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The last one.
    pub k: u64,
    /// The digest up to it.
    pub digest: Digest,
}

impl Guard {
    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        [&self.k.to_be_bytes()[..], &self.digest].concat()
    }

    /// What [`Self::encode`] wrote; nothing if there is nothing, or something else.
    pub fn decode(stored: Option<&[u8]>) -> Self {
        let parts = stored.and_then(|stored| stored.split_first_chunk::<8>());
        parts
            .and_then(|(k, digest)| Some(Self { k: u64::from_be_bytes(*k), digest: digest.try_into().ok()? }))
            .unwrap_or_default()
    }
}

/// What becomes of a transaction of an edge client that is sent to a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Acceptance {
    /// It is written here. These of its updates had no effect, each with what a Redis client would have been told.
    Taken(Vec<(u32, String)>),
    /// It was written before.
    Known,
    /// The client's transactions are here up to this one, and others come first.
    Missing(u64),
    /// Another transaction of the client is here that has this number: it goes on from an older copy of what it stored.
    Forked(u64),
    /// Its time is ahead of this region's by so much.
    Later(Micros),
    /// This region lacks something that it depends on, or does not know yet whether it was written elsewhere.
    Behind,
    /// It was not written with its time, by any region, and never will be: it needs another one.
    Retime,
}

/// A key as clients at the edge see it. Stamps are those of the versions that wrote it; zeros: it was so long ago that it is not known any
/// more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// There is none.
    Absent,
    /// A string, and the version that wrote it.
    String(Stamp, Bytes),
    /// The fields of a hash, each with the version that wrote it.
    Map(Vec<(Bytes, Stamp, Bytes)>),
    /// The members of a set.
    Set(Vec<Bytes>),
    /// The elements of a list by position, each with the version that wrote it.
    List(Vec<(Bytes, Stamp, Bytes)>),
    /// It is of another type, of this name.
    Other(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_what_was_stored_and_nothing_if_that_is_something_else() {
        let guard = Guard { k: 7, digest: [3; 32] };
        assert_eq!(Guard::decode(Some(&guard.encode())), guard);
        assert_eq!([None, Some(&b"x"[..]), Some(&[0; 39])].map(Guard::decode), [Guard::default(); 3]);
    }

    fn of(client: u8, digest: u8) -> EdgeTransaction {
        EdgeTransaction {
            client: ClientId([client; 16]),
            k: 1,
            h: Hlc::at(5),
            dep: Vector::default(),
            before: [0; 32],
            digest: [digest; 32],
            new: true,
            after_loss: false,
            updates: Vec::new(),
        }
    }

    #[test]
    fn transactions_of_one_time_have_stamps_of_their_own() {
        let stamps = [of(1, 1), of(1, 2), of(2, 1)].map(|one| one.stamp());
        assert!(stamps[0] != stamps[1] && stamps[0] != stamps[2]);
        assert_eq!((stamps[0].ts, stamps[0].origin), (Hlc::at(5), DcId::EDGE));
        assert_ne!(of(1, 1).guard(), of(2, 1).guard());
    }

    #[test]
    fn what_a_client_is_told_is_later_exactly_if_it_is_above_its_own() {
        let edge = [1, 2, 3].map(|client| of(client, 7).stamp());
        let others = [(4, 0), (5, 0), (6, 0), (4, 1), (5, 1)];
        let others = others.map(|(at, counter)| Stamp::new(Hlc(Hlc::at(at).0 | counter), DcId(1)));
        for (client, digest) in [(1, 0), (2, 0), (2, 255), (3, 255)] {
            let own = of(client, digest);
            for version in edge.into_iter().chain(others) {
                let is_own = version.origin == DcId::EDGE && version.seq >> 16 == own.stamp().seq >> 16;
                let told = own.client.told(version);
                assert_eq!(told > own.h.micros(), !is_own && version > own.stamp(), "{version} {own:?}");
                assert!((version.ts.micros()..=version.ts.micros() + 1).contains(&told));
            }
        }
        assert_eq!(ClientId([0; 16]).told(Stamp::default()), 0);
    }
}
