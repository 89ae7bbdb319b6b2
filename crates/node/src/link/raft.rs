//! The links within a Raft group, and who belongs to it.

use super::frame::{FrameBuffer, FrameError, values};
use crate::hold::Hold;
use crate::layout::NodeId;
use crate::node::OrderAnswer;
use crate::notice::Level;
use crate::observe::{Way, What};
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_group::{Change, ChangeRefused, Member};

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
        let mut batches: Vec<(NodeId, FrameBuffer)> = Vec::new();
        for message in member.take_messages() {
            let Some(node) = place.node(message.to) else { continue };
            if self.core.links.raft_to(node).is_some() {
                self.core.sees(Way::Out, node, 0, What::raft(&message));
            }
            let at = batches.iter().position(|(to, _)| *to == node).unwrap_or_else(|| {
                batches.push((node, FrameBuffer::default()));
                batches.len() - 1
            });
            batches[at].1.push(&tidemark_group::encode(&message).as_slice());
        }
        for (node, mut batch) in batches {
            if let Some(link) = self.core.links.raft_to(node) {
                self.core.say(link, &mut batch);
            }
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
