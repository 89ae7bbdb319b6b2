//! The connections within a group: what its members say to each other to agree, in the words of the Raft library.

use super::dial::Call;
use super::outbox::{Distance, Outbox};
use super::reader::{FrameReader, LinkError};
use crate::shard::seat::{Broken, Seat};
use crate::shard::{Core, Shard};
use std::rc::Rc;
use tidemark_contract::Protocol;
use tidemark_group::{Change, Member};
use tidemark_node::NodeId;
use tidemark_node::founding::Standing;
use tidemark_node::link::frame::{FrameBuffer, values};
use tidemark_node::link::hello::Speaker;
use tokio::net::tcp::OwnedReadHalf;

/// What a node knows of its group.
#[derive(Default)]
pub(crate) struct GroupLinks {
    /// The connections to the others, by node, while they stand.
    outboxes: Vec<Option<Rc<Outbox>>>,
    /// Under which name each node wants to be taken in, as it said last; 0 if it does not.
    joining: Vec<u64>,
    /// With which starts of the others this node founded the group, if it did in this start.
    founded_with: Vec<(NodeId, u64)>,
}

impl GroupLinks {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { outboxes: vec![None; nodes], joining: vec![0; nodes], founded_with: Vec::new() }
    }

    /// A node has said how it stands.
    pub(crate) fn hear(&mut self, node: NodeId, standing: Standing) {
        self.joining[node.index()] = if standing.joins { standing.member } else { 0 };
    }

    /// Whether nobody hears this node.
    pub(crate) fn is_alone(&self) -> bool {
        self.outboxes.iter().all(Option::is_none)
    }

    /// Whether this node can say something to `node`.
    pub(crate) fn reaches(&self, node: NodeId) -> bool {
        self.outboxes[node.index()].is_some()
    }
}

/// Keeps the connection on which this node speaks to another of its group, until it breaks.
pub(crate) async fn speak<P: Protocol>(shard: &Rc<Shard<P>>, mut call: Call) -> Result<(), LinkError> {
    let node = call.node;
    let outbox = Outbox::new(Distance::default());
    shard.core.borrow_mut().links.group.outboxes[node.index()] = Some(outbox.clone());
    shard.want_turn();
    let mut changes = shard.changes.subscribe();
    let renamed = async {
        while shard.core.borrow().engine.member() == call.said.standing.member {
            // The sender lives as long as the shard does.
            let _ = changes.changed().await;
        }
    };
    let writing = outbox.clone().write_to(&mut call.write, || ());
    let result = tokio::select! {
        result = writing => result.map_err(LinkError::from),
        // The other side says nothing here; what it can do is go away.
        result = call.reader.next() => result.map(drop),
        // The other side has to hear the new name.
        () = renamed => Ok(()),
    };
    outbox.close();
    shard.core.borrow_mut().links.group.outboxes[node.index()] = None;
    result
}

/// Hears another of the group until the connection breaks.
pub(crate) async fn listen<P: Protocol>(
    shard: &Rc<Shard<P>>,
    mut reader: FrameReader<OwnedReadHalf>,
) -> Result<(), LinkError> {
    loop {
        let payload = reader.next().await?;
        let mut understood = true;
        {
            let mut core = shard.core.borrow_mut();
            let engine = &mut core.engine;
            let now = engine.clock.now();
            values::<&[u8]>(&payload, |bytes| {
                // Who does not know yet who it is has nothing to hear.
                let Some(member) = engine.seat.member_mut() else { return };
                match tidemark_group::decode(bytes) {
                    Some(message) => member.step(now, message),
                    None => understood = false,
                }
            })?;
        }
        shard.want_turn();
        if !understood {
            tracing::warn!("a member of the group says what cannot be understood");
            return Ok(());
        }
    }
}

impl<P: Protocol> Core<P> {
    /// How this node stands in its group, as it tells `to`, which is in start `start`.
    pub(crate) fn standing(&self, to: NodeId, start: u64) -> Standing {
        let joins = matches!(&self.engine.seat, Seat::Member(member) if member.state().applied == 0);
        Standing {
            member: self.engine.member(),
            joins,
            founded_with_you: self.links.group.founded_with.contains(&(to, start)),
        }
    }

    /// Another of the group has answered how it stands. Whether this node knows now who it is, and did not before.
    pub(crate) fn hear_answer(&mut self, node: NodeId, speaker: &Speaker) -> Result<bool, Broken> {
        let Seat::Founding(founding) = &mut self.engine.seat else { return Ok(false) };
        let now = self.engine.clock.now();
        let heard = founding.hear(node, speaker.start, speaker.standing, now.wall);
        let Some((name, founded_with)) = heard else { return Ok(false) };
        let founds = !founding.place.config(name).founders.is_empty();
        tracing::info!(name, "{}", if founds { "founding the group" } else { "joining the group" });
        self.links.group.founded_with = founded_with;
        self.engine.take_seat(name, now)?;
        Ok(true)
    }

    /// Hands the members what this one says to them.
    pub(crate) fn speak_to_group(&mut self) {
        let Seat::Member(member) = &mut self.engine.seat else { return };
        let place = self.engine.place.as_ref().expect("a member has a place");
        let mut batches: Vec<(NodeId, FrameBuffer)> = Vec::new();
        for message in member.take_messages() {
            let Some(node) = place.node(message.to) else { continue };
            if !self.links.group.reaches(node) {
                continue;
            }
            let at = batches.iter().position(|(to, _)| *to == node).unwrap_or_else(|| {
                batches.push((node, FrameBuffer::default()));
                batches.len() - 1
            });
            batches[at].1.push(&tidemark_group::encode(&message).as_slice());
        }
        for (node, mut batch) in batches {
            if let Some(outbox) = &self.links.group.outboxes[node.index()] {
                outbox.push(&mut batch);
            }
        }
    }

    /// The leader takes in who has a new name, in place of who that node was before.
    pub(crate) fn look_after_members(&mut self) {
        let Seat::Member(member) = &mut self.engine.seat else { return };
        let Some(place) = self.engine.place.as_ref().filter(|_| member.host().is_some()) else { return };
        for node in place.nodes.iter().filter(|node| **node != place.me) {
            let name = self.links.group.joining[node.index()];
            if name == 0 || !self.links.group.reaches(*node) {
                continue;
            }
            let Some(change) = change_for(member, |id| place.node(id) == Some(*node), name) else {
                self.links.group.joining[node.index()] = 0; // it was taken in
                continue;
            };
            if member.change(change).is_ok() {
                let node = &self.engine.config.cluster.nodes[node.index()].name;
                tracing::info!("node {node} begins with an empty directory: {change:?}");
            }
            return;
        }
    }
}

/// What has to change so that a node belongs to the group as `name`, and under no other name.
fn change_for<P: Protocol>(member: &Member<P>, is_node: impl Fn(u64) -> bool, name: u64) -> Option<Change> {
    let state = member.state();
    let mut members = state.voters.iter().chain(&state.learners).copied();
    let other = members.clone().find(|id| *id != name && is_node(*id));
    match other {
        // An older name than one that belongs already is of a message that was under way.
        Some(other) if other < name => Some(Change::Remove(other)),
        Some(_) => None,
        None => (!members.any(|id| id == name)).then_some(Change::Add(name)),
    }
}
