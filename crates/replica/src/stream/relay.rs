//! Relays: a region that cannot reach another one gets that one's records from a third.
//!
//! Records that were received are in the log, with the numbers that their sender gave them. So they can be handed on in the sender's
//! order: the receiver drops what it has already, and the sender's own stream goes on later where the relay has come to. A heartbeat
//! says that nothing else will come up to its time, so it follows the last record that it was sent behind, and comes before no other.

use super::{Host, OutgoingStream, Resume, StreamItem, StreamRefusal, carried, item, unreadable};
use crate::place::{INDEX_EVERY, Received};
use crate::record::{self, RECEIVED, SKIPPED, VersionParts};
use crate::rule::BEATS_COME_LAST;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Hlc, PartitionId, ServerId};
use tidemark_store::log::{Frame, Position};

/// How much of the log is passed over at a time, for each byte that may be handed out.
const OTHERS: usize = 16;

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

    /// The receiver takes no record of more than so many bytes.
    pub fn limit_feed(&mut self, ServerId { dc, partition }: ServerId, to: DcId, takes: usize) {
        let here = dc == self.config.dc;
        let place = self.place_mut(partition);
        let relay = place.relays.iter_mut().find(|relay| (relay.origin, relay.to) == (dc, to));
        let stream = match here {
            true => place.streams[to.index()].as_mut(),
            false => relay.map(|relay| &mut relay.stream),
        };
        stream.into_iter().for_each(|stream| stream.takes = takes);
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
    /// The log dropped what comes next, or cannot be read, or the receiver does not take it; the stream is closed.
    pub fn poll_feed(
        &mut self,
        ServerId { dc, partition }: ServerId,
        to: DcId,
        max_bytes: usize,
        out: &mut Vec<StreamItem<P>>,
    ) -> Result<(), StreamRefusal> {
        if dc != self.config.dc {
            return self.poll_relay((partition, dc), to, max_bytes, out);
        }
        self.poll_stream(partition, to, max_bytes, out)?;
        if let Some(seq) = self.tells_everywhere(partition, to) {
            out.push(StreamItem::Everywhere { seq });
            self.place_mut(partition).streams[to.index()]
                .iter_mut()
                .for_each(|stream| stream.everywhere = seq);
        }
        Ok(())
    }

    /// Whether [`Self::poll_feed`] may have something to hand out.
    pub fn has_for_feed(&mut self, ServerId { dc, partition }: ServerId, to: DcId) -> bool {
        match dc == self.config.dc {
            true => self.has_for_stream(partition, to) || self.tells_everywhere(partition, to).is_some(),
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
        let (last, durable) = (known.seq, known.durable);
        let from = match received >= last {
            true => self.log.flushed(),
            false => indexed.unwrap_or_default().max(self.log.oldest()).min(self.log.flushed()),
        };
        let mut cursor = self.log.cursor(from).map_err(unreadable)?;
        let mut before = cursor.position();
        let mut found = received >= durable;
        while let Some(frame) = self.log.read(&mut cursor).map_err(unreadable)? {
            if is_of(&frame, partition, origin) && frame.seq > received && !self.is_retracted(&frame) {
                found = frame.seq == received + 1;
                before = frame.position;
                break;
            }
            before = frame.end;
        }
        match found {
            true => Ok(OutgoingStream::new(self.log.cursor(before).map_err(unreadable)?, received)),
            false => Err(StreamRefusal::NotRelayed),
        }
    }

    fn is_retracted(&self, frame: &Frame<'_>) -> bool {
        self.group.as_ref().is_some_and(|group| group.is_retracted(frame.position))
    }

    /// As [`Self::poll_stream`], of a relay.
    ///
    /// # Errors
    /// The log has not what comes next, or cannot be read; the relay is closed.
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
        let durable = self.for_streams();
        let place = &mut self.places[self.place_of[partition.index()]];
        let relay = place.relays.iter_mut().find(|relay| (relay.origin, relay.to) == (origin, to));
        let Some(Relay { stream, .. }) = relay else { return Ok(()) };
        let (mut bytes, mut passed, takes) = (0, 0, stream.takes);
        while bytes < max_bytes && passed < max_bytes.saturating_mul(OTHERS) {
            let next = self.log.read_before(&mut stream.cursor, durable).map_err(unreadable)?;
            let Some(frame) = next else { break };
            passed += frame.payload.len();
            let retracted = self.group.as_ref().is_some_and(|group| group.is_retracted(frame.position));
            if !is_of(&frame, partition, origin) || frame.seq <= stream.sent || retracted {
                continue;
            }
            if frame.seq > stream.sent + 1 || frame.kind == SKIPPED {
                return Err(StreamRefusal::NotRelayed);
            }
            let (_, parts): (DcId, VersionParts<P::Meta>) = record::decode(frame.payload)
                .map_err(|error| StreamRefusal::Unreadable(format!("record {}: {error}", frame.seq)))?;
            carried(takes, frame.seq, frame.payload.len())?;
            bytes += frame.payload.len();
            stream.sent = frame.seq;
            // Only the origin's log says for whom it was.
            let regions = self.config.topology.holders(&parts.0);
            out.push(item(frame.seq, to, (regions, parts)));
        }
        let received = &place.received[origin.index()];
        if let Some(ts) = received.beat_for(stream) {
            stream.beat = ts;
            out.push(StreamItem::Heartbeat { after_seq: stream.sent, ts });
        }
        Ok(())
    }

    /// Whether [`Self::poll_relay`] may have something to hand out.
    fn has_for_relay(&mut self, (partition, origin): (PartitionId, DcId), to: DcId) -> bool {
        let durable = self.for_streams();
        let place = &mut self.places[self.place_of[partition.index()]];
        let relay = place.relays.iter_mut().find(|relay| (relay.origin, relay.to) == (origin, to));
        let Some(Relay { stream, .. }) = relay else { return false };
        let received = &place.received[origin.index()];
        if stream.sent < received.seq {
            return stream.sent < received.durable || received.beat_for(stream).is_some();
        }
        // All that was received was sent: the log is passed over, so that it may be shortened.
        received.beat_for(stream).is_some() || self.log.skip(&mut stream.cursor, durable).is_err()
    }

    /// Up to which record `to` is to be told that all data centres have it, those aside that were given up. It is told in
    /// steps, so that it costs nothing beside records.
    fn tells_everywhere(&self, partition: PartitionId, to: DcId) -> Option<u64> {
        if !self.keeps_for_others() {
            return None;
        }
        let place = self.place(partition);
        let told = place.streams[to.index()].as_ref()?.everywhere;
        let others = self.config.topology.all_dcs().filter(|dc| *dc != self.config.dc);
        let kept = others.filter(|dc| !place.needs_seeding[dc.index()]);
        let all = kept.map(|dc| place.confirmed[dc.index()]).min()?;
        (all > told && (all == place.written || all >= told + INDEX_EVERY)).then_some(all)
    }

    fn keeps_for_others(&self) -> bool {
        self.config.relays && self.config.topology.dcs > 2
    }

    /// From where on the log has what third data centres may ask for, of what one has written. Nothing in a follower of a group:
    /// it does not hear what all have, and a relay that lacks something says so.
    pub(crate) fn needed_for_others(&self, at: usize, origin: DcId) -> Option<Position> {
        let place = &self.places[at];
        let received = &place.received[origin.index()];
        if !self.keeps_for_others() || place.protocol.is_none() || received.passed >= received.seq {
            return None;
        }
        let indexed = received.index.range(..=received.passed + 1).next_back();
        Some(indexed.map_or(self.log.oldest(), |(_, position)| *position))
    }
}

impl Received {
    /// A heartbeat of the peer. One that comes over a third data centre may be older than the last.
    pub(super) fn hear(&mut self, beat: Beat) {
        if beat.ts > self.beat.ts {
            self.beat = beat;
        }
    }

    /// The heartbeat that may follow now: it comes after the last record before it.
    fn beat_for(&self, stream: &OutgoingStream) -> Option<Hlc> {
        let Beat { after, ts } = self.beat;
        let may_leave = after == stream.sent || !BEATS_COME_LAST.kept();
        (may_leave && ts > stream.beat).then_some(ts)
    }
}

/// Whether it is a record of a data centre.
fn is_of(frame: &Frame<'_>, partition: PartitionId, origin: DcId) -> bool {
    let received = matches!(frame.kind, RECEIVED | SKIPPED);
    received && frame.partition == partition.0 && frame.payload.first() == Some(&origin.0)
}
