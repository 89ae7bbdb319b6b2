//! What a write does, and whether it can be applied. That is asked before it is stored: what arrives or is read may have been written by another version of
//! Tidemark.

use super::Store;
use tidemark_core::{Hlc, Write};
use tidemark_crdt::effect::{Bound, Change, Datum, Effect, Kill, Kind, Name};

/// Why a write cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misunderstood {
    /// An effect that was encoded by nobody whom this version knows.
    #[error("the effect of {bytes} bytes cannot be read ({why})")]
    Effect {
        /// How long it is.
        bytes: usize,
        /// Why.
        why: String,
    },
    /// A group that contains another.
    #[error("a group of writes is within another")]
    Nested,
    /// The protocol has no data types.
    #[error("it is of a data type, which this protocol does not have")]
    Untyped,
}

impl<M: Clone> Store<M> {
    /// Whether every part of a write can be applied here.
    ///
    /// # Errors
    /// Why not.
    pub fn understands(&self, write: &Write) -> Result<(), Misunderstood> {
        match write {
            Write::Assign(_) | Write::Remove => Ok(()),
            Write::Apply(_) if !self.has_types() => Err(Misunderstood::Untyped),
            Write::Apply(effect) => match Effect::decode(effect) {
                Ok(_) => Ok(()),
                Err(error) => Err(Misunderstood::Effect { bytes: effect.len(), why: error.to_string() }),
            },
            Write::Group(writes) => writes.iter().try_for_each(|(_, write)| match write {
                Write::Group(_) => Err(Misunderstood::Nested),
                write => self.understands(write),
            }),
        }
    }
}

/// What a write does, also one of a register.
pub fn effect_of(write: &Write) -> Effect {
    let register = |datum| Change::Assign {
        kind: Kind::String,
        name: Name::Is(bytes::Bytes::new()),
        datum,
        bound: Bound::Plain,
        kill: Kill::default(),
    };
    match write {
        Write::Assign(value) => {
            Effect { floor: Hlc::ZERO, changes: vec![register(Datum::Bytes(value.clone()))] }
        }
        Write::Remove => Effect { floor: Hlc::ZERO, changes: vec![register(Datum::Gone)] },
        // What cannot be read was refused when it came, in the log or from a peer.
        Write::Apply(bytes) => Effect::decode(bytes).unwrap_or_default(),
        // Stores take groups apart.
        Write::Group(_) => Effect::default(),
    }
}
