//! Checking groups in simulated runs, where a protocol has some: changes that operators order, the groups that operations name,
//! and groups that follow what clients do. What of it happens while a run is played is in `cluster/grouping.rs`.

use crate::plan::{Fault, Layout, Plan, Trouble};
use crate::rng::{Rng, Stream, mix, stream};
use serde_json::Value;
use std::fmt;
pub(crate) use tidemark_adapt::Account;
use tidemark_adapt::Settings;
use tidemark_contract::Topology;
use tidemark_contract::grouping::{Checking, Grouping, NamedGroup, Regrouping, Servers};
use tidemark_core::{Micros, ServerId};
use tidemark_node::Factory;
use tidemark_node::follow::Choice;
use tidemark_workload::Workload;

/// Names of checking groups that come and go.
const NAMES: [&str; 4] = ["g0", "g1", "east", "west"];

/// Checking groups that follow what clients do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adapting {
    /// How often somebody looks.
    pub every_us: Micros,
    /// What it goes by.
    pub settings: Settings,
}

impl Adapting {
    /// Whether `groups`, which a protocol has at first, can do that.
    ///
    /// # Errors
    /// They cannot: a sentence for the user.
    pub(crate) fn check(&self, protocol: &str, groups: &[NamedGroup], gateways: bool) -> Result<(), String> {
        self.settings.check()?;
        if groups.is_empty() || self.every_us == 0 {
            return Err(format!("{protocol} has no checking groups that could follow its clients"));
        }
        if !gateways {
            return Err("checking groups follow what is asked of gateways: servers watch that".into());
        }
        Ok(())
    }
}

/// An operator's order to change groups.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupsChange {
    /// The node that is told; it tells the others.
    pub node: usize,
    /// What is to change.
    pub order: Regrouping,
}

impl fmt::Display for GroupsChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operator, to node n{}: {:?}", self.node, self.order)
    }
}

/// The checking groups that a protocol has at first: none, if it knows no such thing.
pub(crate) fn at_first(factory: &dyn Factory, params: &Value, topology: &Topology) -> Vec<NamedGroup> {
    factory.checking_groups(params, topology)
}

/// Operators who know nothing of each other change groups while the schedule runs, in most schedules.
pub(crate) fn draw_orders(plan: &mut Plan, layout: &Layout) {
    let topology = &layout.topology;
    let all: Vec<ServerId> = topology.servers().collect();
    let mut rng = stream(plan.seed, Stream::Regrouping);
    for _ in 0..rng.usize(0..6) {
        let to = all[rng.usize(0..all.len())];
        let (node, order) = (plan.node_of(topology, to), any_order(&all, layout, &mut rng));
        let at = rng.u64(0..=plan.end_us);
        plan.faults.push(Fault { at, until: at, what: Trouble::Regroups(GroupsChange { node, order }) });
    }
}

/// What an operator may want.
fn any_order(all: &[ServerId], layout: &Layout, rng: &mut Rng) -> Regrouping {
    let name = NAMES[rng.usize(0..NAMES.len())].to_string();
    match rng.u32(0..6) {
        0..3 => {
            let which = rng.u64(..);
            let some = |place: usize| mix(which, place as u64).is_multiple_of(2);
            let mut servers: Vec<Servers> =
                (0..all.len()).filter(|place| some(*place)).map(|place| all[place].into()).collect();
            if servers.is_empty() {
                servers.push(all[0].into());
            }
            Regrouping::Add { name, servers }
        }
        3 => Regrouping::Remove { name },
        _ => {
            let tracking = Grouping::any(&layout.topology, false, &mut |below| rng.usize(0..below));
            Regrouping::Track { tracking }
        }
    }
}

/// Which of the checking groups `known` the step of a session that begins at `at` asks for: mostly one that is the session's own,
/// or none; now and then another, or two.
pub(crate) fn of_step(seed: u64, session: usize, at: Micros, known: &[NamedGroup]) -> Choice {
    if known.is_empty() {
        return Choice::Server;
    }
    let group = |number: u64| known[(number % known.len() as u64) as usize].0;
    let of_session = mix(mix(seed, Stream::Checking as u64), session as u64);
    let of_step = mix(of_session, at);
    Choice::Named(match (of_session % 2, of_step % 8) {
        (0, 0..6) => return Choice::Server,
        (1, 0..6) => [group(of_session >> 8)].into_iter().collect(),
        (_, 6) => [group(of_step >> 8)].into_iter().collect(),
        _ => [group(of_step >> 8), group(of_step >> 24)].into_iter().collect(),
    })
}

/// The checking groups that answer the clients of a workload, of all that there are; those who name none leave it to their node if
/// it `adapts`.
///
/// # Errors
/// There is none of that name: a sentence for the user.
pub(crate) fn of_workload(workload: &Workload, known: &[NamedGroup], adapts: bool) -> Result<Choice, String> {
    let number = |wanted: &str| {
        let group = known.iter().find(|(_, known)| known.name == wanted).map(|(group, _)| *group);
        group.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(_, known)| known.name.as_str()).collect();
            format!("there is no checking group {wanted:?}, but {}", names.join(", "))
        })
    };
    let named = workload.checking().into_iter().map(number).collect::<Result<Checking, String>>()?;
    Ok(match named.is_empty() {
        true if adapts => Choice::Node,
        true => Choice::Server,
        false => Choice::Named(named),
    })
}
