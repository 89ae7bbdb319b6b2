//! A session of CC-LO: what it depends on, and the one round of its ROTs.

use super::{ARRIVALS_WAIT, CcLo, Reply, Request, Rot};
use tidemark_contract::prelude::*;
use tidemark_contract::{Deps, Reads};

/// A session.
pub struct Client {
    /// Its past is what it has read since its last write, and that.
    token: Token<Deps>,
    /// The latest clock of a server that it has heard of.
    clock: Hlc,
    /// How many transactions it has started.
    started: u64,
    /// The transaction that runs.
    rot: Reads<Deps>,
}

/// How many dependencies a session keeps one by one.
const MOST_DEPS: usize = 1_000;

impl Client {
    /// The one round: to each partition its keys.
    fn start(&mut self, cx: &mut SessionCx<'_, CcLo>) {
        self.started += 1;
        let rot = Rot { number: self.started, time: self.clock.next().max(Hlc::at(cx.now)) };
        let slices = self.rot.slices(cx.topology);
        let rot = (slices.len() > 1).then_some(rot); // D6
        let ask = |(of, keys)| (cx.ask_partition(of, Request::Read(rot, keys)), of);
        self.rot.expect(slices.into_iter().map(ask));
    }

    fn depends_on(&mut self, seen: Deps) {
        self.token.past.merge(&seen);
        self.token.past.bound(MOST_DEPS);
    }
}

impl Session<CcLo> for Client {
    type Token = Token<Deps>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Deps::default() };
        Self { token, clock: Hlc::ZERO, started: 0, rot: Reads::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, CcLo>) {
        self.rot = Reads::default();
        let Some(server) = cx.begin(&op) else { return };
        let request = match op {
            Op::Get { key } => Request::Get(key),
            Op::Put { key, update } => Request::Put(key, update, self.token.past.clone()),
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.rot = Reads::new(keys);
                return self.start(cx);
            }
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: Reply, cx: &mut SessionCx<'_, CcLo>) {
        match reply {
            Reply::Done(outcome, seen) => {
                if let Outcome::Written { stamp: Some(_), .. } = outcome {
                    self.token.past = Deps::default(); // what is written depends on all before
                }
                self.depends_on(seen);
                cx.done(outcome);
            }
            Reply::Slice(found, seen, clock) => {
                self.clock = self.clock.max(clock);
                let whole = self.rot.hear((ask, from.partition), found, |all| all.merge(&seen));
                let Some((found, seen)) = whole else { return };
                self.depends_on(seen);
                cx.done(Outcome::FoundAll(found));
            }
            Reply::TooOld(clock) => {
                self.clock = self.clock.max(clock);
                if self.rot.waits_for(ask) {
                    self.start(cx); // D2
                }
            }
        }
    }

    fn token(&self) -> Token<Deps> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past: deps }: Token<Deps>, cx: &mut SessionCx<'_, CcLo>) {
        if home == self.token.home || !ARRIVALS_WAIT.kept() {
            self.depends_on(deps);
            return cx.done(Outcome::Adopted);
        }
        cx.ask_partition(Default::default(), Request::Cover(deps)); // D5
    }
}
