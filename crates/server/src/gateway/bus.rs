//! Publications, within the node and between nodes.
//!
//! **Idea.** A message of PUBLISH carries the session token of its publisher: its causal past. A node delivers it when its
//! region covers that past, and a subscriber takes the past over before its next command. What a message talks about is
//! therefore there when a subscriber looks for it, in every region.
//!
//! A *source* is a node from which publications come, this one included. For each source there is a session that adopts
//! the tokens of its publications, one after the other. It waits as long as the protocol needs; then it knows at least as
//! much as any publisher of that source did. A subscriber adopts the token of that session.
//!
//! **Invariants**
//! - I1 Publications of one source are delivered in their order, each at most once.
//! - I2 Nothing waits without bound: a source with too much in its queue loses what comes next.

use super::client::{Adoption, Client, Held};
use super::confirming;
use super::deliver::deliver;
use super::listening;
use super::{memory, rights};
use crate::redis::{Command, Group, Publication};
use crate::run::shard::{Core, Engine};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use tidemark_core::{Failure, Outcome};
use tidemark_node::{NodeId, Reach, SessionId};

/// How much may wait for one source.
const QUEUE_BYTES_MAX: usize = 1 << 20;
/// What nodes tell each other of scripts begins with it.
const SCRIPT: u8 = 4;

/// What this node knows of publications.
pub(crate) struct Bus {
    /// This start of the node, and how many publications it has sent.
    start: u64,
    number: u64,
    sources: BTreeMap<NodeId, Source>,
    /// What came from other nodes, and adoptions that ended, since the last batch.
    heard: Vec<(NodeId, Vec<u8>)>,
    adopted: Vec<(NodeId, Outcome)>,
    /// Publications that were not delivered here, though they arrived.
    pub(crate) dropped: u64,
}

/// Where publications come from.
struct Source {
    /// Knows what their publishers knew.
    session: Option<SessionId>,
    /// Its session adopts the past of this one.
    adopting: Option<Publication>,
    queue: VecDeque<(Publication, Bytes)>,
    queued_bytes: usize,
    /// The start of the node and the number of the last publication that came.
    last: (u64, u64),
}

impl Bus {
    /// Of a node that has just started.
    pub(crate) fn new() -> Self {
        Self {
            start: fastrand::u64(1..),
            number: 0,
            sources: BTreeMap::new(),
            heard: Vec::new(),
            adopted: Vec::new(),
            dropped: 0,
        }
    }

    /// Another node has said something. It is looked at in the next batch.
    pub(crate) fn hear(&mut self, node: NodeId, content: Vec<u8>) {
        self.heard.push((node, content));
    }

    /// An operation of a session that is no client's has ended.
    pub(crate) fn done(&mut self, session: SessionId, outcome: Outcome) {
        if let Some(node) = self.source_of(session) {
            self.adopted.push((node, outcome));
        }
    }

    /// A session that is no client's has ended: it has read what was never committed. Whether it is to be closed.
    pub(crate) fn ended(&mut self, session: SessionId) -> bool {
        let Some(node) = self.source_of(session) else { return false };
        let source = self.sources.get_mut(&node).expect("it was just found");
        source.session = None;
        self.dropped += u64::from(source.adopting.take().is_some());
        true
    }

    fn source_of(&self, session: SessionId) -> Option<NodeId> {
        self.sources.iter().find(|(_, source)| source.session == Some(session)).map(|(node, _)| *node)
    }

    /// Whether there is something for the next batch.
    pub(crate) fn has_work(&self) -> bool {
        !self.heard.is_empty() || !self.adopted.is_empty()
    }

    fn source(&mut self, node: NodeId) -> &mut Source {
        self.sources.entry(node).or_insert_with(|| Source {
            session: None,
            adopting: None,
            queue: VecDeque::new(),
            queued_bytes: 0,
            last: (0, 0),
        })
    }

    fn enqueue(&mut self, node: NodeId, publication: Publication, token: Bytes) {
        let source = self.source(node);
        let bytes = publication.channel.len() + publication.payload.len() + token.len();
        if !source.queue.is_empty() && source.queued_bytes + bytes > QUEUE_BYTES_MAX {
            self.dropped += 1;
            return;
        }
        source.queued_bytes += bytes;
        source.queue.push_back((publication, token));
    }
}

/// What a client has published goes to the subscribers of this node and to the other nodes; what it has done to scripts to those.
pub(super) fn publish(engine: &mut Engine, session: SessionId) {
    let others = engine.config.cluster.nodes.len() > 1;
    for told in engine.shared.scripts.take_told() {
        engine.node.broadcast(engine.now, Reach::Cluster, &[&[SCRIPT], &told[..]].concat());
    }
    for publication in engine.shared.take_published() {
        if !others && !publication.has_receivers {
            continue;
        }
        let token = Bytes::from(engine.node.export(engine.now, session));
        if others && !publication.local {
            engine.bus.number += 1;
            let content = encode(engine.bus.start, engine.bus.number, &publication, &token);
            engine.node.broadcast(engine.now, Reach::Cluster, &content);
        }
        if publication.has_receivers {
            let me = engine.config.me;
            engine.bus.enqueue(me, publication, token);
            advance(engine, me);
        }
    }
}

