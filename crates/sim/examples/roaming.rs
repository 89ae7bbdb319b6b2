//! Roaming: a session keeps its guarantees when it moves to another data centre.
//!
//! **Idea.** Whoever stays in one data centre reads its own writes and never goes back, key by key, under any protocol
//! that keeps the newest version: each key has one server there. Who moves brings the time of the newest version that
//! it has seen of each data centre, and waits, once, until every server of its new data centre has received as much.
//!
//! **Source.** This example; the idea is the version vectors of Bayou's session guarantees (Terry et al., PDIS 1994).
//!
//! **Names.** `vv` what a server has received, one time a data centre (its own entry is its clock) · `past` what a
//! session has seen, likewise · Δ [`Params::delta_us`].
//!
//! **Invariants**
//! - I1 A server has received everything that was written at its peer in data centre `i` up to `vv[i]`.
//! - I2 `vv[m]` is at or above the time of every version stored here, so a write wins over all it could replace.
//! - I3 What is written here is above every heartbeat that was sent from here, also before a crash.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{DcId, Found, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Update, Vector};
use tidemark_contract::cx::found_of;
use tidemark_contract::protocol::Received;
use tidemark_contract::session::not_covered;
use tidemark_contract::{
    AskId, Ceiling, Cx, Draft, Hard, Info, Protocol, Recovered, Rule, Session, SessionCx, Status, Ticket,
    Token, Version, Waiters, Walk,
};

tidemark_contract::rules! {
    MOVES_WAIT, // a session that moves waits
    READS_COUNT, // what a session has read is part of its past, not only what it wrote
    CEILING_HOLDS, // I3
}

/// The numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Δ: how often a server tells its peers how far its clock is.
    pub delta_us: Micros,
    /// How long a session that moves waits.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { delta_us: 1_000, wait_limit_us: 2_000_000 }
    }
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// The newest version.
    Get(Key),
    /// An update.
    Put(Key, Update),
    /// A scan or a count.
    Walk(Walk),
    /// Answer when you have received all that this past names.
    Cover(Vector),
}

/// An outcome, and what the session has seen by it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply(Outcome, Vector);

/// Servers say nothing to each other but versions and heartbeats.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Peer {}

/// There is one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delta;

/// A server.
pub struct Roaming {
    vv: Vector,
    /// Sessions that have moved here.
    arrivals: Waiters<Vector, Ticket>,
    ceiling: Ceiling,
}

const ABOUT: &str = "session guarantees for sessions that move; last writer wins";

impl Protocol for Roaming {
    const INFO: Info = Info::new("roaming", ABOUT, Promise::Session).newest_only().rules(RULES);

    type Meta = ();
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Delta;
    type View = ();
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let mut vv = received;
        vv.raise(cx.me.dc, vv.max()); // I2
        if CEILING_HOLDS.kept() {
            vv.raise(cx.me.dc, hard.ceiling); // I3
        }
        cx.arm(Delta, cx.params.delta_us);
        Self { vv, arrivals: Waiters::default(), ceiling: Ceiling::new(hard) }
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        let mut seen = Vector::default();
        let outcome = match request {
            Request::Get(key) => {
                let version = cx.latest(&key, &());
                version.into_iter().for_each(|version| see(&mut seen, version));
                Outcome::Found(found_of(version))
            }
            Request::Put(key, update) => {
                let (outcome, written) = self.put(&key, update, cx);
                seen = written;
                outcome
            }
            Request::Walk(walk) => cx.walk(&walk, &(), |version| see(&mut seen, version)),
            Request::Cover(mut past) => {
                past[cx.me.dc] = Hlc::ZERO; // what was written here is here
                self.arrivals.park(past, cx.mono + cx.params.wait_limit_us, ticket);
                return self.welcome(cx);
            }
        };
        cx.reply(ticket, Reply(outcome, seen));
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, ()>, cx: &mut Cx<'_, Self>) {
        let m = cx.me.dc;
        for (_, version) in item.versions {
            self.vv[m] = self.vv[m].observe(cx.now, version.stamp.ts); // I2
        }
        self.vv.raise(from.dc, item.upto); // I1: the feed is in order
        self.welcome(cx);
    }

    fn on_timer(&mut self, Delta: Delta, cx: &mut Cx<'_, Self>) {
        cx.arm(Delta, cx.params.delta_us);
        let ts = self.vv[cx.me.dc].tick(cx.now);
        self.advance(ts, cx);
        cx.heartbeat(ts);
        for ticket in self.arrivals.expire(cx.mono) {
            cx.reply(ticket, Reply(Outcome::Failed(not_covered()), Vector::default()));
        }
    }

    fn visible((): &(), _: Stamp, (): &()) -> bool {
        true
    }

    fn status(&self) -> Status {
        Status::new(self.vv.clone(), self.arrivals.len())
    }
}

