//! WAIT and WAITAOF: how far other regions, and the disks here, have come with what this region has written.
//!
//! Nobody keeps account of what a session writes where. When it asks, the numbers of the last records of all partitions of
//! the region are its *marks*: what it has written lies below them. A region counts once its peers have confirmed every
//! mark. Partitions of other nodes are asked about by broadcasts, again and again, for these may be lost.

use crate::run::shard::Engine;
use std::collections::BTreeMap;
use tidemark_core::{DcId, PartitionId};
use tidemark_node::{NodeId, Reach};

/// The first byte of a broadcast that asks, and of one that answers.
pub(super) const QUESTION: u8 = 2;
pub(super) const ANSWER: u8 = 3;

/// How far other regions have confirmed a partition.
type Peers = Vec<(DcId, u64)>;

/// How a node of this region stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// The first of its starts since which it has lost no power.
    since: u64,
    /// The end of its log, and up to where that is synced.
    log: (u64, u64),
    /// Its partitions: the last record written, and the last that each other region has confirmed.
    partitions: Vec<(PartitionId, u64, Peers)>,
}

/// How much is confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Everything is synced in this region.
    pub(super) synced: bool,
    /// So many other regions have all of it.
    pub(super) regions: usize,
}

/// A session that waits for confirmations.
#[derive(Debug)]
pub(super) struct Confirming {
    /// The number of the last question that was asked before it began to wait.
    after: u64,
    /// Of each node, as it was first heard: what was written may be gone if another is heard later, and its numbers given again.
    since: BTreeMap<NodeId, u64>,
    marks: BTreeMap<PartitionId, u64>,
    logs: BTreeMap<NodeId, (u64, u64)>,
    confirmed: BTreeMap<(PartitionId, DcId), u64>,
}

/// The standings of the other nodes of the region.
#[derive(Debug, Default)]
pub(crate) struct Standings {
    /// How many questions were asked.
    asked: u64,
    /// Answers, each with the number of the question.
    known: BTreeMap<NodeId, (u64, Standing)>,
}

impl Confirming {
    /// Takes an answer of a node that was asked after the wait began. `flushed` says that its log holds all of that.
    fn take(&mut self, node: NodeId, standing: &Standing, flushed: bool) {
        if *self.since.entry(node).or_insert(standing.since) != standing.since {
            return;
        }
        for (partition, written, peers) in &standing.partitions {
            self.marks.entry(*partition).or_insert(*written);
            for (dc, seq) in peers {
                let confirmed = self.confirmed.entry((*partition, *dc)).or_default();
                *confirmed = (*confirmed).max(*seq);
            }
        }
        if flushed {
            self.logs.entry(node).or_insert(standing.log).1 = standing.log.1;
        }
    }

    /// How much is confirmed by now. Nothing is, as long as nobody has spoken for one of the `partitions`.
    fn found(&self, partitions: usize, regions: impl Iterator<Item = DcId>) -> Found {
        if self.marks.len() < partitions {
            return Found::default();
        }
        let has = |dc: DcId| {
            self.marks.iter().all(|(at, mark)| self.confirmed.get(&(*at, dc)).is_some_and(|seq| seq >= mark))
        };
        let synced = !self.logs.is_empty() && self.logs.values().all(|(written, synced)| synced >= written);
        Found { synced, regions: regions.filter(|dc| has(*dc)).count() }
    }
}

/// A session begins to wait.
pub(super) fn begin(engine: &Engine) -> Confirming {
    Confirming {
        after: engine.standings.asked,
        since: BTreeMap::new(),
        marks: BTreeMap::new(),
        logs: BTreeMap::new(),
        confirmed: BTreeMap::new(),
    }
}

/// Looks at what is known by now; `own` is the standing of this node, `flushed` as in [`Confirming::take`].
pub(super) fn look(
    engine: &Engine,
    confirming: &mut Confirming,
    own: Option<&Standing>,
    flushed: bool,
) -> Found {
    let here = engine.config.layout().dc;
    if let Some(own) = own {
        confirming.take(engine.config.me, own, flushed);
    }
    for (node, (number, standing)) in &engine.standings.known {
        if *number > confirming.after {
            confirming.take(*node, standing, true);
        }
    }
    let topology = engine.topology();
    confirming.found(topology.partitions, topology.all_dcs().filter(|dc| *dc != here))
}

/// How this node stands, if it serves its partitions.
pub(super) fn own(engine: &mut Engine) -> Option<Standing> {
    engine.node.serves()?;
    let host = engine.node.status(engine.now).host;
    let partition = |status: &tidemark_replica::PartitionStatus| {
        let peers = status.peers.iter().map(|peer| (peer.dc, peer.confirmed)).collect();
        (status.partition, status.written, peers)
    };
    Some(Standing {
        since: host.since,
        log: (host.log_written, host.log_synced),
        partitions: host.partitions.iter().map(partition).collect(),
    })
}

