//! One connection.

use crate::frames::{Body, Chain, GatewayLink, Hello, ValueHash};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidemark_core::{ClientId, Guard};

/// What a gateway knows of one client.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) link: GatewayLink,
    pub(super) hello: Option<Hello>,
    pub(super) client: ClientId,
    /// K, as it asks for it, and as far as that is kept here: the channel that it is in.
    pub(super) wants: u64,
    pub(super) channel: Option<u64>,
    /// The greatest K that it has asked for, and how many regions share what is new here, as it was told last; none if never.
    pub(super) most: u64,
    pub(super) shared: Option<u64>,
    /// It was told that it is disconnected.
    pub(super) refused: bool,
    /// Bases were told since it came: what is known of isolation may be of long ago before.
    pub(super) fresh: bool,
    /// Its first Sync has come.
    pub(super) synced: bool,
    /// It was sent the tick that ends its opening.
    pub(super) live: bool,
    /// What it has of keys, by their references, until it is live.
    pub(super) have: BTreeMap<u64, ValueHash>,
    /// Keys whose values it waits for since it is live.
    pub(super) waits: BTreeSet<u64>,
    /// It has asked for a tick.
    pub(super) asks: bool,
    /// When it was sent the last one.
    pub(super) ticked_us: u64,
    /// Its transactions are in its base up to this one.
    pub(super) in_base: u64,
    /// How far this region has its transactions.
    pub(super) head: Option<Guard>,
    pub(super) queue: VecDeque<(Body, bool)>,
    /// One of them is being accepted.
    pub(super) busy: Option<Busy>,
    /// The client was asked to give this transaction, and those after it, new times: it may have sent them once more with the old ones.
    pub(super) retimed: Option<(u64, u64)>,
    /// The client was told of a fork: it takes another name, and what it has sent under this one is void.
    pub(super) forked: bool,
}

/// A transaction that is being accepted.
pub(super) struct Busy {
    pub(super) k: u64,
    pub(super) h_us: u64,
    pub(super) chain: Chain,
    /// How many operations it has.
    pub(super) operations: u64,
}
