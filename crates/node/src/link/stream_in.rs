//! The receiver's side of a replication stream.

use super::frame::{FrameBuffer, FrameError, frame, values};
use super::stream::{Reason, Request, Supply};
use super::table::{Role, StreamIn, note_refusal};
use crate::layout::NodeId;
use crate::node::{LinkError, LinkId};
use crate::notice::Level;
use crate::observe::Way;
use crate::of::NodeOf;
use bytes::Bytes;
use tidemark_contract::Protocol;
use tidemark_core::ServerId;
use tidemark_replica::{StreamError, StreamItem, StreamRefusal};

/// What became of a frame.
enum Taken {
    Whole,
    /// Not all of it can be taken now: the same frame is offered again. Records that were taken are known by their numbers.
    Later,
    /// Records are missing: the link is useless.
    Gap(StreamError),
}

impl<P: Protocol> NodeOf<P> {
    fn stream_in(&mut self, id: LinkId) -> Option<&mut StreamIn> {
        match &mut self.core.links.up(id)?.role {
            Role::StreamIn(stream) => Some(stream),
            _ => None,
        }
    }

    /// Asks for what is not open and not cut, and closes what is cut.
    pub(crate) fn ask_for_streams(&mut self, id: LinkId) {
        let Some(node) = self.core.links.up(id).map(|up| up.node) else { return };
        let layout = self.core.config.cluster.nodes[node.index()].clone();
        let Some(host) = self.hold.host() else { return };
        let core = &mut self.core;
        let dc = core.dc;
        let relayed: Vec<ServerId> = core.relays.asked_of(node).collect();
        let cut = |from, to, cuts: &crate::cuts::Cuts| cuts.is_cut(from, to);
        let mut batch = FrameBuffer::default();
        let again = core.now.mono + core.config.pace.ask_again_us;
        let takes = core.config.limit.get().received() as u64;
        let Some(Role::StreamIn(stream)) = core.links.up(id).map(|up| &mut up.role) else { return };
        let mut ended = false;
        for partition in layout.partitions.iter().copied().filter(|partition| host.holds(*partition)) {
            let (from, to) = (ServerId::new(layout.dc, partition), ServerId::new(dc, partition));
            if cut(from, to, &core.cuts) {
                let (closed, open) =
                    stream.open.drain(..).partition(|(server, _)| server.partition == partition);
                stream.open = open;
                for (server, _) in <Vec<(ServerId, u64)>>::into_iter(closed) {
                    batch.push(&Request::Close { server });
                }
            } else if host.has_all_of(from, partition) {
                ended = true;
            } else if stream.open.iter().all(|(server, _)| *server != from) {
                let resume = host.resume_point(from, partition);
                batch.push(&Request::Open { server: from, resume, takes });
            }
        }
        for server in relayed {
            let (partition, at) = (server.partition, ServerId::new(layout.dc, server.partition));
            let open = stream.open.iter().any(|(open, _)| *open == server);
            let wanted = host.holds(partition) && !host.has_all_of(server, partition);
            if !open && wanted && !cut(at, ServerId::new(dc, partition), &core.cuts) {
                let resume = host.resume_point(server, partition);
                batch.push(&Request::Open { server, resume, takes });
            }
        }
        if ended {
            // What is taken of a region that is about to be excluded may change.
            stream.ask_again = stream.ask_again.or(Some(again));
            core.links.look_at(again);
        }
        core.say(id, &mut batch);
    }

    /// A frame of a stream.
    pub(crate) fn take_supply(&mut self, id: LinkId, node: NodeId, payload: &[u8]) -> Result<(), LinkError> {
        match self.take_frame(id, node, payload)? {
            Taken::Whole => Ok(()),
            Taken::Later => {
                let again = self.core.now.mono + self.core.config.pace.offer_again_us;
                self.core.links.look_at(again);
                if let Some(link) = self.core.links.get(id) {
                    link.waiting = Some((again, Bytes::copy_from_slice(payload)));
                }
                Ok(())
            }
            Taken::Gap(error) => {
                self.core.counters.stream_gaps += 1;
                let name = self.core.name_of(node).to_string();
                let what = format!("the stream of node {name} is asked for again: {error}");
                self.core.notice(Level::Warn, what.clone());
                Err(LinkError::Refused(what))
            }
        }
    }

