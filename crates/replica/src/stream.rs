//! Feeds: how what is written here reaches the peers, in order, each record once, across cuts and crashes.
//!
//! The log is the queue. A receiver says what it has durably received ([`Resume`]); the sender opens a stream there,
//! and reads records from its log as the link takes them. Between records it puts the latest heartbeat, if no
//! record was written after it: a record's own time says more.

use crate::arrivals::Arrival;
use crate::config::Now;
use crate::host::Host;
use crate::record::{self, PEER, RECEIVED, SKIPPED, VersionParts, WRITTEN};
use crate::refusal::StreamRefusal;
use crate::rule::{BEATS_ARE_SYNCED, RECORDS_ARE_SYNCED, REPEATS_ARE_DROPPED};
use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_contract::{Protocol, Version};
use tidemark_core::{DcId, Hlc, Key, PartitionId, Regions, ServerId};
use tidemark_store::log::{Log, LogError, Position};

mod ended;
mod error;
mod outgoing;
mod relay;

pub use error::StreamError;
pub(crate) use outgoing::OutgoingStream;
use outgoing::carried;
pub(crate) use relay::{Beat, Relay};

/// What a receiver has of one peer's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The incarnation of the peer's log; 0 if there was no stream yet.
    pub incarnation: u64,
    /// The number of the last record received.
    pub received: u64,
}

/// One thing that a stream carries.
#[derive(Serialize, Deserialize)]
#[derive_where(Clone, Debug)]
#[serde(bound = "")]
pub enum StreamItem<P: Protocol> {
    /// A version.
    Record {
        /// Its number.
        seq: u64,
        /// Its key.
        key: Key,
        /// The version, as shipped.
        #[serde(with = "version_parts")]
        version: Version<P::Meta>,
    },
    /// A record that does not go to this data centre: only its number and time.
    Skipped {
        /// Its number.
        seq: u64,
        /// Its time.
        ts: Hlc,
    },
    /// Everything at or below has been observed by every later record of a data type.
    Floor {
        /// The last record before it.
        after_seq: u64,
        /// The time.
        floor: Hlc,
    },
    /// Later records have times above this.
    Heartbeat {
        /// The last record before it.
        after_seq: u64,
        /// The time.
        ts: Hlc,
    },
    /// All data centres have what was written up to here: none will ask a third one for it.
    Everywhere {
        /// The last record that all have.
        seq: u64,
    },
}

mod version_parts;

impl<P: Protocol> Host<P> {
    /// What to ask `from` for, on behalf of `at`, which is here.
    pub fn resume_point(&self, from: ServerId, at: PartitionId) -> Resume {
        let received = &self.place(at).received[from.dc.index()];
        Resume { incarnation: received.incarnation, received: received.durable }
    }

    /// Opens the stream of `partition` to `to`, which has what `resume` says. Returns the incarnation of this log.
    ///
    /// # Errors
    /// The peer cannot be fed from this log. If that is because this log is not the one that it knows, writes are
    /// refused from now on: see [`Self::disowned`].
    pub fn open_stream(
        &mut self,
        partition: PartitionId,
        to: DcId,
        resume: Resume,
    ) -> Result<u64, StreamRefusal> {
        if let Err(refusal) = self.recognise(partition, resume) {
            self.disowned = self.disowned.take().or(refusal.disowns());
            return Err(refusal);
        }
        let stream = self.find(partition, resume.received)?;
        let place = self.place_mut(partition);
        place.confirmed[to.index()] = resume.received;
        place.needs_seeding[to.index()] = false;
        place.streams[to.index()] = Some(stream);
        Ok(self.incarnation())
    }

    /// Whether what a receiver knows of `partition` can be of this log.
    fn recognise(&self, partition: PartitionId, resume: Resume) -> Result<(), StreamRefusal> {
        let (known, found) = (resume.incarnation, self.incarnation());
        if known != 0 && known != found {
            return Err(StreamRefusal::OtherIncarnation { known, found });
        }
        let (theirs, mine) = (resume.received, self.place(partition).written);
        if theirs > mine {
            return Err(StreamRefusal::LostLog { theirs, mine });
        }
        Ok(())
    }