impl Roaming {
    fn put(&mut self, key: &Key, update: Update, cx: &mut Cx<'_, Self>) -> (Outcome, Vector) {
        cx.update(key, update, &(), Vector::default(), see, |seen, cx| {
            let stamp = cx.stamp_above(self.vv[cx.me.dc], Hlc::ZERO)?;
            self.advance(stamp.ts, cx);
            seen.include(stamp);
            Ok(Draft::new(stamp, ()))
        })
    }

    /// Moves the clock to a time that peers will be told, below a durable ceiling (I3).
    fn advance(&mut self, ts: Hlc, cx: &mut Cx<'_, Self>) {
        self.vv[cx.me.dc] = ts;
        self.ceiling.renew(ts, Vector::default, cx);
    }

    /// Answers the sessions that have waited long enough.
    fn welcome(&mut self, cx: &mut Cx<'_, Self>) {
        for ticket in self.arrivals.wake(&self.vv) {
            cx.reply(ticket, Reply(Outcome::Adopted, Vector::default()));
        }
    }
}

/// What a session comes to depend on that reads `version`.
fn see(seen: &mut Vector, version: &Version<()>) {
    seen.include(version.stamp);
}

/// A session.
pub struct Client {
    home: DcId,
    past: Vector,
    /// A multi-read is several reads: what each has found.
    parts: Vec<(AskId, Option<Found>)>,
    /// How many servers have not said yet that they cover the past.
    uncovered: usize,
}

impl Session<Roaming> for Client {
    type Token = Token<Vector>;

    fn open(home: DcId) -> Self {
        Self { home, past: Vector::default(), parts: Vec::new(), uncovered: 0 }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Roaming>) {
        self.parts.clear(); // the operation before may have ended without all of its answers
        let Some(owner) = cx.begin(&op) else { return };
        let request = match op {
            Op::Get { key } => Request::Get(key),
            Op::Put { key, update } => Request::Put(key, update),
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                let ask = |key: Key| (cx.ask_owner(&key.clone(), Request::Get(key)), None);
                self.parts = keys.into_iter().map(ask).collect();
                return;
            }
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(owner, request);
    }

    fn on_reply(
        &mut self,
        ask: AskId,
        _: ServerId,
        Reply(outcome, seen): Reply,
        cx: &mut SessionCx<'_, Roaming>,
    ) {
        if READS_COUNT.kept() || matches!(outcome, Outcome::Written { .. }) {
            self.past.merge(&seen);
        }
        match outcome {
            Outcome::Found(found) if !self.parts.is_empty() => self.part(ask, found, cx),
            Outcome::Adopted => {
                self.uncovered -= 1;
                if self.uncovered == 0 {
                    cx.done(Outcome::Adopted);
                }
            }
            outcome => cx.done(outcome),
        }
    }

    fn token(&self) -> Token<Vector> {
        Token { home: self.home, past: self.past.clone() }
    }

