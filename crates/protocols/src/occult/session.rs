//! The client library: what a session asks whom, and how it sees that what it is answered fits together.

use super::{
    CT_MOVES, Occult, READS_ARE_VALIDATED, READS_JOIN_CT, Reply, Request, SETS_ARE_VALIDATED, Shardstamps,
    What, master,
};
use std::collections::BTreeMap;
use tidemark_contract::core::{DcId, Failure, Hlc, Key, Op, Outcome, PartitionId, ServerId};
use tidemark_contract::{AskId, Session, SessionCx, Topology, Walk};

/// How often a session reads one partition for one operation before it gives up.
pub const ROUNDS: u32 = 10;

/// What a read asks of one partition, and what it was answered.
struct Part {
    partition: PartitionId,
    what: What,
    asked: u32,
    ask: AskId,
    answer: Option<(Outcome, Hlc, Shardstamps)>,
}

impl Part {
    /// Asks: whoever is here, then here again with patience, then the master (D3).
    fn ask(&mut self, at_least: Hlc, cx: &mut SessionCx<'_, Occult>) {
        let dc = if self.asked < 2 { cx.dc } else { master(self.partition, cx.topology) };
        let at_least = if self.asked == 0 { Hlc::ZERO } else { at_least };
        self.asked += 1;
        self.answer = None;
        let to = ServerId::new(dc, self.partition);
        self.ask = cx.ask(to, Request::Read(self.what.clone(), at_least));
    }
}

fn by_partition(keys: Vec<Key>, topology: &Topology) -> Vec<(PartitionId, What)> {
    let mut slices = BTreeMap::<PartitionId, Vec<(u32, Key)>>::new();
    for (place, key) in (0..).zip(keys) {
        slices.entry(topology.partition_of(&key)).or_default().push((place, key));
    }
    slices.into_iter().map(|(partition, keys)| (partition, What::Keys(keys))).collect()
}

/// A session.
pub struct Client {
    ct: Shardstamps,
    /// The read that runs.
    parts: Vec<Part>,
}

impl Client {
    /// All have answered. What is behind what the session knows, or behind what another answer depends on, is read
    /// again; if nothing is, this is what the session sees.
    fn validate(&mut self, cx: &mut SessionCx<'_, Occult>) {
        let mut ct = if READS_ARE_VALIDATED.kept() { self.ct.clone() } else { Shardstamps::default() };
        if SETS_ARE_VALIDATED.kept() {
            self.parts.iter().filter_map(|part| part.answer.as_ref()).for_each(|(.., deps)| ct.merge(deps));
        }
        let mut again = false;
        for part in &mut self.parts {
            let at_least = ct.get(part.partition);
            if part.answer.as_ref().is_some_and(|(_, ss, _)| *ss < at_least) {
                if part.asked == ROUNDS {
                    return cx.fail(Failure::Unavailable("what is read does not fit together".to_string()));
                }
                part.ask(at_least, cx);
                again = true;
            }
        }
        if !again {
            self.finish(cx);
        }
    }

    fn finish(&mut self, cx: &mut SessionCx<'_, Occult>) {
        let mut all = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            let Some((outcome, _, deps)) = part.answer else { continue };
            if READS_JOIN_CT.kept() {
                self.ct.merge(&deps); // I2
            }
            match (part.what, outcome) {
                (What::Keys(keys), Outcome::FoundAll(found)) => {
                    all.extend(keys.into_iter().map(|(place, _)| place).zip(found));
                }
                (_, one) => return cx.done(one),
            }
        }
        all.sort_by_key(|(place, _)| *place);
        cx.done(Outcome::FoundAll(all.into_iter().map(|(_, found)| found).collect()));
    }
}

impl Session<Occult> for Client {
    type Token = Shardstamps;

    fn open(_: DcId) -> Self {
        Self { ct: Shardstamps::default(), parts: Vec::new() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Occult>) {
        let Some(ServerId { partition, .. }) = cx.begin(&op) else { return };
        let whats = match op {
            Op::Put { key, update } => {
                let master = ServerId::new(master(partition, cx.topology), partition);
                cx.ask(master, Request::Put(key, update, self.ct.clone()));
                return;
            }
            Op::PutAll { writes } => {
                let coordinator = ServerId::new(master(partition, cx.topology), partition);
                cx.ask(coordinator, Request::PutAll(writes, self.ct.clone()));
                return;
            }
            Op::Get { key } => vec![(partition, What::Key(key))],
            Op::Rotx { keys } | Op::Snapshot { keys } => by_partition(keys, cx.topology),
            walk => vec![(partition, What::Walk(Walk::of(&walk)))],
        };
        let fresh =
            |(partition, what)| Part { partition, what, asked: 0, ask: AskId::default(), answer: None };
        self.parts = whats.into_iter().map(fresh).collect();
        self.parts.iter_mut().for_each(|part| part.ask(Hlc::ZERO, cx));
    }

    fn on_reply(&mut self, ask: AskId, _: ServerId, reply: Reply, cx: &mut SessionCx<'_, Occult>) {
        match reply {
            Reply::Put(outcome, deps) => {
                self.ct.merge(&deps);
                cx.done(outcome);
            }
            Reply::Read(got, ss, deps) => {
                let Some(part) = self.parts.iter_mut().find(|part| part.ask == ask) else { return };
                part.answer = Some((got, ss, deps));
                if self.parts.iter().all(|part| part.answer.is_some()) {
                    self.validate(cx);
                }
            }
        }
    }

    fn on_lost(&mut self, _: AskId, cx: &mut SessionCx<'_, Occult>) {
        self.parts.clear();
        cx.lost();
    }

    fn token(&self) -> Shardstamps {
        self.ct.clone()
    }

    fn adopt(&mut self, token: Shardstamps, cx: &mut SessionCx<'_, Occult>) {
        if CT_MOVES.kept() {
            self.ct.merge(&token); // D6
        }
        cx.done(Outcome::Adopted);
    }
}