    /// Closes the stream to `to`; it can be opened again at any time.
    pub fn close_stream(&mut self, partition: PartitionId, to: DcId) {
        self.place_mut(partition).streams[to.index()] = None;
    }

    /// A cursor from which the record after `received` is the next of its partition.
    fn find(&mut self, partition: PartitionId, received: u64) -> Result<OutgoingStream, StreamRefusal> {
        let place = self.place(partition);
        if received == place.written {
            let cursor = self.log.cursor(self.log.flushed()).map_err(unreadable)?;
            // What this turn has written, but not committed, comes after it.
            return Ok(OutgoingStream::new(cursor, received));
        }
        let indexed = place.index.range(..=received + 1).next_back().map(|(_, position)| *position);
        let from = indexed.filter(|position| *position >= self.log.oldest()).unwrap_or(self.log.oldest());
        // What this turn has written is in the index, and not in the log yet.
        let from = from.min(self.log.flushed());
        let mut cursor = self.log.cursor(from).map_err(unreadable)?;
        let mut before = cursor.position();
        while let Some(frame) = self.log.read(&mut cursor).map_err(unreadable)? {
            if frame.kind == WRITTEN
                && frame.partition == partition.0
                && frame.seq > received
                && self.group.as_ref().is_none_or(|group| !group.is_retracted(frame.position))
            {
                if frame.seq > received + 1 {
                    return Err(StreamRefusal::Truncated { needed: received + 1, first_kept: frame.seq });
                }
                let cursor = self.log.cursor(frame.position).map_err(unreadable)?;
                return Ok(OutgoingStream::new(cursor, received));
            }
            before = frame.end;
        }
        // The record after `received` is of this turn, or it is gone though nothing follows it.
        if received >= self.place(partition).before_turn {
            let cursor = self.log.cursor(before).map_err(unreadable)?;
            return Ok(OutgoingStream::new(cursor, received));
        }
        Err(StreamRefusal::Truncated { needed: received + 1, first_kept: self.place(partition).written + 1 })
    }

    /// Appends to `out` what comes next in the stream of `partition` to `to` and is durable, about `max_bytes` of
    /// it. Nothing if the stream is closed.
    ///
    /// # Errors
    /// The log dropped what comes next, or cannot be read, or the receiver does not take it; the stream is closed.
    pub fn poll_stream(
        &mut self,
        partition: PartitionId,
        to: DcId,
        max_bytes: usize,
        out: &mut Vec<StreamItem<P>>,
    ) -> Result<(), StreamRefusal> {
        let (durable, beats) = (self.for_streams(), self.for_beats());
        let place = &mut self.places[self.place_of[partition.index()]];
        let Some(stream) = &mut place.streams[to.index()] else { return Ok(()) };
        // If all that was written here was sent, what the log has more came from peers, and is not even read.
        let read = match stream.sent == place.written {
            true => self.log.skip(&mut stream.cursor, durable).map_err(unreadable),
            false => {
                let retracted = |at| self.group.as_ref().is_some_and(|group| group.is_retracted(at));
                read_stream(&self.log, (partition, to), stream, retracted, durable, max_bytes, out)
            }
        };
        if let Err(refusal) = read {
            place.streams[to.index()] = None;
            return Err(refusal);
        }
        let (floor, ready) = (place.floor(durable), place.beat(beats));
        let Some(stream) = &mut place.streams[to.index()] else { return Ok(()) };
        if let Some(heartbeat) = ready
            && heartbeat.after == stream.sent
            && heartbeat.ts > stream.beat
        {
            stream.beat = heartbeat.ts;
            out.push(StreamItem::Heartbeat { after_seq: heartbeat.after, ts: heartbeat.ts });
        }
        if let Some(floor) = stream.rises_to(floor) {
            stream.floor = floor;
            out.push(StreamItem::Floor { after_seq: stream.sent, floor });
        }
        Ok(())
    }

