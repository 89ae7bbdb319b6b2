//! Relays: a region that cannot reach another one gets that one's records from a third.
//!
//! Records that were received are in the log, with the numbers that their sender gave them. So they can be handed on in the sender's
//! order: the receiver drops what it has already, and the sender's own stream goes on later where the relay has come to. A heartbeat
//! says that nothing else will come up to its time, so it follows the last record that it was sent behind, and comes before no other.

use super::{Host, OutgoingStream, Resume, StreamItem, StreamRefusal, unreadable};
use crate::record::{self, RECEIVED, SKIPPED, VersionParts};
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Hlc, PartitionId, ServerId};
use tidemark_store::log::Frame;

/// An open relay.
pub(crate) struct Relay {
    pub(crate) origin: DcId,
    pub(crate) to: DcId,
    pub(crate) stream: OutgoingStream,
}

/// The last heartbeat of a peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beat {
    /// The last record before it.
    pub(crate) after: u64,
    pub(crate) ts: Hlc,
}

impl<P: Protocol> Host<P> {
    /// Opens the stream of a server to `to`: of one that is here, or a relay.
    ///
    /// # Errors
    /// It cannot be fed from this log.
    pub fn open_feed(&mut self, server: ServerId, to: DcId, resume: Resume) -> Result<u64, StreamRefusal> {
        let ServerId { dc, partition } = server;
        match dc == self.config.dc {
            true => self.open_stream(partition, to, resume),
            false => self.open_relay((partition, dc), to, resume),
        }
    }

    /// Closes it.
    pub fn close_feed(&mut self, ServerId { dc, partition }: ServerId, to: DcId) {
        match dc == self.config.dc {
            true => self.close_stream(partition, to),
            false => self.close_relay((partition, dc), to),
        }
    }

    /// As [`Self::poll_stream`], of either.
    ///
    /// # Errors
    /// The log dropped what comes next, or cannot be read; the stream is closed.
    pub fn poll_feed(
        &mut self,
        ServerId { dc, partition }: ServerId,
        to: DcId,
        max_bytes: usize,
        out: &mut Vec<StreamItem<P>>,
    ) -> Result<(), StreamRefusal> {
        match dc == self.config.dc {
            true => self.poll_stream(partition, to, max_bytes, out),
            false => self.poll_relay((partition, dc), to, max_bytes, out),
        }
    }

    /// Whether [`Self::poll_feed`] may have something to hand out.
    pub fn has_for_feed(&mut self, ServerId { dc, partition }: ServerId, to: DcId) -> bool {
        match dc == self.config.dc {
            true => self.has_for_stream(partition, to),
            false => self.has_for_relay((partition, dc), to),
        }
    }

    /// Opens a relay of the records of `origin` in `partition` to `to`, which has what `resume` says. Returns the incarnation of the
    /// origin's log.
    ///
    /// # Errors
    /// It cannot be fed from this log.
    fn open_relay(
        &mut self,
        (partition, origin): (PartitionId, DcId),
        to: DcId,
        resume: Resume,
    ) -> Result<u64, StreamRefusal> {
        let found = self.place(partition).received[origin.index()].incarnation;
        if found == 0 {
            return Err(StreamRefusal::NotRelayed);
        }
        if ![0, found].contains(&resume.incarnation) {
            return Err(StreamRefusal::OtherIncarnation { known: resume.incarnation, found });
        }
        let stream = self.find_received(partition, origin, resume.received)?;
        self.close_relay((partition, origin), to);
        self.place_mut(partition).relays.push(Relay { origin, to, stream });
        Ok(found)
    }

    /// Closes a relay; it can be opened again at any time.
    fn close_relay(&mut self, (partition, origin): (PartitionId, DcId), to: DcId) {
        self.place_mut(partition).relays.retain(|relay| (relay.origin, relay.to) != (origin, to));
    }

