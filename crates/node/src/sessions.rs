//! The sessions of a node, as its requests see them.

use crate::follow::Following;
use crate::layout::NodeId;
use crate::node::{Batch, Options, SessionId};
use crate::shared::{PastName, Sharing};
use smallvec::SmallVec;
use tidemark_contract::forwarded::ForwardedSession;
use tidemark_contract::session::SessionEffects;
use tidemark_contract::{AskId, Protocol};
use tidemark_core::{DcId, Op};

/// Bits of a session's place in the table: at most a million sessions.
pub(crate) const SLOT_BITS: u32 = 20;
/// Bits of the count of sessions; above them stands the epoch of the node.
const COUNT_BITS: u32 = 28;

/// One session and its running operation.
pub(crate) struct Session<P: Protocol> {
    pub(crate) id: SessionId,
    pub(crate) session: ForwardedSession<P>,
    pub(crate) effects: SessionEffects<P>,
    pub(crate) options: Options,
    /// Requests of the running operation that are open.
    pub(crate) waiting: SmallVec<[OpenRequest; 2]>,
    /// Whether a request of the running operation was handed to a server: it may have an effect.
    pub(crate) handed: bool,
    /// The running operation, if it can be begun again without harm.
    pub(crate) again: Option<Op>,
    /// If the running operation may change something: how many bytes of keys and values it brings.
    pub(crate) writes: Option<usize>,
    pub(crate) following: Following,
    /// Tells operations apart.
    pub(crate) operation: u64,
    /// An operation has begun and not ended.
    pub(crate) pending: bool,
    /// The last batch in which it came to know something.
    pub(crate) knows: Batch,
    /// What it has to do with the past that it shares, if it shares one.
    pub(crate) sharing: Option<Box<Sharing<P>>>,
}

/// A request that is open.
#[derive(Clone, Copy)]
pub(crate) struct OpenRequest {
    pub(crate) ask: AskId,
    /// The node that has it; none while it waits for a leader.
    pub(crate) node: Option<NodeId>,
    /// It stays open when it is answered.
    pub(crate) several: bool,
}

impl<P: Protocol> Session<P> {
    fn new(id: SessionId, dc: DcId, following: Following) -> Self {
        Self {
            id,
            session: ForwardedSession::open(dc),
            effects: SessionEffects::default(),
            options: Options::default(),
            waiting: SmallVec::new(),
            handed: false,
            again: None,
            writes: None,
            following,
            operation: 0,
            pending: false,
            knows: Batch::default(),
            sharing: None,
        }
    }

    /// The name of the past that it shares.
    pub(crate) fn shares(&self) -> Option<PastName> {
        self.sharing.as_ref().map(|sharing| sharing.name)
    }

    /// Nothing comes of the running operation any more. The session stays open until its driver closes it.
    pub(crate) fn abandon(&mut self) {
        self.waiting.clear();
        self.effects = SessionEffects::default();
        (self.pending, self.again) = (false, None);
        if let Some(sharing) = &mut self.sharing {
            sharing.abandon();
        }
        self.operation += 1;
    }
}

/// The sessions of a node.
pub(crate) struct Sessions<P: Protocol> {
    slots: Vec<Option<Box<Session<P>>>>,
    free: Vec<usize>,
    epoch: u64,
    count: u64,
}

impl<P: Protocol> Sessions<P> {
    /// None yet; `epoch` is the number of this start of the node.
    pub(crate) fn new(epoch: u64) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), epoch, count: 0 }
    }

    /// Opens a session that is at home in `dc`.
    pub(crate) fn open(&mut self, dc: DcId, following: Following) -> SessionId {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        assert!(slot < 1 << SLOT_BITS, "the limit of clients is lower than a million");
        self.count += 1;
        let count = self.count & ((1 << COUNT_BITS) - 1);
        let id = SessionId(self.epoch << (SLOT_BITS + COUNT_BITS) | count << SLOT_BITS | slot as u64);
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[slot] = Some(Box::new(Session::new(id, dc, following)));
        id
    }

    /// The session, if it is still open.
    #[inline]
    pub(crate) fn get(&mut self, id: SessionId) -> Option<&mut Session<P>> {
        self.slots.get_mut(id.slot())?.as_deref_mut().filter(|session| session.id == id)
    }

    /// Takes the session out of the table, if it is still open, so that it and the rest of the node can be changed together.
    /// REQUIRES: [`Self::put_back`].
    #[inline]
    pub(crate) fn take(&mut self, id: SessionId) -> Option<Box<Session<P>>> {
        self.slots.get_mut(id.slot())?.take_if(|session| session.id == id)
    }

    /// Takes the session at a place out of the table, if there is one.
    pub(crate) fn take_slot(&mut self, slot: usize) -> Option<Box<Session<P>>> {
        self.slots[slot].take()
    }

    #[inline]
    pub(crate) fn put_back(&mut self, session: Box<Session<P>>) {
        let slot = session.id.slot();
        self.slots[slot] = Some(session);
    }

    /// Closes it, if it is open.
    pub(crate) fn close(&mut self, id: SessionId) {
        if self.take(id).is_some() {
            self.free.push(id.slot());
        }
    }

    /// How many places there are.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// All of them, by their places.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = &mut Session<P>> {
        self.slots.iter_mut().flatten().map(|session| &mut **session)
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
