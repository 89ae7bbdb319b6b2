//! One client's connection, as the data thread sees it: its session, the command that it waits for, its replies.

use super::changes::Change;
use crate::redis;
use socket2::SockRef;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::rc::Rc;
use tidemark_core::{Failure, Micros, Outcome};
use tidemark_node::SessionId;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;

/// A client's connection.
pub(crate) struct Client {
    /// Its session at the node, which is also its name.
    pub(crate) session: SessionId,
    /// What it told us about itself.
    pub(crate) redis: redis::Connection,
    /// The command that waits.
    pub(crate) running: Option<Running>,
    /// A command that was not begun yet.
    pub(crate) held: Option<Box<Held>>,
    /// Nodes from which it got messages since it last took over what publishers knew, and whether it is doing that.
    pub(crate) heard: Vec<u16>,
    pub(crate) adoption: Adoption,
    /// Replies.
    pub(crate) out: Outbound,
    /// Keys that the command that runs reads and caches.
    pub(crate) reads: redis::KeysRead,
    /// Woken when the command that waits can go on, or when replies were written.
    pub(crate) wake: Rc<Notify>,
    pub(crate) write: Rc<OwnedWriteHalf>,
    /// Its task waits until its replies were written.
    pub(crate) wants_room: bool,
    /// No more commands; it is closed when its replies are written.
    pub(crate) closing: bool,
}

/// Whether a client takes over what publishers knew.
pub(crate) enum Adoption {
    /// It does not.
    None,
    /// It waits for what those of a node knew.
    Waits(u16),
    /// It could not.
    Failed(u16, Failure),
}

/// A command that waits for the end of a pause, or until its session knows what publishers knew.
pub(crate) struct Held {
    pub(crate) command: redis::Command,
    /// Its arguments, if somebody may want them.
    pub(crate) noted: Option<Box<redis::Noted>>,
}

/// A command that waits.
pub(crate) struct Running {
    /// Which.
    pub(crate) spec: &'static redis::Spec,
    /// What takes the outcome of its operation.
    pub(crate) pending: redis::Pending,
    /// What it goes on with.
    pub(crate) next: Resumption,
    /// The changes that its operation makes.
    pub(crate) change: Option<Box<Change>>,
    /// When it began, and its arguments, if somebody may want them.
    pub(crate) noted: Option<Box<redis::Noted>>,
}

/// What a waiting command goes on with.
pub(crate) enum Resumption {
    /// Its operation has to end first.
    Waits,
    /// A key has to have something first.
    Blocks,
    /// It has.
    Outcome(Outcome),
    /// It had its share of a batch; it takes this step in the next.
    Step(redis::Step),
}

/// The least and the most room for replies that a client keeps who is sent as much as that.
const OUT_BYTES_KEPT: (usize, usize) = (64 << 10, 256 << 10);

/// Replies on their way to the socket. Positions count bytes since the connection began.
#[derive(Default)]
pub(crate) struct Outbound {
    pub(crate) bytes: Vec<u8>,
    /// The position of the first byte.
    start: u64,
    /// Up to here everything may be written: what it tells of is durable.
    released: u64,
    /// What is not released waits for a sync.
    pub(crate) keeps: bool,
    /// It has something for the batch that is being gathered.
    pub(crate) dirty: bool,
    /// A task of its own waits for the socket to take more.
    pub(crate) draining: bool,
    /// Commands answered since the last release, and when the first of them was read.
    pub(crate) commands: u32,
    pub(crate) since: Micros,
    /// Since when more waits than a subscriber may leave unread for long.
    pub(crate) full_since: Option<Micros>,
}

impl Outbound {
    /// The position behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Whether something is not released yet.
    pub(crate) fn holds(&self) -> bool {
        self.end() > self.released
    }

    /// What may be written now.
    pub(crate) fn writable(&self) -> &[u8] {
        &self.bytes[..(self.released - self.start) as usize]
    }

    /// Everything up to `end` may be written, but for what was discarded.
    pub(crate) fn release(&mut self, end: u64) {
        self.released = self.released.max(end.min(self.end()));
    }

    /// Forgets what was not released.
    fn discard(&mut self) {
        self.bytes.truncate(self.writable().len());
    }

