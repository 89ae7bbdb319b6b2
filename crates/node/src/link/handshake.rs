//! The first frame of a link and the answer: whether the two nodes belong together, and in which epochs they are.

use super::frame::{frame, value};
use super::hello::{Hello, LinkKind, Welcome};
use super::table::{Link, Role, Sending, Stage, StreamIn, StreamOut, Up};
use crate::layout::NodeId;
use crate::node::{LinkError, LinkId, Output};
use crate::of::NodeOf;
use crate::rule::HEARSAY_IS_CHECKED;
use tidemark_contract::Protocol;

impl<P: Protocol> NodeOf<P> {
    /// Another node has connected.
    pub(crate) fn stranger(&mut self) -> LinkId {
        let until = self.core.now.mono + self.core.config.pace.handshake_us;
        self.core.links.add(Stage::Stranger { until })
    }

    /// A connection that this node asked for stands: it introduces itself.
    pub(crate) fn introduce(&mut self, id: LinkId) {
        let Some(link) = self.core.links.get(id) else { return };
        let Stage::Dialling { to, kind, until, copy } = &mut link.stage else { return };
        let (to, kind, until, copy) = (*to, *kind, *until, copy.take());
        let said = self.speaker(to, None);
        let core = &mut self.core;
        let secret = core.config.peer_secret.as_deref();
        let hello = Hello::new(&core.config.cluster, secret, &core.identity, (core.me, to), said, kind);
        let roles = core.roles;
        let Some(link) = core.links.get(id) else { return };
        link.stage = Stage::Called { to, kind, said, roles, until, copy };
        link.out.extend_from_slice(&frame(&hello));
        core.announce(id);
    }

    /// The first frame of a stranger.
    pub(crate) fn welcome(&mut self, id: LinkId, payload: &[u8]) -> Result<(), LinkError> {
        let hello: Hello = value(payload)?;
        let checked = self.check_hello(&hello);
        let answer = match &checked {
            Ok(()) => Welcome::Accepted(self.speaker(hello.from, Some(hello.speaker.start))),
            Err(why) => Welcome::Refused(why.clone()),
        };
        let now = self.core.now.mono;
        let Some(link) = self.core.links.get(id) else { return Ok(()) };
        link.out.extend_from_slice(&frame(&answer));
        checked.map_err(LinkError::Refused)?;
        link.decoder.trust();
        let role = match hello.kind {
            LinkKind::Messages => Role::MessagesIn,
            LinkKind::Stream => Role::StreamOut(StreamOut::to(self.core.dc_of(hello.from))),
            LinkKind::Raft => {
                let said = &hello.speaker;
                Role::RaftIn { joins: said.standing.joins.then_some((said.start, said.standing.member)) }
            }
            LinkKind::Copy => Role::CopyIn(None, now),
        };
        self.stands(id, Up { node: hello.from, roles: self.core.roles, role });
        self.core.announce(id);
        let group = self.core.groups.of_node(hello.from);
        let led = self.core.serving[group.index()].node == Some(hello.from);
        self.meet(hello.from, &hello.speaker, hello.kind);
        self.begun(id);
        if HEARSAY_IS_CHECKED.kept() && led && self.core.serving[group.index()].node.is_none() {
            // That may have been under way for long, and may be over: what it answers to a new call is not.
            self.call_again(hello.from, |role| matches!(role, Role::MessagesOut));
        }
        Ok(())
    }

    /// Ends the links to `node` of the given roles, so that it is called again and says anew how it stands.
    pub(crate) fn call_again(&mut self, node: NodeId, which: fn(&Role) -> bool) {
        let links = self.core.links.all_up().filter(|(_, up)| up.node == node && which(&up.role));
        let links: Vec<LinkId> = links.map(|(id, _)| id).collect();
        for id in links {
            self.end_link(id, None);
            self.core.outputs.push_back(Output::Close { link: id });
        }
    }

    fn check_hello(&self, hello: &Hello) -> Result<(), String> {
        let core = &self.core;
        hello.check(&core.config.cluster, core.config.peer_secret.as_deref(), &core.identity, core.me)?;
        let other = core.dc_of(hello.from);
        let (to, from) = self.direction(hello.kind, other);
        if core.cuts.is_region_cut(from, to) {
            return Err(format!("the link from {from} to {to} is cut"));
        }
        match hello.kind {
            LinkKind::Stream if self.hold.host().is_none() => {
                Err("this node leads its group no more, and sends no records".to_string())
            }
            LinkKind::Messages | LinkKind::Stream | LinkKind::Raft | LinkKind::Copy => Ok(()),
        }
    }

