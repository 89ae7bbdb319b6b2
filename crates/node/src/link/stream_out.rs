//! The sender's side of a replication stream.

use super::frame::{FrameBuffer, frame, values};
use super::stream::{Request, Supply};
use super::table::{Role, Stage, StreamOut, Up, note_refusal};
use crate::core::Core;
use crate::layout::NodeId;
use crate::node::{LinkError, LinkId, Output};
use crate::observe::Way;
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, ServerId};
use tidemark_replica::StreamRefusal;

impl<P: Protocol> NodeOf<P> {
    fn stream_out(&mut self, id: LinkId) -> Option<&mut StreamOut> {
        match &mut self.core.links.up(id)?.role {
            Role::StreamOut(stream) => Some(stream),
            _ => None,
        }
    }

    /// A link for records to `node` stands: it takes the place of those before it.
    pub(crate) fn replace_streams_to(&mut self, node: NodeId, new: LinkId) {
        let old =
            |(id, up): &(LinkId, &Up)| up.node == node && *id != new && matches!(up.role, Role::StreamOut(_));
        let old: Vec<LinkId> = self.core.links.all_up().filter(old).map(|(id, _)| id).collect();
        for id in old {
            self.end_link(id, None);
            self.core.outputs.push_back(Output::Close { link: id });
        }
    }

    /// The streams of a link that ends.
    pub(crate) fn close_streams(&mut self, out: &StreamOut) {
        if let Some(host) = self.hold.host_mut() {
            out.open.iter().for_each(|server| host.close_feed(*server, out.dc));
        }
    }

    /// A frame of the receiver.
    pub(crate) fn take_stream_requests(
        &mut self,
        id: LinkId,
        node: NodeId,
        payload: &[u8],
    ) -> Result<(), LinkError> {
        self.core.streams_due = true;
        let mut leads = true;
        values(payload, |request| leads &= self.asked_for_stream(id, node, request))?;
        // If it does lead, the next handshake says so. A request that nobody answers would not come again.
        match leads {
            true => Ok(()),
            false => Err(LinkError::Refused("the caller does not lead its group any more".to_string())),
        }
    }

    /// Whether the receiver may ask: it serves its partition, as far as is known here.
    fn asked_for_stream(&mut self, id: LinkId, node: NodeId, request: Request) -> bool {
        let (Request::Open { server, .. }
        | Request::Close { server }
        | Request::Confirm { server, .. }
        | Request::Held { server, .. }) = request;
        let to = ServerId::new(self.core.dc_of(node), server.partition);
        let leads = self.core.home(to) == Some(node);
        if leads && server.dc != to.dc {
            self.carry_out_request(id, to, server, request);
        }
        leads
    }

    fn carry_out_request(&mut self, id: LinkId, to: ServerId, server: ServerId, request: Request) {
        let ServerId { dc, partition } = to;
        if matches!(request, Request::Open { .. }) {
            // There is one stream to a data centre. An earlier leader there may not have noticed yet that it does not lead
            // any more.
            for link in self.core.links.iter_mut() {
                if let Stage::Up(Up { role: Role::StreamOut(out), .. }) = &mut link.stage
                    && out.dc == dc
                {
                    out.open.retain(|open| *open != server);
                }
            }
        }
        let too_large = match &request {
            Request::Open { resume, takes, .. } => self
                .stream_out(id)
                .and_then(|out| out.still_too_large(server, resume.received, *takes as usize)),
            _ => None,
        };
        let Some(host) = self.hold.host_mut().filter(|host| host.holds(partition)) else { return };
        match request {
            Request::Open { resume, takes, .. } => {
                let takes = takes as usize;
                let answer = match too_large.map_or_else(|| host.open_feed(server, dc, resume), Err) {
                    Ok(incarnation) => {
                        host.limit_feed(server, dc, takes);
                        if let Some(out) = self.stream_out(id) {
                            out.open.push(server);
                            out.held.retain(|(of, _)| *of != server);
                            out.refused.retain(|(of, ..)| *of != server);
                        }
                        Supply::<P>::Opened { server, incarnation }
                    }
                    Err(refusal) => {
                        self.refuse(id, server, &refusal);
                        Supply::Refused { server, refusal }
                    }
                };
                self.core.say_frame(id, &frame(&answer));
            }
            Request::Close { .. } => {
                if self.stream_out(id).is_some_and(|out| out.open.contains(&server)) {
                    if let Some(out) = self.stream_out(id) {
                        out.open.retain(|open| *open != server);
                    }
                    if let Some(host) = self.hold.host_mut() {
                        host.close_feed(server, dc);
                    }
                }
            }
            Request::Held { why, .. } => {
                if let Some(out) = self.stream_out(id) {
                    out.held.retain(|(of, _)| *of != server);
                    out.held.extend(why.map(|why| (server, why)));
                }
            }
            Request::Confirm { seq, .. } if server.dc == self.core.dc => host.confirm(partition, dc, seq),
            Request::Confirm { .. } => {}
        }
    }

