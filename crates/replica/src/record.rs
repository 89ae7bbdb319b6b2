//! What the log's records and a snapshot's frames contain: their kinds and payloads.
//!
//! Payloads are postcard; `docs/on-disk-format.md` has the tables. A kind's meaning never changes: a new
//! meaning gets a new number.

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidemark_core::{Key, Stamp, Vector, Write};
use tidemark_store::Version;

/// A version written here: `(regions, key, stamp, meta, write)`; the sequence is its number in the stream.
pub(crate) const WRITTEN: u8 = 1;
/// A version received from a peer: `(dc, key, stamp, meta, write)`; the sequence is the sender's.
pub(crate) const RECEIVED: u8 = 2;
/// The protocol's hard state.
pub(crate) const HARD: u8 = 3;
/// The server starts; the sequence is the number of the start.
pub(crate) const LIFE: u8 = 4;
/// The incarnation of a peer's log, from its first stream on: `(dc, incarnation)`.
pub(crate) const PEER: u8 = 5;
/// Snapshots only: a version as it stands in its chain: `(key, stamp, meta, write)`.
pub(crate) const VERSION: u8 = 6;
/// Snapshots only: what a partition knows beside its versions, a [`PlaceState`].
pub(crate) const PLACE: u8 = 7;

/// What the protocol stores beside a version has changed: `(key, stamp, meta)`.
pub(crate) const REVISED: u8 = 9;

/// A record of a peer that is not for this data centre: `dc`; the sequence is the sender's.
pub(crate) const SKIPPED: u8 = 8;

/// Groups only: the name of what the group writes, the sequence; the first leader gives it.
pub(crate) const NAME: u8 = 10;
/// Groups only: closes an entry, which is the records since the one before; the sequence is its index:
/// `(term, kind, data)`.
pub(crate) const ENTRY: u8 = 11;
/// Groups only: a [`crate::GroupState`]; in snapshots, with what is retracted of the log.
pub(crate) const GROUP: u8 = 12;

/// Groups only: what the leader's store has dropped in the turn: a list of `(key, oldest that stays, whether that went too)`.
pub(crate) const COLLECTED: u8 = 13;
/// Groups only: how far a peer has confirmed what was written here, as far as all of the group know: `dc`; the sequence is that
/// of the last record confirmed.
pub(crate) const CONFIRMED: u8 = 14;

/// Snapshots only: a part of a key of a data type, with what it contains: `(key, mark, part)`. Its versions that are not folded
/// follow as [`VERSION`].
pub(crate) const OBJECT: u8 = 17;

/// Groups only: what the leader's store has folded in the turn of keys of data types: a list of
/// `(key, stamps, up to where it was settled, whether the key went)`.
pub(crate) const FOLDED: u8 = 19;

/// The host starts; the sequence counts its starts: a [`crate::lineage::Start`].
pub(crate) const START: u8 = 27;
/// No time above it was given out before it was synced: the sequence, in microseconds.
pub(crate) const CEILING: u8 = 28;

/// What a partition knows beside its versions.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct PlaceState<H> {
    pub(crate) hard: Option<H>,
    pub(crate) life: u64,
    pub(crate) written: u64,
    /// One a data centre: the incarnation of its log and the last record received.
    pub(crate) received: Vec<(u64, u64)>,
    pub(crate) last: Vector,
    /// See [`tidemark_store::Store::is_expiring`].
    pub(crate) expiring: bool,
}

/// Borrowed parts of a version, in the order in which they are encoded.
pub(crate) type VersionRef<'a, M> = (&'a Key, &'a Stamp, &'a M, &'a Write);
/// Owned parts of a version.
pub(crate) type VersionParts<M> = (Key, Stamp, M, Write);

pub(crate) fn parts<'a, M>(key: &'a Key, version: &'a Version<M>) -> VersionRef<'a, M> {
    (key, &version.stamp, &version.meta, &version.write)
}

pub(crate) fn whole<M>((key, stamp, meta, write): VersionParts<M>) -> (Key, Version<M>) {
    (key, Version { stamp, meta, write })
}

/// Appends slices whole; postcard's own extending flavor goes byte by byte.
struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

pub(crate) fn encode(value: &impl Serialize, buffer: &mut Vec<u8>) {
    postcard::serialize_with_flavor(value, Append(buffer)).expect("our types have no unserialisable parts");
}

pub(crate) fn decode<T: DeserializeOwned>(payload: &[u8]) -> postcard::Result<T> {
    postcard::from_bytes(payload)
}
