//! What a server persists, and its clock, which never outruns that (D5).

use super::Accf;
use super::changes::Changes;
use super::groups::heard_of;
use serde::{Deserialize, Serialize};
use tidemark_contract::core::{Hlc, Vector};
use tidemark_contract::{Cx, Hard};

/// What outlives a crash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Remembered {
    pub(super) hard: Hard,
    /// Nobody is to be shown less (D11).
    pub(super) floor: Vector,
    pub(super) changes: Changes,
}

impl Accf {
    /// Moves the clock up to `hlc`, if it is behind, and keeps the durable ceiling above it (D5).
    pub(super) fn advance(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        if hlc <= self.clock {
            return;
        }
        self.clock = hlc;
        self.overwritten[self.tracks.own] = hlc;
        let renewed = self.ceiling.renewed(hlc, || self.groups.least());
        self.persist(renewed, cx);
    }

    /// Persists what has become durable, if anything has.
    pub(super) fn persist(&mut self, hard: Option<Hard>, cx: &mut Cx<'_, Self>) {
        if let Some(hard) = hard {
            self.groups.keep(&hard.stable);
            let ceiling = hard.ceiling;
            cx.persist(self.remembered(hard));
            cx.reach(ceiling);
        }
    }

    pub(super) fn remembered(&self, hard: Hard) -> Remembered {
        let mut floor = self.groups.floor().clone();
        floor.merge(&heard_of(hard.stable.clone()));
        Remembered { hard, floor, changes: self.changes.clone() }
    }
}