    /// The stream of a server is refused. Of a relay that is no trouble: it has not what was asked for, and somebody else may.
    fn refuse(&mut self, id: LinkId, server: ServerId, refusal: &StreamRefusal) {
        if server.dc != self.core.dc {
            return;
        }
        self.core.counters.streams_refused += 1;
        let now = self.core.now.mono;
        if let Some(out) = self.stream_out(id) {
            note_refusal(&mut out.refused, server, now, refusal);
        }
    }

    /// Appends what is there and durable to the link's frames; true if there is more.
    pub(crate) fn supply(&mut self, id: LinkId) -> bool {
        let Some(node) = self.core.links.up(id).map(|up| up.node) else { return false };
        let whole = self.core.links.get(id).is_some_and(|link| link.parts.is_empty());
        let Some(StreamOut { dc, open, parted, .. }) = self.stream_out(id) else { return false };
        let (dc, mut open, mut parted) = (*dc, std::mem::take(open), std::mem::take(parted));
        if whole {
            parted.clear();
        }
        let (limit, above) = (self.core.config.stream_frame_bytes, self.core.config.parts.above);
        let mut more = false;
        let mut batch = FrameBuffer::default();
        open.retain(|server| {
            let partition = server.partition;
            let (from, to) = (ServerId::new(self.core.dc, partition), ServerId::new(dc, partition));
            if self.core.cuts.is_cut(from, to) || parted.contains(server) {
                return true;
            }
            let Some(host) = self.hold.host_mut() else { return true };
            let mut items = Vec::new();
            let polled = host.poll_feed(*server, dc, limit, &mut items);
            if !items.is_empty() {
                self.core.counters.stream_items_out += items.len() as u64;
                self.core.sees_items(Way::Out, node, (from, to), &items);
                let before = batch.len();
                match batch.push_parted(&Supply::<P>::Items { server: *server, items }, above) {
                    true => parted.push(*server),
                    false => more |= batch.len() - before >= limit / 2,
                }
            }
            let Err(refusal) = polled else { return true };
            self.refuse(id, *server, &refusal);
            batch.push(&Supply::<P>::Refused { server: *server, refusal });
            false
        });
        if let Some(out) = self.stream_out(id) {
            (out.open, out.parted) = (open, parted);
        }
        if let Some(link) = self.core.links.get(id) {
            link.parts.take_large(&mut batch);
            if !batch.is_empty() {
                batch.take_into(&mut link.out);
            }
        }
        more
    }

    /// Looks for records to send and to confirm, at most once in a while.
    pub(crate) fn look_at_streams(&mut self) {
        let now = self.core.now.mono;
        if !self.core.streams_due || now < self.core.streams_at + self.core.config.pace.stream_round_us {
            return;
        }
        (self.core.streams_due, self.core.streams_at) = (false, now);
        self.confirm_streams();
        let Some(host) = self.hold.host_mut() else { return };
        let Core { links, outputs, .. } = &mut self.core;
        for link in links.iter_mut().filter(|link| !link.ready) {
            if let Stage::Up(Up { role: Role::StreamOut(out), .. }) = &link.stage
                && out.open.iter().any(|server| host.has_for_feed(*server, out.dc))
            {
                link.ready = true;
                outputs.push_back(Output::Ready { link: link.id });
            }
        }
    }

    /// When [`Self::look_at_streams`] has something to do.
    pub(crate) fn next_look(&self) -> Micros {
        if self.core.streams_due {
            self.core.streams_at + self.core.config.pace.stream_round_us
        } else {
            Micros::MAX
        }
    }
}
