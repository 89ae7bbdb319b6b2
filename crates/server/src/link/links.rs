//! What the data thread knows of its links: who feeds whom, who was met in which life, how things stand.

use super::group::GroupLinks;
use super::outbox::{Distance, Outbox};
use crate::shard::serving::Serving;
use crate::shard::{Core, Shard};
use std::rc::Rc;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, PartitionId, ServerId};
use tidemark_node::NodeId;
use tidemark_node::link::frame::FrameBuffer;
use tidemark_node::link::hello::{LinkKind, Speaker};
use tidemark_node::link::stream::{Request, Supply};
use tokio::sync::Notify;

/// What one feed item batch holds at most, about.
const BATCH_BYTES: usize = 64 << 10;

/// What is known of one other node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// The start of the process that was met last; 0 before that.
    pub(crate) start: u64,
    /// We can say something to it.
    pub(crate) messages_out: bool,
    /// It can say something to us.
    pub(crate) messages_in: bool,
    /// It sends us records.
    pub(crate) feed_in: bool,
    /// We send it records.
    pub(crate) feed_out: bool,
    /// Why it cannot be reached, or why it does not feed us.
    pub(crate) trouble: Option<String>,
}

/// A connection on which records leave.
pub(crate) struct FeedOut {
    pub(crate) node: NodeId,
    pub(crate) dc: DcId,
    pub(crate) open: Vec<PartitionId>,
    pub(crate) outbox: Rc<Outbox>,
    /// Another connection took its place.
    pub(crate) replaced: Rc<Notify>,
}

/// A connection on which records come.
pub(crate) struct FeedIn {
    pub(crate) node: NodeId,
    /// Who feeds which partition, and what was confirmed.
    pub(crate) open: Vec<(ServerId, u64)>,
    pub(crate) outbox: Rc<Outbox>,
}

/// All links of a node.
pub(crate) struct Links {
    pub(crate) peers: Vec<Peer>,
    pub(crate) outs: Vec<FeedOut>,
    pub(crate) ins: Vec<FeedIn>,
    pub(crate) group: GroupLinks,
}

impl Links {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            peers: vec![Peer::default(); nodes],
            outs: Vec::new(),
            ins: Vec::new(),
            group: GroupLinks::new(nodes),
        }
    }

    /// Whether there is anything for the pump to do.
    #[inline]
    pub(crate) fn has_feeds(&self) -> bool {
        !(self.outs.is_empty() && self.ins.is_empty())
    }
}

impl<P: Protocol> Shard<P> {
    /// A node was met.
    pub(crate) fn meet(&self, node: NodeId, speaker: &Speaker, channel: LinkKind) {
        let met = {
            let mut core = self.core.borrow_mut();
            if channel == LinkKind::Raft {
                core.links.group.hear(node, speaker.standing);
            }
            core.meet(node, speaker)
        };
        if met {
            self.met.send_modify(|count| *count += 1);
        }
        self.want_turn();
    }

    /// Another of the group has answered how it stands: a node that does not know yet who it is may know now.
    pub(crate) fn hear_answer(&self, node: NodeId, speaker: &Speaker) {
        let taken = self.core.borrow_mut().hear_answer(node, speaker);
        match taken {
            Ok(false) => {}
            Ok(true) => self.changes.send_modify(|version| *version += 1),
            Err(broken) => self.fail(&broken),
        }
    }

    /// Returns when this node serves, and `node` does, as far as is known: there are no feeds between others.
    pub(crate) async fn may_be_fed_by(&self, node: NodeId) {
        let mut met = self.met.subscribe();
        loop {
            if self.core.borrow().engine.may_be_fed_by(node) {
                return;
            }
            let _ = met.changed().await;
        }
    }
}

impl<P: Protocol> Core<P> {
    /// The emulated distance to `dc`, faults included.
    pub(crate) fn distance(&self, dc: DcId) -> Distance {
        let engine = &self.engine;
        let wan = engine.config.cluster.wan.iter().find(|wan| wan.from == engine.dc && wan.to == dc);
        let mut distance = wan.map_or(Distance::default(), |wan| Distance {
            delay_us: wan.delay_us,
            jitter_us: wan.jitter_us,
            bytes_per_s: wan.bytes_per_s,
        });
        distance.delay_us += engine.faults.slow_us(engine.dc, dc);
        distance
    }

