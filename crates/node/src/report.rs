//! How a node stands, copied out for status pages.

use crate::hold::Hold;
use crate::layout::NodeId;
use crate::link::hello::LinkKind;
use crate::link::table::Role;
use crate::of::NodeOf;
use crate::status::{GroupStatus, PeerStatus, Status};
use tidemark_contract::Protocol;

impl<P: Protocol> NodeOf<P> {
    pub(crate) fn report(&mut self) -> Status {
        let peers = (0..self.core.peers.len()).map(|at| self.peer(NodeId(at as u16))).collect();
        Status {
            host: self.hold.status(),
            findings: self.core.findings.all(),
            writes_refused: self
                .hold
                .host_mut()
                .and_then(|host| host.can_write().err())
                .map(|why| why.to_string()),
            unready: self.unready(),
            group: self.group_status(),
            peers,
            cuts: self.core.cuts.iter().collect(),
            uses: self.core.follow.uses(),
            sessions: self.sessions.len(),
        }
    }

    fn group_status(&self) -> Option<GroupStatus> {
        let place = self.core.place.as_ref()?;
        let name = |node: NodeId| self.core.name_of(node).to_string();
        let names = |ids: &[u64]| ids.iter().filter_map(|id| place.node(*id)).map(name).collect();
        match &self.hold {
            Hold::Member(member) => Some(GroupStatus {
                member: member.id(),
                role: member.role(),
                leader: place.node(member.leader()).map(name),
                term: member.term(),
                applied: member.state().applied,
                voters: names(&member.state().voters),
                learners: names(&member.state().learners),
                waits_for: Vec::new(),
            }),
            Hold::Founding(founding) => Some(GroupStatus {
                member: 0,
                role: "founding",
                leader: None,
                term: 0,
                applied: 0,
                voters: Vec::new(),
                learners: Vec::new(),
                waits_for: founding.missing().map(name).collect(),
            }),
            Hold::Alone(_) => None,
        }
    }

    fn peer(&self, node: NodeId) -> PeerStatus {
        if node == self.core.me {
            return PeerStatus::default();
        }
        let core = &self.core;
        let (mut stream_in, mut stream_out, mut raft_out) = (false, false, false);
        for (_, up) in core.links.all_up().filter(|(_, up)| up.node == node) {
            stream_in |= matches!(up.role, Role::StreamIn(_));
            stream_out |= matches!(up.role, Role::StreamOut(_));
            raft_out |= matches!(up.role, Role::RaftOut { .. });
        }
        let outgoing = &core.outgoing[node.index()];
        let (messages_out, messages_in) = (outgoing.link.is_some(), outgoing.heard_on > 0);
        let dialled =
            |kind: LinkKind| core.dialers.iter().any(|dialer| dialer.node == node && dialer.kind == kind);
        // In Raft groups only leaders send each other records.
        let streams = dialled(LinkKind::Stream) && (self.may_stream_from(node) || core.place.is_none());
        PeerStatus {
            messages_out,
            messages_in,
            stream_out,
            stream_in,
            up: messages_out
                && messages_in
                && (!streams || stream_in && stream_out)
                && (!dialled(LinkKind::Raft) || raft_out),
            queued_bytes: outgoing.free.len(),
            trouble: core.peers[node.index()].trouble.clone(),
        }
    }
}
