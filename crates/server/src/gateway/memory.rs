//! The limit of this node's memory, and keys that are purged: by `volatile-ttl` to stay below the limit, or because they expired
//! long ago and a cut keeps their content.
//!
//! **Idea.** A purge is an update of this region like any other ([`Verb::Purge`]). What it frees is free when collection has passed it,
//! some hundred milliseconds later; until then it is counted as on its way, so that no more is evicted than needed. While
//! a node is above its limit and has nothing left to evict, it and the other nodes of its region refuse commands that may
//! add data: it tells them so again and again, and what it has not repeated is forgotten.
//!
//! **Invariants**
//! - I1 One operation runs at a time, on a session of its own.
//! - I2 A step looks at a bounded number of keys.

use super::bus;
use super::client::Client;
use super::machine;
use crate::allocated::allocated;
use crate::run::shard::Engine;
use std::collections::{BTreeMap, VecDeque};
use tidemark_core::{Command, Found, Key, Micros, Op, Outcome, Reply, Update, Verb};
use tidemark_node::{NodeId, Reach, SessionId};
use tidemark_store::Expired;

/// The first byte of a broadcast that says whether a node is full.
pub(super) const FULL: u8 = 7;

/// How often everything is looked at, while nothing is to be evicted.
const LOOK_EVERY_US: Micros = 10_000;
/// How many keys a step purges at most.
const KEYS_A_STEP: usize = 500;
/// After so long it is no longer expected that an evicted key is about to be freed.
const FREED_WITHIN_US: Micros = 2_000_000;
/// What a key takes beside its bytes and its content, about.
const KEY_OVERHEAD_BYTES: u64 = 400;
/// How often a full node says so, and how long it is believed.
const TELL_EVERY_US: Micros = 200_000;
const BELIEVED_US: Micros = 1_000_000;
/// Each region waits this part of the grace longer than the one before it, so that one purges and the others need not.
const STAGGER: Micros = 60;

/// A key that is to be purged.
#[derive(Debug)]
struct Purge {
    key: Key,
    /// Also if it has not expired: to stay below the limit.
    early: bool,
}

/// See above.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    session: Option<SessionId>,
    running: Option<Purge>,
    /// The running operation has ended so.
    ended: Option<Outcome>,
    waiting: VecDeque<Purge>,
    look_at: Micros,
    /// What was evicted lately, and may not be freed yet.
    on_its_way: VecDeque<(Micros, u64)>,
    /// Above the limit, and nothing is left to evict.
    exhausted: bool,
    /// Whether this node is full as it said last, and when.
    told: (bool, Micros),
    /// Other nodes of the region that are full, and until when that is believed.
    full: BTreeMap<NodeId, Micros>,
    /// Resident memory as it was last looked at, where the allocator does not count.
    resident: u64,
    /// The most that was ever used.
    pub(super) peak: u64,
    /// How many keys were evicted.
    pub(super) evicted: u64,
}

impl Memory {
    /// Bytes that are used.
    #[inline]
    pub(super) fn used(&self) -> u64 {
        allocated().unwrap_or(self.resident)
    }

    /// Whether there is something for the next batch.
    pub(crate) fn has_work(&self) -> bool {
        self.ended.is_some() || self.running.is_none() && !self.waiting.is_empty()
    }

    /// An operation has ended that is no client's.
    ///
    /// # Errors
    /// It was none of these; the outcome comes back.
    pub(crate) fn done(&mut self, session: SessionId, outcome: Outcome) -> Result<(), Outcome> {
        if self.session != Some(session) {
            return Err(outcome);
        }
        self.ended = Some(outcome);
        Ok(())
    }

    /// A session has ended that is no client's. False if it was not this one.
    pub(crate) fn close(&mut self, session: SessionId) -> bool {
        let own = self.session == Some(session);
        if own {
            (self.session, self.running, self.ended) = (None, None, None);
        }
        own
    }

    /// By how much more than `limit` is used, without what is on its way to be freed.
    fn excess(&self, limit: u64) -> u64 {
        let freed: u64 = self.on_its_way.iter().map(|(_, bytes)| bytes).sum();
        self.used().saturating_sub(limit).saturating_sub(freed)
    }
}

/// Before a request is parsed: whether it may add data, it or its script.
#[inline]
pub(super) fn judge(engine: &mut Engine, client: &mut Client) {
    let full = is_full_itself(engine) || !engine.memory.full.is_empty();
    client.redis.set_full(full);
    engine.shared.scripts.set_full(full);
}

#[inline]
fn is_full_itself(engine: &Engine) -> bool {
    let (memory, limits) = (&engine.memory, engine.shared.memory);
    limits.bytes > 0 && memory.used() > limits.bytes && (!limits.evicts || memory.exhausted)
}

