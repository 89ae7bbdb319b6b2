//! Which node serves what, and what follows when that changes.
//!
//! To everybody else a change of leaders is a restart: a node that begins to lead, or ceases to, drops all its links but those
//! of its Raft group and opens them again. Handshakes say in which epoch a node serves, and streams resume where they stood.

use crate::core::Serving;
use crate::founding::Heard;
use crate::hold::Hold;
use crate::layout::NodeId;
use crate::link::frame::FrameBuffer;
use crate::link::hello::{LinkKind, Speaker};
use crate::link::table::Role;
use crate::node::{Fatal, Output, Released};
use crate::notice::Level;
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_core::ServerId;

/// What an order that was open is answered when its partitions' leader is replaced.
const LEADERSHIP_LOST: &str = "this node does not lead its Raft group any more, and the order may or may not be carried out: give it to the new leader";

impl<P: Protocol> NodeOf<P> {
    /// Its name in its Raft group; 0 if it has none, or does not know it yet.
    pub(crate) fn member(&self) -> u64 {
        match &self.hold {
            Hold::Member(member) => member.id(),
            Hold::Alone(_) | Hold::Founding(_) => 0,
        }
    }

    /// What this node says of itself to `to`, which is in start `start`, if it has said so.
    pub(crate) fn speaker(&self, to: NodeId, start: Option<u64>) -> Speaker {
        let joins = matches!(&self.hold, Hold::Member(member) if member.state().applied == 0);
        let standing = crate::founding::Standing {
            member: self.member(),
            joins,
            founded_with_you: self.core.founded_with.contains(&(to, start.unwrap_or_default())),
        };
        Speaker { start: self.core.start, serves: self.epoch(), standing }
    }

    /// A node was met on a link that stands now.
    pub(crate) fn meet(&mut self, node: NodeId, speaker: &Speaker, kind: LinkKind) {
        if self.learn_epoch(node, speaker, kind) {
            self.dial_soon();
        }
        self.core.wants_commit = true;
    }

    /// Whether what a node says of itself is news. What was asked of a server in an earlier epoch will not be answered.
    fn learn_epoch(&mut self, node: NodeId, speaker: &Speaker, kind: LinkKind) -> bool {
        let restarted = std::mem::replace(&mut self.core.peers[node.index()].start, speaker.start);
        let group = self.core.groups.of_node(node);
        let before = self.core.serving[group.index()];
        let served = match speaker.serves {
            Some(epoch) if self.core.is_new(group, epoch) => {
                self.serves(group, node, epoch);
                let name = self.core.name_of(node).to_string();
                match before.epoch {
                    // Nothing was asked of it before.
                    None => {
                        self.route(group);
                        return true;
                    }
                    Some(_) if self.core.groups.members(group).len() > 1 => {
                        self.core.notice(
                            Level::Info,
                            format!("node {name} leads its group, epoch {}", epoch.number),
                        );
                    }
                    Some(_) => self.core.notice(Level::Info, format!("node {name} has restarted")),
                }
                before.node.unwrap_or(node)
            }
            // It was not believed, because of a handshake that came late.
            Some(epoch) if before.node.is_none() && before.epoch == Some(epoch) => {
                self.serves(group, node, epoch);
                self.route(group);
                return true;
            }
            // It leads no more, and the next leader is not known yet; or it spoke before it was elected, and then dials again. A link
            // within a Raft group lasts when roles change: what it tells may be over for good.
            None if before.node == Some(node)
                && before.epoch.is_some()
                && matches!(kind, LinkKind::Messages | LinkKind::Stream) =>
            {
                self.core.serving[group.index()].node = None;
                self.lose_node(node);
                return true;
            }
            _ => return restarted != speaker.start,
        };
        let layout = self.core.config.cluster.nodes[node.index()].clone();
        if let Some(host) = self.hold.host_mut() {
            for partition in layout.partitions {
                host.peer_reset(self.core.now, ServerId::new(layout.dc, partition));
            }
        }
        self.lose_node(served);
        self.route(group);
        true
    }

    /// Another member has answered how it stands: a node that does not know its own name yet may know it now.
    pub(crate) fn hear_standing(&mut self, node: NodeId, speaker: &Speaker) -> Result<(), Fatal> {
        let Hold::Founding(founding) = &mut self.hold else { return Ok(()) };
        let heard = founding.hear(node, speaker.start, speaker.standing, self.core.rng.u64(..));
        let (name, founded_with) = match heard {
            Heard::Known(name, with) => (name, with),
            Heard::Waits => return Ok(()),
            Heard::AskAgain(nodes) => {
                nodes
                    .into_iter()
                    .for_each(|node| self.call_again(node, |role| matches!(role, Role::RaftOut { .. })));
                return Ok(());
            }
        };
        let founds = !founding.place.config(name).founders.is_empty();
        let member = founding.open(name, &founded_with, self.core.now).map_err(Fatal)?;
        self.hold = Hold::Member(Box::new(member));
        self.core.founded_with = founded_with;
        let what = if founds { "founding the group" } else { "joining the group" };
        self.core.notice(Level::Info, format!("{what} as member {name}"));
        self.links_changed();
        Ok(())
    }

    /// Notices that this node has begun to lead its group, or ceased to.
    pub(crate) fn see_role(&mut self) {
        let leads = self.epoch().filter(|_| self.core.place.is_some());
        if std::mem::replace(&mut self.core.leads, leads) == leads {
            return;
        }
        self.core.roles += 1;
        self.core.wants_commit = true;
        let group = self.core.groups.of_node(self.core.me);
        match leads {
            Some(epoch) => {
                self.core.notice(Level::Info, format!("this node leads its group, epoch {}", epoch.number));
                self.serves(group, self.core.me, epoch);
                self.route(group);
            }
            None => self.step_down(),
        }
        self.links_changed();
        self.dial_soon();
    }

    /// What this node did as leader and was never committed is undone. A session that was told of it within this process must
    /// not go on with it, and does not know what became of its operation: it ends.
    fn step_down(&mut self) {
        self.core.notice(Level::Info, "this node leads its group no more");
        let group = self.core.groups.of_node(self.core.me);
        let serving: &mut Serving = &mut self.core.serving[group.index()];
        if serving.node == Some(self.core.me) {
            serving.node = None;
        }
        self.strays.clear();
        for order in std::mem::take(&mut self.core.orders) {
            self.core.end_order(order.id, Err(LEADERSHIP_LOST.to_string()));
        }
        self.core.outgoing.iter_mut().for_each(|outgoing| outgoing.held = FrameBuffer::default());
        self.core.near.clear();
        self.core.far.clear();
        self.core.unreleased.clear();
        let released = self.core.released.clients;
        for session in self.sessions.iter().filter(|session| session.pending || session.knows > released) {
            session.abandon();
            self.core.outputs.push_back(Output::Ended { session: session.id });
        }
        let sessions = &mut self.sessions;
        self.shared.take_back(|id| sessions.get(id).is_some_and(|session| session.knows <= released));
        self.core.released = Released { clients: self.core.batch, others: self.core.batch };
    }
}
