//! A crowd of edge clients in virtual time: what applications of SwiftCloud's evaluation see, and what passes on the way.
//!
//! Clients and gateways are the code of users, over nodes that are the code of users. Work takes no time, but the network does. Each client
//! keeps as many objects as its cache holds, and drops the one that was used longest ago. Transactions are drawn from a
//! [`Workload`] over objects. A miss waits for all missing objects at once.
//!
//! Source: SwiftCloud (Middleware 2015), section 5.

mod meter;
mod shares;
mod watched;
mod weigher;

pub(crate) use meter::{Done, Meter, Stored, Used};
pub use watched::{Answered, Sample, Watched};
pub(crate) use weigher::Weigher;

use crate::cluster::{Cluster, Subject};
use crate::options;
use crate::plan::quiet::{Quiet, clock_of_today};
use crate::plan::{Layout, Plan};
use crate::rng::{Stream, stream};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_contract::Topology;
use tidemark_contract::info::Transactions;
use tidemark_core::Micros;
use tidemark_node::Factory;
use tidemark_workload::{KeySpace, Workload};

/// How clients work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They keep objects, read them, and commit without the network.
    Cached,
    /// They keep nothing: all reads of a transaction are one round trip, all of its writes another one. That is the paper's model of a
    /// store that is replicated between servers only, and writes to a quorum.
    ServerOnly,
}

/// A data centre that is down for a while: its processes are killed, and start again with their disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down {
    /// Which.
    pub dc: usize,
    /// From when, after the clients began.
    pub from_us: Micros,
    /// Until when.
    pub until_us: Micros,
    /// When its clients go back to it: not before that.
    pub back_us: Micros,
}

/// How the work of a real processor is measured, and what sockets of clients cost it, which the simulator has not: in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// How long the processor has worked for this thread so far. Time is an argument here, too.
    pub clock: fn() -> Duration,
    /// To read what has arrived.
    pub read_ns: f64,
    /// To write what leaves.
    pub write_ns: f64,
}

/// What is played.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// Partitions in each data centre. Each is a node, with a gateway.
    pub partitions: usize,
    /// Round-trip times between data centres, by row and column: there are as many data centres as rows.
    pub rtt_us: Vec<Vec<Micros>>,
    /// Round-trip times between clients and their data centres are drawn between these. To another one it is as much longer as it is
    /// away.
    pub client_rtt_us: (Micros, Micros),
    /// What chance adds to a delay between data centres at most, in percent of it.
    pub wan_jitter_percent: u64,
    /// How long a message takes within a data centre, at least.
    pub lan_us: Micros,
    /// What chance adds to that at most.
    pub lan_jitter_us: Micros,
    /// How far the clock of a server may be off, either way.
    pub clock_skew_us: u64,
    /// Numbers of the protocol that are not to be its defaults.
    pub params: BTreeMap<String, Value>,
    /// What clients do.
    pub workload: Workload,
    /// How.
    pub mode: Mode,
    /// How many clients work at a time, in all data centres together.
    pub clients: usize,
    /// Data centres without clients.
    pub idle_dcs: Vec<usize>,
    /// How many objects each keeps.
    pub cache: usize,
    /// K: how many data centres have what clients see.
    pub regions: u64,
    /// How often gateways look for new bases: clients are notified so often, at most.
    pub period_us: Micros,
    /// Transactions a second of all clients together, at random times. A client begins one when the one before has ended.
    pub rate: f64,
    /// Clients begin with what earlier transactions would have left in their caches.
    pub warm: bool,
    /// How long clients work before anything counts.
    pub warm_up_us: Micros,
    /// How long what they do counts.
    pub measure_us: Micros,
    /// What one of so many transactions has read is compared with what its data centre has; 0: of none.
    pub compare: usize,
    /// The frames of one of so many clients are taken apart; 0: of none.
    pub weigh: usize,
    /// All clients are replaced by others this often, for good.
    pub churn_us: Option<Micros>,
    /// A data centre that is down for a while.
    pub down: Option<Down>,
    /// Of the first so many clients each transaction is told.
    pub told: usize,
    /// What a real processor works for nodes and gateways is measured. Nothing else should run then.
    pub work: Option<Work>,
    /// What chance is drawn from.
    pub seed: u64,
}

impl Crowd {
    /// How many data centres there are.
    pub fn dcs(&self) -> usize {
        self.rtt_us.len()
    }

