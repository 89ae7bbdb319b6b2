//! The message connections: what this node says to another, and what it hears.

use super::dial::{Call, Cut};
use super::outbox::Outbox;
use super::reader::{FrameReader, LinkError};
use crate::shard::Shard;
use crate::shard::engine::Outgoing;
use crate::shard::questions::Parked;
use std::rc::Rc;
use tidemark_contract::Protocol;
use tidemark_core::Failure;
use tidemark_node::NodeId;
use tidemark_node::link::frame::{FrameError, values};
use tidemark_node::link::message::Message;
use tokio::net::tcp::OwnedReadHalf;

/// Keeps the connection on which this node speaks to `call.node`: until it breaks or is cut.
pub(crate) async fn speak<P: Protocol>(shard: &Rc<Shard<P>>, mut call: Call) -> Result<(), LinkError> {
    let node = call.node;
    let dc = shard.core.borrow().engine.config.cluster.nodes[node.index()].dc;
    let outbox = {
        let mut core = shard.core.borrow_mut();
        let outbox = Outbox::new(core.distance(dc));
        let core = &mut *core;
        core.engine.outgoing[node.index()].outbox = Some(outbox.clone());
        core.links.peers[node.index()].messages_out = true;
        core.engine.deliver(core.engine.groups.of_node(node), &mut core.clients);
        outbox
    };
    shard.want_turn();
    let mut cut = Cut::new(shard, |dcs| (dcs.mine, dcs.other), dc);
    let writing = outbox.clone().write_to(&mut call.write, || ());
    tokio::pin!(writing);
    let result = loop {
        tokio::select! {
            result = &mut writing => break result.map_err(LinkError::from),
            // The other side says nothing here; what it can do is go away.
            result = call.reader.next() => break result.map(drop),
            is_cut = cut.changed() => {
                if is_cut {
                    break Ok(());
                }
                outbox.set_distance(shard.core.borrow().distance(dc));
            }
        }
    };
    outbox.close();
    let mut core = shard.core.borrow_mut();
    let core = &mut *core;
    let outgoing = &mut core.engine.outgoing[node.index()];
    *outgoing = Outgoing { heard_on: outgoing.heard_on, ..Outgoing::default() };
    core.links.peers[node.index()].messages_out = false;
    core.engine.lose_node(node, &mut core.clients);
    shard.want_turn();
    result
}

/// Hears what `node` says until the connection breaks or is cut.
pub(crate) async fn listen<P: Protocol>(
    shard: &Rc<Shard<P>>,
    node: NodeId,
    mut reader: FrameReader<OwnedReadHalf>,
) -> Result<(), LinkError> {
    let dc = shard.core.borrow().engine.config.cluster.nodes[node.index()].dc;
    {
        let mut core = shard.core.borrow_mut();
        let core = &mut *core;
        core.links.peers[node.index()].messages_in = true;
        core.engine.outgoing[node.index()].heard_on += 1;
        core.engine.deliver(core.engine.groups.of_node(node), &mut core.clients);
    }
    shard.want_turn();
    let mut cut = Cut::new(shard, |dcs| (dcs.other, dcs.mine), dc);
    let result = loop {
        tokio::select! {
            payload = reader.next() => match payload.and_then(|payload| Ok(shard.hear(node, &payload)?)) {
                Ok(()) => {}
                Err(error) => break Err(error),
            },
            is_cut = cut.changed() => if is_cut { break Ok(()) },
        }
    };
    let mut core = shard.core.borrow_mut();
    let core = &mut *core;
    let outgoing = &mut core.engine.outgoing[node.index()];
    outgoing.heard_on -= 1;
    core.links.peers[node.index()].messages_in = outgoing.heard_on > 0;
    core.engine.lose_node(node, &mut core.clients);
    shard.want_turn();
    result
}

impl<P: Protocol> Shard<P> {
    /// Takes a frame of messages of `node`.
    fn hear(&self, node: NodeId, payload: &[u8]) -> Result<(), FrameError> {
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        let engine = &mut core.engine;
        engine.now = engine.clock.now();
        let takes_requests = engine.seat.takes_requests();
        let result = values::<Message<P>>(payload, |message| {
            engine.stats.messages_in += 1;
            match message {
                Message::Ask { ticket, to, writes, request } => match engine.seat.host_mut() {
                    Some(host) if takes_requests && host.holds(to) => {
                        host.request(engine.now, to, ticket, request, writes);
                    }
                    Some(host) if !host.holds(to) => {
                        let why = format!("partition {to} is not on this node");
                        let from = tidemark_core::ServerId::new(engine.dc, to);
                        engine.answered(ticket, from, Err(Failure::Unavailable(why)));
                    }
                    // The other side asks who leads next.
                    _ => {
                        let back = Message::<P>::Returned { ticket, to, writes, request };
                        engine.outgoing[node.index()].held.push(&back);
                    }
                },
                Message::Returned { ticket, to, writes, request } => {
                    let to = tidemark_core::ServerId::new(engine.dc_of(node), to);
                    engine.returned(node, Parked { ticket, to, writes, request }, &mut core.clients);
                }
                Message::Answer { ticket, from, reply } => engine.answered(ticket, from, Ok(reply)),
                Message::Refusal { ticket, failure } => {
                    engine.answered(ticket, Default::default(), Err(failure));
                }
                Message::Peer { from, to, message } => {
                    let me = tidemark_core::ServerId::new(engine.dc, to);
                    let theirs = engine.home(from) == Some(node) && !engine.faults.is_cut(from, me);
                    if let Some(host) = engine.seat.host_mut().filter(|host| theirs && host.holds(to)) {
                        host.message(engine.now, from, to, message);
                    }
                }
            }
        });
        self.want_turn();
        result
    }
}
