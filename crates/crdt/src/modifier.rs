//! Changes of a part of a string, which merge with concurrent ones instead of overwriting the whole.
//!
//! **Idea.** APPEND, SETRANGE, SETBIT, BITFIELD and PFADD travel as what they do, not as what they make. A reader sees them applied,
//! in the order of their stamps, to the assignment that wins; increments stand among them where their segment's last stamp
//! says. So concurrent ones all count, each region's own come in its own order, and one that an assignment had not observed
//! changes what it assigned.
//!
//! **Deviation.** D1 (from R12) No modifier has to be written as an assignment of the whole string because others of another kind
//! live: the order of stamps holds for all kinds together, and with it the order of what a session has observed. A
//! segment of increments does not go on past a modifier ([`crate::cell::Cell::segment`]).
//!
//! **Costs.** A modifier that comes last is applied to the shown string, in place if its length stays. One that arrives late has all
//! that live applied anew. Each lives until it is settled, so a string that is changed often during a cut grows by all of them.
//!
//! **Invariants**
//! - I1 What is settled comes before everything that has a stamp: modifiers are settled from the oldest on, and none while an
//!   assignment lives that is not settled, for it may not have observed them.

use crate::bitmap;
use crate::effect::Datum;
use crate::hll;
use crate::shape::Plain;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tidemark_core::{Hlc, Stamp};

/// One change of a string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Modifier {
    /// Bytes at the end: APPEND.
    Tail(Bytes),
    /// Bytes at an offset, to which the string grows: SETRANGE. With no bytes it only grows.
    Patch {
        /// In bytes.
        offset: u64,
        /// These.
        bytes: Bytes,
    },
    /// Bits at an offset, to which the string grows: SETBIT, BITFIELD.
    Bits {
        /// In bits.
        offset: u64,
        /// How many, at most 64.
        count: u8,
        /// The lowest ones of this.
        value: u64,
    },
    /// Registers of a HyperLogLog that are to be no lower: PFADD, PFMERGE. A string that is none stays as it is.
    Registers {
        /// Whether the result has a dense code.
        dense: bool,
        /// Which, and how high.
        registers: Vec<(u16, u8)>,
    },
}

impl Modifier {
    /// Changes a string that stays as long as it is; false if this one would not.
    fn overwrite(&self, value: &mut [u8]) -> bool {
        match self {
            Self::Patch { offset, bytes } => {
                let place = *offset as usize..*offset as usize + bytes.len();
                value.get_mut(place).map(|part| part.copy_from_slice(bytes)).is_some()
            }
            Self::Bits { offset, count, value: bits } => {
                let fits = offset + u64::from(*count) <= value.len() as u64 * 8;
                if fits {
                    bitmap::overwrite(value, *offset, u32::from(*count), *bits);
                }
                fits
            }
            Self::Tail(_) | Self::Registers { .. } => false,
        }
    }

    /// Changes a string; none is an empty one, or an empty HyperLogLog.
    pub fn apply(&self, value: &mut Option<Vec<u8>>) {
        match self {
            Self::Tail(bytes) => value.get_or_insert_default().extend_from_slice(bytes),
            Self::Patch { offset, bytes } => {
                let value = value.get_or_insert_default();
                let place = *offset as usize..*offset as usize + bytes.len();
                bitmap::grow(value, place.end as u64 * 8);
                value[place].copy_from_slice(bytes);
            }
            Self::Bits { offset, count, value: bits } => {
                bitmap::write(value.get_or_insert_default(), *offset, u32::from(*count), *bits);
            }
            Self::Registers { dense, registers } => hll::raise(value, *dense, registers),
        }
    }
}

/// The string that a reader sees if these changes come last. None if that is done: nobody else holds the string, and its length stays.
pub(crate) fn changed(plain: Option<&mut Plain>, modifiers: &[Modifier]) -> Option<Datum> {
    let mut value = None;
    if let Some(Plain::String(shared)) = plain {
        // Applying some of them twice changes nothing that applying all of them once does not.
        if let Some(own) = Arc::get_mut(shared)
            && modifiers.iter().all(|modifier| modifier.overwrite(own))
        {
            return None;
        }
        value = Some(shared.to_vec());
    }
    modifiers.iter().for_each(|modifier| modifier.apply(&mut value));
    value.map(|value| Datum::bytes(&value))
}

/// The modifiers of a cell, each with the stamp of its version, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Modified(Vec<(Stamp, Vec<Modifier>)>);

impl Modified {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn insert(&mut self, dot: Stamp, modifiers: &[Modifier]) {
        let at = self.0.partition_point(|(other, _)| *other < dot);
        self.0.insert(at, (dot, modifiers.to_vec()));
    }

    /// Takes away what is at or below `floor`, and what `dots` name.
    pub(crate) fn take(&mut self, floor: Hlc, dots: &[Stamp]) {
        if self.is_empty() {
            return;
        }
        let mut named = dots.to_vec();
        named.sort_unstable();
        self.0.retain(|(dot, _)| dot.ts > floor && named.binary_search(dot).is_err());
    }

    /// Takes those at or below `upto` out.
    pub(crate) fn drain(&mut self, upto: Hlc) -> Self {
        let old = self.0.partition_point(|(dot, _)| dot.ts <= upto);
        Self(self.0.drain(..old).collect())
    }

    pub(crate) fn dots(&self) -> impl DoubleEndedIterator<Item = Stamp> {
        self.0.iter().map(|(dot, _)| *dot)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Stamp, &[Modifier])> {
        self.0.iter().map(|(dot, modifiers)| (*dot, &modifiers[..]))
    }
}
