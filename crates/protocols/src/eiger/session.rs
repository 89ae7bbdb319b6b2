//! A session of Eiger: its context, and its read-only transactions (T1 to T3).

use super::{Context, Eiger, Got, MOST_DEPS, Reply, Request, SECOND_ROUND, TIME_COVERS_SESSION};
use tidemark_contract::prelude::*;
use tidemark_contract::two_rounds::{Round, TwoRounds};
use tidemark_contract::{Deps, Past as _};

/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// The get or transaction that runs; what was found comes with its LVT.
    trans: TwoRounds<Got, Hlc>,
    /// The session's clock when it began.
    since: Hlc,
}

impl Client {
    /// T1.
    fn begin_trans(&mut self, cx: &mut SessionCx<'_, Eiger>) {
        self.since = self.token.past.clock;
        self.trans.begin(|keys| Request::Read(self.since, keys), cx);
    }

    /// T2: does what was found show at one time?
    fn second_round(&mut self, first: Vec<(Got, Hlc)>, cx: &mut SessionCx<'_, Eiger>) {
        let since = if TIME_COVERS_SESSION.kept() { self.since } else { Hlc::ZERO }; // D2
        let eff_t = first.iter().map(|(got, _)| got.evt).fold(since, Hlc::max);
        let late = |place: &usize| first[*place].1 < eff_t && SECOND_ROUND.kept();
        let late = (0..first.len()).filter(late).collect();
        if !self.trans.second(first, late, |keys| Request::ReadAt(eff_t, keys), cx) {
            self.end_trans(cx);
        } // T3
    }

    fn slice(
        &mut self,
        (ask, from): (AskId, ServerId),
        got: Vec<Got>,
        (lvt, clock): (Hlc, Hlc),
        everywhere: &Vector,
        cx: &mut SessionCx<'_, Eiger>,
    ) {
        let past = &mut self.token.past;
        past.clock = past.clock.max(clock);
        past.near.settle(from.partition, everywhere);
        match self.trans.heard(ask, got, &lvt) {
            Some(Round::First(first)) => self.second_round(first, cx),
            Some(Round::Second) => self.end_trans(cx),
            None => {}
        }
    }

    fn end_trans(&mut self, cx: &mut SessionCx<'_, Eiger>) {
        let (near, topology) = (&mut self.token.past.near, cx.topology);
        let depend = |key: &Key, got: Got| {
            let stamp = got.found.stamp.filter(|_| got.matters);
            stamp.into_iter().for_each(|stamp| near.include(topology.partition_of(key), stamp));
            got.found
        };
        self.trans.end(depend, cx);
        self.token.past.near.bound(MOST_DEPS);
    }
}

impl Session<Eiger> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, trans: TwoRounds::default(), since: Hlc::ZERO }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Eiger>) {
        let Some(server) = cx.begin(&op) else { return };
        let past = &self.token.past;
        let request = match op {
            Op::Get { .. } | Op::Rotx { .. } | Op::Snapshot { .. } => {
                self.trans = TwoRounds::of(op);
                return self.begin_trans(cx);
            }
            Op::Put { key, update } => Request::Put(key, update, past.clone()),
            Op::PutAll { writes } => Request::PutAll(writes, past.clone()),
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
            Reply::Slice(got, clock, everywhere) => {
                self.slice((ask, from), got, (clock, clock), &everywhere, cx);
            }
            Reply::Limited(lvt, got, clock, everywhere) => {
                self.slice((ask, from), got, (lvt, clock), &everywhere, cx);
            }
            Reply::TooOld(clock) => {
                past.clock = past.clock.max(clock);
                if self.trans.refused(ask) {
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
        cx.ask_partition(past.coverer(), Request::Cover(past));
    }
}
