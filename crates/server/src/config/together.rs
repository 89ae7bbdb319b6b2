//! What nodes must fulfil together: every partition is held as often as it should be, everybody finds everybody, and
//! nobody is in anybody's way.

use super::check::MAX_REGIONS;
use super::cluster::Node;
use super::file::ClusterFile;
use super::problem::Problem;
use super::units::Address;
use tidemark_core::PartitionId;

/// Checks what concerns several nodes at once.
pub(super) fn check(file: &ClusterFile, nodes: &[Node], problems: &mut Vec<Problem>) {
    for (index, region) in file.regions.iter().enumerate().take(MAX_REGIONS) {
        let here = || file.nodes.iter().zip(nodes).filter(|(table, _)| table.region == region.name);
        let mut missing = Vec::new();
        for partition in (0..file.cluster.partitions).map(PartitionId) {
            let holders = here().filter(|(_, node)| node.partitions.contains(&partition));
            let holders: Vec<&Node> = holders.map(|(_, node)| node).collect();
            match holders.len() {
                0 => missing.push(partition.to_string()),
                count if count == usize::from(file.cluster.replicas) => {}
                _ => {
                    problems.push(held_by(file, &region.name, partition, &holders));
                    break;
                }
            }
        }
        if !missing.is_empty() && !file.nodes.is_empty() {
            let shown = missing.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if missing.len() > 8 { ", …" } else { "" };
            let what = format!("no node of region {} holds partition {shown}{more}", region.name);
            let remedy = "add them to a node of that region, or add a node";
            problems.push(Problem::new(format!("region[{index}]"), what, remedy));
        }
    }
    groups(file, nodes, problems);
    reachable(nodes, problems);
    clashes(nodes, problems);
}

/// A partition that not as many nodes hold as there are replicas.
fn held_by(file: &ClusterFile, region: &str, partition: PartitionId, holders: &[&Node]) -> Problem {
    let names: Vec<&str> = holders.iter().map(|node| node.name.as_str()).collect();
    let last = names.last().copied().unwrap_or_default();
    let (what, remedy) = match (file.cluster.replicas, &names[..]) {
        (1, [first, second, ..]) => (
            format!("in {region} both {first} and {second} hold partition {partition}"),
            "divide the partitions among a region's nodes: each is held once a region".to_string(),
        ),
        (replicas, _) => (
            format!("in {region} partition {partition} is held by {}", names.join(" and ")),
            format!("with replicas = {replicas} each is held by {replicas} nodes of a region"),
        ),
    };
    let shown = if file.cluster.replicas == 1 { names[1] } else { last };
    let place = file.nodes.iter().position(|node| node.name == shown).unwrap_or_default();
    Problem::new(format!("node[{place}].partitions"), what, remedy)
}

/// Nodes that share a partition are a group, and share all.
fn groups(file: &ClusterFile, nodes: &[Node], problems: &mut Vec<Problem>) {
    if file.cluster.replicas == 1 {
        return;
    }
    for (index, node) in nodes.iter().enumerate() {
        let shares = |other: &&Node| {
            other.region == node.region
                && other.partitions != node.partitions
                && other.partitions.iter().any(|partition| node.partitions.contains(partition))
        };
        if let Some(other) = nodes[..index].iter().find(shares) {
            let what = format!("{} and {} share some of their partitions", other.name, node.name);
            let remedy = "nodes of a group hold the same partitions: let them share all, or none";
            problems.push(Problem::new(format!("node[{index}].partitions"), what, remedy));
        }
    }
}

/// Nodes on several machines do not find each other on loopback.
fn reachable(nodes: &[Node], problems: &mut Vec<Problem>) {
    let beyond = nodes.iter().find(|node| !node.peer_address.is_loopback());
    let Some(beyond) = beyond else { return };
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.peer_address.is_loopback()) {
        let what = format!("{} cannot reach {} from another machine", beyond.name, node.peer_address);
        let remedy = "give every node an address that all others reach, or all of them loopback addresses";
        problems.push(Problem::new(format!("node[{index}].peer_listen"), what, remedy));
    }
}

/// Two listeners on one machine, or two nodes in one directory. Nodes share a machine if others dial them at
/// the same host.
fn clashes(nodes: &[Node], problems: &mut Vec<Problem>) {
    let listeners = |node: &Node| {
        let edge = node.edge_listen.clone().map(|listen| ("edge_listen", listen));
        let others = [
            ("listen", node.listen.clone()),
            ("peer_listen", node.peer_listen.clone()),
            ("admin_listen", node.admin_listen.clone()),
        ];
        others.into_iter().chain(edge)
    };
    let mut taken: Vec<(usize, &str, Address)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let same_machine = |other: usize| {
            other == index
                || nodes[other].peer_address.host == node.peer_address.host
                || (nodes[other].peer_address.is_loopback() && node.peer_address.is_loopback())
        };
        for (key, address) in listeners(node) {
            let clash =
                taken.iter().find(|(other, _, theirs)| same_machine(*other) && theirs.clashes_with(&address));
            if let Some((other, theirs, _)) = clash {
                let what = format!("{address} is {theirs} of {} already", nodes[*other].name);
                problems.push(Problem::new(format!("node[{index}].{key}"), what, "choose another port"));
            }
            taken.push((index, key, address));
        }
        let shares = |other: &usize| same_machine(*other) && nodes[*other].dir == node.dir;
        if let Some(other) = (0..index).find(shares) {
            let what = format!("{} is the directory of {} already", node.dir.display(), nodes[other].name);
            problems.push(Problem::new(format!("node[{index}].dir"), what, "give each node its own"));
        }
    }
}
