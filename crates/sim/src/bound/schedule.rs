//! The executions of the bound, as schedules: the same for every set of readers, except for who reads when.

use super::Bound;
use crate::cluster::{Cluster, Sent, Subject, Tape};
use crate::measure::{self, Measurement};
use crate::meter::{self, Measured, Meter, Times};
use crate::options::name_of;
use crate::plan::{Act, Config, Held, Hold, Layout, Plan, Step};
use crate::run::params_of;
use tidemark_contract::Topology;
use tidemark_contract::info::Transactions;
use tidemark_contract::rule::Without;
use tidemark_core::history::{Action, Event, History};
use tidemark_core::{DcId, Key, Micros, Op, PartitionId, ServerId, Update, Write};
use tidemark_node::Factory;

/// What is written, in this order; the values are numbered from 1.
pub(super) const WRITTEN: [&str; 4] = ["x0", "y0", "x1", "y1"];

/// When x0 and y0 are written.
const BEFORE_US: [Micros; 2] = [500_000, 520_000];
/// When the transactions of the readers begin: t1 in the paper. Clients know of each other's past by then.
const READ_US: Micros = 1_000_000;
/// When x1 and y1 are written: when the transactions are over, where they can be.
const WRITE_US: [Micros; 2] = [READ_US + 10_000, READ_US + 20_000];
/// When late halves of transactions arrive: y1 has been written.
const LATE_US: Micros = READ_US + 40_000;
/// When the other clients read, and one that is in no set: stable time has passed y1, if somebody waits for that.
const OTHERS_US: Micros = READ_US + 100_000;

/// Clients that are in no set of readers: the writer, and one that reads what is visible in the end of every execution.
const BESIDE: usize = 2;

/// What all executions share.
pub(super) struct Schedule<'a> {
    factory: &'static dyn Factory,
    what: &'a Bound,
    layout: Layout,
    config: Config,
    /// x and y.
    keys: [Key; 2],
    /// How many numbers of keys the meter has to know.
    numbers: usize,
}

/// What one execution showed.
pub(super) struct Executed {
    pub(super) measured: Measured,
    pub(super) history: History,
    pub(super) tape: Tape,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(factory: &'static dyn Factory, what: &'a Bound) -> Self {
        let topology = Topology::new(1, 2);
        let numbers =
            [0, 1].map(|p| (0..).find(|n| topology.partition_of(&meter::key(*n)).index() == p).expect("one"));
        let keys = numbers.map(meter::key);
        let layout = Layout {
            topology,
            keys: keys.iter().map(|key| vec![key.clone()]).collect(),
            transactions: Transactions::None,
            guarantees: false,
            checking: false,
            excludes_for_good: false,
        };
        let sessions = what.readers + BESIDE;
        let like = Measurement { dcs: 1, partitions: 2, sessions, ..Default::default() };
        // There is no other data centre; how long nodes wait before they try something again is in proportion to this.
        let mut config = Config { wan_us: vec![20_000], lan_jitter_us: 0, ..measure::config(&like) };
        config.clocks[0].offset_us = config.clocks[1].offset_us + what.skew_us;
        let numbers = numbers.into_iter().max().unwrap_or_default() + 1;
        Self { factory, what, layout, config, keys, numbers }
    }

    /// What has to be late so that transactions of E*(R) have read x and not y: what their sessions ask the server of y, or, if a server asks
    /// for them, what the server of x says to it.
    pub(super) fn late(&self, relayed: bool) -> Held {
        let [px, py] = [0, 1].map(|p| ServerId::new(DcId(0), PartitionId(p)));
        // A server does not ask itself: requests of sessions alone are held.
        if relayed { Held::Siblings(px, py) } else { Held::Asked(py, py) }
    }

