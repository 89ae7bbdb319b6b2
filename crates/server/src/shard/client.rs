//! One client's connection, as the data thread sees it: its session, the command that it waits for, its replies.

use crate::gateway::plan::Plan;
use crate::redis;
use smallvec::SmallVec;
use socket2::SockRef;
use std::net::Shutdown;
use std::rc::Rc;
use tidemark_adapt::Footprint;
use tidemark_contract::{AskId, Checking, Protocol, SessionEffects, Traveller};
use tidemark_core::{DcId, Guarantees, Micros, Op, Outcome, PartitionId};
use tidemark_node::NodeId;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;

/// Bits of a key's place in the table: at most a million clients.
const PLACE_BITS: u32 = 20;
/// Bits of the count of clients; above them stands the life of the server.
const COUNT_BITS: u32 = 28;

/// A client's connection.
pub(crate) struct Client<P: Protocol> {
    /// What tickets call it. Never used again, not even by the next life of this server.
    pub(crate) key: u64,
    /// What it told us about itself.
    pub(crate) redis: redis::Connection,
    pub(crate) session: Traveller<P>,
    pub(crate) effects: SessionEffects<P>,
    /// Questions of the running operation that are open.
    pub(crate) waiting: SmallVec<[Question; 2]>,
    /// Whether a question of the running operation was handed to a server: it may have an effect.
    pub(crate) handed: bool,
    /// The running operation, if it can be begun again without harm.
    pub(crate) again: Option<Op>,
    /// If the running operation may change something: how many bytes of keys and values it brings.
    pub(crate) writes: Option<usize>,
    /// What the operations of the running command ask for.
    pub(crate) asks: Guarantees,
    /// The checking groups that answer them.
    pub(crate) checking: Checking,
    /// Where it has read lately.
    pub(crate) footprint: Footprint,
    /// It has named no checking group: the one that fits where it reads was chosen for it.
    pub(crate) follows: bool,
    /// Tells operations apart.
    pub(crate) operation: u64,
    /// The command that waits.
    pub(crate) running: Option<Running>,
    /// Replies.
    pub(crate) out: Outbound,
    /// Woken when the command that waits can go on, or when replies were written.
    pub(crate) wake: Rc<Notify>,
    pub(crate) write: Rc<OwnedWriteHalf>,
    /// Its task waits until its replies were written.
    pub(crate) wants_room: bool,
    /// No more commands; it is closed when its replies are written.
    pub(crate) closing: bool,
}

/// A question that is open.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    pub(crate) ask: AskId,
    /// Who was asked; none while it waits for somebody to be there.
    pub(crate) node: Option<NodeId>,
    /// It stays open when it is answered.
    pub(crate) several: bool,
}

/// A command that waits.
pub(crate) struct Running {
    pub(crate) plan: Plan,
    /// The partition that the operation walks, if it does.
    pub(crate) walked: PartitionId,
    /// What it goes on with.
    pub(crate) next: Resumption,
    /// How the command counts in the statistics.
    pub(crate) family: usize,
}

/// What a waiting command goes on with.
pub(crate) enum Resumption {
    /// An answer has to come first.
    Waits,
    /// This came.
    Outcome(Outcome),
    /// It had its share of a turn; it begins this operation in the next.
    Op(Op),
}

/// Replies on their way to the socket. Positions count bytes since the connection began.
#[derive(Default)]
pub(crate) struct Outbound {
    pub(crate) bytes: Vec<u8>,
    /// The position of the first byte.
    pub(crate) start: u64,
    /// Up to here everything may be written: what it tells of is durable.
    pub(crate) released: u64,
    /// It has something for the turn that is being gathered.
    pub(crate) dirty: bool,
    /// A task of its own waits for the socket to take more.
    pub(crate) draining: bool,
    /// Commands answered since the last release, and when the first of them was read.
    pub(crate) commands: u32,
    pub(crate) since: Micros,
}

impl Outbound {
    /// The position behind the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// What may be written now.
    pub(crate) fn writable(&self) -> &[u8] {
        &self.bytes[..(self.released - self.start) as usize]
    }

    /// The first `count` bytes were written.
    pub(crate) fn written(&mut self, count: usize) {
        self.start += count as u64;
        if count == self.bytes.len() {
            self.bytes.clear();
            // What one large reply took is not kept for ever.
            self.bytes.shrink_to(64 << 10);
        } else {
            self.bytes.drain(..count);
        }
    }
}

impl<P: Protocol> Client<P> {
    /// Ends the connection at once. What was not released to it was never told.
    pub(crate) fn break_off(&mut self) {
        self.out.bytes.truncate(self.out.writable().len());
        (self.running, self.closing) = (None, true);
        self.wake.notify_one();
        // The task that reads finds the end of its input.
        let _ = SockRef::from(self.write.as_ref().as_ref()).shutdown(Shutdown::Read);
    }

    pub(crate) fn new(redis: redis::Connection, dc: DcId, write: Rc<OwnedWriteHalf>) -> Self {
        Self {
            key: 0,
            redis,
            session: Traveller::open(dc),
            effects: SessionEffects::default(),
            waiting: SmallVec::new(),
            handed: false,
            again: None,
            writes: None,
            asks: Guarantees::ALL,
            checking: Checking::default(),
            footprint: Footprint::default(),
            follows: false,
            operation: 0,
            running: None,
            out: Outbound::default(),
            wake: Rc::new(Notify::new()),
            write,
            wants_room: false,
            closing: false,
        }
    }
}

/// The clients of one data thread.
pub(crate) struct Clients<P: Protocol> {
    places: Vec<Option<Box<Client<P>>>>,
    free: Vec<usize>,
    life: u64,
    count: u64,
}

impl<P: Protocol> Clients<P> {
    /// None yet; `life` is the number of this start of the server.
    pub(crate) fn new(life: u64) -> Self {
        Self { places: Vec::new(), free: Vec::new(), life, count: 0 }
    }

    /// Adds a client and gives it its key.
    pub(crate) fn add(&mut self, mut client: Client<P>) -> u64 {
        let place = self.free.pop().unwrap_or(self.places.len());
        assert!(place < 1 << PLACE_BITS, "the limit of clients is lower than a million");
        self.count += 1;
        let count = self.count & ((1 << COUNT_BITS) - 1);
        client.key = self.life << (PLACE_BITS + COUNT_BITS) | count << PLACE_BITS | place as u64;
        let key = client.key;
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(Box::new(client));
        key
    }

    /// The client, if it is still there.
    #[inline]
    pub(crate) fn get(&mut self, key: u64) -> Option<&mut Client<P>> {
        let place = (key & ((1 << PLACE_BITS) - 1)) as usize;
        self.places.get_mut(place)?.as_deref_mut().filter(|client| client.key == key)
    }

    /// Removes it.
    pub(crate) fn remove(&mut self, key: u64) -> Option<Box<Client<P>>> {
        self.get(key)?;
        let place = (key & ((1 << PLACE_BITS) - 1)) as usize;
        self.free.push(place);
        self.places[place].take()
    }

    /// All of them.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = &mut Client<P>> {
        self.places.iter_mut().flatten().map(|client| &mut **client)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
