//! A session of Eiger: its context, and its read-only transactions (T1 to T3).

use super::{Context, Eiger, Got, MOST_DEPS, Reply, Request, SECOND_ROUND};
use tidemark_contract::prelude::*;
use tidemark_contract::{Deps, Parts, Past};

/// How often a transaction begins before it is given up.
const TRIES: u32 = 20;
/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// The get or transaction that runs.
    trans: Trans,
}

/// A read-only transaction, or a get: a transaction of one key.
#[derive(Default)]
struct Trans {
    single: bool,
    keys: Vec<Key>,
    /// How often it began.
    tries: u32,
    /// T1: what was found, with its LVT.
    first: Parts<(Got, Hlc)>,
    /// What is returned, but for the places of which the second round is to tell.
    got: Vec<Got>,
    late: Vec<usize>,
    second: Parts<Got>,
}

impl Client {
    /// T1.
    fn begin_trans(&mut self, cx: &mut SessionCx<'_, Eiger>) {
        self.trans.tries += 1;
        if self.trans.tries > TRIES {
            let why = "the transaction takes longer than overwritten versions are kept".to_string();
            return cx.fail(Failure::Unavailable(why));
        }
        let clock = self.token.past.clock;
        self.trans.second = Parts::default();
        self.trans.first = Parts::ask(&self.trans.keys, |keys| Request::Read(clock, keys), cx);
    }

    /// T2: does what was found show at one time?
    fn second_round(&mut self, first: Vec<(Got, Hlc)>, cx: &mut SessionCx<'_, Eiger>) {
        let trans = &mut self.trans;
        let eff_t = first.iter().map(|(got, _)| got.evt).max().unwrap_or_default();
        let late = |place: &usize| first[*place].1 < eff_t && SECOND_ROUND.kept();
        trans.late = (0..first.len()).filter(late).collect();
        trans.got = first.into_iter().map(|(got, _)| got).collect();
        if trans.late.is_empty() {
            return self.end_trans(cx);
        }
        let late: Vec<Key> = trans.late.iter().map(|place| trans.keys[*place].clone()).collect();
        trans.second = Parts::ask(&late, |keys| Request::ReadAt(eff_t, keys), cx); // T3
    }

    fn end_trans(&mut self, cx: &mut SessionCx<'_, Eiger>) {
        let Trans { single, keys, got, .. } = std::mem::take(&mut self.trans);
        let near = &mut self.token.past.near;
        for (key, got) in keys.iter().zip(&got).filter(|(_, got)| got.matters) {
            got.found.stamp.into_iter().for_each(|stamp| near.include(cx.topology.partition_of(key), stamp));
        }
        near.bound(MOST_DEPS);
        let mut found: Vec<Found> = got.into_iter().map(|got| got.found).collect();
        cx.done(if single { Outcome::Found(found.remove(0)) } else { Outcome::FoundAll(found) });
    }
}

impl Session<Eiger> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, trans: Trans::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Eiger>) {
        let Some(server) = cx.begin(&op) else { return };
        let past = &self.token.past;
        let request = match op {
            Op::Get { key } => {
                self.trans = Trans { single: true, keys: vec![key], ..Trans::default() };
                return self.begin_trans(cx);
            }
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.trans = Trans { keys, ..Trans::default() };
                return self.begin_trans(cx);
            }
            Op::Put { key, update } => Request::Put(key, update, past.clone()),
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Eiger>) {
        let past = &mut self.token.past;
        match reply {
            Reply::Done(outcome, seen, everywhere) => {
                if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
                    past.near = Deps::default();
                }
                past.merge(&seen);
                past.near.settle(from.partition, &everywhere);
                past.near.bound(MOST_DEPS);
                cx.done(outcome);
            }
            Reply::Slice(got, lvt, everywhere) => {
                past.clock = past.clock.max(lvt);
                past.near.settle(from.partition, &everywhere);
                let Trans { first, second, late, .. } = &mut self.trans;
                if first.heard(ask, got.iter().map(|got| (got.clone(), lvt))) {
                    first.whole().into_iter().for_each(|first| self.second_round(first, cx));
                } else if second.heard(ask, got)
                    && let Some(second) = second.whole()
                {
                    let places = std::mem::take(late).into_iter();
                    places.zip(second).for_each(|(place, got)| self.trans.got[place] = got);
                    self.end_trans(cx);
                }
            }
            Reply::TooOld(clock) => {
                past.clock = past.clock.max(clock);
                if self.trans.second.heard(ask, []) {
                    self.begin_trans(cx); // D3
                }
            }
        }
    }

    fn token(&self) -> Token<Context> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past }: Token<Context>, cx: &mut SessionCx<'_, Eiger>) {
        if home == self.token.home {
            self.token.past.merge(&past);
            return cx.done(Outcome::Adopted);
        }
        let partition = past.near.iter().next().map_or_else(Default::default, |dep| dep.partition);
        cx.ask_partition(partition, Request::Cover(past));
    }
}
