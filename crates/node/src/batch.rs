//! The end of a batch: one commit for all that was done, then everything leaves that may.

use crate::core::Core;
use crate::hold::Limits;
use crate::layout::NodeId;
use crate::link::frame::FrameBuffer;
use crate::node::{Batch, Fatal, LinkId, Output};
use crate::of::NodeOf;
use crate::rule::ANSWERS_ABROAD_ARE_SYNCED;
use serde::Serialize;
use tidemark_contract::Protocol;
use tidemark_store::log::Position;

impl<P: Protocol> NodeOf<P> {
    pub(crate) fn end_batch(&mut self) -> Result<Batch, Fatal> {
        if let Some(fatal) = &self.core.fatal {
            return Err(fatal.clone());
        }
        let worked = std::mem::take(&mut self.core.wants_commit);
        self.deliver_replies();
        let batch = self.next_batch();
        self.shared.end_batch(&mut self.sessions, batch);
        let now = self.core.now;
        let position = match self.hold.commit(now) {
            Ok(position) => position,
            Err(fatal) => return Err(self.core.fail(fatal)),
        };
        self.core.counters.batches += 1;
        self.core.batch.0 += 1;
        self.speak_to_group();
        self.see_role();
        for output in self.hold.take_outputs(now) {
            self.send(output);
        }
        let limits = self.hold.limits(now);
        self.core.seal(position, limits);
        self.shared.release(&mut self.sessions, self.core.released.clients);
        for (link, why) in self.core.leave() {
            self.end_link(link, Some(why));
            self.core.outputs.push_back(Output::Close { link });
        }
        self.sync_if_due();
        self.send_copies();
        // A batch that only hands out outputs has written nothing: streams would be looked at for ever.
        self.core.streams_due |= worked && self.core.links.has_streams();
        self.look_at_streams();
        Ok(self.core.batch)
    }
}

impl Core {
    /// Closes the batch that ends at `position` of the log.
    fn seal(&mut self, position: Position, limits: Limits) {
        if position <= limits.clients && self.unreleased.is_empty() {
            // The usual way: no list is made.
            self.released.clients = self.batch;
        } else {
            self.unreleased.push_back((self.batch, position));
            while let Some((batch, position)) = self.unreleased.front().copied()
                && position <= limits.clients
            {
                self.released.clients = batch;
                self.unreleased.pop_front();
            }
        }
        if limits.clients == limits.others {
            self.released.others = self.released.clients;
        }
        if self.speaks {
            self.hold_or_free(position, limits);
        }
        for (gate, limit) in [(&mut self.near, limits.siblings), (&mut self.far, limits.others)] {
            while let Some((node, mut held)) = gate.release(limit) {
                self.outgoing[node.index()].free.append(&mut held);
                self.speaks = true;
            }
        }
    }

    /// What was said in the batch that ends at `position` may leave now, or later.
    fn hold_or_free(&mut self, position: Position, limits: Limits) {
        let nodes = self.outgoing.iter_mut().zip(&self.config.cluster.nodes).enumerate();
        for (at, (outgoing, layout)) in nodes.filter(|(_, (outgoing, _))| !outgoing.held.is_empty()) {
            let (gate, limit) = match layout.dc == self.dc || !ANSWERS_ABROAD_ARE_SYNCED.kept() {
                true => (&mut self.near, limits.siblings),
                false => (&mut self.far, limits.others),
            };
            if position <= limit && gate.is_empty() {
                outgoing.free.append(&mut outgoing.held);
            } else {
                gate.push(position, (NodeId(at as u16), std::mem::take(&mut outgoing.held)));
            }
        }
    }

    /// Messages that may leave are announced, those to nobody dropped. Returns the links that have taken too little, and why
    /// they are to end: their messages may be lost, but then both sides have to know that the requests among them are.
    fn leave(&mut self) -> Vec<(LinkId, String)> {
        let mut overflowed = Vec::new();
        if !std::mem::take(&mut self.speaks) {
            return overflowed;
        }
        for at in 0..self.outgoing.len() {
            let outgoing = &mut self.outgoing[at];
            if outgoing.free.is_empty() {
                continue;
            }
            match outgoing.link {
                None => outgoing.free = FrameBuffer::default(),
                Some(link) if outgoing.free.overflows(self.config.backlog_bytes) => {
                    let bytes = outgoing.free.len() + outgoing.free.large_bytes();
                    outgoing.free = FrameBuffer::default();
                    self.counters.message_bytes_dropped += bytes as u64;
                    let why =
                        format!("it takes too little, and {bytes} bytes of messages to it were dropped");
                    overflowed.push((link, why));
                }
                Some(link) => self.announce(link),
            }
        }
        overflowed
    }

    /// Says something to a node once this batch may leave. There may be no such node.
    #[inline]
    pub(crate) fn hold_back<T: Serialize>(&mut self, node: NodeId, message: &T) {
        if let Some(outgoing) = self.outgoing.get_mut(node.index()) {
            outgoing.held.push_parted(message, self.config.parts.above);
            self.speaks = true;
        }
    }

    /// Tells the driver that a link has something to transmit.
    pub(crate) fn announce(&mut self, id: LinkId) {
        if let Some(link) = self.links.get(id)
            && !std::mem::replace(&mut link.ready, true)
        {
            self.outputs.push_back(Output::Ready { link: id });
        }
    }

    /// Queues what `batch` holds as a frame on a link.
    pub(crate) fn say(&mut self, id: LinkId, batch: &mut FrameBuffer) {
        if !batch.is_empty()
            && let Some(link) = self.links.get(id)
        {
            link.parts.take_large(batch);
            if !batch.is_empty() {
                batch.take_into(&mut link.out);
            }
            self.announce(id);
        }
    }

    /// Queues what `batch` holds behind what leaves in parts on a link.
    pub(crate) fn say_behind(&mut self, id: LinkId, batch: &mut FrameBuffer) {
        if !batch.is_empty()
            && let Some(link) = self.links.get(id)
        {
            link.parts.push_behind(batch);
            self.announce(id);
        }
    }

    /// Queues a frame on a link.
    pub(crate) fn say_frame(&mut self, id: LinkId, frame: &[u8]) {
        if let Some(link) = self.links.get(id) {
            link.out.extend_from_slice(frame);
            self.announce(id);
        }
    }
}
