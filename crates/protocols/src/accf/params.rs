//! The numbers of ACCF, and its groupings.

use serde::{Deserialize, Serialize};
use tidemark_contract::Topology;
use tidemark_contract::core::Micros;
use tidemark_contract::grouping::{Division, Grouping};

/// The numbers and groupings. The dissertation gives no values; θ and Δ are GentleRain's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// T: the servers that share an entry of dependencies. Each server is in one group.
    pub tracking: Grouping,
    /// C: the servers that tell each other what they have received. A server may be in several groups.
    pub checking: Grouping,
    /// What a session reads that depends on more than its checking group can back.
    pub ahead: Ahead,
    /// θ: how often the servers of a checking group tell each other what they have received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the trees by which checking groups aggregate.
    pub fan_out: usize,
    /// How long a session waits for what it depends on.
    pub wait_limit_us: Micros,
    /// How long versions that nobody should need are kept for transactions that are under way.
    pub collect_after_us: Micros,
    /// How long nobody has to ask for a checking group that is to go.
    pub drain_us: Micros,
}

/// What a session reads that is ahead of its checking group (D12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ahead {
    /// The newest that there is, as line 7 has it. What that depends on may be missing elsewhere in the group.
    #[default]
    Newest,
    /// The newest of what its group and its past cover. It waits for nothing in its group, and sees less of what is new.
    Covered,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            tracking: Grouping::By(Division::Region),
            checking: Grouping::By(Division::Region),
            ahead: Ahead::Newest,
            theta_us: 5_000,
            delta_us: 5_000,
            fan_out: 2,
            wait_limit_us: 2_000_000,
            collect_after_us: 500_000,
            drain_us: 10_000_000,
        }
    }
}

impl tidemark_contract::Params for Params {
    fn check(&self, topology: &Topology) -> Result<(), String> {
        self.tracking.disjoint(topology).map_err(|why| format!("tracking: {why}"))?;
        self.checking.groups(topology).map_err(|why| format!("checking: {why}")).map(|_| ())
    }

    /// What versions' dependencies speak of.
    fn format(&self) -> String {
        format!("tracking {}", self.tracking)
    }

    /// Other groupings, and another time for collection.
    fn vary(&mut self, topology: &Topology, draw: &mut dyn FnMut(usize) -> usize) {
        self.tracking = Grouping::any(topology, false, draw);
        self.checking = Grouping::any(topology, true, draw);
        self.collect_after_us = [0, 5_000, 100_000][draw(3)];
        self.drain_us = [0, 20_000, 300_000][draw(3)];
        self.ahead = [Ahead::Newest, Ahead::Covered][draw(2)];
    }
}
