//! A run under load: clients as fast as they can be, servers whose work takes time.
//!
//! The schedules that look for mistakes ask what can happen; this asks how much of it. Servers are the same hosts and
//! links the same links, but every event costs its server a part of a core ([`Costs`]), events that find it busy
//! wait in a queue, and clients draw operations from a [`Workload`] instead of playing a script. No history is kept.
//! Time passes in microseconds, as everywhere in the simulator; work is reckoned in nanoseconds, and what is left of a
//! microsecond is added to the next turn.

mod costs;
mod loaded;

pub use costs::{Calibration, Costs};
pub use loaded::{Fed, Loaded, Messages, Visibility};

use crate::cluster::{Cluster, Subject};
use crate::grouping::{self, Adapting};
use crate::options;
use crate::plan::quiet::{Quiet, clock_of_today};
use crate::plan::{ClockPlan, Layout, Plan};
use crate::rng::{Rng, Stream, stream};
use serde_json::Value;
use std::collections::BTreeMap;
use tidemark_contract::info::Transactions;
use tidemark_contract::placement::Placement;
use tidemark_contract::rule::Without;
use tidemark_contract::{Rule, Topology};
use tidemark_core::Micros;
use tidemark_node::Factory;
use tidemark_workload::Workload;

/// What a run under load consists of.
#[derive(Clone, Debug)]
pub struct Load {
    /// Partitions in each data centre: each has a server, a log and a core of its own.
    pub partitions: usize,
    /// How many processes each server is, each with a core of its own: one, or a group that agrees on what it holds.
    pub replicas: usize,
    /// Which data centres hold which keys.
    pub placement: Placement,
    /// Round-trip times between data centres, by row and column: there are as many data centres as rows.
    pub rtt_us: Vec<Vec<Micros>>,
    /// Round-trip time between a client and another data centre than its own, if that is not what servers have.
    pub client_rtt_us: Option<Micros>,
    /// What chance adds to a delay between data centres at most, in percent of it.
    pub wan_jitter_percent: u64,
    /// How long a message takes within a data centre, at least, between servers and from and to clients.
    pub lan_us: Micros,
    /// What chance adds to that at most.
    pub lan_jitter_us: Micros,
    /// How long a message between clients and servers takes, at least, if that is longer: clients are in another zone.
    pub client_lan_us: Option<Micros>,
    /// How far the clock of a server may be off, either way; each server's offset is drawn.
    pub clock_skew_us: u64,
    /// Offsets that are not drawn: of the servers of each partition, in every data centre.
    pub clock_offsets_us: Vec<i64>,
    /// Servers that are slow.
    pub slow: Vec<Slow>,
    /// Numbers of the protocol that are not to be its defaults.
    pub params: BTreeMap<String, Value>,
    /// Rules of the protocol that are not kept.
    pub without: Vec<Rule>,
    /// What each event costs a server.
    pub costs: Costs,
    /// Clients know no partitions: each has a node of its data centre, which asks the others for it, as Redis clients have.
    /// If not, clients ask the server of each partition themselves, as in the papers.
    pub gateways: bool,
    /// All that goes to one other server in a batch, or comes from it, is one system call. If not, each message is one.
    pub batched: bool,
    /// Clients take time, too: they share a core of their own, as those of a load generator do.
    pub generator: bool,
    /// What clients do.
    pub workload: Workload,
    /// Clients in each data centre.
    pub clients: usize,
    /// Other clients in each data centre: what they do keeps servers busy, and does not count.
    pub beside: Option<(Workload, usize)>,
    /// Data centres whose clients do nothing.
    pub idle_dcs: Vec<usize>,
    /// Requests a second of all clients of a data centre together, begun whether or not earlier ones have ended; none:
    /// each client begins its next request when the last has ended.
    pub rate: Option<f64>,
    /// Keys of each partition that are written before the clients begin.
    pub filled_keys: usize,
    /// How long clients work before anything counts.
    pub warm_up_us: Micros,
    /// How long what they do counts.
    pub measure_us: Micros,
    /// In each data centre, a key is written this often that nobody knows, and looked for everywhere else; none: never.
    pub probe_every_us: Option<Micros>,
    /// Checking groups follow what clients do who name none.
    pub adapt: Option<Adapting>,
    /// What chance is drawn from.
    pub seed: u64,
}

/// A slow server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Its data centre; none: in all.
    pub dc: Option<usize>,
    /// Its partition.
    pub partition: usize,
    /// Whatever it says leaves it this much later.
    pub lag_us: Micros,
}

impl Load {
    /// Whether clients do some of what they do in another data centre.
    pub(crate) fn clients_leave(&self) -> bool {
        let beside = self.beside.as_ref().map_or(0.0, |(workload, _)| workload.remote);
        self.workload.remote.max(beside) > 0.0
    }

    /// How many data centres there are.
    pub fn dcs(&self) -> usize {
        self.rtt_us.len()
    }