    fn adopt(&mut self, Token { home, past }: Token<Vector>, cx: &mut SessionCx<'_, Roaming>) {
        self.past.merge(&past);
        if home == cx.dc || !MOVES_WAIT.kept() {
            return cx.done(Outcome::Adopted);
        }
        self.uncovered = cx.topology.partitions;
        for partition in cx.topology.all_partitions() {
            cx.ask_partition(partition, Request::Cover(past.clone()));
        }
    }
}

impl Client {
    /// Takes a part of a multi-read; all of them together are its outcome.
    fn part(&mut self, ask: AskId, found: Found, cx: &mut SessionCx<'_, Roaming>) {
        self.parts.iter_mut().filter(|(id, _)| *id == ask).for_each(|(_, part)| *part = Some(found.clone()));
        if self.parts.iter().all(|(_, part)| part.is_some()) {
            let parts = std::mem::take(&mut self.parts);
            cx.done(Outcome::FoundAll(parts.into_iter().filter_map(|(_, part)| part).collect()));
        }
    }
}

/// Searches schedules of a few actors for a mistake, under every fault.
fn search(without: &[Rule], seeds: u64) -> tidemark_sim::Summary {
    let options = tidemark_sim::Options {
        dcs: 2,
        partitions: 2,
        sessions: 4,
        ops: 40,
        without: without.to_vec(),
        ..Default::default()
    };
    tidemark_sim::campaign(
        tidemark_node::factory_of::<Roaming>(),
        &tidemark_sim::Campaign::new(options, 0..seeds),
        |_| (),
    )
}

fn main() {
    let summary = search(&[], 2_000);
    summary.counterexamples.iter().for_each(|counterexample| println!("{counterexample}"));
    println!("{} schedules, {} violations", summary.schedules, summary.violations);
    let measured =
        tidemark_sim::measure(tidemark_node::factory_of::<Roaming>(), &tidemark_sim::Measurement::default());
    println!("{}", serde_json::to_string_pretty(&measured).expect("numbers and words"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_contract::Lab;
    use tidemark_contract::lab::server;

    #[test]
    fn a_session_that_moves_waits_for_what_it_has_seen_and_for_nothing_else() {
        let mut lab = Lab::<Roaming>::new(2, 2, Params::default());
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        let (ann, other) = (lab.client(0), lab.client(0));
        lab.put(ann, &x, "1");
        lab.set_clocks(2_000);
        lab.put(other, &y, "not seen by Ann");
        let there = lab.client(1);
        lab.adopt(there, lab.token(ann));
        assert_eq!(lab.outcome(there), None, "B has nothing yet");
        lab.deliver_between(0, 1);
        assert_eq!(lab.outcome(there), Some(Outcome::Adopted), "A/1 wrote above Ann's past: B/1 has it all");
        assert_eq!(lab.get(there, &x), "1");
    }

    #[test]
    fn i3_nothing_is_written_at_or_below_a_heartbeat_that_was_sent_before_a_crash() {
        let mut lab = Lab::<Roaming>::new(2, 1, Params::default());
        let (k, s) = (lab.key("k", 0), lab.client(0));
        lab.set_clocks(50_000);
        lab.fire(server(0, 0), Delta);
        lab.deliver_between(0, 1);
        lab.set_clock(server(0, 0), 1_000);
        lab.restart(server(0, 0));
        assert!(lab.put(s, &k, "late") > Hlc::at(50_000));
    }

    #[test]
    fn it_keeps_its_promise_under_all_faults() {
        let summary = search(&[], 1_000);
        let told: Vec<String> = summary.counterexamples.iter().map(ToString::to_string).collect();
        assert!(summary.violations == 0, "{}", told.join("\n"));
    }

    /// A rule that can be broken without being missed is no rule, or the search is blind. The ceiling's takes a clock
    /// that falls back across a restart: for that there is the test by hand.
    #[test]
    fn without_a_rule_it_is_convicted() {
        assert!(search(&[MOVES_WAIT], 2_000).violations > 0);
        assert!(search(&[READS_COUNT], 5_000).violations > 0);
    }
}
