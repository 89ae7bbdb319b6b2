//! Metered runs: nodes tell the meter what passes, and clients look for versions elsewhere.

use super::Cluster;
use super::clients::Role;
use super::tape::Tape;
use crate::meter::{Cause, Meter, Weight, weigh};
use crate::outcome::RunOutcome;
use crate::plan::{Act, Step};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use tidemark_contract::Ticket;
use tidemark_core::{DcId, Micros, Op, Outcome, ServerId};
use tidemark_node::{NodeId, Observer, Passing, SessionId, Way, What};

/// How long a client that looks for a version waits before it looks again.
const LOOK_EVERY_US: Micros = 1_000;

/// How long it looks at all.
const LOOK_FOR_US: Micros = 10_000_000;

/// The meter, as nodes see it.
#[derive(Clone)]
pub(crate) struct Gauge(Arc<Mutex<Reading>>);

struct Reading {
    meter: Meter,
    now: Micros,
    /// The client of each session.
    clients: BTreeMap<(NodeId, SessionId), usize>,
    /// The token of each client, as its last operation has left it.
    tokens: Vec<Weight>,
    /// The causes of messages that are under way, from one server to another: they arrive in the order in which they left.
    under_way: BTreeMap<(ServerId, ServerId), VecDeque<Cause>>,
    /// Watches that somebody is to begin: from where, and which.
    watches: Vec<(ServerId, DcId, usize)>,
    /// What servers say, if somebody wants to read it.
    tape: Option<Tape>,
}

impl std::fmt::Debug for Gauge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gauge")
    }
}

impl Gauge {
    fn new(meter: Meter, tape: Option<Tape>) -> Self {
        Self(Arc::new(Mutex::new(Reading {
            meter,
            now: 0,
            clients: BTreeMap::new(),
            tokens: Vec::new(),
            under_way: BTreeMap::new(),
            watches: Vec::new(),
            tape,
        })))
    }

    fn read(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().expect("one thread plays a schedule")
    }

    /// What the meter says in the end, and the tape. REQUIRES: the nodes that had it are gone.
    fn into_parts(self) -> (Meter, Option<Tape>) {
        let reading = Arc::into_inner(self.0).expect("its nodes are gone");
        let reading = reading.into_inner().expect("one thread plays a schedule");
        (reading.meter, reading.tape)
    }
}

impl Observer for Gauge {
    fn see(&self, passing: Passing<'_>) -> u64 {
        number_of(self.read().see(passing))
    }
}

/// A cause as nodes bear it. 0 is nobody.
fn number_of(cause: Cause) -> u64 {
    match cause {
        Cause::Nobody => 0,
        Cause::Update => 1,
        Cause::Op { number, hops } => 2 + (u64::from(hops) << 32 | u64::from(number)),
    }
}

fn cause_of(number: u64) -> Cause {
    match number.checked_sub(2) {
        None if number == 0 => Cause::Nobody,
        None => Cause::Update,
        Some(op) => Cause::Op { number: op as u32, hops: (op >> 32) as u32 },
    }
}

impl Reading {
    fn client(&self, ticket: Ticket) -> Option<usize> {
        self.clients.get(&(NodeId(ticket.node), SessionId::of(ticket))).copied()
    }

    /// Notes what leaves on behalf of `cause`, if there is a tape.
    fn tape(&mut self, passing: &Passing<'_>, cause: Cause) {
        if let Some(tape) = self.tape.as_mut().filter(|_| passing.way == Way::Out) {
            let transaction = self.meter.is_transaction(cause);
            tape.add(self.now, (passing.at, passing.peer), transaction, passing.what);
        }
    }

    fn see(&mut self, passing: Passing<'_>) -> Cause {
        let Passing { at, way, cause, what, .. } = passing;
        let (now, because) = (self.now, cause_of(cause));
        match what {
            What::Request { ticket, content, .. } => {
                let Some(client) = self.client(ticket) else { return Cause::Nobody };
                if way != Way::In {
                    self.meter.ask(client, ticket.ask, weigh(content));
                }
                if way != Way::Out {
                    return self.meter.question(client, ticket.ask, now);
                }
            }
            What::Reply { ticket, content } => {
                self.tape(&passing, because);
                let Some(client) = self.client(ticket) else { return Cause::Nobody };
                if way != Way::In {
                    self.meter.answer(client, ticket.ask, because, now);
                }
                if let Some(content) = content.filter(|_| way != Way::Out) {
                    self.meter.reply(client, ticket.ask, weigh(content));
                }
            }
            What::Message { from, to, content } => {
                let under_way = self.under_way.entry((from, to)).or_default();
                if way != Way::Out {
                    let cause = under_way.pop_front().expect("it has left before it arrives");
                    self.meter.arrives(cause, now);
                    return cause;
                }
                let follows = self.meter.message((from, to), content, because, now);
                under_way.push_back(follows);
                self.tape(&passing, follows);
            }
            What::Record { from, to, key, stamp, content } => {
                self.tape(&passing, because);
                if way != Way::Out {
                    self.meter.received(to, key, stamp);
                    return Cause::Update;
                }
                let watch = self.meter.record((from, to.dc), (key, stamp), &weigh(content), now);
                self.watches.extend(watch.map(|watch| (from, to.dc, watch)));
            }
            What::Beat { content, heartbeat } => {
                self.tape(&passing, because);
                if way == Way::Out && heartbeat {
                    self.meter.heartbeat(&weigh(content), now);
                }
            }
            What::Token { session, content } => {
                if let Some(client) = self.clients.get(&(at, session)) {
                    self.tokens.resize_with((client + 1).max(self.tokens.len()), Weight::default);
                    self.tokens[*client] = weigh(content);
                }
            }
            What::Raft { .. } | What::Timers => {}
        }
        Cause::Nobody
    }
}