    /// Those with clients.
    pub(crate) fn busy_dcs(&self) -> Vec<usize> {
        (0..self.dcs()).filter(|dc| !self.idle_dcs.contains(dc)).collect()
    }

    /// Says what is wrong with the numbers for a protocol, if something is.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(&self, factory: &dyn Factory) -> Result<(), String> {
        let within = |name: &str, value: usize, low: usize, high: usize| match value {
            n if (low..=high).contains(&n) => Ok(()),
            n => Err(format!("{name} is {low} to {high}, not {n}")),
        };
        within("the number of data centres", self.dcs(), 1, 64)?;
        within("the number of partitions", self.partitions, 1, 256)?;
        within("the number of clients", self.clients, 1, 100_000)?;
        within("the number of objects that a client keeps", self.cache, 0, 65_000)?;
        within("K", self.regions as usize, 1, self.dcs())?;
        if self.rtt_us.iter().any(|row| row.len() != self.dcs()) {
            return Err("round-trip times are a square: one for each pair of data centres".into());
        }
        if self.lan_us == 0 || self.measure_us == 0 || self.period_us == 0 || self.churn_us == Some(0) {
            return Err("a message, the measured time, the period and a life of clients take a while".into());
        }
        if !(self.rate.is_finite() && self.rate > 0.0) || self.client_rtt_us.0 > self.client_rtt_us.1 {
            return Err(
                "the rate is above 0, and the least distance of clients is not above the greatest".into()
            );
        }
        if self.busy_dcs().is_empty() {
            return Err("no data centre is left that has clients".into());
        }
        let down = |down: Down| {
            down.dc < self.dcs()
                && down.from_us < down.until_us
                && down.until_us <= down.back_us
                && self.dcs() > 1
        };
        if !self.down.is_none_or(down) {
            return Err("what is down is one of several data centres, for some time, and clients come back after that".into());
        }
        self.workload.validate_objects().map_err(|error| error.to_string())?;
        let fits = self.workload.validate_for(self.partitions);
        fits.map_err(|error| error.to_string())?;
        if !factory.default_params().contains_key("edge_retain_us") {
            return Err(format!("{} takes no edge clients", factory.name()));
        }
        let params = self.params_for(factory)?;
        factory.check_params(&params, Some(&self.topology()))
    }

    /// The protocol's numbers: those of a configuration with edge clients, and what is to be others.
    fn params_for(&self, factory: &dyn Factory) -> Result<Value, String> {
        let usual = [("base_regions", Value::from(self.dcs())), ("edge_retain_us", Value::from(60_000_000))];
        let usual = usual.map(|(name, value)| (name.to_string(), value));
        let params: BTreeMap<String, Value> = usual.into_iter().chain(self.params.clone()).collect();
        options::changed(factory.name(), factory.default_params().into(), &params)
    }

    fn topology(&self) -> Topology {
        Topology::new(self.dcs(), self.partitions)
    }

    fn plan(&self) -> Plan {
        let (nodes, skew) = (self.dcs() * self.partitions, self.clock_skew_us as i64);
        let mut rng = stream(self.seed, Stream::Config);
        let quiet = Quiet {
            seed: self.seed,
            replicas: 1,
            rtt_us: &self.rtt_us,
            wan_jitter_percent: self.wan_jitter_percent,
            lan_us: self.lan_us,
            lan_jitter_us: self.lan_jitter_us,
            clocks: (0..nodes).map(|_| clock_of_today(rng.i64(-skew..=skew))).collect(),
            relays: self.down.is_some(),
        };
        quiet.plan()
    }
}

/// Plays a crowd.
///
/// # Errors
/// The numbers cannot be, or a server failed: a sentence for the user.
pub fn crowd(factory: &'static dyn Factory, what: &Crowd) -> Result<Watched, String> {
    what.validate(factory)?;
    let layout = Layout {
        topology: what.topology(),
        keys: Vec::new(),
        transactions: Transactions::None,
        guarantees: false,
        checking: false,
        excludes_for_good: false,
    };
    let plan = what.plan();
    let subject = Subject {
        factory,
        promise: factory.info().promise,
        params: vec![what.params_for(factory)?; plan.nodes(&layout.topology)],
        seats: Some(0),
        adapts: false,
    };
    let keys = KeySpace::new(&what.workload, what.partitions).map_err(|error| error.to_string())?;
    Cluster::new(&plan, &layout, &subject).run_crowd(what, keys.into())
}

#[cfg(test)]
mod tests;
