//! The sender's side of a feed connection.

use super::dial::Cut;
use super::links::FeedOut;
use super::outbox::Outbox;
use super::reader::{FrameReader, LinkError};
use crate::shard::{Core, Shard};
use std::rc::Rc;
use std::time::Duration;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, ServerId};
use tidemark_node::NodeId;
use tidemark_node::link::frame::{frame, values};
use tidemark_node::link::stream::{Request, Supply};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

/// Between two rounds of the pump: what comes within it leaves together.
const ROUND: Duration = Duration::from_millis(1);

/// Moves records from the log to the feeds, and confirmations from the log to the peers, until the node stops.
pub(crate) async fn pump<P: Protocol>(shard: Rc<Shard<P>>) {
    let mut last = Instant::now();
    loop {
        shard.pump.notified().await;
        if last + ROUND > Instant::now() {
            sleep_until(last + ROUND).await;
        }
        last = Instant::now();
        loop {
            let more = {
                let mut core = shard.core.borrow_mut();
                core.confirm_feeds();
                core.pump_feeds()
            };
            if !more {
                break;
            }
            yield_now().await;
        }
    }
}

/// Feeds `node` until the connection breaks or is cut.
pub(crate) async fn send<P: Protocol>(
    shard: &Rc<Shard<P>>,
    node: NodeId,
    mut reader: FrameReader<OwnedReadHalf>,
    mut write: OwnedWriteHalf,
) -> Result<(), LinkError> {
    let replaced = Rc::new(Notify::new());
    let (dc, outbox) = {
        let mut core = shard.core.borrow_mut();
        let dc = core.engine.config.cluster.nodes[node.index()].dc;
        core.end_feed(node, |_| true);
        let outbox = Outbox::new(core.distance(dc));
        let out = FeedOut { node, dc, open: Vec::new(), outbox: outbox.clone(), replaced: replaced.clone() };
        core.links.outs.push(out);
        core.links.peers[node.index()].feed_out = true;
        (dc, outbox)
    };
    let mut cut = Cut::new(shard, |dcs| (dcs.mine, dcs.other), dc);
    let writing = outbox.clone().write_to(&mut write, || shard.pump.notify_one());
    tokio::pin!(writing);
    let result = loop {
        tokio::select! {
            result = &mut writing => break result.map_err(LinkError::from),
            payload = reader.next() => {
                let taken = payload.and_then(|payload| {
                    let mut core = shard.core.borrow_mut();
                    Ok(values(&payload, |request| core.asked(node, dc, &outbox, request))?)
                });
                if let Err(error) = taken {
                    break Err(error);
                }
                shard.pump.notify_one();
            }
            () = replaced.notified() => return Ok(()),
            is_cut = cut.changed() => {
                if is_cut {
                    break Ok(());
                }
                outbox.set_distance(shard.core.borrow().distance(dc));
                shard.pump.notify_one();
            }
        }
    };
    shard.core.borrow_mut().end_feed(node, |out| Rc::ptr_eq(&out.outbox, &outbox));
    result
}

impl<P: Protocol> Core<P> {
    /// Ends the feed connections to `node` that `which` says.
    fn end_feed(&mut self, node: NodeId, which: impl Fn(&FeedOut) -> bool) {
        let mut host = self.engine.seat.host_mut();
        self.links.outs.retain(|out| {
            if out.node != node || !which(out) {
                return true;
            }
            if let Some(host) = &mut host {
                out.open.iter().for_each(|partition| host.close_feed(*partition, out.dc));
            }
            out.outbox.close();
            out.replaced.notify_one();
            false
        });
        self.links.peers[node.index()].feed_out = self.links.outs.iter().any(|out| out.node == node);
    }

    /// Takes what the receiver says.
    fn asked(&mut self, node: NodeId, dc: DcId, outbox: &Rc<Outbox>, request: Request) {
        let (Request::Open { partition, .. }
        | Request::Close { partition }
        | Request::Confirm { partition, .. }) = request;
        let theirs = self.engine.home(ServerId::new(dc, partition)) == Some(node);
        if theirs && matches!(request, Request::Open { .. }) {
            // There is one feed to a data centre. Who led there before may not have noticed yet that it does not any more.
            let others = self.links.outs.iter_mut().filter(|out| out.dc == dc);
            others.for_each(|out| out.open.retain(|open| *open != partition));
        }
        let Some(out) = self.links.outs.iter_mut().find(|out| Rc::ptr_eq(&out.outbox, outbox)) else {
            return;
        };
        let Some(host) = self.engine.seat.host_mut().filter(|host| theirs && host.holds(partition)) else {
            return;
        };
        match request {
            Request::Open { resume, .. } => {
                let known = host.disowned().is_some();
                let answer = match host.open_feed(partition, dc, resume) {
                    Ok(incarnation) => {
                        out.open.push(partition);
                        Supply::<P>::Opened { partition, incarnation }
                    }
                    Err(refusal) => {
                        // Said once: every peer asks again and again, for every partition.
                        match host.disowned() {
                            Some(why) if !known => tracing::error!("{why}"),
                            Some(_) => {}
                            None => {
                                tracing::error!("cannot feed {}: {refusal}", ServerId::new(dc, partition))
                            }
                        }
                        Supply::Refused { partition, refusal }
                    }
                };
                outbox.push_frame(frame(&answer));
            }
            Request::Close { .. } if out.open.contains(&partition) => {
                out.open.retain(|open| *open != partition);
                host.close_feed(partition, dc);
            }
            Request::Close { .. } => {}
            Request::Confirm { seq, .. } => host.confirm(partition, dc, seq),
        }
    }
}
