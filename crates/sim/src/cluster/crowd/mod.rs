//! A run with a [crowd](crate::crowd) of edge clients: the store is filled, clients come, and what they see is measured.
//!
//! A connection keeps the order of frames in each direction, and loses what is under way when it breaks.

mod compare;
mod gateway;
mod lines;
mod loading;
mod server_only;
mod user;

use super::process::Worked;
use super::{Cluster, Event, Stage};
use crate::crowd::{Crowd, Meter, Sample, Stored, Used, Watched};
use crate::outcome::ProblemKind;
use crate::rng::{Rng, Stream, mix, stream};
use compare::Comparison;
use gateway::{Place, Purpose};
use lines::Line;
use loading::Loading;
use std::sync::Arc;
use tidemark_core::{Failure, Micros, Outcome};
use tidemark_edge::client::Event as Heard;
use tidemark_edge::gateway::{Answer, AskId, ConnectionId};
use tidemark_node::SessionId;
use tidemark_workload::KeySpace;
use user::User;

/// When somebody first looks whether the store can be filled, and how long to wait for nodes that do not reach each other yet.
const FILL_AT_US: Micros = 20_000;
const AGAIN_US: Micros = 50_000;
/// If nodes do not reach each other by then, they never will.
const GIVE_UP_US: Micros = 600_000_000;
/// How much longer than the longest round trip what was written has to get into bases.
const SETTLE_US: Micros = 1_000_000;
/// Clients come within this time.
const SPREAD_US: Micros = 2_000_000;

/// When clients come again whom their data centre has turned away after it was down.
const COME_AGAIN_US: Micros = 3_000_000;

/// What the run goes on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The store is filled.
    Fill,
    /// Clients come.
    Come,
    /// What counts begins.
    Count,
    /// All clients are replaced.
    Churn,
    /// A data centre fails.
    Fails,
    /// It returns.
    Returns,
    /// Its clients go back to it.
    GoBack,
    /// It is over.
    End,
}

/// Something that happens to a crowd.
pub(super) enum Happening {
    Phase(Phase),
    /// One of the writes that fill the store is done.
    Loaded,
    /// A node is asked for what a client has read.
    Compares(usize, Box<Comparison>),
    /// A client comes.
    Comes(usize),
    /// Its next transaction is due.
    Due(usize),
    /// What a client's own clock was set for.
    Timer(usize, Micros),
    /// An attempt of a client to connect has an end.
    Connects(usize, u64),
    /// A frame arrives at a gateway, or at a client.
    Up(ConnectionId, Vec<u8>),
    Down(ConnectionId, Vec<u8>),
    /// An end of a connection hears that the other one is gone: 0 is the client's.
    Gone(ConnectionId, usize),
    /// A gateway looks for new bases.
    Period(usize, u64),
    /// A gateway has an answer.
    Answered(usize, u64, AskId, Box<Answer>),
    /// An operation of a client without a cache arrives at its node.
    Asks(usize, u64, usize),
    /// Its outcome arrives at the client.
    Hears(usize, u64, bool),
}

/// Everything of a crowd.
pub(super) struct World<'a> {
    what: &'a Crowd,
    keys: Arc<KeySpace>,
    rng: Rng,
    meter: Meter,
    loading: Loading,
    /// When the clients began to come.
    began: Micros,
    users: Vec<User>,
    /// The number of the first of those that work now; those before are gone.
    first: usize,
    /// By process.
    places: Vec<Option<Place>>,
    lines: Vec<Line>,
    draws: u64,
    /// How often sockets of clients were read, and written to.
    sockets: (u64, u64),
}

impl<'a> Cluster<'a> {
    /// Plays a crowd, from the first write to the end of what counts.
    pub(crate) fn run_crowd(mut self, what: &'a Crowd, keys: Arc<KeySpace>) -> Result<Watched, String> {
        self.queue.grow();
        self.crowd = Some(Box::new(World {
            what,
            rng: stream(what.seed, Stream::Edge),
            meter: Meter::new(what),
            loading: Loading::new(what, &keys),
            keys,
            began: 0,
            users: Vec::new(),
            first: 0,
            places: (0..self.processes.len()).map(|_| None).collect(),
            lines: Vec::new(),
            draws: 0,
            sockets: (0, 0),
        }));
        self.crowd_later(FILL_AT_US, Happening::Phase(Phase::Fill));
        while self.stage != Stage::Over {
            let Some((at, event)) = self.queue.pop() else { break };
            self.now = at;
            self.stats.events += 1;
            self.handle(event);
        }
        if let Some(problem) = self.problems.first() {
            return Err(problem.text.clone());
        }
        let world = self.crowd.take().expect("it is there until the end");
        Ok(Watched::new(world.meter, what))
    }
}

