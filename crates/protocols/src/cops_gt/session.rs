//! A session of COPS-GT: its context, and `get_trans` (T1 to T4).

use super::{Context, CopsGt, Got, LISTS_ALL, MINDS_FLOORS, MOST_DEPS, Reply, Request, SECOND_ROUND};
use tidemark_contract::causes::Causes;
use tidemark_contract::prelude::*;
use tidemark_contract::{Deps, Parts, Past};

/// How often a transaction begins before it is given up.
const TRIES: u32 = 20;

/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// What it has been told is stable.
    stable: Vector,
    /// The get or transaction that runs.
    trans: Trans,
}

/// `get_trans`, or a get: a transaction of one key.
#[derive(Default)]
struct Trans {
    single: bool,
    keys: Vec<Key>,
    /// How often it began.
    tries: u32,
    /// All up to here was applied everywhere before it began.
    known: Vector,
    /// T1: what was found, and up to where everything was applied there.
    first: Parts<(Got, Vector)>,
    /// What is returned, but for the places of which the second round is to tell.
    got: Vec<Got>,
    wanted: Vec<usize>,
    second: Parts<Got>,
}

impl Client {
    /// T1.
    fn begin_trans(&mut self, cx: &mut SessionCx<'_, CopsGt>) {
        self.trans.tries += 1;
        if self.trans.tries > TRIES {
            let why = "what the transaction reads is overwritten faster than it reads".to_string();
            return cx.fail(Failure::Unavailable(why));
        }
        self.trans.known.merge(&self.stable);
        self.trans.second = Parts::default();
        self.trans.first = Parts::ask(&self.trans.keys, Request::Read, cx);
    }

    /// T2 and T3: which version of each key belongs to what was found of the others?
    fn second_round(&mut self, first: Vec<(Got, Vector)>, cx: &mut SessionCx<'_, CopsGt>) {
        let trans = &mut self.trans;
        let owner = |key: &Key| cx.topology.partition_of(key);
        let mut joint = Causes::default();
        first.iter().for_each(|(got, _)| joint.merge(&got.past));
        // What was read where all up to its floors was applied cannot be older than anything that a list lacks (I4).
        let applied = |at: &Vector| {
            let mut applied = at.clone();
            applied.merge(&trans.known);
            applied
        };
        let at_once = trans.keys.iter().all(|key| owner(key) == owner(&trans.keys[0]));
        if MINDS_FLOORS.kept() && !at_once && first.iter().any(|(_, at)| !joint.floor().le(&applied(at))) {
            trans.known.merge(joint.floor()); // D7
            return self.begin_trans(cx);
        }
        let ccv = |place: usize| joint.newest(&trans.keys[place]); // T2
        let behind = |place: &usize| {
            let (got, at) = &first[*place];
            let missed = |ccv: Stamp| got.found.stamp < Some(ccv) && !applied(at).covers(ccv);
            SECOND_ROUND.kept() && !at_once && ccv(*place).is_some_and(missed)
        };
        trans.wanted = (0..trans.keys.len()).filter(behind).collect();
        trans.got = first.into_iter().map(|(got, _)| got).collect();
        if trans.wanted.is_empty() {
            return self.end_trans(cx);
        }
        let wanted: Vec<Key> = trans.wanted.iter().map(|place| trans.keys[*place].clone()).collect();
        let exactly = |key: Key| joint.newest(&key).map(|stamp| (key, stamp));
        let request = |keys: Vec<Key>| Request::Versions(keys.into_iter().filter_map(exactly).collect());
        trans.second = Parts::ask(&wanted, request, cx); // T3
    }

    /// T4.
    fn end_trans(&mut self, cx: &mut SessionCx<'_, CopsGt>) {
        let Trans { single, keys, got, .. } = std::mem::take(&mut self.trans);
        let context = &mut self.token.past;
        for (key, Got { found, past }) in keys.iter().zip(&got) {
            let past = if LISTS_ALL.kept() { past } else { &Causes::default() };
            let mut include = |stamp| context.include(cx.topology.partition_of(key), key, stamp, past);
            found.stamp.into_iter().for_each(&mut include);
        }
        context.settle(&self.stable, MOST_DEPS);
        let mut found: Vec<Found> = got.into_iter().map(|got| got.found).collect();
        cx.done(if single { Outcome::Found(found.remove(0)) } else { Outcome::FoundAll(found) });
    }
}

impl Session<CopsGt> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, stable: Vector::default(), trans: Trans::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, CopsGt>) {
        let Some(server) = cx.begin(&op) else { return };
        let single = matches!(op, Op::Get { .. });
        let request = match op {
            Op::Get { key } => {
                self.trans = Trans { single, keys: vec![key], ..Trans::default() };
                return self.begin_trans(cx); // 1
            }
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.trans = Trans { single, keys, ..Trans::default() };
                return self.begin_trans(cx);
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
                let Trans { first, second, wanted, .. } = &mut self.trans;
                if first.heard(ask, got.iter().map(|got| (got.clone(), applied.clone()))) {
                    first.whole().into_iter().for_each(|first| self.second_round(first, cx));
                } else if second.heard(ask, got)
                    && let Some(second) = second.whole()
                {
                    let places = std::mem::take(wanted).into_iter();
                    places.zip(second).for_each(|(place, got)| self.trans.got[place] = got);
                    self.end_trans(cx);
                }
            }
            Reply::TooOld if self.trans.second.heard(ask, []) => self.begin_trans(cx), // D7
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
        let partition = past.near.iter().next().map_or_else(Default::default, |dep| dep.partition);
        cx.ask_partition(partition, Request::Cover(past)); // D6
    }
}
