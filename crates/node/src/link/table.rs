//! The links of a node: what each is for, how far it has come, what waits to leave on it.

use super::frame::FrameDecoder;
use super::hello::{LinkKind, Speaker};
use super::parts::{Assembly, Parts};
use super::stream::Reason;
use crate::layout::NodeId;
use crate::node::LinkId;
use bytes::Bytes;
use tidemark_core::{DcId, Micros, ServerId};
use tidemark_group::{CopyIn, CopyOut};
use tidemark_replica::StreamRefusal;

/// One connection to another node.
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) stage: Stage,
    pub(crate) decoder: FrameDecoder,
    /// Frames that wait to leave.
    pub(crate) out: Vec<u8>,
    /// Payloads that leave in parts, behind them.
    pub(crate) parts: Parts,
    /// The payload that comes in parts.
    pub(crate) assembly: Assembly,
    /// The driver was told that there is something to transmit.
    pub(crate) ready: bool,
    /// A frame that cannot be taken yet: it is offered again at that time. Nothing is read meanwhile.
    pub(crate) waiting: Option<(Micros, Bytes)>,
}

/// How far a link has come.
pub(crate) enum Stage {
    /// The driver connects.
    Dialling { to: NodeId, kind: LinkKind, until: Micros, copy: Option<Box<CopyOut>> },
    /// The other side has our `Hello`, in which we said this.
    Called {
        to: NodeId,
        kind: LinkKind,
        said: Speaker,
        roles: u64,
        until: Micros,
        copy: Option<Box<CopyOut>>,
    },
    /// The other side has connected, and has to introduce itself.
    Stranger { until: Micros },
    /// It stands.
    Up(Up),
    /// Only what is left leaves.
    Closing,
}

/// A link that stands.
pub(crate) struct Up {
    pub(crate) node: NodeId,
    /// How often this node's role had changed when it was made.
    pub(crate) roles: u64,
    pub(crate) role: Role,
}

/// What passes on a link.
pub(crate) enum Role {
    MessagesOut,
    MessagesIn,
    StreamIn(StreamIn),
    StreamOut(StreamOut),
    /// With the name under which this node introduced itself, and the start of the process that answered.
    /// And of the last entries that left in parts: the index of the first and the term, until the member answers.
    RaftOut {
        member: u64,
        start: u64,
        parted: Option<(u64, u64)>,
    },
    /// With the start of the process that has connected and the name under which it wants to be taken in, if it does.
    RaftIn {
        joins: Option<(u64, u64)>,
    },
    CopyOut(Box<Sending>),
    /// With when it began.
    CopyIn(Option<CopyIn>, Micros),
    /// A copy that is here: nothing follows.
    CopyTaken,
}

/// A link on which records come.
#[derive(Default)]
pub(crate) struct StreamIn {
    /// Which servers send records, and what was confirmed of each.
    pub(crate) open: Vec<(ServerId, u64)>,
    /// When streams that were refused are asked for again.
    pub(crate) ask_again: Option<Micros>,
    /// Whose next record is not taken, since when, and why.
    pub(crate) held: Vec<(ServerId, Micros, Reason)>,
    /// Whose streams were refused, since when, and why.
    pub(crate) refused: Vec<(ServerId, Micros, StreamRefusal)>,
}

/// A link on which records leave.
pub(crate) struct StreamOut {
    pub(crate) dc: DcId,
    /// Whose: those of servers here, and of others that are relayed.
    pub(crate) open: Vec<ServerId>,
    /// Whose next record the receiver does not take, and why, as it says.
    pub(crate) held: Vec<(ServerId, Reason)>,
    /// Whose streams were refused here, since when, and why.
    pub(crate) refused: Vec<(ServerId, Micros, StreamRefusal)>,
    /// Of whom a record leaves in parts: what comes next of them waits.
    pub(crate) parted: Vec<ServerId>,
}

impl StreamOut {
    /// Towards a data centre; no stream is open yet.
    pub(crate) fn to(dc: DcId) -> Self {
        Self { dc, open: Vec::new(), held: Vec::new(), refused: Vec::new(), parted: Vec::new() }
    }

    /// Whether a stream that goes on behind record `received` was refused for the next one, which still is larger than what the
    /// receiver takes. So it need not be read again, and has been refused since then.
    pub(crate) fn still_too_large(
        &self,
        server: ServerId,
        received: u64,
        takes: usize,
    ) -> Option<StreamRefusal> {
        let (.., why) = self.refused.iter().find(|(of, ..)| *of == server)?;
        match *why {
            StreamRefusal::TooLarge { seq, bytes, .. } if seq == received + 1 && bytes > takes => {
                Some(StreamRefusal::TooLarge { seq, bytes, takes })
            }
            _ => None,
        }
    }
}

/// Notes that the stream of a server is refused; what was refused before for the same reason has been since then.
pub(crate) fn note_refusal(
    refused: &mut Vec<(ServerId, Micros, StreamRefusal)>,
    server: ServerId,
    now: Micros,
    refusal: &StreamRefusal,
) {
    let known = refused.iter().position(|(of, _, why)| *of == server && why == refusal);
    if known.is_none() {
        refused.retain(|(of, ..)| *of != server);
        refused.push((server, now, refusal.clone()));
    }
}

/// A copy that is being sent.
pub(crate) struct Sending {
    /// For which member, of which opening of this one.
    pub(crate) to: u64,
    pub(crate) opened: u64,
    /// What is left of it; none while a job reads the next piece.
    pub(crate) copy: Option<Box<CopyOut>>,
    /// All of it was sent.
    pub(crate) whole: bool,
    pub(crate) bytes: u64,
    pub(crate) begun: Micros,
}

