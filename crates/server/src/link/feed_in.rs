//! The receiver's side of a feed connection.

use super::dial::{Call, Cut};
use super::links::FeedIn;
use super::outbox::Outbox;
use super::reader::LinkError;
use crate::shard::{Core, Shard};
use bytes::Bytes;
use std::rc::Rc;
use std::time::Duration;
use tidemark_contract::Protocol;
use tidemark_core::{PartitionId, ServerId};
use tidemark_node::NodeId;
use tidemark_node::link::frame::{FrameBuffer, FrameError, frame, values};
use tidemark_node::link::stream::{Request, Supply};
use tidemark_replica::{FeedError, FeedItem};
use tokio::time::{Instant, sleep, sleep_until};

/// Before something that was not taken is offered again.
const AGAIN: Duration = Duration::from_millis(100);
/// Before a feed that was refused is asked for again: an operator has to do something meanwhile.
const REFUSED: Duration = Duration::from_secs(5);

/// What became of a frame.
enum Taken {
    Whole,
    /// Not all of it can be taken now: the same frame is offered again.
    Later,
    /// Records are missing: the connection is useless.
    Gap(FeedError),
    /// A feed was refused.
    Refused,
}

/// Receives what `call.node` feeds until the connection breaks or is cut.
pub(crate) async fn receive<P: Protocol>(shard: &Rc<Shard<P>>, mut call: Call) -> Result<(), LinkError> {
    let node = call.node;
    let (dc, outbox) = {
        let mut core = shard.core.borrow_mut();
        let dc = core.engine.config.cluster.nodes[node.index()].dc;
        let outbox = Outbox::new(core.distance(dc));
        core.links.ins.push(FeedIn { node, open: Vec::new(), outbox: outbox.clone() });
        core.links.peers[node.index()].feed_in = true;
        (dc, outbox)
    };
    shard.core.borrow_mut().ask_for_feeds(node, &outbox);
    let mut cut = Cut::new(shard, |dcs| (dcs.other, dcs.mine), dc);
    let writing = outbox.clone().write_to(&mut call.write, || ());
    tokio::pin!(writing);
    let mut ask_again: Option<Instant> = None;
    let mut pending: Option<Bytes> = None;
    let result = loop {
        tokio::select! {
            result = &mut writing => break result.map_err(LinkError::from),
            payload = call.reader.next(), if pending.is_none() => match payload {
                Ok(payload) => pending = Some(payload),
                Err(error) => break Err(error),
            },
            () = sleep(AGAIN), if pending.is_some() => {}
            () = sleep_until(ask_again.unwrap_or_else(Instant::now)), if ask_again.is_some() => {
                ask_again = None;
                shard.core.borrow_mut().ask_for_feeds(node, &outbox);
            }
            is_cut = cut.changed() => {
                if is_cut {
                    break Ok(());
                }
                let mut core = shard.core.borrow_mut();
                outbox.set_distance(core.distance(dc));
                core.ask_for_feeds(node, &outbox);
                continue;
            }
        }
        let Some(payload) = pending.take() else { continue };
        match shard.core.borrow_mut().take_frame(node, &payload) {
            Ok(Taken::Whole) => {}
            Ok(Taken::Later) => pending = Some(payload),
            Ok(Taken::Refused) => ask_again = Some(Instant::now() + REFUSED),
            Ok(Taken::Gap(error)) => {
                tracing::warn!("the feed of node {} is asked for again: {error}", node.0);
                break Ok(());
            }
            Err(error) => break Err(error.into()),
        }
        shard.want_turn();
    };
    let mut core = shard.core.borrow_mut();
    core.links.ins.retain(|feed| !Rc::ptr_eq(&feed.outbox, &outbox));
    core.links.peers[node.index()].feed_in = false;
    result
}