    /// What stands in the log up to here may leave on streams.
    pub(crate) fn for_streams(&self) -> Position {
        if RECORDS_ARE_SYNCED.kept() { self.durable() } else { self.flushed() }
    }

    /// Heartbeats of turns that end up to here may leave.
    fn for_beats(&self) -> Position {
        if BEATS_ARE_SYNCED.kept() { self.durable() } else { self.flushed() }
    }

    /// Whether [`Self::poll_stream`] has something to hand out, or an error to tell. It may have nothing all the same.
    pub fn has_for_stream(&mut self, partition: PartitionId, to: DcId) -> bool {
        let (durable, beats) = (self.for_streams(), self.for_beats());
        let place = &mut self.places[self.place_of[partition.index()]];
        let (floor, ready) = (place.floor(durable), place.beat(beats));
        let Some(stream) = &mut place.streams[to.index()] else { return false };
        if stream.sent != place.written {
            return stream.cursor.position() < durable;
        }
        // What was written here was sent: the log is passed over, so that it may be shortened.
        ready.is_some_and(|beat| beat.after == stream.sent && beat.ts > stream.beat)
            || stream.rises_to(floor).is_some()
            || self.log.skip(&mut stream.cursor, durable).is_err()
    }

    /// The peer in `to` has durably received the records up to `seq`.
    pub fn confirm(&mut self, partition: PartitionId, to: DcId, seq: u64) {
        let place = self.place_mut(partition);
        let confirmed = &mut place.confirmed[to.index()];
        *confirmed = seq.clamp(*confirmed, place.written);
    }

    /// `from` opened the stream that `at` asked for; its log is `incarnation`.
    ///
    /// # Errors
    /// It is another log than the one that was received from before.
    pub fn accept_stream(
        &mut self,
        from: ServerId,
        at: PartitionId,
        incarnation: u64,
    ) -> Result<(), StreamRefusal> {
        let received = &mut self.place_mut(at).received[from.dc.index()];
        if received.incarnation == incarnation {
            return Ok(());
        }
        if received.incarnation != 0 {
            let known = received.incarnation;
            return Err(StreamRefusal::OtherIncarnation { known, found: incarnation });
        }
        received.incarnation = incarnation;
        self.append(PEER, at, 0, |buffer| record::encode(&(from.dc, incarnation), buffer));
        Ok(())
    }

    /// Takes an item of the stream from `from` to `at`. Repeats are dropped.
    ///
    /// # Errors
    /// It was not taken; nothing changed.
    pub fn take_item(
        &mut self,
        now: Now,
        from: ServerId,
        at: PartitionId,
        item: StreamItem<P>,
    ) -> Result<(), StreamError> {
        let Some(expected) = self.expects(from, at, &item)? else { return Ok(()) };
        let repeats = |seq| seq < expected && REPEATS_ARE_DROPPED.kept();
        match item {
            StreamItem::Record { seq, .. } | StreamItem::Skipped { seq, .. } if repeats(seq) => Ok(()),
            StreamItem::Record { seq, .. } | StreamItem::Skipped { seq, .. } if seq > expected => {
                Err(StreamError::Gap { expected, got: seq })
            }
            StreamItem::Record { seq, key, version } => self.receive(now, from, at, seq, key, version),
            StreamItem::Skipped { seq, ts } => {
                self.make_room(0)?;
                self.append(SKIPPED, at, seq, |buffer| record::encode(&from.dc, buffer));
                self.place_mut(at).received[from.dc.index()].seq = seq;
                // What follows may have the same time: the versions of one transaction do.
                self.arrive(now, (from, at), None, Arrival::Time(ts.prev()));
                Ok(())
            }
            StreamItem::Heartbeat { after_seq, ts } if after_seq + 1 == expected => {
                self.not_ahead(now, ts)?;
                self.place_mut(at).received[from.dc.index()].hear(Beat { after: after_seq, ts });
                self.arrive(now, (from, at), None, Arrival::Time(ts));
                Ok(())
            }
            StreamItem::Everywhere { seq } => {
                let received = &mut self.place_mut(at).received[from.dc.index()];
                received.passed = seq.max(received.passed);
                Ok(())
            }
            StreamItem::Floor { after_seq, floor } if after_seq + 1 == expected => {
                self.arrive(now, (from, at), None, Arrival::Floor(floor));
                Ok(())
            }
            StreamItem::Heartbeat { after_seq, .. } | StreamItem::Floor { after_seq, .. }
                if after_seq >= expected =>
            {
                Err(StreamError::Gap { expected, got: after_seq + 1 })
            }
            StreamItem::Heartbeat { .. } | StreamItem::Floor { .. } => Ok(()),
        }
    }

