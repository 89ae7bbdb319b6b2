//! Dialling other nodes, again and again until they answer.

use crate::layout::NodeId;
use crate::link::hello::LinkKind;
use crate::link::table::Stage;
use crate::node::{LinkId, Output};
use crate::notice::Level;
use crate::of::NodeOf;
use fastrand::Rng;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Micros};
use tidemark_group::CopyOut;

/// How long a node may not be reached before that is told.
const PATIENCE_US: Micros = 1_000_000;

/// Keeps one link to another node open.
pub(crate) struct Dialer {
    pub(crate) node: NodeId,
    pub(crate) kind: LinkKind,
    /// The link that is being made, or stands.
    pub(crate) link: Option<LinkId>,
    /// When to dial next, if there is none.
    next: Micros,
    pauses: Pauses,
    started: Micros,
    down_since: Micros,
    /// The trouble that was told last.
    told: String,
}

impl Dialer {
    /// Dials `node` from `now` on, with pauses between these.
    pub(crate) fn new(node: NodeId, kind: LinkKind, now: Micros, pauses: (Micros, Micros)) -> Self {
        let pauses = Pauses::new(pauses);
        Self { node, kind, link: None, next: now, pauses, started: now, down_since: now, told: String::new() }
    }
}

/// How long to wait before the next call: soon at first, then twice as long each time.
struct Pauses {
    next: Micros,
    least: Micros,
    most: Micros,
}

impl Pauses {
    fn new((least, most): (Micros, Micros)) -> Self {
        Self { next: least, least, most }
    }

    fn begin_anew(&mut self) {
        self.next = self.least;
    }

    /// Nodes that lost each other at the same moment do not call at the same moments: up to a quarter more or less.
    fn next(&mut self, rng: &mut Rng) -> Micros {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause * 3 / 4 + rng.u64(0..=pause / 2)
    }
}

impl<P: Protocol> NodeOf<P> {
    /// The direction in which what a link carries flows, of those that this node makes.
    pub(crate) fn direction(&self, kind: LinkKind, other: DcId) -> (DcId, DcId) {
        match kind {
            LinkKind::Messages | LinkKind::Raft | LinkKind::Copy => (self.core.dc, other),
            LinkKind::Stream => (other, self.core.dc),
        }
    }

    /// Whether this node wants records of `node`, and may ask for them: there are no streams but between leaders.
    pub(crate) fn may_stream_from(&self, node: NodeId) -> bool {
        let group = self.core.groups.of_node(node);
        self.hold.host().is_some() && self.core.serving[group.index()].node == Some(node)
    }

    fn may_dial(&self, node: NodeId, kind: LinkKind) -> bool {
        let (from, to) = self.direction(kind, self.core.dc_of(node));
        !self.core.cuts.is_region_cut(from, to) && (kind != LinkKind::Stream || self.may_stream_from(node))
    }

    /// Dials whom it is time to dial.
    pub(crate) fn dial_due(&mut self) {
        let now = self.core.now.mono;
        for at in 0..self.core.dialers.len() {
            let Dialer { node, kind, link, next, .. } = self.core.dialers[at];
            if link.is_some() || next > now || !self.may_dial(node, kind) {
                continue;
            }
            let link = self.dial(node, kind, None);
            let dialer = &mut self.core.dialers[at];
            (dialer.link, dialer.started) = (Some(link), now);
        }
    }

    /// Dials a node.
    pub(crate) fn dial(&mut self, to: NodeId, kind: LinkKind, copy: Option<Box<CopyOut>>) -> LinkId {
        let until = self.core.now.mono + self.core.config.pace.handshake_us;
        let link = self.core.links.add(Stage::Dialling { to, kind, until, copy });
        self.core.outputs.push_back(Output::Dial { link, to, kind });
        link
    }

    /// When a node has to be dialled next.
    pub(crate) fn next_dial(&self) -> Micros {
        let due = self.core.dialers.iter().filter(|dialer| dialer.link.is_none());
        let due = due.filter(|dialer| self.may_dial(dialer.node, dialer.kind));
        due.map(|dialer| dialer.next).min().unwrap_or(Micros::MAX)
    }

    /// A node that has just started calls everybody: it need not wait until it is called back.
    pub(crate) fn dial_soon(&mut self) {
        let now = self.core.now.mono;
        for dialer in self.core.dialers.iter_mut().filter(|dialer| dialer.link.is_none()) {
            dialer.pauses.begin_anew();
            dialer.next = now + dialer.pauses.next(&mut self.core.rng);
        }
    }

    /// A link that this node made stands.
    pub(crate) fn dialled(&mut self, link: LinkId) {
        let Some(dialer) = self.core.dialers.iter_mut().find(|dialer| dialer.link == Some(link)) else {
            return;
        };
        dialer.told.clear();
        let (node, kind) = (dialer.node, dialer.kind);
        self.core.peers[node.index()].trouble = None;
        let name = self.core.name_of(node).to_string();
        self.core.notice(Level::Debug, format!("{kind:?} to node {name} is up"));
    }

    /// A link that this node made, or was about to make, has ended: it is made again. `trouble` says why, if somebody
    /// should know.
    pub(crate) fn dial_again(&mut self, link: LinkId, stood: bool, trouble: Option<String>) {
        let now = self.core.now.mono;
        let Some(at) = self.core.dialers.iter().position(|dialer| dialer.link == Some(link)) else { return };
        let dialer = &mut self.core.dialers[at];
        if stood {
            dialer.down_since = now;
        }
        if now.saturating_sub(dialer.started) > dialer.pauses.most {
            dialer.pauses.begin_anew();
        }
        dialer.link = None;
        dialer.next = now + dialer.pauses.next(&mut self.core.rng);
        // In Raft groups links end and are made again when leaders change: no trouble, unless the next call fails.
        let Some(trouble) = trouble.filter(|_| !(stood && self.core.place.is_some())) else { return };
        // Nodes that start together call each other before all of them listen: no trouble yet.
        let patience = if stood { 0 } else { PATIENCE_US };
        let (node, kind) = (dialer.node, dialer.kind);
        if trouble != dialer.told && now.saturating_sub(dialer.down_since) >= patience {
            dialer.told.clone_from(&trouble);
            let name = self.core.name_of(node).to_string();
            self.core.notice(Level::Warn, format!("{kind:?} to node {name}: {trouble}"));
        }
        self.core.peers[node.index()].trouble = Some(trouble);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_repeated_soon_and_then_ever_more_rarely() {
        let (mut pauses, mut rng) = (Pauses::new((20_000, 1_000_000)), Rng::with_seed(1));
        for ms in [20, 40, 80, 160, 320, 640, 1_000, 1_000] {
            let pause = pauses.next(&mut rng) / 1_000;
            assert!((ms * 3 / 4..=ms * 5 / 4).contains(&pause), "{pause} instead of {ms}");
        }
    }
}