/// Asks the other nodes of the region, if this one does not have all partitions.
pub(super) fn ask(engine: &mut Engine) {
    if engine.config.layout().partitions.len() == engine.topology().partitions
        && engine.node.serves().is_some()
    {
        return;
    }
    engine.standings.asked += 1;
    let number = engine.standings.asked;
    engine.node.broadcast(engine.now, Reach::Region, &encode(QUESTION, &[number]));
}

/// Another node has asked, or answered.
pub(super) fn hear(engine: &mut Engine, node: NodeId, content: &[u8]) {
    let cluster = &engine.config.cluster;
    let dc_of = |node: NodeId| cluster.nodes.get(usize::from(node.0)).map(|layout| layout.dc);
    if dc_of(node) != dc_of(engine.config.me) {
        return;
    }
    let numbers: Vec<u64> =
        content[1..].chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8"))).collect();
    match (content[0], &numbers[..]) {
        (QUESTION, [number]) => {
            if let Some(own) = own(engine) {
                let answer = [&[u64::from(node.0), *number], &own.numbers()[..]].concat();
                engine.node.broadcast(engine.now, Reach::Region, &encode(ANSWER, &answer));
            }
        }
        (ANSWER, [to, number, rest @ ..]) if *to == u64::from(engine.config.me.0) => {
            let newest = engine.standings.known.get(&node).map_or(0, |(newest, _)| *newest);
            if let Some(standing) = Standing::read(rest).filter(|_| *number >= newest) {
                engine.standings.known.insert(node, (*number, standing));
            }
        }
        _ => {}
    }
}

fn encode(kind: u8, numbers: &[u64]) -> Vec<u8> {
    std::iter::once(kind).chain(numbers.iter().flat_map(|number| number.to_le_bytes())).collect()
}

impl Standing {
    fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.since, self.log.0, self.log.1];
        for (partition, written, peers) in &self.partitions {
            numbers.extend([u64::from(partition.0), *written, peers.len() as u64]);
            peers.iter().for_each(|(dc, seq)| numbers.extend([u64::from(dc.0), *seq]));
        }
        numbers
    }

    fn read(numbers: &[u64]) -> Option<Self> {
        let mut numbers = numbers.iter().copied();
        let since = numbers.next()?;
        let log = (numbers.next()?, numbers.next()?);
        let mut partitions = Vec::new();
        while let Some(partition) = numbers.next() {
            let (written, count) = (numbers.next()?, numbers.next()?);
            let peer = |_| Some((DcId(u8::try_from(numbers.next()?).ok()?), numbers.next()?));
            // A count that is no count ends with the numbers.
            let peers = (0..count).map(peer).collect::<Option<_>>()?;
            partitions.push((PartitionId(u16::try_from(partition).ok()?), written, peers));
        }
        Some(Self { since, log, partitions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(confirmed: u64) -> Standing {
        let peers = vec![(DcId(1), confirmed), (DcId(2), 7)];
        Standing { since: 3, log: (100, 90), partitions: vec![(PartitionId(0), 7, peers)] }
    }

    #[test]
    fn a_standing_comes_back_and_one_cut_short_does_not() {
        let numbers = standing(5).numbers();
        assert_eq!(Standing::read(&numbers), Some(standing(5)));
        assert_eq!(Standing::read(&numbers[..numbers.len() - 1]), None);
    }

    #[test]
    fn a_region_counts_when_it_has_what_was_written_before() {
        let mut waits = Confirming {
            after: 0,
            since: BTreeMap::new(),
            marks: BTreeMap::new(),
            logs: BTreeMap::new(),
            confirmed: BTreeMap::new(),
        };
        let found = |waits: &Confirming| waits.found(1, [DcId(1), DcId(2)].into_iter());
        assert_eq!(found(&waits), Found::default(), "nobody has spoken");
        waits.take(NodeId(0), &standing(5), true);
        assert_eq!(found(&waits), Found { synced: false, regions: 1 });
        // Later writes do not matter.
        let mut later = standing(7);
        (later.partitions[0].1, later.log) = (50, (200, 100));
        waits.take(NodeId(0), &later, true);
        assert_eq!(found(&waits), Found { synced: true, regions: 2 });
        let mut waits = Confirming { marks: BTreeMap::new(), confirmed: BTreeMap::new(), ..waits };
        waits.take(NodeId(0), &Standing { since: 4, ..standing(7) }, true);
        assert_eq!(found(&waits), Found::default(), "what it had written before it lost power may be gone");
        waits.take(NodeId(0), &standing(7), true);
        assert_eq!(waits.found(2, std::iter::empty()), Found::default(), "a partition is missing");
    }
}
