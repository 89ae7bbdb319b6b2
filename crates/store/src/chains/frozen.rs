//! What snapshots say of keys of data types.

use super::Version;
use super::object::Object;
use serde::{Deserialize, Serialize};
use tidemark_core::{DcId, Hlc, Stamp};
use tidemark_crdt::cell::Cell;
use tidemark_crdt::deadline::Deadlines;
use tidemark_crdt::{Kind, State};

/// What something contains: the last record that was written here, and the last received of each region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Written here.
    pub written: u64,
    /// Received, one a region.
    pub received: Vec<u64>,
}

impl Mark {
    /// Whether it contains record `seq` of a region; of this one, if there is none.
    pub fn contains(&self, of: Option<DcId>, seq: u64) -> bool {
        seq <= of.map_or(self.written, |dc| self.received.get(dc.index()).copied().unwrap_or(0))
    }
}

/// One thing of a store: see [`super::Store::dump_all`].
pub enum Dump<'a, M> {
    /// A version of a register, or one of a data type that is not folded.
    Version(&'a Version<M>),
    /// A key of a data type.
    Object(&'a Object<M>),
}

/// A part of a key of a data type, in a snapshot: all parts together are its base.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part<M> {
    /// Elements.
    pub elements: Vec<(Kind, Vec<u8>, Cell)>,
    /// What the deadline is made of.
    pub deadlines: Deadlines,
    /// What a session depends on that saw the base.
    pub seen: Vec<(Stamp, M)>,
    /// The newest version that was ever there.
    pub newest: Hlc,
    /// Up to where its elements were settled.
    pub settled: Hlc,
}

/// About how many bytes of elements one part has.
const PART_BYTES: usize = 128 * 1024;

/// The base of an object as it was at a moment, to be written in parts.
pub struct Frozen<M> {
    base: State,
    seen: Vec<(Stamp, M)>,
    newest: Hlc,
    settled: Hlc,
}

impl<M: Clone> Frozen<M> {
    /// Of an object now, whose elements are settled up to `settled`.
    pub fn new(object: &Object<M>, settled: Hlc) -> Self {
        let seen = object.folded().iter().map(|one| (one.stamp, one.meta.clone())).collect();
        Self { base: object.base(), seen, newest: object.newest(), settled }
    }

    /// About how many elements it has.
    pub fn count_elements(&self) -> usize {
        self.base.count_elements()
    }

    /// Calls `each` with its parts, at least one.
    pub fn parts(&self, mut each: impl FnMut(Part<M>)) {
        let Self { base, seen, newest, settled } = self;
        let part = |elements| Part {
            elements,
            deadlines: base.deadlines.clone(),
            seen: seen.clone(),
            newest: *newest,
            settled: *settled,
        };
        let (mut elements, mut bytes, mut none) = (Vec::new(), 0, true);
        base.each_element(|kind, name, cell| {
            bytes += name.len() + cell.bytes() + 32;
            elements.push((kind, name.to_vec(), cell.into_owned()));
            if bytes > PART_BYTES {
                each(part(std::mem::take(&mut elements)));
                (bytes, none) = (0, false);
            }
        });
        if none || !elements.is_empty() {
            each(part(elements));
        }
    }
}