impl Cluster<'_> {
    /// Runs to the end, and measures.
    pub(crate) fn run_metered(self, meter: Meter) -> (RunOutcome, Meter) {
        let (outcome, meter, _) = self.run_observed(meter, None);
        (outcome, meter)
    }

    /// Runs to the end, measures, and writes down what servers say.
    pub(crate) fn run_taped(self, meter: Meter) -> (RunOutcome, Meter, Tape) {
        let (outcome, meter, tape) = self.run_observed(meter, Some(Tape::default()));
        (outcome, meter, tape.unwrap_or_default())
    }

    fn run_observed(mut self, meter: Meter, tape: Option<Tape>) -> (RunOutcome, Meter, Option<Tape>) {
        let gauge = Gauge::new(meter, tape);
        self.gauge = Some(gauge.clone());
        let (outcome, _) = self.run();
        let (meter, tape) = gauge.into_parts();
        (outcome, meter, tape)
    }

    /// Who is told what passes at nodes, if anybody measures that.
    pub(super) fn observer(&self) -> Option<Arc<dyn Observer>> {
        let gauge = self.gauge.iter().map(|gauge| Arc::new(gauge.clone()) as Arc<dyn Observer>);
        let till = self.load.iter().map(|load| Arc::new(load.till.clone()) as Arc<dyn Observer>);
        gauge.chain(till).next()
    }

    /// Time has passed, for the meter too.
    pub(super) fn meter_time(&mut self) {
        if let Some(gauge) = &self.gauge {
            gauge.read().now = self.now;
        }
    }

    /// A client begins an operation, over a session of a node.
    pub(super) fn meter_begin(&mut self, number: usize, at: usize, session: SessionId, op: &Op) {
        let (dc, role) = (self.clients[number].dc, self.clients[number].role);
        if let (Some(gauge), Role::Worker | Role::Looker) = (&self.gauge, role) {
            let mut reading = gauge.read();
            reading.clients.insert((NodeId(at as u16), session), number);
            reading.meter.begin(number, dc, op, self.now);
        }
    }

    /// An operation ends.
    pub(super) fn meter_end(&mut self, number: usize, outcome: &Outcome) {
        if let Some(gauge) = &self.gauge {
            let mut reading = gauge.read();
            let token = reading.tokens.get_mut(number).map(std::mem::take).unwrap_or_default();
            reading.meter.end(number, outcome, token, self.now);
        }
    }

    /// Versions have left for other regions that somebody is to look for there.
    pub(super) fn begin_watches(&mut self) {
        let Some(gauge) = &self.gauge else { return };
        let watches = std::mem::take(&mut gauge.read().watches);
        for (from, to, watch) in watches {
            let least = self.plan.config.wan_us[from.dc.index() * self.layout.topology.dcs + to.index()];
            self.look(watch, self.now + least);
        }
    }

    /// A new session that looks for a version from `at` on.
    fn look(&mut self, watch: usize, at: Micros) {
        let client = self.clients.len();
        let Some(gauge) = &self.gauge else { return };
        let (key, dc) = gauge.read().meter.watch(watch, client);
        let step = Step::new(at, Act::Op(Op::Get { key }));
        self.add_client(dc.index(), Cow::Owned(vec![step]), Role::Looker);
    }

    /// A session that looks has looked, beginning at `began`.
    pub(super) fn looked(&mut self, number: usize, outcome: &Outcome, began: Micros) {
        let again = self.gauge.as_ref().and_then(|gauge| gauge.read().meter.looked(number, outcome, began));
        if let Some(watch) = again
            && self.now < self.plan.end_us + LOOK_FOR_US
        {
            self.look(watch, self.now.max(began + LOOK_EVERY_US));
        }
        self.close_client(number);
        self.advance(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_bear_every_cause() {
        let op = |number, hops| Cause::Op { number, hops };
        for cause in [Cause::Nobody, Cause::Update, op(0, 0), op(7, 3), op(u32::MAX, 9)] {
            assert_eq!(cause_of(number_of(cause)), cause);
        }
    }
}
