//! Links that end: what was under way on them, and what follows.

use super::table::{Role, Stage, Up};
use crate::node::{LinkId, Output};
use crate::notice::Level;
use crate::of::NodeOf;
use tidemark_contract::Protocol;

impl<P: Protocol> NodeOf<P> {
    /// A link ends. `why` says what went wrong, if something did. What it still has to say stays for the driver to take.
    pub(crate) fn end_link(&mut self, id: LinkId, why: Option<String>) {
        let Some(link) = self.core.links.get(id) else { return };
        let stage = std::mem::replace(&mut link.stage, Stage::Closing);
        link.waiting = None;
        if link.out.is_empty() {
            self.core.links.remove(id);
        }
        match stage {
            Stage::Dialling { copy, .. } | Stage::Called { copy, .. } => match copy {
                Some(copy) => self.copy_lost(copy.to, copy.opened, why),
                None => self.core_dial_again(id, false, why),
            },
            Stage::Stranger { .. } | Stage::Closing => {}
            Stage::Up(up) => self.end_role(id, up, why),
        }
        self.core.wants_commit = true;
    }

    fn core_dial_again(&mut self, id: LinkId, stood: bool, why: Option<String>) {
        self.dial_again(id, stood, why.filter(|why| !why.is_empty()));
    }

    fn end_role(&mut self, id: LinkId, up: Up, why: Option<String>) {
        let Up { node, role, .. } = up;
        let outgoing = &mut self.core.outgoing[node.index()];
        match role {
            Role::MessagesOut => {
                outgoing.link = None;
                self.messages_changed(node);
            }
            Role::MessagesIn => {
                outgoing.heard_on -= 1;
                self.messages_changed(node);
            }
            Role::StreamOut(out) => self.close_streams(&out),
            Role::CopyOut(sending) => self.copy_lost(sending.to, sending.opened, why.clone()),
            Role::CopyIn(copy, _) => {
                let name = self.core.name_of(node).to_string();
                let why = why.as_deref().unwrap_or("the connection ended");
                self.core.notice(Level::Warn, format!("the copy from node {name} did not arrive: {why}"));
                if let (Some(copy), Some(member)) = (copy, self.hold.member_mut()) {
                    member.give_up_copy(copy);
                }
            }
            Role::StreamIn(_) | Role::RaftOut { .. } | Role::RaftIn { .. } | Role::CopyTaken => {}
        }
        self.core_dial_again(id, true, why);
    }

    /// A copy did not arrive: the leader hears of it after a pause.
    fn copy_lost(&mut self, to: u64, opened: u64, why: Option<String>) {
        let node = self.core.place.as_ref().and_then(|place| place.node(to));
        if let Some(node) = node {
            let name = self.core.name_of(node).to_string();
            let why = why.as_deref().unwrap_or("the connection ended");
            let what = format!("the copy for node {name} did not arrive, and is sent again: {why}");
            self.core.notice(Level::Warn, what);
        }
        let told_at = self.core.now.mono + self.core.config.pace.copy_again_us;
        self.core.lost_copies.push((told_at, to, opened));
    }

    /// Cuts, the role of this node or its name have changed: links that may not stand any more end, streams are opened and
    /// closed as they should be.
    pub(crate) fn links_changed(&mut self) {
        let member = self.member();
        let all: Vec<LinkId> = self.core.links.iter().map(|link| link.id).collect();
        for id in all {
            let Some(up) = self.core.links.up(id) else { continue };
            let (node, kind, roles) = (up.node, up.role.kind(), up.roles);
            let made_here = matches!(up.role, Role::MessagesOut | Role::StreamIn(_));
            let ends = match up.role {
                // The other side has to hear the new name.
                Role::RaftOut { member: said, .. } => said != member,
                Role::RaftIn { .. } | Role::CopyOut(_) | Role::CopyIn(..) | Role::CopyTaken => false,
                _ => {
                    let (from, to) = self.direction(kind, self.core.dc_of(node));
                    let (from, to) = if made_here { (from, to) } else { (to, from) };
                    self.core.cuts.is_region_cut(from, to) || roles != self.core.roles
                }
            };
            if ends {
                self.end_link(id, None);
                self.core.outputs.push_back(Output::Close { link: id });
            } else if kind == super::hello::LinkKind::Stream && made_here {
                self.ask_for_streams(id);
            }
        }
        self.core.streams_due = true;
        self.core.wants_commit = true;
    }
}
