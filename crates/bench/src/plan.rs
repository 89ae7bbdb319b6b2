//! What to do to which servers, how fast and for how long.

use crate::BenchError;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::time::Duration;
use tidemark_workload::Workload;

/// A whole measurement. `Plan::new` has defaults for everything but the regions and the workload.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the servers are; connections are spread evenly over regions.
    pub regions: Vec<Region>,
    /// What clients do.
    pub workload: Workload,
    /// Over how many partitions the workload spreads its keys: as many as the servers have, or a multiple.
    pub partitions: usize,
    /// How many connections in all; each is one client, and one session.
    pub connections: usize,
    /// On how many threads.
    pub threads: usize,
    /// How many requests may be under way on one connection.
    pub pipeline: usize,
    /// When requests begin.
    pub pace: Pace,
    /// How long to load before anything counts.
    pub warm_up: Duration,
    /// When to stop.
    pub limit: Limit,
    /// Whether to write every key once before.
    pub fill: bool,
    /// The user for AUTH; without one, the default user.
    pub user: Option<String>,
    /// The password for AUTH.
    pub password: Option<String>,
    /// The name that every connection gives.
    pub client_name: Option<String>,
    /// Decides what the clients ask for, together with the workload.
    pub seed: u64,
    /// How long the slices of throughput over time are.
    pub slice: Duration,
    /// How long a server may keep silent before its connection counts as lost.
    pub timeout: Duration,
    /// Whether to measure when writes show in other regions.
    pub visibility: Option<Visibility>,
    /// Between regions in their order: how long what a client says to another region is held, and what it hears from there. For
    /// clusters whose regions are on one machine; empty if the network sees to that.
    pub ways: Vec<Vec<Duration>>,
    /// A partition whose operations are recorded apart: all that concern it, and they are not among the others.
    pub apart: Option<usize>,
}

/// Servers that are one region, or one store: any of them will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name in results.
    pub name: String,
    /// Its servers, as host:port; connections are spread over them.
    pub addresses: Vec<String>,
}

/// When requests begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A connection asks again when it has been answered (and has thought): closed loop.
    Closed,
    /// Requests arrive whether or not there was an answer: open loop. Latency counts from the arrival.
    Open {
        /// How many requests arrive a second, at all connections together.
        per_second: f64,
        /// How they are spread.
        arrivals: Arrivals,
    },
}

/// How the arrivals of an open loop are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At random, as from many independent users.
    Poisson,
    /// In even steps.
    Fixed,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this long.
    Time(Duration),
    /// After this many single operations.
    Operations(u64),
}

/// How to measure when writes show in other regions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visibility {
    /// How many fresh keys each region writes a second.
    pub per_second: f64,
    /// How often the other regions look.
    pub poll: Duration,
    /// How long they look for a key before it counts as never seen.
    pub patience: Duration,
}

impl Default for Visibility {
    fn default() -> Self {
        Self { per_second: 10.0, poll: Duration::from_millis(1), patience: Duration::from_secs(10) }
    }
}

impl FromStr for Region {
    type Err = String;

    /// `name=host:port`, or `host:port`, which is then the name.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = text.split_once('=').unwrap_or((text, text));
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if name.is_empty() || port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            return Err(format!("{text:?} is not NAME=HOST:PORT, such as oregon=10.0.0.2:6379"));
        }
        Ok(Self { name: name.into(), addresses: vec![address.into()] })
    }
}

impl Plan {
    /// A closed loop of 50 connections over `regions`, for ten seconds after one of warm-up.
    pub fn new(regions: Vec<Region>, workload: Workload) -> Self {
        Self {
            regions,
            workload,
            partitions: 8,
            connections: 50,
            threads: default_threads(),
            pipeline: 1,
            pace: Pace::Closed,
            warm_up: Duration::from_secs(1),
            limit: Limit::Time(Duration::from_secs(10)),
            fill: false,
            user: None,
            password: None,
            client_name: None,
            seed: 1,
            slice: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            visibility: None,
            ways: Vec::new(),
            apart: None,
        }
    }

    /// Joins regions of the same name: they are several servers of one.
    pub fn join_regions(regions: impl IntoIterator<Item = Region>) -> Vec<Region> {
        let mut joined: Vec<Region> = Vec::new();
        for region in regions {
            match joined.iter_mut().find(|known| known.name == region.name) {
                Some(known) => known.addresses.extend(region.addresses),
                None => joined.push(region),
            }
        }
        joined
    }