impl Cluster<'_> {
    pub(super) fn crowd_later(&mut self, after: Micros, what: Happening) {
        self.queue.push(self.now + after, Event::Crowd(Box::new(what)));
    }

    /// A number below `below` that depends on nothing that happens.
    fn crowd_draw(&mut self, below: u64) -> u64 {
        let seed = self.plan.seed;
        let Some(world) = &mut self.crowd else { return 0 };
        world.draws += 1;
        mix(seed ^ 0xc2_0d, world.draws) % below.max(1)
    }

    pub(super) fn crowd_happens(&mut self, what: Happening) {
        match what {
            Happening::Phase(phase) => self.crowd_phase(phase),
            Happening::Loaded => self.crowd_loads_on(),
            Happening::Compares(process, comparison) => self.asks_for_comparison(process, comparison),
            Happening::Comes(number) => self.user_comes(number),
            Happening::Due(number) => self.user_is_due(number),
            Happening::Timer(number, at) => {
                let Some(world) = &mut self.crowd else { return };
                let user = &mut world.users[number];
                if user.wake == Some(at) {
                    user.wake = None;
                    self.user_hears(number, Heard::Timer);
                }
            }
            Happening::Connects(number, connection) => self.user_connects(number, connection),
            Happening::Up(line, frame) => self.frame_at_gateway(line, &frame),
            Happening::Down(line, frame) => self.frame_at_user(line, frame),
            Happening::Gone(line, end) => self.line_is_gone(line, end),
            Happening::Period(process, boots) => self.gateway_period(process, boots),
            Happening::Answered(process, boots, ask, answer) => {
                self.gateway_answered(process, boots, ask, *answer);
            }
            Happening::Asks(number, transaction, at) => self.node_is_asked(number, transaction, at),
            Happening::Hears(number, transaction, ok) => self.user_is_answered(number, transaction, ok),
        }
    }

    fn crowd_phase(&mut self, phase: Phase) {
        match phase {
            Phase::Fill => match self.not_up() {
                Some(what) if self.now > GIVE_UP_US => {
                    self.problem(ProblemKind::Link, format!("the cluster does not come up: {what}"));
                    self.stage = Stage::Over;
                }
                Some(_) => self.crowd_later(AGAIN_US, Happening::Phase(Phase::Fill)),
                None => self.crowd_loads(),
            },
            Phase::Come => self.crowd_comes(),
            Phase::Count => self.crowd_notes_work(0),
            Phase::Churn => self.crowd_churns(),
            Phase::Fails => self.crowd_dc_fails(),
            Phase::Returns => self.crowd_dc_returns(),
            Phase::GoBack => self.crowd_goes_back(),
            Phase::End => {
                self.crowd_notes_work(1);
                self.crowd_sample();
                self.stage = Stage::Over;
            }
        }
    }

    /// Everything is filled.
    fn crowd_filled(&mut self) {
        let far = 4 * self.plan.config.farthest_us();
        self.crowd_later(far + SETTLE_US, Happening::Phase(Phase::Come));
    }

    fn crowd_comes(&mut self) {
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let what = world.what;
        world.began = now;
        let from = now + what.warm_up_us;
        world.meter.counted = from..from + what.measure_us;
        let end = world.meter.counted.end;
        self.crowd_adds();
        self.crowd_later(what.warm_up_us, Happening::Phase(Phase::Count));
        self.crowd_later(end - now, Happening::Phase(Phase::End));
        if let Some(work) = what.work {
            self.processes.iter_mut().for_each(|process| process.worked = Some(Worked::by(work.clock)));
        }
        if let Some(every) = what.churn_us {
            self.crowd_later(every, Happening::Phase(Phase::Churn));
        }
        if let Some(down) = what.down {
            self.crowd_later(down.from_us, Happening::Phase(Phase::Fails));
            self.crowd_later(down.until_us, Happening::Phase(Phase::Returns));
            self.crowd_later(down.back_us, Happening::Phase(Phase::GoBack));
        }
    }

    /// New clients, who come in the next moments.
    fn crowd_adds(&mut self) {
        let Some(world) = &mut self.crowd else { return };
        let what = world.what;
        world.first = world.users.len();
        let spread = SPREAD_US.min(what.churn_us.unwrap_or(SPREAD_US) / 4);
        for n in 0..what.clients {
            let Some(world) = &mut self.crowd else { return };
            let number = world.first + n;
            let after = world.rng.u64(0..=spread);
            let user = self.user_new(number, n);
            if let Some(world) = &mut self.crowd {
                world.users.push(user);
            }
            self.crowd_later(after, Happening::Comes(number));
        }
    }

    /// All clients go for good, without a word, and others come.
    fn crowd_churns(&mut self) {
        self.crowd_sample();
        let Some(world) = &self.crowd else { return };
        let every = world.what.churn_us.unwrap_or(Micros::MAX);
        for number in world.first..world.users.len() {
            self.user_goes(number);
        }
        self.crowd_adds();
        self.crowd_later(every, Happening::Phase(Phase::Churn));
    }

    /// Notes what a real processor has worked so far.
    fn crowd_notes_work(&mut self, at: usize) {
        let nodes = self.processes.iter().filter_map(|process| process.worked).map(|worked| worked.all).sum();
        let Some(world) = &mut self.crowd else { return };
        let gateways =
            world.places.iter().flatten().filter_map(|place| place.worked).map(|worked| worked.all).sum();
        let (reads, writes) = world.sockets;
        world.meter.work[at] = Used { nodes, gateways, reads, writes };
    }

    /// Notes what the first data centre stores.
    fn crowd_sample(&mut self) {
        let mut all = Stored::default();
        let here: Vec<usize> = (0..self.servers).filter(|at| self.processes[*at].dc.index() == 0).collect();
        for at in here {
            let Some(status) = self.input(at, |node, now| node.status(now)) else { continue };
            for partition in &status.host.partitions {
                all.keys += partition.keys;
                all.versions += partition.versions;
                all.bytes += partition.bytes;
            }
        }
        let now = self.now;
        let Some(world) = &mut self.crowd else { return };
        let meter = &mut world.meter;
        let (committers, bloated) = (meter.committers(), meter.bloated());
        meter.samples.push(Sample {
            at_us: now - world.began,
            gone: world.first,
            committers,
            keys: all.keys,
            versions: all.versions,
            bytes: all.bytes,
            filled: meter.filled,
            grown: meter.grown,
            bloated,
        });
    }

    fn crowd_down(&self) -> Option<usize> {
        Some(self.crowd.as_ref()?.what.down?.dc)
    }

    fn crowd_dc_fails(&mut self) {
        let Some(dc) = self.crowd_down() else { return };
        let there: Vec<usize> = (0..self.servers).filter(|at| self.processes[*at].dc.index() == dc).collect();
        for at in there {
            self.processes[at].kept_down += 1;
            self.crash(at, false);
        }
    }

    /// It is back.
    fn crowd_dc_returns(&mut self) {
        let Some(dc) = self.crowd_down() else { return };
        let there: Vec<usize> = (0..self.servers).filter(|at| self.processes[*at].dc.index() == dc).collect();
        for at in there {
            self.processes[at].kept_down -= 1;
            self.boot(at);
        }
    }

    /// Clients of the data centre that was down go back to it. It may still be behind, and turn some away: these come again.
    fn crowd_goes_back(&mut self) {
        let Some(dc) = self.crowd_down() else { return };
        let Some(world) = &self.crowd else { return };
        let its = |number: &usize| world.users[*number].dc == dc;
        let users: Vec<usize> = (world.first..world.users.len()).filter(its).collect();
        users.into_iter().for_each(|number| self.user_returns(number));
        self.crowd_later(COME_AGAIN_US, Happening::Phase(Phase::GoBack));
    }

    /// A process has started.
    pub(super) fn crowd_boots(&mut self, process: usize) {
        self.gateway_boots(process);
    }

    /// A process has ended: connections to it are reset.
    pub(super) fn crowd_process_ends(&mut self, process: usize) {
        let Some(world) = &mut self.crowd else { return };
        world.places[process] = None;
        let lost = |line: &&mut Line| line.process == process && line.open[1];
        let mut open = Vec::new();
        for line in world.lines.iter_mut().filter(lost) {
            line.open[1] = false;
            open.push(line.number);
        }
        for line in open {
            let delay = self.line_delay(line);
            self.crowd_later(delay, Happening::Gone(line, 0));
        }
    }

    /// What was asked has an outcome, which may leave.
    pub(super) fn crowd_hears(&mut self, process: usize, session: SessionId, id: AskId, outcome: Outcome) {
        let Some(world) = &mut self.crowd else { return };
        let Some(place) = &mut world.places[process] else { return };
        let Some(purpose) = place.asked.remove(&id) else { return };
        self.processes[process].users.set(session, None);
        place.idle.push(session);
        self.crowd_tells(process, id, purpose, outcome);
    }

    fn crowd_tells(&mut self, process: usize, id: AskId, purpose: Purpose, outcome: Outcome) {
        match purpose {
            Purpose::Gateway(ask) => self.gateway_hears(process, id, &ask, outcome),
            Purpose::Load => self.crowd_loaded(&outcome),
            Purpose::User(number, transaction) => self.node_answers(number, transaction, &outcome),
            Purpose::Compare(comparison) => self.compared(process, *comparison, outcome),
        }
    }

    /// The session of a question has ended: there is no answer.
    pub(super) fn crowd_ended(&mut self, process: usize, id: AskId) {
        let Some(world) = &mut self.crowd else { return };
        let Some(place) = &mut world.places[process] else { return };
        let Some(purpose) = place.asked.remove(&id) else { return };
        let failed = Outcome::Failed(Failure::Unavailable("the session has ended".into()));
        self.crowd_tells(process, id, purpose, failed);
    }
}