/// Looks at what came since the last batch, and delivers what may be.
pub(crate) fn work(core: &mut Core) {
    let engine = &mut core.engine;
    if !engine.bus.has_work() {
        return;
    }
    engine.now = engine.clock.now();
    for (node, outcome) in std::mem::take(&mut engine.bus.adopted) {
        if let Some(publication) = engine.bus.source(node).adopting.take() {
            match outcome {
                Outcome::Adopted => hand_out(engine, node, &publication),
                _ => engine.bus.dropped += 1,
            }
        }
        advance(engine, node);
    }
    for (node, content) in std::mem::take(&mut engine.bus.heard) {
        if matches!(content.first(), Some(&(confirming::QUESTION | confirming::ANSWER))) {
            confirming::hear(engine, node, &content);
            continue;
        }
        match content.first() {
            Some(&rights::REQUEST) => {
                rights::hear(engine, &content);
                continue;
            }
            Some(&listening::MESSAGE) => {
                listening::hear(engine, node, &content[1..]);
                continue;
            }
            Some(&memory::FULL) => {
                memory::hear(engine, node, &content);
                continue;
            }
            _ => {}
        }
        if let [SCRIPT, told @ ..] = &content[..] {
            engine.shared.scripts.hear(told);
            continue;
        }
        let Some((start, number, publication, token)) = decode(content) else {
            tracing::warn!("a publication of another node cannot be understood");
            continue;
        };
        let source = engine.bus.source(node);
        let (last_start, last_number) = source.last;
        if start == last_start && number <= last_number {
            continue; // it overtook this one on another connection
        }
        source.last = (start, number);
        engine.bus.enqueue(node, publication, token);
        advance(engine, node);
    }
    deliver(core);
}

/// Has the session of a source adopt the past of its next publication, and so on until it has to wait.
fn advance(engine: &mut Engine, node: NodeId) {
    loop {
        let source = engine.bus.source(node);
        if source.adopting.is_some() {
            return;
        }
        let Some((publication, token)) = source.queue.pop_front() else { return };
        source.queued_bytes -= publication.channel.len() + publication.payload.len() + token.len();
        let session = *source.session.get_or_insert_with(|| engine.node.open());
        match engine.node.import(engine.now, session, &token) {
            Ok(Some(Outcome::Adopted)) => hand_out(engine, node, &publication),
            Ok(None) => {
                engine.bus.source(node).adopting = Some(publication);
                return;
            }
            Ok(Some(_)) => engine.bus.dropped += 1,
            Err(error) => {
                tracing::warn!("a publication is dropped: {error}");
                engine.bus.dropped += 1;
            }
        }
    }
}

/// The region covers the past of a publication: its subscribers get it.
fn hand_out(engine: &mut Engine, node: NodeId, publication: &Publication) {
    engine.shared.hand_out(publication, node.0);
}

/// Before a command of a client that has heard something: its session takes over what the publishers knew. Returns the command
/// unless it has to wait for that, or failed.
#[inline]
pub(super) fn catch_up(
    engine: &mut Engine,
    client: &mut Client,
    command: Command,
) -> Result<Command, Option<(&'static crate::redis::Spec, Failure)>> {
    let spec = command.spec;
    if client.heard.is_empty() || spec.group == Group::Connection || spec.name.ends_with("subscribe") {
        return Ok(command);
    }
    while let Some(node) = client.heard.pop() {
        let Some(session) = engine.bus.source(NodeId(node)).session else { continue };
        let token = engine.node.export(engine.now, session);
        match engine.node.import(engine.now, client.session, token.as_bytes()) {
            Ok(None) => {
                let noted = engine.shared.watch.put_aside();
                client.held = Some(Box::new(Held { command, noted }));
                client.adoption = Adoption::Waits(node);
                return Err(None);
            }
            Ok(Some(Outcome::Failed(failure))) => {
                client.heard.push(node);
                return Err(Some((spec, failure)));
            }
            Ok(Some(_)) => {}
            Err(error) => tracing::warn!("what a publisher knew is not taken over: {error}"),
        }
    }
    Ok(command)
}

/// `kind:u8 start:u64 number:u64 channel token payload`, the first two of these with their lengths as u32; little endian.
fn encode(start: u64, number: u64, publication: &Publication, token: &[u8]) -> Vec<u8> {
    let Publication { shard, channel, payload, .. } = publication;
    let mut content = Vec::with_capacity(25 + channel.len() + token.len() + payload.len());
    content.push(u8::from(*shard));
    content.extend_from_slice(&start.to_le_bytes());
    content.extend_from_slice(&number.to_le_bytes());
    for part in [&channel[..], token] {
        content.extend_from_slice(&(part.len() as u32).to_le_bytes());
        content.extend_from_slice(part);
    }
    content.extend_from_slice(payload);
    content
}

fn decode(content: Vec<u8>) -> Option<(u64, u64, Publication, Bytes)> {
    let mut rest = Bytes::from(content);
    let mut take = |count: usize| (rest.len() >= count).then(|| rest.split_to(count));
    let shard = take(1)?[0] == 1;
    let start = u64::from_le_bytes(take(8)?[..].try_into().ok()?);
    let number = u64::from_le_bytes(take(8)?[..].try_into().ok()?);
    let mut part = || {
        let length = u32::from_le_bytes(take(4)?[..].try_into().ok()?);
        take(length as usize)
    };
    let (channel, token) = (part()?, part()?);
    let publication = Publication { shard, channel, payload: rest, has_receivers: true, local: false };
    Some((start, number, publication, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_comes_back_and_what_is_cut_short_does_not() {
        let channel = Bytes::from_static(b"channel");
        let publication = Publication {
            shard: true,
            channel,
            payload: Bytes::from_static(b"x"),
            has_receivers: true,
            local: false,
        };
        let content = encode(7, 8, &publication, b"tm1.token");
        let (start, number, decoded, token) = decode(content.clone()).unwrap();
        assert_eq!((start, number, &decoded, &token[..]), (7, 8, &publication, &b"tm1.token"[..]));
        // The payload is whatever is left.
        for length in 0..content.len() - 1 {
            assert!(decode(content[..length].to_vec()).is_none());
        }
    }
}