    fn take_frame(&mut self, id: LinkId, node: NodeId, payload: &[u8]) -> Result<Taken, FrameError> {
        let mut taken = Taken::Whole;
        values::<Supply<P>>(payload, |supply| {
            if !matches!(taken, Taken::Whole) {
                return;
            }
            match supply {
                Supply::Opened { server, incarnation } => self.opened(id, node, server, incarnation),
                Supply::Refused { server, refusal } => self.refused(id, node, server, &refusal),
                Supply::Items { server, items } => taken = self.take_items(id, node, server, items),
            }
        })?;
        self.collect(None);
        Ok(taken)
    }

    fn opened(&mut self, id: LinkId, node: NodeId, from: ServerId, incarnation: u64) {
        let partition = from.partition;
        let at = ServerId::new(self.core.dc_of(node), partition);
        let theirs = self.core.home(at) == Some(node);
        let relayed = from != at;
        if self.core.cuts.is_cut(at, ServerId::new(self.core.dc, partition))
            || relayed && !self.core.relays.asks(node, from)
        {
            // It was cut while the answer was under way, or is not needed any more. If it stood as open here, nobody would ask for it
            // once it is healed.
            return self.core.say_frame(id, &frame(&Request::Close { server: from }));
        }
        let Some(host) = self.hold.host_mut().filter(|host| theirs && host.holds(partition)) else {
            // A handshake that came late may have made this node doubt who leads. The doubt ends, and nobody else asks then.
            return self.ask_again(id, from);
        };
        if let Err(refusal) = host.accept_stream(from, partition, incarnation) {
            return self.refused(id, node, from, &refusal);
        }
        let confirmed = host.received(from, partition);
        if let Some(stream) = self.stream_in(id) {
            stream.open.retain(|(server, _)| *server != from);
            stream.open.push((from, confirmed));
            stream.held.retain(|(server, ..)| *server != from);
            stream.refused.retain(|(server, ..)| *server != from);
            if !relayed {
                self.core.say_frame(id, &frame(&Request::Confirm { server: from, seq: confirmed }));
            }
        }
    }

    fn refused(&mut self, id: LinkId, node: NodeId, from: ServerId, refusal: &StreamRefusal) {
        if from.dc != self.core.dc_of(node) {
            if let Some(stream) = self.stream_in(id) {
                stream.open.retain(|(server, _)| *server != from);
            }
            return self.core.relays.refused(node, from);
        }
        self.ask_again(id, from);
        self.core.counters.streams_refused += 1;
        let now = self.core.now.mono;
        if let Some(stream) = self.stream_in(id) {
            note_refusal(&mut stream.refused, from, now, refusal);
        }
    }

    /// The stream of a partition is not open: it is asked for again after a pause.
    fn ask_again(&mut self, id: LinkId, from: ServerId) {
        let again = self.core.now.mono + self.core.config.pace.ask_again_us;
        self.core.links.look_at(again);
        if let Some(stream) = self.stream_in(id) {
            stream.open.retain(|(server, _)| *server != from);
            stream.ask_again = Some(again);
        }
    }

    fn take_items(&mut self, id: LinkId, node: NodeId, from: ServerId, items: Vec<StreamItem<P>>) -> Taken {
        let partition = from.partition;
        let to = ServerId::new(self.core.dc, partition);
        let open = |stream: &mut StreamIn| stream.open.iter().any(|(server, _)| *server == from);
        if !self.stream_in(id).is_some_and(open) {
            // Under way when the stream was closed here.
            return Taken::Whole;
        }
        // A node that does not serve has no streams.
        let Some(host) = self.hold.host_mut() else { return Taken::Whole };
        for item in items {
            host.on_behalf_of(self.core.sees_item(Way::In, node, (from, to), &item));
            match host.take_item(self.core.now, from, partition, item) {
                Ok(()) => self.core.counters.stream_items_in += 1,
                Err(StreamError::Ended(_)) => {
                    self.ends(id, node, from);
                    return Taken::Whole;
                }
                Err(error) => {
                    let Some(reason) = Reason::of(&error) else { return Taken::Gap(error) };
                    self.core.counters.streams_ahead += 1;
                    self.holds(id, node, from, Some(reason));
                    return Taken::Later;
                }
            }
        }
        self.holds(id, node, from, None);
        Taken::Whole
    }