/// Another node of the region says whether it is full: `kind:u8 full:u8`.
pub(super) fn hear(engine: &mut Engine, node: NodeId, content: &[u8]) {
    match content {
        [FULL, full] => {
            engine.memory.full.remove(&node);
            if *full == 1 {
                engine.memory.full.insert(node, engine.now.mono + BELIEVED_US);
            }
        }
        _ => tracing::warn!("another node tells something of its memory that cannot be understood"),
    }
}

/// Looks at what is to be purged if it is time, and carries that out as far as nothing has to be waited for.
pub(crate) fn work(engine: &mut Engine) {
    let now = engine.clock.now();
    let evicting = engine.shared.memory.evicts && !engine.memory.on_its_way.is_empty();
    if !engine.memory.has_work() && now.mono < engine.memory.look_at && !evicting {
        return;
    }
    engine.now = now;
    if now.mono >= engine.memory.look_at || evicting {
        look(engine);
    }
    for _ in 0..KEYS_A_STEP {
        if let Some(outcome) = engine.memory.ended.take()
            && let Some(purge) = engine.memory.running.take()
        {
            finish(engine, purge, &outcome);
        }
        if engine.memory.running.is_some() {
            return;
        }
        let Some(purge) = engine.memory.waiting.pop_front() else { return };
        if purge.early && engine.memory.excess(engine.shared.memory.bytes) == 0 {
            engine.memory.waiting.clear();
            return;
        }
        let args = if purge.early { vec!["early".into()] } else { Vec::new() };
        let update = Update::call(Command::new(Verb::Purge, args));
        let op = Op::Put { key: purge.key.clone(), update };
        let session = *engine.memory.session.get_or_insert_with(|| engine.node.open());
        engine.memory.running = Some(purge);
        engine.memory.ended = engine.node.begin(engine.now, session, op);
    }
}

fn look(engine: &mut Engine) {
    let mono = engine.now.mono;
    engine.memory.look_at = mono + LOOK_EVERY_US;
    let memory = &mut engine.memory;
    if allocated().is_none() {
        memory.resident = machine::memory().0;
    }
    memory.peak = memory.peak.max(memory.used());
    memory.full.retain(|_, until| mono < *until);
    memory.on_its_way.retain(|(since, _)| mono < since + FREED_WITHIN_US);
    if memory.waiting.is_empty() && memory.running.is_none() {
        choose(engine);
    }
    tell(engine);
}

/// Chooses keys to be purged, if there are some.
fn choose(engine: &mut Engine) {
    let limits = engine.shared.memory;
    let grace_us = engine.config.expire_grace_us;
    let waits_us = grace_us + grace_us / STAGGER * Micros::from(engine.config.dc().0);
    let overdue_ms = engine.now.wall.saturating_sub(waits_us) / 1_000;
    let first = engine.node.nearest_deadlines(1);
    engine.memory.exhausted = first.is_empty();
    let early = limits.evicts && limits.bytes > 0 && engine.memory.excess(limits.bytes) > 0;
    let due = |one: &Expired| early || one.deadline_ms <= overdue_ms;
    if first.iter().any(due) {
        let keys = engine.node.nearest_deadlines(KEYS_A_STEP).into_iter().filter(due);
        engine.memory.waiting.extend(keys.map(|one| Purge { key: one.key, early }));
    }
}

/// Says to the other nodes of the region whether this one is full, if it is or was.
fn tell(engine: &mut Engine) {
    let full = is_full_itself(engine);
    let (before, at) = engine.memory.told;
    if full != before || full && engine.now.mono >= at + TELL_EVERY_US {
        engine.memory.told = (full, engine.now.mono);
        engine.node.broadcast(engine.now, Reach::Region, &[FULL, u8::from(full)]);
    }
}

/// A purge has ended. One that failed is tried again when the key is found again.
fn finish(engine: &mut Engine, purge: Purge, outcome: &Outcome) {
    let Outcome::Written { stamp: Some(_), previous: Some(Found { reply: Some(reply), .. }) } = outcome
    else {
        return;
    };
    let (true, Reply::Int(bytes)) = (purge.early, &**reply) else { return };
    let bytes = bytes.unsigned_abs() + purge.key.len() as u64 + KEY_OVERHEAD_BYTES;
    engine.memory.on_its_way.push_back((engine.now.mono, bytes));
    engine.memory.evicted += 1;
    engine.shared.evicted(&purge.key);
    if let Some(session) = engine.memory.session
        && engine.shared.has_news()
    {
        bus::publish(engine, session);
    }
}