    fn receive(
        &mut self,
        now: Now,
        from: ServerId,
        at: PartitionId,
        seq: u64,
        key: Key,
        version: Version<P::Meta>,
    ) -> Result<(), StreamError> {
        self.not_ahead(now, version.stamp.ts)?;
        if let Err(why) = self.place(at).store.understands(&version.write) {
            return Err(StreamError::Meaning { seq, key, why });
        }
        self.make_room(key.len() + version.write.len())?;
        let payload = (from.dc, record::parts(&key, &version));
        let position = self.append(RECEIVED, at, seq, |buffer| record::encode(&payload, buffer));
        let place = self.place_mut(at);
        let received = &mut place.received[from.dc.index()];
        received.seq = seq;
        position.into_iter().for_each(|position| received.note(seq, position));
        let upto = P::EXTENSIONS.announced(version.stamp, &version.meta);
        place.last.raise(from.dc, upto);
        self.arrive(now, (from, at), position, Arrival::Record(upto, key, version));
        Ok(())
    }

    fn not_ahead(&self, now: Now, ts: Hlc) -> Result<(), StreamError> {
        match ts.micros().saturating_sub(now.wall) {
            by_us if by_us > self.config.max_skew_us => Err(StreamError::Ahead { by_us }),
            _ => Ok(()),
        }
    }

    /// The last record of `from` that is durable at `at`: what to confirm.
    pub fn received(&self, from: ServerId, at: PartitionId) -> u64 {
        self.place(at).received[from.dc.index()].durable
    }
}

fn unreadable(error: LogError) -> StreamRefusal {
    StreamRefusal::Unreadable(error.to_string())
}

/// Appends the durable records that come next in the stream of `partition` to `to`.
fn read_stream<P: Protocol>(
    log: &Log,
    (partition, to): (PartitionId, DcId),
    stream: &mut OutgoingStream,
    retracted: impl Fn(Position) -> bool,
    durable: Position,
    max_bytes: usize,
    out: &mut Vec<StreamItem<P>>,
) -> Result<(), StreamRefusal> {
    let mut bytes = 0;
    while bytes < max_bytes {
        let Some(frame) = log.read_before(&mut stream.cursor, durable).map_err(unreadable)? else { break };
        let passed = frame.kind != WRITTEN || frame.partition != partition.0 || frame.seq <= stream.sent;
        if passed || retracted(frame.position) {
            continue;
        }
        let parts: (Regions, VersionParts<P::Meta>) = record::decode(frame.payload)
            .map_err(|error| StreamRefusal::Unreadable(format!("record {}: {error}", frame.seq)))?;
        let takes = if parts.0.contains(to) { stream.takes } else { usize::MAX };
        carried(takes, frame.seq, frame.payload.len())?;
        bytes += frame.payload.len();
        stream.sent = frame.seq;
        out.push(item(frame.seq, to, parts));
    }
    Ok(())
}

fn item<P: Protocol>(
    seq: u64,
    to: DcId,
    (regions, parts): (Regions, VersionParts<P::Meta>),
) -> StreamItem<P> {
    let (key, version) = record::whole(parts);
    if regions.contains(to) {
        let version = Version { meta: P::shipped(&version.meta), ..version };
        StreamItem::Record { seq, key, version }
    } else {
        StreamItem::Skipped { seq, ts: P::EXTENSIONS.announced(version.stamp, &version.meta) }
    }
}