    /// The next record of `from` is not taken, for a reason, or is: its sender is told when that changes.
    fn holds(&mut self, id: LinkId, node: NodeId, from: ServerId, why: Option<Reason>) {
        let (now, direct) = (self.core.now.mono, from.dc == self.core.dc_of(node));
        let Some(stream) = self.stream_in(id) else { return };
        let known = stream.held.iter().position(|(server, ..)| *server == from);
        match (known, &why) {
            (None, None) => return,
            (Some(at), Some(why)) if stream.held[at].2.cause == why.cause => return,
            (Some(at), Some(why)) => stream.held[at].2 = why.clone(),
            (Some(at), None) => drop(stream.held.remove(at)),
            (None, Some(why)) => stream.held.push((from, now, why.clone())),
        }
        // A relay can do nothing about it.
        if direct {
            self.core.say_frame(id, &frame(&Request::Held { server: from, why }));
        }
    }

    /// No more is taken of a server, for now at least: its stream is closed.
    fn ends(&mut self, id: LinkId, node: NodeId, from: ServerId) {
        self.core.say_frame(id, &frame(&Request::Close { server: from }));
        if from.dc == self.core.dc_of(node) {
            return self.ask_again(id, from);
        }
        if let Some(stream) = self.stream_in(id) {
            stream.open.retain(|(server, _)| *server != from);
        }
        self.core.relays.refused(node, from);
    }

    /// Confirms what has become durable.
    pub(crate) fn confirm_streams(&mut self) {
        let Some(host) = self.hold.host() else { return };
        let mut said: Vec<(LinkId, FrameBuffer)> = Vec::new();
        for link in self.core.links.iter_mut() {
            let super::table::Stage::Up(super::table::Up { role: Role::StreamIn(stream), node, .. }) =
                &mut link.stage
            else {
                continue;
            };
            let (mut batch, dc) = (FrameBuffer::default(), self.core.config.cluster.nodes[node.index()].dc);
            for (from, confirmed) in stream.open.iter_mut().filter(|(server, _)| server.dc == dc) {
                let seq = host.received(*from, from.partition);
                if seq > *confirmed {
                    *confirmed = seq;
                    batch.push(&Request::Confirm { server: *from, seq });
                }
            }
            if !batch.is_empty() {
                said.push((link.id, batch));
            }
        }
        said.into_iter().for_each(|(id, mut batch)| self.core.say(id, &mut batch));
    }

    /// Asks again for streams that were refused, and offers frames again that could not be taken.
    pub(crate) fn retry_streams(&mut self) {
        let now = self.core.now.mono;
        let due: Vec<LinkId> =
            self.core.links.iter().filter(|link| link.retries() <= now).map(|link| link.id).collect();
        for id in due {
            if let Some(stream) =
                self.stream_in(id).filter(|stream| stream.ask_again.is_some_and(|at| at <= now))
            {
                stream.ask_again = None;
                self.ask_for_streams(id);
            }
            let Some(link) = self.core.links.get(id) else { continue };
            let Some((_, payload)) = link.waiting.take_if(|(at, _)| *at <= now) else { continue };
            let Some(node) = self.core.links.up(id).map(|up| up.node) else { continue };
            self.core.wants_commit = true;
            match self.take_supply(id, node, &payload) {
                Ok(()) if self.core.links.get(id).is_some_and(|link| link.waiting.is_none()) => {
                    self.core.outputs.push_back(crate::node::Output::Resume { link: id });
                }
                Ok(()) => {}
                Err(error) => {
                    self.end_link(id, Some(error.to_string()));
                    self.core.outputs.push_back(crate::node::Output::Close { link: id });
                }
            }
        }
    }
}