    /// Says what is wrong with the numbers for a protocol, if something is.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(&self, factory: &dyn Factory) -> Result<(), String> {
        let info = factory.info();
        let within = |name: &str, value: usize, low: usize, high: usize| match value {
            n if (low..=high).contains(&n) => Ok(()),
            n => Err(format!("{name} is {low} to {high}, not {n}")),
        };
        within("the number of data centres", self.dcs(), 1, 64)?;
        within("the number of partitions", self.partitions, 1, 4096)?;
        within("the number of replicas", self.replicas, 1, 9)?;
        within("the number of clients of a data centre", self.clients, 0, 100_000)?;
        if self.rtt_us.iter().any(|row| row.len() != self.dcs()) {
            return Err("round-trip times are a square: one for each pair of data centres".into());
        }
        if self.lan_us == 0 {
            return Err("a message takes a microsecond at least: else time would stand still".into());
        }
        if self.generator && !self.gateways {
            return Err("a load generator asks gateways: it knows no partitions".into());
        }
        if self.client_lan_us.is_some_and(|us| self.gateways || us < self.lan_us) {
            return Err(
                "clients in another zone ask servers themselves, and are not nearer than these".into()
            );
        }
        if self.measure_us == 0 {
            return Err("nothing is measured in no time".into());
        }
        if self.clients_leave() && self.dcs() < 2 {
            return Err("clients that go elsewhere (remote) need a second data centre".into());
        }
        if self.clock_offsets_us.len() > self.partitions {
            return Err("there are more clock offsets than partitions".into());
        }
        let there =
            |slow: &Slow| slow.partition < self.partitions && slow.dc.is_none_or(|dc| dc < self.dcs());
        if !self.slow.iter().all(there) {
            return Err("a slow server is not there".into());
        }
        if !self.placement.rules.is_empty() && !info.partial {
            return Err(format!("{} cannot do without versions that a region never gets", info.name));
        }
        options::rules(info, &self.without)?;
        let (params, topology) = (self.params_for(factory)?, self.topology());
        factory.check_params(&params, Some(&topology)).map_err(|error| format!("{}: {error}", info.name))?;
        let groups = grouping::at_first(factory, &params, &topology);
        if let Some(adapting) = &self.adapt {
            adapting.check(info.name, &groups, self.gateways)?;
        }
        let dcs = (0..self.dcs()).filter(|dc| !self.idle_dcs.contains(dc)).count();
        let fits = |workload: &Workload, clients: usize| {
            workload.validate_for(self.partitions).map_err(|error| error.to_string())?;
            let fits = workload.validate_clients(clients * dcs, self.partitions);
            fits.map_err(|error| error.to_string())?;
            if workload.waits() && self.rate.is_some() {
                return Err("clients that wait for each other do not come at a rate".to_string());
            }
            grouping::of_workload(workload, &groups, self.adapt.is_some()).map(drop)
        };
        if let Some((workload, clients)) = &self.beside {
            within("the number of other clients of a data centre", *clients, 1, 100_000)?;
            fits(workload, *clients)?;
        }
        fits(&self.workload, self.clients)
    }

    /// The protocol's numbers, as a configuration gives them.
    fn params_for(&self, factory: &dyn Factory) -> Result<Value, String> {
        options::changed(factory.name(), factory.default_params().into(), &self.params)
    }

    fn topology(&self) -> Topology {
        Topology { placement: self.placement.clone(), ..Topology::new(self.dcs(), self.partitions) }
    }

    fn plan(&self) -> Plan {
        let nodes = self.dcs() * self.partitions;
        let mut rng = stream(self.seed, Stream::Config);
        let quiet = Quiet {
            seed: self.seed,
            replicas: self.replicas,
            rtt_us: &self.rtt_us,
            wan_jitter_percent: self.wan_jitter_percent,
            lan_us: self.lan_us,
            lan_jitter_us: self.lan_jitter_us,
            clocks: (0..nodes).map(|node| self.clock(node % self.partitions, &mut rng)).collect(),
            relays: false,
        };
        quiet.plan()
    }

    fn clock(&self, partition: usize, rng: &mut Rng) -> ClockPlan {
        let skew = self.clock_skew_us as i64;
        let drawn = rng.i64(-skew..=skew);
        let offset = self.clock_offsets_us.get(partition).copied().unwrap_or(drawn);
        clock_of_today(offset)
    }
}

/// Runs a protocol under load.
///
/// # Errors
/// The numbers cannot be, or a server failed: a sentence for the user.
pub fn load(factory: &'static dyn Factory, what: &Load) -> Result<Loaded, String> {
    what.validate(factory)?;
    let _without = Without::new(&what.without);
    let layout = Layout {
        topology: what.topology(),
        keys: Vec::new(),
        transactions: Transactions::None,
        guarantees: false,
        checking: false,
        excludes_for_good: false,
    };
    let plan = what.plan();
    let nodes = plan.nodes(&layout.topology);
    let params = what.params_for(factory)?;
    let subject = Subject {
        factory,
        promise: factory.info().promise,
        params: vec![params; nodes],
        seats: Some(if what.gateways { 0 } else { 1 }),
        adapts: what.adapt.is_some(),
    };
    Cluster::new(&plan, &layout, &subject).run_load(what)
}