    /// What this node says of itself to `to`, which is in start `start`, if it has said so.
    pub(crate) fn speaker(&self, to: NodeId, start: Option<u64>) -> Speaker {
        Speaker {
            start: self.engine.start,
            serves: self.engine.life(),
            standing: self.standing(to, start.unwrap_or_default()),
        }
    }

    /// A node was met; whether that is news. What was asked of a server in an earlier life will not be answered.
    fn meet(&mut self, node: NodeId, speaker: &Speaker) -> bool {
        let restarted = std::mem::replace(&mut self.links.peers[node.index()].start, speaker.start);
        let news = restarted != speaker.start;
        let engine = &mut self.engine;
        engine.now = engine.clock.now();
        let (group, name) = (engine.groups.of_node(node), &engine.config.cluster.nodes[node.index()].name);
        let served = match (speaker.serves, engine.servers[group.index()]) {
            (Some(life), before) if engine.is_new(group, life) => {
                engine.servers[group.index()] = Serving { node: Some(node), life: Some(life) };
                match before.life {
                    // Nothing was asked of it before.
                    None => {
                        engine.deliver(group, &mut self.clients);
                        return true;
                    }
                    Some(_) if engine.groups.members(group).len() > 1 => {
                        tracing::info!("node {name} leads its group, life {}", life.number);
                    }
                    Some(_) => tracing::info!("node {name} has restarted"),
                }
                before.node.unwrap_or(node)
            }
            // It leads no more, and who does is not known yet.
            (None, before) if before.node == Some(node) && before.life.is_some() => {
                engine.servers[group.index()].node = None;
                engine.lose_node(node, &mut self.clients);
                return true;
            }
            _ => return news,
        };
        let layout = &engine.config.cluster.nodes[node.index()];
        for partition in &layout.partitions {
            let server = ServerId::new(layout.dc, *partition);
            if let Some(host) = engine.seat.host_mut() {
                host.peer_reset(engine.now, server);
            }
        }
        engine.lose_node(served, &mut self.clients);
        engine.deliver(group, &mut self.clients);
        true
    }

    /// Sends on feeds what is there and durable; true if there is more.
    pub(crate) fn pump_feeds(&mut self) -> bool {
        let mut more = false;
        for out in &mut self.links.outs {
            let mut batch = FrameBuffer::default();
            let mut broken = Vec::new();
            for partition in &out.open {
                let (from, to) =
                    (ServerId::new(self.engine.dc, *partition), ServerId::new(out.dc, *partition));
                if out.outbox.is_full() || self.engine.faults.is_cut(from, to) {
                    continue;
                }
                let mut items = Vec::new();
                let Some(host) = self.engine.seat.host_mut() else { continue };
                let polled = host.poll_feed(*partition, out.dc, BATCH_BYTES, &mut items);
                if !items.is_empty() {
                    self.engine.stats.feed_items_out += items.len() as u64;
                    let before = batch.len();
                    batch.push(&Supply::<P>::Items { partition: *partition, items });
                    more |= batch.len() - before >= BATCH_BYTES / 2;
                }
                if let Err(refusal) = polled {
                    tracing::error!("cannot feed {to}: {refusal}");
                    batch.push(&Supply::<P>::Refused { partition: *partition, refusal });
                    broken.push(*partition);
                }
            }
            out.open.retain(|partition| !broken.contains(partition));
            out.outbox.push(&mut batch);
        }
        more
    }

    /// Confirms what has become durable.
    pub(crate) fn confirm_feeds(&mut self) {
        let Some(host) = self.engine.seat.host() else { return };
        for feed in &mut self.links.ins {
            let mut batch = FrameBuffer::default();
            for (from, confirmed) in &mut feed.open {
                let seq = host.received(*from, from.partition);
                if seq > *confirmed {
                    *confirmed = seq;
                    batch.push(&Request::Confirm { partition: from.partition, seq });
                }
            }
            feed.outbox.push(&mut batch);
        }
    }
}