    /// Nobody reads what was released.
    pub(crate) fn give_up(&mut self) {
        self.written(self.writable().len());
    }

    /// The first `count` bytes were written.
    fn written(&mut self, count: usize) {
        self.start += count as u64;
        if count == self.bytes.len() {
            self.bytes.clear();
            // What one large reply took is not kept for ever; what every batch takes is.
            self.bytes.shrink_to(count.clamp(OUT_BYTES_KEPT.0, OUT_BYTES_KEPT.1));
        } else {
            self.bytes.drain(..count);
        }
    }
}

impl Client {
    pub(crate) fn new(session: SessionId, redis: redis::Connection, write: Rc<OwnedWriteHalf>) -> Self {
        Self {
            session,
            redis,
            running: None,
            held: None,
            heard: Vec::new(),
            adoption: Adoption::None,
            out: Outbound::default(),
            reads: redis::KeysRead::default(),
            wake: Rc::new(Notify::new()),
            write,
            wants_room: false,
            closing: false,
        }
    }

    /// Writes what the socket takes of what was released; returns how many bytes.
    pub(crate) fn write_some(&mut self) -> u64 {
        match self.write.try_write(self.out.writable()) {
            Ok(count) => {
                self.out.written(count);
                return count as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The task that reads will find the connection closed.
            Err(_) => self.out.give_up(),
        }
        0
    }

    /// No more commands; the task that reads finds the end of its input.
    pub(crate) fn close(&mut self) {
        self.closing = true;
        self.wake.notify_one();
        let _ = SockRef::from(self.write.as_ref().as_ref()).shutdown(Shutdown::Read);
    }

    /// Ends the connection at once, without what it was to be sent.
    pub(crate) fn cut_off(&mut self) {
        self.out.discard();
        self.out.give_up();
        self.running = None;
        self.closing = true;
        self.wake.notify_one();
        let _ = SockRef::from(self.write.as_ref().as_ref()).shutdown(Shutdown::Both);
    }

    /// Ends the connection at once. What was not released to it was never told.
    pub(crate) fn break_off(&mut self) {
        self.out.discard();
        self.running = None;
        self.close();
    }
}

/// The clients of one data thread.
#[derive(Default)]
pub(crate) struct Clients {
    /// By the slots of their sessions.
    places: Vec<Option<Box<Client>>>,
    /// Sessions by the numbers of connections.
    sessions: HashMap<u64, SessionId>,
    count: usize,
}

impl Clients {
    /// Adds a client. REQUIRES: its session was just opened.
    pub(crate) fn add(&mut self, client: Client) {
        let place = client.session.slot();
        if place >= self.places.len() {
            self.places.resize_with(place + 1, || None);
        }
        self.sessions.insert(client.redis.id(), client.session);
        self.places[place] = Some(Box::new(client));
        self.count += 1;
    }

    /// The client, if it is still there.
    #[inline]
    pub(crate) fn get(&mut self, session: SessionId) -> Option<&mut Client> {
        self.places.get_mut(session.slot())?.as_deref_mut().filter(|client| client.session == session)
    }

    /// The client whose connection has the number `id`.
    pub(crate) fn connection(&mut self, id: u64) -> Option<&mut Client> {
        let session = *self.sessions.get(&id)?;
        self.get(session)
    }

    /// Removes it.
    pub(crate) fn remove(&mut self, session: SessionId) -> Option<Box<Client>> {
        let id = self.get(session)?.redis.id();
        self.sessions.remove(&id);
        self.count -= 1;
        self.places[session.slot()].take()
    }

    /// All of them.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = &mut Client> {
        self.places.iter_mut().flatten().map(|client| &mut **client)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leadership may be lost between a batch and its release: what was never committed must not be told.
    #[test]
    fn what_was_discarded_is_never_released() {
        let mut out = Outbound::default();
        out.bytes.extend_from_slice(b"committed, ");
        out.release(out.end());
        out.bytes.extend_from_slice(b"never committed");
        let end = out.end();
        assert!(out.holds());
        out.discard();
        out.release(end);
        assert_eq!(out.writable(), b"committed, ");
        assert!(!out.holds());
        out.give_up();
        assert_eq!((out.writable().len(), out.end()), (0, 11));
    }
}
