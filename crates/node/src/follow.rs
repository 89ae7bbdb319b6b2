//! Checking groups, which few protocols have ([`Extensions::checking`](tidemark_contract::Extensions::checking)): what a node
//! does about them, all in one place. It knows which groups there are, tells requests which of them answer, and has them
//! follow what sessions read, if they are to: then it counts where each session reads ([`Watch`]), and gives a session that
//! leaves the choice to it the group that fits.

use crate::driven::Of;
use crate::hold::Hold;
use crate::node::Options;
use crate::of::{self, NodeOf};
use crate::sessions::Session;
use serde_json::Value;
use tidemark_adapt::{Choices, Footprint, UseReport, Watch};
use tidemark_contract::grouping::{Checking, CheckingGroup, NamedGroup};
use tidemark_contract::{Protocol, SessionCx, Topology};
use tidemark_core::{Micros, Op, ServerId};
use tidemark_replica::{Host, Now};

/// How long a node goes by the checking groups that it knew of.
const KNOWN_FOR_US: Micros = 10_000;

/// Where the sessions of a node have read together since it started.
pub type Uses = Vec<UseReport>;

/// Which checking groups answer the operations of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Choice {
    /// The node chooses one by what the session reads, if groups follow that. Else each server chooses.
    #[default]
    Node,
    /// Each server chooses.
    Server,
    /// These answer.
    Named(Checking),
}

impl Choice {
    /// The groups that are named.
    pub fn named(&self) -> &[CheckingGroup] {
        match self {
            Self::Named(groups) => groups,
            Self::Node | Self::Server => &[],
        }
    }
}

/// What a driver asks a node about checking groups.
pub trait NodeGroups {
    /// The checking groups that operations may choose, with their members' names.
    fn checking_groups(&mut self, now: Now) -> &[NamedGroup];
}

/// What a driver asks about checking groups before there is a node.
pub trait FactoryGroups {
    /// The checking groups that the protocol has at first, with `params`, which were checked.
    fn checking_groups(&self, params: &Value, topology: &Topology) -> Vec<NamedGroup>;
}

/// What a node knows of checking groups: nothing, for a protocol without them.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// Which servers sessions read at together, if checking groups follow that.
    watch: Option<Watch>,
    /// The groups that there are, and when to look again.
    known: Choices,
    until: Micros,
}

/// What a session asks of checking groups.
#[derive(Default)]
pub(crate) struct Following {
    /// The groups that answer the running operation.
    checking: Checking,
    /// Where it has read lately.
    footprint: Footprint,
    /// The group that fits where it reads is chosen for it.
    follows: bool,
}

impl Follow {
    /// For a node with `params`, which were checked. The groups follow what sessions read if there are any and `adapts` is set.
    pub(crate) fn new<P: Protocol>(params: &P::Params, topology: &Topology, adapts: bool) -> Self {
        let some = adapts && !founding::<P>(params, topology).is_empty();
        Self { watch: some.then(Watch::default), ..Self::default() }
    }

    /// What a new session asks.
    pub(crate) fn open(&self) -> Following {
        Following { follows: self.watch.is_some(), ..Following::default() }
    }

    /// What a session asks from now on.
    pub(crate) fn configure(&self, following: &mut Following, options: &Options) {
        following.follows = self.watch.is_some() && options.checking == Choice::Node;
        following.checking = options.checking.named().into();
    }

    /// A session is about to ask `to`, to read there.
    #[inline]
    pub(crate) fn reads(&mut self, following: &mut Following, to: ServerId, now: Micros) {
        if let (true, Some(watch)) = (following.follows, &mut self.watch) {
            following.footprint.asks(to, now, watch);
        }
    }

    /// A session hears what it asked for.
    #[inline]
    pub(crate) fn hears<P: Protocol>(&mut self, following: &mut Following, reply: &P::Reply) {
        if let (true, Some(watch)) = (following.follows, &mut self.watch) {
            following.footprint.waited(P::EXTENSIONS.waited(reply), watch);
        }
    }

    /// Where sessions read together, if checking groups follow that.
    pub(crate) fn uses(&self) -> Option<Uses> {
        self.watch.as_ref().map(Watch::report)
    }

    /// The groups that there are, or were a moment ago: each operation may name some.
    fn known<P: Protocol>(&mut self, hold: &Hold<P>, now: Micros) -> &Choices {
        if now >= self.until {
            self.known.update(hold.held().map_or_else(Vec::new, Host::checking_groups));
            self.until = now + KNOWN_FOR_US;
        }
        &self.known
    }
}

impl Following {
    /// An operation begins: `cx` names the groups that answer it.
    #[inline]
    pub(crate) fn name<P: Protocol>(&self, cx: &mut SessionCx<'_, P>) {
        cx.checking = self.checking.clone();
    }
}

impl<P: Protocol> NodeOf<P> {
    /// A session begins `op`. Chooses the group that fits where it reads, if it leaves that to the node.
    #[inline]
    pub(crate) fn choose_group(&mut self, session: &mut Session<P>, op: &Op) {
        let (core, following) = (&mut self.core, &mut session.following);
        if let (true, Some(watch)) = (following.follows, &mut core.follow.watch) {
            following.footprint.begins(op, (core.dc, &core.topology), core.now.mono, watch);
            let known = core.follow.known(&self.hold, core.now.mono);
            following.checking = following.footprint.fitting(known);
        }
    }
}

impl<P: Protocol> NodeGroups for NodeOf<P> {
    fn checking_groups(&mut self, now: Now) -> &[NamedGroup] {
        self.core.now = now;
        self.core.follow.known(&self.hold, now.mono).groups()
    }
}

impl<P: Protocol> FactoryGroups for Of<P> {
    fn checking_groups(&self, params: &Value, topology: &Topology) -> Vec<NamedGroup> {
        let groups = |params| founding::<P>(&params, topology);
        of::params::<P>(params, Some(topology)).map(groups).unwrap_or_default()
    }
}

/// The groups of a system that begins.
fn founding<P: Protocol>(params: &P::Params, topology: &Topology) -> Vec<NamedGroup> {
    P::EXTENSIONS.checking_groups(params, topology, &P::Hard::default())
}
