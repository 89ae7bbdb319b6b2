//! What survives a restart: a durable bound above every stamp that a server has announced, and the stable
//! value that it had reached when the bound was last renewed.
//!
//! A heartbeat raises what peers believe about a server without leaving anything in its log. After a restart
//! with a slow clock the server could stamp a write at or below such an announcement, and its peers would
//! count the write as received before it was. So a server makes a ceiling durable ahead of its clock, in
//! steps, and starts again at the ceiling (PROTOCOLS: E-8, E-12). The stable value goes with it, and what a
//! server lets its data centre collect below is the one that is durable, never the one it has in memory.

use crate::{Cx, Protocol};
use serde::{Deserialize, Serialize};
use tidemark_core::{Hlc, Micros, Vector};

/// How far ahead of the clock the ceiling is renewed, in microseconds.
pub const STEP: Micros = 400_000;

/// How many keys or versions may wait for collection before the stable value is persisted out of turn.
const PRESSING: usize = 500;

/// What outlives a crash, in protocols that stabilise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hard {
    /// Nothing above it was announced.
    pub ceiling: Hlc,
    /// The stable value: one entry a data centre, or one in all.
    pub stable: Vector,
}

impl AsRef<Hard> for Hard {
    fn as_ref(&self) -> &Hard {
        self
    }
}

impl AsMut<Hard> for Hard {
    fn as_mut(&mut self) -> &mut Hard {
        self
    }
}

/// The durable ceiling of one server's stamps, with the durable stable value, and with whatever else of `H` a protocol persists.
#[derive(Clone, Debug)]
pub struct Ceiling<H = Hard> {
    durable: H,
}

impl<H: AsRef<Hard> + AsMut<Hard> + Clone> Ceiling<H> {
    /// The ceiling that was recovered: the first stamp of this life must lie above it.
    pub fn new(recovered: H) -> Self {
        Self { durable: recovered }
    }

    /// If `stamp` comes near the ceiling or passes it: persists a new ceiling, with the stable value of now, in the
    /// event that announces `stamp`.
    #[inline]
    pub fn renew<P: Protocol<Hard = H>>(
        &mut self,
        stamp: Hlc,
        stable: impl FnOnce() -> Vector,
        cx: &mut Cx<'_, P>,
    ) {
        if let Some(hard) = self.renewed(stamp, stable) {
            cx.persist(hard);
            cx.reach(self.durable.as_ref().ceiling);
        }
    }

    /// If so much waits for collection that it should not wait for the next renewal: persists the stable value of
    /// now under the old ceiling. Collected soon, overwritten versions are still in the caches.
    pub fn hurry<P: Protocol<Hard = H>>(&mut self, stable: impl FnOnce() -> Vector, cx: &mut Cx<'_, P>) {
        self.hurried(cx.store.waiting(), stable).into_iter().for_each(|hard| cx.persist(hard));
    }

    /// Persists the stable value of now under the old ceiling: what leaves with this event, or later, rests on it.
    pub fn keep<P: Protocol<Hard = H>>(&mut self, stable: Vector, cx: &mut Cx<'_, P>) {
        self.persist(|hard| hard.as_mut().stable = stable, cx);
    }

    /// Changes what survives a crash, and persists it.
    pub fn persist<P: Protocol<Hard = H>>(&mut self, change: impl FnOnce(&mut H), cx: &mut Cx<'_, P>) {
        change(&mut self.durable);
        cx.persist(self.durable.clone());
        cx.reach(self.durable.as_ref().ceiling);
    }

    /// As [`Self::renew`], for protocols that persist more besides: what is to be persisted of it, if anything is.
    #[inline]
    pub fn renewed(&mut self, stamp: Hlc, stable: impl FnOnce() -> Vector) -> Option<H> {
        let durable = self.durable.as_mut();
        if stamp < durable.ceiling {
            return None;
        }
        *durable = Hard { ceiling: Hlc::at(stamp.micros() + STEP), stable: stable() };
        Some(self.durable.clone())
    }

    /// As [`Self::hurry`], for protocols that persist more besides, with so much `waiting`.
    pub fn hurried(&mut self, waiting: usize, stable: impl FnOnce() -> Vector) -> Option<H> {
        if waiting < PRESSING {
            return None;
        }
        let (durable, stable) = (self.durable.as_mut(), stable());
        if stable.le(&durable.stable) {
            return None;
        }
        durable.stable = stable;
        Some(self.durable.clone())
    }

    /// What survives a crash.
    pub fn durable(&self) -> &H {
        &self.durable
    }

    /// The stable value that survives a crash.
    pub fn stable(&self) -> &Vector {
        &self.durable.as_ref().stable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_renewed_in_steps_and_always_lies_above_the_stamp() {
        let mut ceiling = Ceiling::new(Hard::default());
        let renewed = (0..2_000).filter(|ms| {
            let stamp = Hlc::at(ms * 1000);
            let new = ceiling.renewed(stamp, || Vector::from_entries([stamp]));
            assert!(stamp < ceiling.durable().ceiling);
            assert!(new.is_none_or(|hard| hard.stable == *ceiling.stable()));
            ceiling.stable()[tidemark_core::DcId(0)] == stamp
        });
        assert_eq!(renewed.count(), 5);
    }

    #[test]
    fn the_stable_value_is_persisted_out_of_turn_only_when_it_rose_and_much_waits() {
        let mut ceiling = Ceiling::new(Hard::default());
        let _ = ceiling.renewed(Hlc::at(1), Vector::default);
        let (before, at) = (ceiling.durable().ceiling, |ts| Vector::from_entries([Hlc(ts)]));
        assert_eq!(ceiling.hurried(PRESSING - 1, || at(7)), None);
        assert_eq!(ceiling.hurried(PRESSING, || at(7)), Some(Hard { ceiling: before, stable: at(7) }));
        assert_eq!(ceiling.hurried(PRESSING, || at(7)), None);
        assert_eq!((ceiling.stable(), ceiling.durable().ceiling), (&at(7), before));
    }
}
