//! The links within a Raft group, and who belongs to it.

use super::frame::{FrameBuffer, FrameError, Raw, values};
use super::table::{Links, Role, Up};
use crate::hold::Hold;
use crate::layout::NodeId;
use crate::node::{LinkId, OrderAnswer};
use crate::notice::Level;
use crate::observe::{Way, What};
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_group::{Change, ChangeRefused, Member, Message, MessageType};

impl<P: Protocol> NodeOf<P> {
    /// A frame of another member. Whether it was understood.
    pub(crate) fn take_raft(&mut self, node: NodeId, payload: &[u8]) -> Result<bool, FrameError> {
        let mut understood = true;
        let now = self.core.now;
        values::<&[u8]>(payload, |bytes| {
            // A node that does not know its own name yet has nothing to hear.
            let Some(member) = self.hold.member_mut() else { return };
            match tidemark_group::decode(bytes) {
                Some(message) => {
                    let what = What::raft(&message);
                    self.core.sees(Way::In, node, 0, what);
                    if message.msg_type == MessageType::MsgAppendResponse {
                        self.core.links.has_answered(node);
                    }
                    member.step(now, message)
                }
                None => understood = false,
            }
        })?;
        Ok(understood)
    }

    /// Hands the other members what this one says to them.
    pub(crate) fn speak_to_group(&mut self) {
        let Hold::Member(member) = &mut self.hold else { return };
        let Some(place) = &self.core.place else { return };
        let mut batches: Vec<Batch> = Vec::new();
        let above = self.core.config.parts.above;
        for message in member.take_messages() {
            let Some(node) = place.node(message.to) else { continue };
            let Some(link) = self.core.links.raft_to(node) else { continue };
            if self.core.links.is_on_its_way(link, &message, above) {
                continue;
            }
            self.core.sees(Way::Out, node, 0, What::raft(&message));
            let at = batches.iter().position(|batch| batch.link == link).unwrap_or_else(|| {
                let parted = self.core.links.get(link).is_some_and(|link| !link.parts.is_empty());
                batches.push(Batch { link, parted, ..Batch::default() });
                batches.len() - 1
            });
            batches[at].push(&message, above);
        }
        for Batch { link, mut at_once, mut behind, .. } in batches {
            self.core.say(link, &mut at_once);
            self.core.say_behind(link, &mut behind);
        }
    }

    /// Whether no other member hears this node.
    pub(crate) fn is_alone(&self) -> bool {
        let others = self.core.place.iter().flat_map(|place| &place.nodes);
        others.filter(|node| **node != self.core.me).all(|node| self.core.links.raft_to(*node).is_none())
    }

    /// The leader takes in a node that has a new name, in place of the member that it was before.
    pub(crate) fn look_after_members(&mut self) {
        let Hold::Member(member) = &mut self.hold else { return };
        let core = &mut self.core;
        let Some(place) = &core.place else { return };
        let leads = member.host().is_some();
        for node in place.nodes.iter().filter(|node| **node != place.me) {
            let Some(name) = core.links.joins_as(*node) else { continue };
            let Some(change) = change_for(member, |id| place.node(id) == Some(*node), name) else {
                core.links.has_joined(*node);
                continue;
            };
            if !leads {
                continue;
            }
            if member.change(change).is_ok() {
                let what = format!("node {} begins with an empty directory: {change:?}", core.name_of(*node));
                core.notice(Level::Info, what);
            }
            return;
        }
    }

    /// A node is to leave the Raft group.
    pub(crate) fn remove_member(&mut self, node: NodeId) -> OrderAnswer {
        let name = self.core.name_of(node).to_string();
        let Some(place) = &self.core.place else {
            return Err("this node holds its partitions alone: it is in no Raft group".to_string());
        };
        if !place.nodes.contains(&node) {
            return Err(format!("no node called {name:?} is in this node's Raft group"));
        }
        let Hold::Member(member) = &mut self.hold else {
            return Err(ChangeRefused::NotLeading.to_string());
        };
        let state = member.state();
        let mut members = state.voters.iter().chain(&state.learners).copied();
        let Some(id) = members.find(|id| place.node(*id) == Some(node)) else {
            return Err(format!("{name} does not belong to the Raft group"));
        };
        member.change(Change::Remove(id)).map_err(|refused| refused.to_string())?;
        Ok(Vec::new())
    }
}

/// Messages to one member.
#[derive(Default)]
struct Batch {
    link: LinkId,
    at_once: FrameBuffer,
    /// Something leaves in parts: what has a place behind it waits.
    parted: bool,
    behind: FrameBuffer,
}

impl Batch {
    /// Adds a message. One with entries, or with the number of the last that were sent, keeps its place behind others of its kind: a
    /// member that lacks those before it refuses them, and all are sent again.
    fn push(&mut self, message: &Message, above: usize) {
        let bytes = tidemark_group::encode(message);
        if message.msg_type != MessageType::MsgAppend {
            return self.at_once.push(&Raw(&bytes));
        }
        self.parted |= bytes.len() > above;
        match self.parted {
            // Large or not: they keep their order.
            true => drop(self.behind.push_parted(&Raw(&bytes), 0)),
            false => self.at_once.push(&Raw(&bytes)),
        }
    }
}

impl Links {
    /// Whether large entries that a message brings are on their way already, and were not answered: the library sends them again with
    /// each sign of life of a member that it is not sure of. Remembers them otherwise.
    fn is_on_its_way(&mut self, link: LinkId, message: &Message, above: usize) -> bool {
        let Some(Up { role: Role::RaftOut { parted, .. }, .. }) = self.up(link) else { return false };
        let bytes: usize = message.entries.iter().map(|entry| entry.data.len()).sum();
        if bytes <= above {
            return false;
        }
        let of = message.entries.first().map(|entry| (entry.index, message.term));
        std::mem::replace(parted, of) == of
    }

    /// A member has answered to entries.
    fn has_answered(&mut self, node: NodeId) {
        let link = self.raft_to(node);
        if let Some(Up { role: Role::RaftOut { parted, .. }, .. }) = link.and_then(|link| self.up(link)) {
            *parted = None;
        }
    }
}

/// What has to change so that a node belongs to the group as `name`, and under no other name.
fn change_for<P: Protocol>(member: &Member<P>, is_node: impl Fn(u64) -> bool, name: u64) -> Option<Change> {
    let state = member.state();
    let mut members = state.voters.iter().chain(&state.learners).copied();
    // The name is that of the node's current link: any other is one that it had before.
    match members.clone().find(|id| *id != name && is_node(*id)) {
        Some(other) => Some(Change::Remove(other)),
        None => (!members.any(|id| id == name)).then_some(Change::Add(name)),
    }
}