    /// The answer to an introduction.
    pub(crate) fn welcomed(&mut self, id: LinkId, payload: &[u8]) -> Result<(), LinkError> {
        let answer: Welcome = value(payload)?;
        let now = self.core.now.mono;
        let Some(Link { stage, decoder, .. }) = self.core.links.get(id) else { return Ok(()) };
        let Stage::Called { to, kind, said, roles, copy, .. } = stage else { return Ok(()) };
        let (to, kind, said, roles) = (*to, *kind, *said, *roles);
        let speaker = match answer {
            Welcome::Accepted(speaker) => speaker,
            Welcome::Refused(why) => {
                let address = &self.core.config.cluster.nodes[to.index()].peer_address;
                return Err(LinkError::Refused(format!("refused by {address}: {why}")));
            }
        };
        if roles != self.core.roles {
            let why = "this node has begun or ceased to lead meanwhile";
            return Err(LinkError::Refused(why.to_string()));
        }
        decoder.trust();
        let copy = copy.take();
        let (from, into) = self.direction(kind, self.core.dc_of(to));
        if self.core.cuts.is_region_cut(from, into) {
            return Err(LinkError::Refused(format!("the link from {from} to {into} is cut")));
        }
        let role = match kind {
            LinkKind::Messages => Role::MessagesOut,
            LinkKind::Stream => Role::StreamIn(StreamIn::default()),
            LinkKind::Raft => {
                Role::RaftOut { member: said.standing.member, start: speaker.start, parted: None }
            }
            LinkKind::Copy => match copy {
                Some(copy) => {
                    let (to, opened) = (copy.to, copy.opened);
                    let copy = Some(copy);
                    Role::CopyOut(Box::new(Sending { to, opened, copy, whole: false, bytes: 0, begun: now }))
                }
                None => return Err(LinkError::Refused("there is nothing to copy".to_string())),
            },
        };
        self.stands(id, Up { node: to, roles, role });
        self.dialled(id);
        self.meet(to, &speaker, kind);
        if kind == LinkKind::Raft
            && let Err(fatal) = self.hear_standing(to, &speaker)
        {
            self.core.fail(fatal);
        }
        if kind == LinkKind::Raft && said.standing.member != self.member() && self.core.links.up(id).is_some()
        {
            // While the answer was under way this node has learnt its name: the other side has to hear it.
            self.end_link(id, None);
            self.core.outputs.push_back(Output::Close { link: id });
        }
        self.begun(id);
        Ok(())
    }

    fn stands(&mut self, id: LinkId, up: Up) {
        if let Some(link) = self.core.links.get(id) {
            self.core.outputs.push_back(Output::Up { link: id, node: up.node, kind: up.role.kind() });
            link.stage = Stage::Up(up);
        }
    }

    /// A link stands: what it is for begins. It may have ended again meanwhile, with this node's role.
    fn begun(&mut self, id: LinkId) {
        let Some(up) = self.core.links.up(id) else { return };
        let node = up.node;
        let group = self.core.groups.of_node(node);
        match &up.role {
            Role::MessagesOut => {
                self.core.outgoing[node.index()].link = Some(id);
                self.route(group);
            }
            Role::MessagesIn => {
                self.core.outgoing[node.index()].heard_on += 1;
                self.route(group);
            }
            Role::StreamIn(_) => self.ask_for_streams(id),
            Role::StreamOut(_) => self.replace_streams_to(node, id),
            Role::CopyOut(_) => self.begin_copy_out(id),
            Role::RaftOut { .. } | Role::RaftIn { .. } | Role::CopyIn(..) | Role::CopyTaken => {}
        }
        self.core.wants_commit = true;
    }

    /// Ends the links whose handshake takes too long.
    pub(crate) fn expire_handshakes(&mut self) {
        let now = self.core.now.mono;
        let late: Vec<LinkId> =
            self.core.links.iter().filter(|link| link.expires() <= now).map(|link| link.id).collect();
        for id in late {
            let why = match self.core.links.get(id).map(|link| &link.stage) {
                Some(Stage::Dialling { to, .. } | Stage::Called { to, .. }) => {
                    format!("no answer from {}", self.core.config.cluster.nodes[to.index()].peer_address)
                }
                _ => String::new(),
            };
            self.end_link(id, Some(why));
            self.core.outputs.push_back(Output::Close { link: id });
        }
    }
}
