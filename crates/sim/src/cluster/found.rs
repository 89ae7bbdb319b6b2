//! Who there is: the processes that hold partitions, and those that only have sessions.

use super::Subject;
use super::process::Process;
use crate::plan::{Layout, Plan};
use crate::rng::mix;
use std::sync::Arc;
use tidemark_core::DcId;
use tidemark_node::{ClusterLayout, NodeLayout, Pace, RaftLimits};

/// How many nodes without partitions each region has: in half of the schedules none, so that sessions are at those that hold
/// something; in others some, each with links of its own, so that what two sessions ask is not in one order everywhere.
pub(super) fn seats(plan: &Plan, dcs: usize) -> usize {
    match mix(plan.seed, 20) % 2 {
        0 => plan.scripts.len().div_ceil(dcs).clamp(1, 2),
        _ => 0,
    }
}

/// The processes of a schedule, not started yet.
pub(super) fn processes(plan: &Plan, layout: &Layout, subject: &Subject, seats: usize) -> Vec<Process> {
    let topology = &layout.topology;
    let servers = plan.nodes(topology) * plan.replicas;
    let node =
        |name: String, dc: DcId| NodeLayout { peer_address: name.clone(), name, dc, partitions: Vec::new() };
    let mut nodes: Vec<NodeLayout> =
        (0..servers).map(|process| node(plan.name_of(process), DcId(0))).collect();
    for server in topology.servers() {
        let first = plan.node_of(topology, server) * plan.replicas;
        for node in &mut nodes[first..first + plan.replicas] {
            node.dc = server.dc;
            node.partitions.push(server.partition);
        }
    }
    for n in 0..seats * topology.dcs {
        nodes.push(node(format!("c{n}"), DcId((n % topology.dcs) as u8)));
    }
    let cluster = ClusterLayout {
        name: "simulated".into(),
        topology: topology.clone(),
        replicas: plan.replicas,
        regions: topology.all_dcs().map(|dc| dc.to_string()).collect(),
        nodes,
        adapts: subject.adapts,
        ..ClusterLayout::single("", topology.partitions)
    };
    let mut known: Vec<Arc<ClusterLayout>> = Vec::new();
    let process = |at: usize| {
        // A node that only has sessions goes by any server's parameters.
        let params = &subject.params[if at < servers { at / plan.replicas } else { 0 }];
        let same = known.iter().find(|known| known.params == *params).cloned();
        let cluster = same.unwrap_or_else(|| {
            known.push(Arc::new(ClusterLayout { params: params.clone(), ..cluster.clone() }));
            known[known.len() - 1].clone()
        });
        let clock = if at < servers { at } else { at % servers };
        Process::new(at, cluster, plan.clock_of(clock))
    };
    (0..cluster.nodes.len()).map(process).collect()
}

/// How long nodes wait between attempts: in proportion to the network.
pub(super) fn pace(plan: &Plan) -> Pace {
    let config = &plan.config;
    if plan.scripts.is_empty() {
        // Under load, as servers do; but records leave with the batch that wrote them, and nobody is too far away to answer.
        let handshake_us = Pace::default().handshake_us + 4 * config.slowest_us();
        let upkeep_us = config.upkeep_us;
        let relay_after_us = if plan.relays { Pace::default().relay_after_us } else { 0 };
        return Pace { upkeep_us, stream_round_us: 0, handshake_us, relay_after_us, ..Pace::default() };
    }
    let (lan, wan) = (config.lan_us, config.farthest_us());
    Pace {
        ceiling_us: 4 * wan,
        sync_us: if mix(plan.seed, 10).is_multiple_of(2) { 0 } else { lan / 2 },
        upkeep_us: config.upkeep_us,
        stream_round_us: 0,
        handshake_us: 2 * config.slowest_us() + 4 * wan,
        dial_us: (2 * lan, wan),
        offer_again_us: wan,
        ask_again_us: 4 * wan,
        relay_after_us: if plan.relays { 2 * wan } else { 0 },
        copy_again_us: wan,
        look_us: 0, // with each upkeep
        hold_us: 4 * wan,
    }
}

/// How much members keep: little enough, now and then, that who was away gets a copy.
pub(super) fn raft_limits(plan: &Plan) -> RaftLimits {
    if plan.scripts.is_empty() {
        return RaftLimits::default();
    }
    RaftLimits {
        entries_bytes: if mix(plan.seed, 8).is_multiple_of(2) { 512 } else { 1 << 20 },
        pinned_bytes: if mix(plan.seed, 9).is_multiple_of(4) { 4 << 10 } else { 1 << 20 },
    }
}
