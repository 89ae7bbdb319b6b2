//! What outlives a crash.

use super::edge::{Added, Snap};
use super::exclusion::Excluded;
use serde::{Deserialize, Serialize};
use tidemark_contract::ceiling;
use tidemark_contract::core::Vector;
use tidemark_contract::two_phase::Undone;

/// What outlives a crash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lasting {
    /// The ceiling, with the stable vector and L.
    pub times: ceiling::Hard,
    /// Transactions that are not done with.
    pub undone: Undone<Snap, Added>,
    /// The bases that are kept (D16), at the root.
    pub bases: Vec<Vector>,
    /// Who is excluded (D21).
    pub excluded: Excluded,
}

impl AsRef<ceiling::Hard> for Lasting {
    fn as_ref(&self) -> &ceiling::Hard {
        &self.times
    }
}

impl AsMut<ceiling::Hard> for Lasting {
    fn as_mut(&mut self) -> &mut ceiling::Hard {
        &mut self.times
    }
}