    /// A cursor from which the record of `origin` after `received` is the next.
    fn find_received(
        &mut self,
        partition: PartitionId,
        origin: DcId,
        received: u64,
    ) -> Result<OutgoingStream, StreamRefusal> {
        let known = &self.place(partition).received[origin.index()];
        let indexed = known.index.range(..=received + 1).next_back().map(|(_, position)| *position);
        let from = match received >= known.seq {
            true => self.log.flushed(),
            false => indexed.unwrap_or_default().max(self.log.oldest()).min(self.log.flushed()),
        };
        let mut cursor = self.log.cursor(from).map_err(unreadable)?;
        let mut before = cursor.position();
        while let Some(frame) = self.log.read(&mut cursor).map_err(unreadable)? {
            if is_of(&frame, partition, origin) && frame.seq > received && !self.is_retracted(&frame) {
                if frame.seq > received + 1 {
                    return Err(StreamRefusal::Truncated { needed: received + 1, first_kept: frame.seq });
                }
                before = frame.position;
                break;
            }
            before = frame.end;
        }
        Ok(OutgoingStream::new(self.log.cursor(before).map_err(unreadable)?, received))
    }

    fn is_retracted(&self, frame: &Frame<'_>) -> bool {
        self.group.as_ref().is_some_and(|group| group.is_retracted(frame.position))
    }

    /// As [`Self::poll_stream`], of a relay.
    ///
    /// # Errors
    /// The log dropped what comes next, or cannot be read, or a record was not sent here; the relay is closed.
    fn poll_relay(
        &mut self,
        (partition, origin): (PartitionId, DcId),
        to: DcId,
        max_bytes: usize,
        out: &mut Vec<StreamItem<P>>,
    ) -> Result<(), StreamRefusal> {
        let read = self.read_relay((partition, origin), to, max_bytes, out);
        if read.is_err() {
            self.close_relay((partition, origin), to);
        }
        read
    }

    fn read_relay(
        &mut self,
        (partition, origin): (PartitionId, DcId),
        to: DcId,
        max_bytes: usize,
        out: &mut Vec<StreamItem<P>>,
    ) -> Result<(), StreamRefusal> {
        let durable = self.durable();
        let place = &mut self.places[self.place_of[partition.index()]];
        let relay = place.relays.iter_mut().find(|relay| (relay.origin, relay.to) == (origin, to));
        let Some(Relay { stream, .. }) = relay else { return Ok(()) };
        let mut bytes = 0;
        while bytes < max_bytes {
            let next = self.log.read_before(&mut stream.cursor, durable).map_err(unreadable)?;
            let Some(frame) = next else { break };
            let retracted = self.group.as_ref().is_some_and(|group| group.is_retracted(frame.position));
            if !is_of(&frame, partition, origin) || frame.seq <= stream.sent || retracted {
                continue;
            }
            if frame.seq > stream.sent + 1 {
                return Err(StreamRefusal::Truncated { needed: stream.sent + 1, first_kept: frame.seq });
            }
            if frame.kind == SKIPPED {
                return Err(StreamRefusal::NotRelayed);
            }
            let parts: (DcId, VersionParts<P::Meta>) = record::decode(frame.payload)
                .map_err(|error| StreamRefusal::Unreadable(format!("record {}: {error}", frame.seq)))?;
            bytes += frame.payload.len();
            stream.sent = frame.seq;
            let (key, version) = record::whole(parts.1);
            out.push(StreamItem::Record { seq: frame.seq, key, version });
        }
        let Beat { after, ts } = place.received[origin.index()].beat;
        if after == stream.sent && ts > stream.beat {
            stream.beat = ts;
            out.push(StreamItem::Heartbeat { after_seq: after, ts });
        }
        Ok(())
    }

    /// Whether [`Self::poll_relay`] may have something to hand out.
    fn has_for_relay(&self, (partition, origin): (PartitionId, DcId), to: DcId) -> bool {
        let place = self.place(partition);
        let relay = place.relays.iter().find(|relay| (relay.origin, relay.to) == (origin, to));
        let Some(Relay { stream, .. }) = relay else { return false };
        let received = &place.received[origin.index()];
        let Beat { after, ts } = received.beat;
        stream.sent < received.durable || after == stream.sent && ts > stream.beat
    }
}

/// Whether it is a record of a data centre.
fn is_of(frame: &Frame<'_>, partition: PartitionId, origin: DcId) -> bool {
    let received = matches!(frame.kind, RECEIVED | SKIPPED);
    received && frame.partition == partition.0 && frame.payload.first() == Some(&origin.0)
}