impl Link {
    /// When its handshake takes too long.
    pub(crate) fn expires(&self) -> Micros {
        match self.stage {
            Stage::Dialling { until, .. } | Stage::Called { until, .. } | Stage::Stranger { until } => until,
            Stage::Up(_) | Stage::Closing => Micros::MAX,
        }
    }

    /// When a frame is offered again, or streams that were refused are asked for again.
    pub(crate) fn retries(&self) -> Micros {
        let offers = self.waiting.as_ref().map(|(at, _)| *at);
        let asks = match &self.stage {
            Stage::Up(Up { role: Role::StreamIn(stream), .. }) => stream.ask_again,
            _ => None,
        };
        offers.into_iter().chain(asks).min().unwrap_or(Micros::MAX)
    }
}

impl Role {
    pub(crate) fn kind(&self) -> LinkKind {
        match self {
            Self::MessagesOut | Self::MessagesIn => LinkKind::Messages,
            Self::StreamIn(_) | Self::StreamOut(_) => LinkKind::Stream,
            Self::RaftOut { .. } | Self::RaftIn { .. } => LinkKind::Raft,
            Self::CopyOut(_) | Self::CopyIn(..) | Self::CopyTaken => LinkKind::Copy,
        }
    }
}

/// All links.
pub(crate) struct Links {
    /// In the order of their names.
    links: Vec<Link>,
    made: u64,
    /// No link has to be looked at before this.
    due: Micros,
}

impl Default for Links {
    fn default() -> Self {
        Self { links: Vec::new(), made: 0, due: Micros::MAX }
    }
}

impl Links {
    /// A new link.
    pub(crate) fn add(&mut self, stage: Stage) -> LinkId {
        self.made += 1;
        let id = LinkId(self.made);
        let decoder = FrameDecoder::default();
        let (out, parts, assembly) = (Vec::new(), Parts::default(), Assembly::default());
        let link = Link { id, stage, decoder, out, parts, assembly, ready: false, waiting: None };
        self.look_at(link.expires());
        self.links.push(link);
        id
    }

    #[inline]
    fn place(&self, id: LinkId) -> Option<usize> {
        self.links.binary_search_by_key(&id, |link| link.id).ok()
    }

    #[inline]
    pub(crate) fn get(&mut self, id: LinkId) -> Option<&mut Link> {
        let at = self.place(id)?;
        Some(&mut self.links[at])
    }

    /// When links have to be looked at: a handshake takes too long, or something is tried again. It may be too early:
    /// what was to be looked at has changed since.
    #[inline]
    pub(crate) fn next_due(&self) -> Micros {
        self.due
    }

    /// A link has to be looked at then.
    pub(crate) fn look_at(&mut self, at: Micros) {
        self.due = self.due.min(at);
    }

    /// All that was due has been looked at.
    pub(crate) fn looked(&mut self) {
        let due = self.links.iter().map(|link| link.expires().min(link.retries()));
        self.due = due.min().unwrap_or(Micros::MAX);
    }

    /// The link, if it stands.
    #[inline]
    pub(crate) fn up(&mut self, id: LinkId) -> Option<&mut Up> {
        match &mut self.get(id)?.stage {
            Stage::Up(up) => Some(up),
            _ => None,
        }
    }

    pub(crate) fn remove(&mut self, id: LinkId) -> Option<Link> {
        let at = self.place(id)?;
        Some(self.links.remove(at))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut()
    }

    /// Those that stand.
    pub(crate) fn all_up(&self) -> impl Iterator<Item = (LinkId, &Up)> + Clone {
        self.links.iter().filter_map(|link| match &link.stage {
            Stage::Up(up) => Some((link.id, up)),
            _ => None,
        })
    }

    /// Whether any stands.
    pub(crate) fn any_up(&self) -> bool {
        self.all_up().next().is_some()
    }

    /// Whether there are links for records.
    pub(crate) fn has_streams(&self) -> bool {
        self.all_up().any(|(_, up)| matches!(up.role, Role::StreamIn(_) | Role::StreamOut(_)))
    }

    /// Under which name `node` wants to be taken into the Raft group. Only the process that this node reaches now is believed:
    /// what an earlier one said may arrive late.
    pub(crate) fn joins_as(&self, node: NodeId) -> Option<u64> {
        let mut roles = self.all_up().filter(|(_, up)| up.node == node).map(|(_, up)| &up.role);
        let reached = roles.clone().find_map(|role| match role {
            Role::RaftOut { start, .. } => Some(*start),
            _ => None,
        })?;
        roles.find_map(|role| match role {
            Role::RaftIn { joins: Some((start, name)) } if *start == reached => Some(*name),
            _ => None,
        })
    }

    /// The node was taken in. Should an operator remove it later, it does not come back by what it said before.
    pub(crate) fn has_joined(&mut self, node: NodeId) {
        for link in &mut self.links {
            if let Stage::Up(Up { node: of, role: Role::RaftIn { joins }, .. }) = &mut link.stage
                && *of == node
            {
                *joins = None;
            }
        }
    }

    /// The link on which this node speaks to another member of its Raft group, if it stands.
    pub(crate) fn raft_to(&self, node: NodeId) -> Option<LinkId> {
        let to = |(_, up): &(LinkId, &Up)| up.node == node && matches!(up.role, Role::RaftOut { .. });
        self.all_up().find(to).map(|(id, _)| id)
    }
}