impl<P: Protocol> Core<P> {
    /// Asks for what is not open and not cut, and closes what is cut.
    fn ask_for_feeds(&mut self, node: NodeId, outbox: &Rc<Outbox>) {
        let engine = &self.engine;
        let layout = &engine.config.cluster.nodes[node.index()];
        let Some(feed) = self.links.ins.iter_mut().find(|feed| Rc::ptr_eq(&feed.outbox, outbox)) else {
            return;
        };
        let Some(host) = engine.seat.host() else { return };
        let mut batch = FrameBuffer::default();
        for partition in layout.partitions.iter().copied().filter(|partition| host.holds(*partition)) {
            let (from, to) = (ServerId::new(layout.dc, partition), ServerId::new(engine.dc, partition));
            let open = feed.open.iter().any(|(server, _)| *server == from);
            match (open, engine.faults.is_cut(from, to)) {
                (false, false) => {
                    let resume = host.resume_point(from, partition);
                    batch.push(&Request::Open { partition, resume });
                }
                (true, true) => {
                    feed.open.retain(|(server, _)| *server != from);
                    batch.push(&Request::Close { partition });
                }
                _ => {}
            }
        }
        outbox.push(&mut batch);
    }

    /// Takes a frame of a feed.
    fn take_frame(&mut self, node: NodeId, payload: &[u8]) -> Result<Taken, FrameError> {
        self.engine.now = self.engine.clock.now();
        let mut taken = Taken::Whole;
        values::<Supply<P>>(payload, |supply| {
            if !matches!(taken, Taken::Whole | Taken::Refused) {
                return;
            }
            match supply {
                Supply::Opened { partition, incarnation } => {
                    if !self.opened(node, partition, incarnation) {
                        taken = Taken::Refused;
                    }
                }
                Supply::Refused { partition, refusal } => {
                    self.refused(node, partition, &refusal.to_string());
                    taken = Taken::Refused;
                }
                Supply::Items { partition, items } => taken = self.take_items(node, partition, items),
            }
        })?;
        self.engine.collect(None);
        Ok(taken)
    }

    fn opened(&mut self, node: NodeId, partition: PartitionId, incarnation: u64) -> bool {
        let from = ServerId::new(self.engine.config.cluster.nodes[node.index()].dc, partition);
        let theirs = self.engine.home(from) == Some(node);
        let Some(host) = self.engine.seat.host_mut().filter(|host| theirs && host.holds(partition)) else {
            return true;
        };
        if let Err(refusal) = host.accept_feed(from, partition, incarnation) {
            self.refused(node, partition, &refusal.to_string());
            return false;
        }
        let confirmed = host.received(from, partition);
        if let Some(feed) = self.links.ins.iter_mut().find(|feed| feed.node == node) {
            feed.open.retain(|(server, _)| *server != from);
            feed.open.push((from, confirmed));
            feed.outbox.push_frame(frame(&Request::Confirm { partition, seq: confirmed }));
        }
        true
    }

    fn refused(&mut self, node: NodeId, partition: PartitionId, why: &str) {
        let from = ServerId::new(self.engine.config.cluster.nodes[node.index()].dc, partition);
        if let Some(feed) = self.links.ins.iter_mut().find(|feed| feed.node == node) {
            feed.open.retain(|(server, _)| *server != from);
        }
        let trouble = format!("no records from {from}: {why}");
        let last = &mut self.links.peers[node.index()].trouble;
        if last.as_deref() != Some(&trouble) {
            tracing::error!("{trouble}");
            *last = Some(trouble);
        }
    }

    fn take_items(&mut self, node: NodeId, partition: PartitionId, items: Vec<FeedItem<P>>) -> Taken {
        let from = ServerId::new(self.engine.config.cluster.nodes[node.index()].dc, partition);
        let open = self
            .links
            .ins
            .iter()
            .any(|feed| feed.node == node && feed.open.iter().any(|(server, _)| *server == from));
        if !open {
            // Under way when the feed was closed here.
            return Taken::Whole;
        }
        let engine = &mut self.engine;
        // Who does not serve has no feeds.
        let Some(host) = engine.seat.host_mut() else { return Taken::Whole };
        for item in items {
            match host.feed(engine.now, from, partition, item) {
                Ok(()) => engine.stats.feed_items_in += 1,
                Err(error @ (FeedError::Ahead { .. } | FeedError::NoRoom(_))) => {
                    engine.stats.feeds_ahead += 1;
                    let trouble = format!("records from {from} wait: {error}");
                    let last = &mut self.links.peers[node.index()].trouble;
                    if last.is_none() {
                        tracing::error!("{trouble}");
                        *last = Some(trouble);
                    }
                    return Taken::Later;
                }
                Err(error) => return Taken::Gap(error),
            }
        }
        Taken::Whole
    }
}
