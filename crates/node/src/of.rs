//! The node of one protocol: [`Node`] carried out.

use crate::config::Config;
use crate::core::{Core, Outgoing, Peer, Serving};
use crate::dialer::Dialer;
use crate::factory::OpenError;
use crate::follow::Follow;
use crate::founding::{Founding, Place};
use crate::hold::Hold;
use crate::layout::{GroupId, NodeId};
use crate::link::hello::LinkKind;
use crate::node::About;
use crate::notice::Level;
use crate::requests::{Reply, Unrouted};
use crate::sessions::Sessions;
use crate::shared::SharedPasts;
use crate::syncs::Syncs;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use tidemark_contract::{Params as _, Protocol, Topology};
use tidemark_group::Member;
use tidemark_replica::{Host, HostConfig, Now};
use tidemark_store::disk::Disk;
use tidemark_store::log::LogError;

/// A node that runs protocol `P`.
pub(crate) struct NodeOf<P: Protocol> {
    pub(crate) core: Core,
    pub(crate) hold: Hold<P>,
    pub(crate) sessions: Sessions<P>,
    pub(crate) shared: SharedPasts<P>,
    /// Requests that wait for a leader.
    pub(crate) unrouted: Vec<Unrouted<P>>,
    /// What was read here though another node leads.
    pub(crate) at_hand: Vec<tidemark_replica::Output<P>>,
    /// Replies to sessions other than the one that was being served.
    pub(crate) strays: VecDeque<Reply<P>>,
}

/// The parameters of a protocol, as a configuration gives them: null or nothing for the defaults.
pub(crate) fn params<P: Protocol>(params: &Value, topology: Option<&Topology>) -> Result<P::Params, String> {
    let params = match params {
        Value::Null => P::Params::default(),
        Value::Object(map) if map.is_empty() => P::Params::default(),
        params => serde_json::from_value(params.clone()).map_err(|error| error.to_string())?,
    };
    if let Some(topology) = topology {
        params.check(topology)?;
    }
    Ok(params)
}

impl<P: Protocol> NodeOf<P> {
    /// Opens a node.
    pub(crate) fn open(config: Config, disk: Arc<dyn Disk>, now: Now) -> Result<Self, OpenError> {
        let topology = config.cluster.topology.clone();
        let params = params::<P>(&config.cluster.params, Some(&topology)).map_err(|why| {
            OpenError::Config(format!("the parameters of protocol {}: {why}", P::INFO.name))
        })?;
        let mut rng = fastrand::Rng::with_seed(config.seed);
        let stored = params.format();
        let identity =
            if stored.is_empty() { P::INFO.name.to_string() } else { format!("{}, {stored}", P::INFO.name) };
        let follow = Follow::new::<P>(&params, &topology, config.cluster.adapts);
        let about = About {
            protocol: P::INFO.name,
            promise: P::INFO.promise.to_string(),
            transactions: P::INFO.transactions,
            guarantees: P::INFO.guarantees,
            types: P::EXTENSIONS.types.is_some(),
        };
        let host = HostConfig {
            dc: config.dc(),
            partitions: config.layout().partitions.clone(),
            topology,
            params,
            fsync: config.fsync,
            boot: config.boot.clone(),
            ceiling_us: config.pace.ceiling_us,
            several: config.cluster.is_divided(config.dc()),
            max_skew_us: config.max_skew_us,
            limit: config.limit.clone(),
            log_segment_bytes: config.log_segment_bytes,
            log_retain_bytes: config.log_retain_bytes,
            relays: config.pace.relay_after_us > 0,
            snapshot_every_bytes: config.snapshot_every_bytes,
            new_incarnation: rng.u64(1..),
        };
        let groups = config.cluster.groups();
        let is_member = groups.members(groups.of_node(config.me)).len() > 1;
        let place =
            is_member.then(|| Place::new(&groups, config.me, config.election_timeout_us, config.raft));
        let kept = match &place {
            Some(place) => Some(kept_by(place, &*disk, &mut rng)?),
            None => None,
        };
        let (hold, notices) = open_hold(host, disk, place.as_ref(), &config, now)?;
        // Names of sessions must not come back: a member of a Raft group counts no starts, and may start twice within a second.
        let epoch = match &hold {
            Hold::Alone(host) => host.life(),
            Hold::Member(_) | Hold::Founding(_) => rng.u64(..),
        };
        let mut core = core(config, (identity, about), place, rng, now);
        core.follow = follow;
        if let Some((start, founded_with)) = kept {
            core.start = start.unwrap_or(core.start);
            core.founded_with = founded_with;
        }
        notices.into_iter().for_each(|(level, what)| core.notice(level, what));
        core.dialers = dialers(&core);
        Ok(Self {
            core,
            hold,
            sessions: Sessions::new(epoch),
            shared: SharedPasts::default(),
            unrouted: Vec::new(),
            at_hand: Vec::new(),
            strays: VecDeque::new(),
        })
    }
}