    /// Whether it makes sense.
    pub fn validate(&self) -> Result<(), BenchError> {
        self.workload.validate_for(self.partitions)?;
        let wrong = |reason: &str| Err(BenchError::Plan(reason.into()));
        if self.regions.is_empty() || self.regions.iter().any(|region| region.addresses.is_empty()) {
            return wrong("name the servers: --region NAME=HOST:PORT");
        }
        if self.connections == 0 && (self.visibility.is_none() || self.fill) {
            return wrong("at least one connection: without any, only --visibility makes sense");
        }
        if self.connections == 0 && !matches!(self.limit, Limit::Time(_)) {
            return wrong("without connections there are no operations to count: give a --duration");
        }
        if self.connections > 0 && self.connections < self.regions.len() {
            return wrong("at least as many connections as regions");
        }
        if self.connections > 0 {
            self.workload.validate_clients(self.connections, self.partitions)?;
        }
        if self.workload.waits() && (self.pipeline > 1 || self.pace != Pace::Closed) {
            return wrong("clients that wait for each other do one thing at a time: --pipeline 1, no --rate");
        }
        if self.workload.remote > 0.0 && self.connections > 0 {
            if self.regions.len() < 2 {
                return wrong("clients that go elsewhere (remote) need a second --region");
            }
            if self.pipeline > 1 {
                return wrong("a client that goes elsewhere (remote) does one thing at a time: --pipeline 1");
            }
        }
        if self.threads == 0 || self.pipeline == 0 {
            return wrong("at least one thread, and one request at a time");
        }
        if let Pace::Open { per_second, .. } = self.pace
            && !(per_second > 0.0 && per_second.is_finite())
        {
            return wrong("a rate is more than 0 requests a second");
        }
        if matches!(self.limit, Limit::Time(Duration::ZERO) | Limit::Operations(0)) {
            return wrong("nothing would be measured: a --duration or --operations of more than 0");
        }
        if self.timeout.is_zero() || self.slice.is_zero() {
            return wrong("a timeout and a slice of time are longer than 0");
        }
        match self.visibility {
            Some(_) if self.regions.len() < 2 => {
                wrong("--visibility is about writes that show in another region: name two or more")
            }
            Some(Visibility { per_second, poll, .. })
                if !(per_second > 0.0 && per_second.is_finite()) || poll.is_zero() =>
            {
                wrong("--visibility needs more than 0 writes a second and a poll interval of more than 0")
            }
            _ => Ok(()),
        }
    }

    /// The region and address of connection `number`.
    pub(crate) fn place(&self, number: usize) -> (usize, &str) {
        let region = number % self.regions.len();
        (region, self.server(number, region))
    }

    /// The server that client `number` uses in a region.
    pub(crate) fn server(&self, number: usize, region: usize) -> &str {
        let addresses = &self.regions[region].addresses;
        &addresses[number / self.regions.len() % addresses.len()]
    }

    /// How long what a client of one region says is held on its way to another.
    pub(crate) fn way(&self, home: usize, region: usize) -> Duration {
        self.ways.get(home).and_then(|row| row.get(region)).copied().unwrap_or_default()
    }
}

/// Half the processors, as the servers may be on the same machine; at most four.
pub(crate) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_names_and_several_servers_can_be_one() {
        let read = |text: &str| text.parse::<Region>();
        let regions = ["a=h:1", "b=[::1]:2", "a=h:3"].map(|text| read(text).unwrap());
        let joined = Plan::join_regions(regions);
        assert_eq!(joined.len(), 2);
        assert_eq!(joined[0].addresses, ["h:1", "h:3"]);
        assert_eq!(read("host:6379").unwrap().name, "host:6379");
        for wrong in ["", "a=", "a=host", "=h:1", "a=h:x", "a=:1", "a=h:70000"] {
            assert!(read(wrong).unwrap_err().contains("NAME=HOST:PORT"), "{wrong}");
        }
        let plan = Plan::new(joined, Workload::named("ycsb-a").unwrap());
        let places: Vec<_> = (0..5).map(|number| plan.place(number)).collect();
        assert_eq!(places, [(0, "h:1"), (1, "[::1]:2"), (0, "h:3"), (1, "[::1]:2"), (0, "h:1")]);
    }

    fn turns() -> Workload {
        Workload::named("turns").unwrap()
    }

    #[test]
    fn plans_that_make_no_sense_are_refused() {
        let plan = || Plan::new(vec!["a=h:1".parse().unwrap()], Workload::named("ycsb-a").unwrap());
        assert!(plan().validate().is_ok());
        type Change = fn(&mut Plan);
        let cases: [(Change, &str); 14] = [
            (|plan| plan.regions.clear(), "--region"),
            (|plan| plan.connections = 0, "at least one connection"),
            (|plan| plan.pipeline = 0, "one request at a time"),
            (|plan| plan.limit = Limit::Operations(0), "more than 0"),
            (|plan| plan.pace = Pace::Open { per_second: 0.0, arrivals: Arrivals::Fixed }, "rate"),
            (|plan| plan.visibility = Some(Visibility::default()), "two or more"),
            (|plan| plan.workload = Workload { keys: 0, ..plan.workload.clone() }, "keys"),
            (|plan| plan.timeout = Duration::ZERO, "longer than 0"),
            (|plan| plan.partitions = 0, "partitions"),
            (|plan| plan.workload.remote = 0.5, "second --region"),
            (|plan| (plan.workload, plan.connections) = (turns(), 3), "even"),
            (|plan| (plan.workload, plan.pipeline) = (turns(), 2), "one thing at a time"),
            (
                |plan| {
                    plan.workload = turns();
                    plan.pace = Pace::Open { per_second: 9.0, arrivals: Arrivals::Fixed };
                },
                "no --rate",
            ),
            (
                |plan| {
                    let other = "b=h:2".parse().unwrap();
                    (plan.workload.remote, plan.pipeline) = (0.5, 2);
                    plan.regions.push(other);
                },
                "--pipeline 1",
            ),
        ];
        for (change, reason) in cases {
            let mut plan = plan();
            change(&mut plan);
            let error = plan.validate().unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(reason), "{error}");
        }
    }
}
