//! A session of COPS-GT: its context, and `get_trans` (T1 to T4).

use super::{CopsGt, Got, LISTS_ALL, MINDS_FLOORS, MOST_DEPS, Reply, Request, SECOND_ROUND};
use tidemark_contract::causes::Causes;
use tidemark_contract::prelude::*;
use tidemark_contract::two_rounds::{Round, TwoRounds};
use tidemark_contract::{Deps, Past};

/// What a session depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The latest time in its past.
    pub clock: Hlc,
    /// What was read since the last put, and that put.
    pub near: Deps,
    /// All of it.
    pub past: Causes,
}

impl Context {
    /// Adds a version that was read or written.
    pub(super) fn include(&mut self, at: PartitionId, key: &Key, stamp: Stamp, past: &Causes) {
        self.clock = self.clock.max(stamp.ts);
        self.near.include(at, stamp);
        self.past.merge(past);
        self.past.include(key, stamp);
    }

    pub(super) fn settle(&mut self, stable: &Vector, most: usize) {
        self.past.settle(stable);
        self.near.retain(|dep| !stable.covers(dep.stamp));
        self.near.bound(most);
    }
}

impl Past for Context {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        self.clock = self.clock.max(other.clock);
        self.near.merge(&other.near);
        self.past.merge(&other.past);
    }

    fn shorten(&mut self) {
        self.near.shorten();
    }

    fn reach(&self, home: DcId) -> Reach {
        let mut reach = self.near.reach_with(home, self.clock.max(self.past.floor().max()));
        reach.dcs = reach.dcs.max(self.past.floor().entries().len());
        self.past.list().iter().for_each(|(_, stamp)| reach.include(*stamp));
        reach
    }

    fn coverer(&self) -> PartitionId {
        self.near.holder()
    }
}

/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// What it has been told is stable.
    stable: Vector,
    /// `get_trans` that runs, or a get. What was found comes with up to where everything was applied there.
    trans: TwoRounds<Got, Vector>,
    /// All up to here was applied everywhere before it began.
    known: Vector,
}

impl Client {
    /// T1.
    fn begin_trans(&mut self, cx: &mut SessionCx<'_, CopsGt>) {
        self.known.merge(&self.stable);
        self.trans.begin(Request::Read, cx);
    }

    /// T2 and T3: which version of each key belongs to what was found of the others?
    fn second_round(&mut self, first: Vec<(Got, Vector)>, cx: &mut SessionCx<'_, CopsGt>) {
        let keys = self.trans.keys();
        let owner = |key: &Key| cx.topology.partition_of(key);
        let mut joint = Causes::default();
        first.iter().for_each(|(got, _)| joint.merge(&got.past));
        // What was read where all up to its floors was applied cannot be older than anything that a list lacks (I4).
        let applied = |at: &Vector| {
            let mut applied = at.clone();
            applied.merge(&self.known);
            applied
        };
        let at_once = keys.iter().all(|key| owner(key) == owner(&keys[0]));
        if MINDS_FLOORS.kept() && !at_once && first.iter().any(|(_, at)| !joint.floor().le(&applied(at))) {
            self.known.merge(joint.floor()); // D7
            return self.begin_trans(cx);
        }
        let ccv = |place: usize| joint.newest(&keys[place]); // T2
        let behind = |place: &usize| {
            let (got, at) = &first[*place];
            let missed = |ccv: Stamp| got.found.stamp < Some(ccv) && !applied(at).covers(ccv);
            SECOND_ROUND.kept() && !at_once && ccv(*place).is_some_and(missed)
        };
        let wanted = (0..keys.len()).filter(behind).collect();
        let exactly = |key: Key| joint.newest(&key).map(|stamp| (key, stamp));
        let request = |keys: Vec<Key>| Request::Versions(keys.into_iter().filter_map(exactly).collect());
        if !self.trans.second(first, wanted, request, cx) {
            self.end_trans(cx);
        } // T3
    }

    /// T4.
    fn end_trans(&mut self, cx: &mut SessionCx<'_, CopsGt>) {
        let (context, topology) = (&mut self.token.past, cx.topology);
        let include = |key: &Key, Got { found, past }: Got| {
            let past = if LISTS_ALL.kept() { past } else { Causes::default() };
            let include = |stamp| context.include(topology.partition_of(key), key, stamp, &past);
            found.stamp.into_iter().for_each(include);
            found
        };
        self.trans.end(include, cx);
        self.token.past.settle(&self.stable, MOST_DEPS);
    }
}

impl Session<CopsGt> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, stable: Vector::default(), trans: TwoRounds::default(), known: Vector::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, CopsGt>) {
        let Some(server) = cx.begin(&op) else { return };
        let request = match op {
            Op::Get { .. } | Op::Rotx { .. } | Op::Snapshot { .. } => {
                (self.trans, self.known) = (TwoRounds::of(op), Vector::default());
                return self.begin_trans(cx); // 1
            }
            Op::Put { key, update } => Request::Put(key, update, self.token.past.clone()), // 2
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, _: ServerId, reply: Reply, cx: &mut SessionCx<'_, CopsGt>) {
        match reply {
            Reply::Done(outcome, seen, stable) => {
                self.stable.merge(&stable);
                let past = &mut self.token.past;
                if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
                    past.near = Deps::default(); // 2
                }
                past.merge(&seen);
                past.settle(&self.stable, MOST_DEPS);
                cx.done(outcome);
            }
            Reply::Slice(got, applied, stable) => {
                self.stable.merge(&stable);
                match self.trans.heard(ask, got, &applied) {
                    Some(Round::First(first)) => self.second_round(first, cx),
                    Some(Round::Second) => self.end_trans(cx),
                    None => {}
                }
            }
            Reply::TooOld if self.trans.refused(ask) => self.begin_trans(cx), // D7
            Reply::TooOld => {}
        }
    }

    fn token(&self) -> Token<Context> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past }: Token<Context>, cx: &mut SessionCx<'_, CopsGt>) {
        if home == self.token.home {
            self.token.past.merge(&past);
            return cx.done(Outcome::Adopted);
        }
        cx.ask_partition(past.coverer(), Request::Cover(past)); // D6
    }
}