    /// Runs E(R), or E*(R) if something is late. `readers` has a bit for each client, set for those in R.
    pub(super) fn run(&self, readers: u32, late: Option<Held>) -> Executed {
        let plan = self.plan(readers, late);
        let times = Times { quiet: READ_US, from: READ_US, until: OTHERS_US, watch_one_of: 1 };
        let meter = Meter::new(times, self.layout.topology.clone(), self.numbers);
        let defaults = self.factory.default_params().into();
        let params = params_of(self.factory, &plan, defaults, &self.what.params).expect("`what` is valid");
        let promise = self.factory.info().promise;
        // A node for each client: it asks each server itself, as in the paper, on a connection of its own.
        let seats = Some(self.what.readers + BESIDE);
        let subject = Subject { factory: self.factory, promise, params, seats, adapts: false };
        let _without = Without::new(&self.what.without);
        let (mut outcome, meter, tape) = Cluster::new(&plan, &self.layout, &subject).run_taped(meter);
        outcome.report = Some(tidemark_check::check(&outcome.history, promise));
        let name = name_of(self.factory.info(), &self.what.without);
        let measured = meter.results(name, promise, outcome.ok());
        Executed { measured, history: outcome.history, tape }
    }

    fn plan(&self, readers: u32, late: Option<Held>) -> Plan {
        let [x, y] = &self.keys;
        let read = |client: usize| {
            let at = if readers >> client & 1 == 1 { READ_US } else { OTHERS_US };
            vec![Step::new(at, Act::Op(Op::Rotx { keys: vec![x.clone(), y.clone()] }))]
        };
        let written = [(x, BEFORE_US[0]), (y, BEFORE_US[1]), (x, WRITE_US[0]), (y, WRITE_US[1])];
        let write = |(n, (key, at)): (usize, (&Key, Micros))| {
            let update = Update::put(Write::Assign(meter::value(n + 1)));
            Step::new(at, Act::Op(Op::Put { key: key.clone(), update }))
        };
        let mut scripts: Vec<Vec<Step>> = (0..self.what.readers).map(read).collect();
        scripts.push(written.into_iter().enumerate().map(write).collect());
        scripts.push(read(self.what.readers + 1));
        Plan {
            seed: 1, // nothing is left to chance
            replicas: 1,
            tick_us: None,
            pools: false,
            typed: false,
            relays: false,
            config: self.config.clone(),
            scripts,
            faults: Vec::new(),
            holds: late.map(|what| Hold { what, at: READ_US, until: LATE_US }).into_iter().collect(),
            edge: Vec::new(),
            end_us: OTHERS_US,
        }
    }

    /// Of what servers said, the communication: to whom is no reader, from t1 until the other clients read, and without the messages
    /// of transactions, if these are `relayed` from server to server.
    pub(super) fn communication(&self, tape: &Tape, relayed: bool) -> Communication {
        let servers = self.layout.topology.partitions;
        // Nodes of clients follow those of servers, in the order of the clients.
        let (reader, writer) = (servers..servers + self.what.readers, servers + self.what.readers);
        let counts = |sent: &&Sent| {
            (READ_US..OTHERS_US).contains(&sent.at_us)
                && usize::from(sent.from.0) < servers
                && !reader.contains(&sent.to.0.into())
                && !(relayed && sent.transaction)
        };
        let counted = tape.0.iter().filter(counts);
        let said: Vec<_> = counted.map(|sent| (sent.from.0, sent.to.0, sent.bytes.clone())).collect();
        let answered = said.iter().rposition(|(_, to, _)| usize::from(*to) == writer);
        Communication { answered: answered.map_or(0, |at| at + 1), said }
    }
}

/// What servers said in one execution: who, to whom, and what, in order.
pub(super) struct Communication {
    pub(super) said: Vec<(u16, u16, Vec<u8>)>,
    /// So many of that until the write of y1 was answered, that reply included.
    pub(super) answered: usize,
}

/// The transactions that began before x1 was written and ended after y1 was.
pub(super) fn old_readers(history: &History) -> Vec<&Event> {
    let writes = |event: &Event| matches!(event.action, Action::Write { .. });
    let last = history.events.iter().find(|event| writes(event) && event.start_us >= Some(WRITE_US[1]));
    let Some(written) = last.and_then(|event| event.end_us) else { return Vec::new() };
    let old =
        |event: &&Event| !writes(event) && event.start_us < Some(WRITE_US[0]) && event.end_us > Some(written);
    history.events.iter().filter(old).collect()
}