type Kept = (Option<u64>, Vec<(NodeId, u64)>);

/// What the directory of a member says: the start in which it waits for the others, if it does, and with which of theirs it founded
/// the group.
fn kept_by(place: &Place, disk: &dyn Disk, rng: &mut fastrand::Rng) -> Result<Kept, OpenError> {
    let name = place.name(disk).map_err(OpenError::Failed)?;
    Ok(match name {
        Some(_) => (None, place.founded_with(disk).map_err(OpenError::Failed)?),
        None => (Some(place.start(disk, rng.u64(1..)).map_err(OpenError::Failed)?), Vec::new()),
    })
}

type Opened<P> = (Hold<P>, Vec<(Level, String)>);

/// Opens the node's directory. In a Raft group, one that is empty waits for what the others say.
fn open_hold<P: Protocol>(
    host: HostConfig<P>,
    disk: Arc<dyn Disk>,
    place: Option<&Place>,
    config: &Config,
    now: Now,
) -> Result<Opened<P>, OpenError> {
    let failed = |error: tidemark_replica::OpenError| match &error {
        tidemark_replica::OpenError::Log(LogError::Full(_)) => OpenError::Full(error.to_string()),
        _ => OpenError::Failed(error.to_string()),
    };
    let Some(place) = place else {
        let host = Host::open(host, disk, now).map_err(failed)?;
        let cut = host.cut().map(|cut| (Level::Warn, cut.to_string()));
        return Ok((Hold::Alone(Box::new(host)), cut.into_iter().collect()));
    };
    match place.name(&*disk).map_err(OpenError::Failed)? {
        Some(name) => {
            let member = Member::open(place.config(name), host, disk, now).map_err(failed)?;
            Ok((Hold::Member(Box::new(member)), Vec::new()))
        }
        None => {
            let founding = Founding::new(place.clone(), host, disk);
            let name = |node: NodeId| config.cluster.nodes[node.index()].name.as_str();
            let names: Vec<&str> = founding.missing().map(name).collect();
            let what = format!(
                "this directory is empty: waiting for {}, to found a Raft group with, or to join theirs",
                names.join(", ")
            );
            Ok((Hold::Founding(Box::new(founding)), vec![(Level::Info, what)]))
        }
    }
}

fn core(
    config: Config,
    (identity, about): (String, About),
    place: Option<Place>,
    mut rng: fastrand::Rng,
    now: Now,
) -> Core {
    let cluster = config.cluster.clone();
    let groups = cluster.groups();
    let alone = |group: GroupId| match groups.members(group) {
        [one] => Some(*one),
        _ => None,
    };
    let serving = (0..groups.len()).map(|at| Serving { node: alone(GroupId(at as u16)), epoch: None });
    Core {
        serving: serving.collect(),
        topology: cluster.topology.clone(),
        me: config.me,
        dc: config.dc(),
        identity,
        about,
        start: rng.u64(1..),
        rng,
        now,
        place,
        founded_with: Vec::new(),
        leads: None,
        roles: 0,
        doubts: Vec::new(),
        outgoing: cluster.nodes.iter().map(|_| Outgoing::default()).collect(),
        speaks: false,
        peers: vec![Peer::default(); cluster.nodes.len()],
        links: Default::default(),
        relays: Default::default(),
        dialers: Vec::new(),
        cuts: Default::default(),
        follow: Follow::default(),
        counters: Default::default(),
        outputs: VecDeque::new(),
        deadlines: VecDeque::new(),
        orders: Vec::new(),
        ordered: 0,
        lost_copies: Vec::new(),
        batch: Default::default(),
        released: Default::default(),
        unreleased: VecDeque::new(),
        near: Default::default(),
        far: Default::default(),
        findings: Default::default(),
        upkeep_at: now.mono + config.pace.upkeep_us,
        syncs: Syncs::new(now.mono),
        streams_at: now.mono,
        streams_due: false,
        wants_commit: true,
        fatal: None,
        groups,
        config,
    }
}

/// The links that a node makes: one to each node for messages, one to each that holds one of its partitions in another
/// region, for records, and one to each of its Raft group.
fn dialers(core: &Core) -> Vec<Dialer> {
    let mut dialers = Vec::new();
    for (at, layout) in core.config.cluster.nodes.iter().enumerate() {
        let node = NodeId(at as u16);
        if node == core.me {
            continue;
        }
        let now = core.now.mono;
        let mut dial = |kind| dialers.push(Dialer::new(node, kind, now, core.config.pace.dial_us));
        // Nodes without partitions have nothing to say to each other.
        if !(layout.partitions.is_empty() && core.config.layout().partitions.is_empty()) {
            dial(LinkKind::Messages);
        }
        let shared = layout.partitions.iter().any(|partition| core.holds(*partition));
        match (shared, layout.dc == core.dc) {
            (true, true) => dial(LinkKind::Raft),
            (true, false) => dial(LinkKind::Stream),
            (false, _) => {}
        }
    }
    dialers
}
