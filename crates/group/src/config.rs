//! How a member takes part in its group.

use tidemark_core::Micros;

/// How a member takes part in its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Its name in the group: not 0.
    pub id: u64,
    /// Who belongs to the group when it begins: of no interest to a directory that is not empty, and empty for whoever comes
    /// later.
    pub founders: Vec<u64>,
    /// The unit of time, in microseconds.
    pub tick_us: Micros,
    /// How long a follower waits for its leader, in ticks. The members wait for one or some ticks longer, each for another
    /// time.
    pub election_ticks: usize,
    /// How often a leader tells that it is there, in ticks.
    pub heartbeat_ticks: usize,
    /// How much of the log is kept in memory for members that lag behind, in bytes. Who lags farther gets a copy.
    pub entries_bytes: usize,
    /// How much more of it is kept in memory, at most, while somebody is brought up to date, in bytes: if more is written than
    /// that while a copy travels, the member needs another one.
    pub pinned_bytes: usize,
}

impl GroupConfig {
    /// How long a follower waits for its leader.
    pub(crate) fn election_us(&self) -> Micros {
        self.election_ticks as u64 * self.tick_us
    }

    /// How long a lease lasts: an election timeout, of which the first tick may come at once, less a quarter: no two clocks
    /// go at rates farther apart.
    pub(crate) fn lease_us(&self) -> Micros {
        (self.election_ticks as u64 - 1) * self.tick_us * 3 / 4
    }
}
