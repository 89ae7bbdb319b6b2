//! Which nodes of the region listen to each other's changes, and what they tell each other.
//!
//! **Idea.** A node with connections that want to know of changes says so, again and again, to the other nodes of its region. A node
//! that hears that listens to its own partitions as well, and passes on what has changed with each batch, before the replies of
//! that batch. Its messages are numbered. If one is missing, or none has come for a while, any key of that node may have
//! changed.

use super::visible::{Heard, hear_changes};
use crate::run::shard::Engine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::Micros;
use tidemark_node::{NodeId, Reach};

/// The first byte of a broadcast about changes.
pub(super) const MESSAGE: u8 = 6;

/// How often a node says that it listens, and that nothing has changed.
const EVERY_US: Micros = 250_000;
/// After so long a node does not listen any more, or is not heard any more.
const SILENT_US: Micros = 2_000_000;

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    /// This node wants to hear of changes.
    Listens,
    /// Changes: message `number` of this `start` of the node.
    Changes { start: u64, number: u64, heard: Heard },
}

/// Another node that is listened to: its start, its last message, and when that came.
#[derive(Debug)]
struct Source {
    start: u64,
    number: u64,
    at: Micros,
}

/// What a node knows of the others of its region.
#[derive(Debug)]
pub(crate) struct Listening {
    start: u64,
    number: u64,
    /// Until when others listen.
    others: BTreeMap<NodeId, Micros>,
    sources: BTreeMap<NodeId, Source>,
    said_at: Option<Micros>,
    told_at: Micros,
}

impl Default for Listening {
    fn default() -> Self {
        let (start, others, sources) = (fastrand::u64(..), BTreeMap::new(), BTreeMap::new());
        Self { start, number: 0, others, sources, said_at: None, told_at: 0 }
    }
}

impl Listening {
    /// Whether other nodes listen.
    #[inline]
    pub(super) fn is_listened_to(&self) -> bool {
        !self.others.is_empty()
    }

    /// A message of a source has come. Whether one is missing before it.
    fn follows(&mut self, node: NodeId, (start, number): (u64, u64), now: Micros) -> bool {
        let before = self.sources.insert(node, Source { start, number, at: now });
        before.is_some_and(|before| before.start == start && before.number + 1 == number)
    }

    /// Forgets nodes of which nothing was heard for long. Whether one of them was listened to.
    fn expire(&mut self, now: Micros) -> bool {
        self.others.retain(|_, until| *until > now);
        let before = self.sources.len();
        self.sources.retain(|_, source| now.saturating_sub(source.at) < SILENT_US);
        self.sources.len() < before
    }
}

fn say(engine: &mut Engine, message: &Message) {
    let mut content = vec![MESSAGE];
    content.extend(postcard::to_allocvec(message).expect("it has no parts that cannot be written"));
    engine.node.broadcast(engine.now, Reach::Region, &content);
}

/// Where a batch ends: says that this node listens, if it does, and what it has `heard` of its own partitions. Whether any key may
/// have changed at a node that is silent.
pub(super) fn look_after(engine: &mut Engine, listens: bool, heard: &mut Heard) -> bool {
    let now = engine.now.mono;
    let lost = engine.listening.expire(now);
    if listens && engine.listening.said_at.is_none_or(|at| now.saturating_sub(at) >= EVERY_US) {
        engine.listening.said_at = Some(now);
        say(engine, &Message::Listens);
    } else if !listens {
        engine.listening.said_at = None;
        engine.listening.sources.clear();
    }
    let due = now.saturating_sub(engine.listening.told_at) >= EVERY_US;
    if engine.listening.is_listened_to() && (due || !heard.is_empty()) {
        let Listening { start, number, told_at, .. } = &mut engine.listening;
        (*number, *told_at) = (*number + 1, now);
        let message = Message::Changes { start: *start, number: *number, heard: std::mem::take(heard) };
        say(engine, &message);
    }
    lost && listens
}

/// Another node of the region says something.
pub(super) fn hear(engine: &mut Engine, node: NodeId, content: &[u8]) {
    let now = engine.now.mono;
    match postcard::from_bytes(content) {
        Ok(Message::Listens) => {
            engine.listening.others.insert(node, now + SILENT_US);
        }
        Ok(Message::Changes { start, number, mut heard }) if engine.shared.listens() => {
            heard.unknown |= !engine.listening.follows(node, (start, number), now);
            hear_changes(engine, &heard, None);
        }
        Ok(Message::Changes { .. }) => {}
        Err(error) => tracing::warn!("changes at another node cannot be understood: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_missing_is_noticed_and_so_is_silence() {
        let (mut listening, node) = (Listening::default(), NodeId(1));
        assert!(!listening.follows(node, (7, 4), 0), "it is the first that comes");
        assert!(listening.follows(node, (7, 5), 0));
        assert!(!listening.follows(node, (7, 7), 0), "one is missing");
        assert!(listening.follows(node, (7, 8), 1_000));
        assert!(!listening.follows(node, (9, 9), 1_000), "the node has restarted");
        assert!(!listening.expire(SILENT_US));
        assert!(listening.expire(SILENT_US + 1_000), "it is silent");
        assert!(!listening.expire(SILENT_US + 1_000), "which is told once");
    }
}
