//! What a cluster file must fulfil, and how it becomes a [`Cluster`]. Every problem is collected, so that one
//! run of `config check` shows them all.

use super::adapt;
use super::cluster::{Cluster, Node};
use super::file::{ClusterFile, NodeTable};
use super::params;
use super::placement;
use super::problem::{Problem, nearest};
use super::together;
use super::units::{Address, PartitionSet};
use super::wan;
use std::path::Path;
use std::time::Duration;
use tidemark_contract::Topology;
use tidemark_core::{DcId, PartitionId, SLOTS};
use tidemark_registry::{NAMES, variant};

pub(super) const MAX_REGIONS: usize = 64;
const MAX_NODES: usize = 4096;
const MAX_REPLICAS: u8 = 9;
const LEAST_GRACE: Duration = Duration::from_secs(1);
const LEAST_RELAY: Duration = Duration::from_millis(100);
const LEAST_ELECTION: Duration = Duration::from_millis(50);
const MOST_ELECTION: Duration = Duration::from_secs(60);

/// Checks `file`, which stands in the directory `base`.
pub(super) fn check(file: &ClusterFile, base: &Path) -> Result<Cluster, Vec<Problem>> {
    let mut problems = Vec::new();
    let protocol = protocol(file, &mut problems);
    let mut numbers = file.protocol.clone();
    if file.nodes.iter().any(|node| node.edge_listen.is_some()) {
        problems.extend(params::for_edge(protocol, &mut numbers, file.regions.len()).err());
    }
    let params = match params::check(protocol, &numbers) {
        Ok(params) => params,
        Err(problem) => {
            problems.push(problem);
            serde_json::Value::Null
        }
    };
    cluster_table(file, &mut problems);
    if let Err(what) = file.cluster.session_scope.check(protocol) {
        let remedy = "remove the line, or choose a protocol with sessions";
        problems.push(Problem::new("cluster.session_scope", what, remedy));
    }
    regions(file, &mut problems);
    let wan = match &file.wan {
        Some(table) if (1..=MAX_REGIONS).contains(&file.regions.len()) => {
            let mut found = Vec::new();
            let wan = wan::resolve(table, &file.regions, &mut found);
            problems.append(&mut found);
            wan
        }
        _ => None,
    };
    let placement = placement::resolve(file, protocol, wan.as_ref(), &mut problems);
    let nodes = nodes(file, base, &mut problems);
    together::check(file, &nodes, &mut problems);
    protection(file, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut topology = Topology::new(file.regions.len(), file.cluster.partitions as usize);
    topology.placement = placement;
    params::fit(protocol, &params, &topology).map_err(|problem| vec![problem])?;
    let adapt = file.adapt.as_ref().map(|table| adapt::resolve(table, protocol, &params, &topology));
    let adapt = adapt.transpose().map_err(|problem| vec![problem])?;
    Ok(Cluster {
        name: file.cluster.name.clone(),
        protocol,
        params,
        topology,
        replicas: file.cluster.replicas,
        fsync: file.cluster.fsync,
        session_scope: file.cluster.session_scope,
        peer_secret: file.cluster.peer_secret.clone(),
        requirepass: file.cluster.requirepass.clone(),
        max_skew: file.cluster.max_skew.0,
        limits: file.limits.clone(),
        regions: file.regions.iter().map(|region| region.name.clone()).collect(),
        nodes,
        wan,
        adapt,
    })
}

fn protocol(file: &ClusterFile, problems: &mut Vec<Problem>) -> &'static str {
    let asked = file.cluster.protocol.as_str();
    let resolved = tidemark_registry::resolve(asked);
    if let Some(name) = NAMES.iter().find(|name| **name == resolved) {
        return name;
    }
    if let Some((sound, variant)) = variant(asked) {
        let why = if variant.is_published() { "keeps the mistakes of its paper" } else { "lacks a part" };
        let what = format!("{asked} {why}, and serves nobody");
        let remedy = format!("choose {sound:?}, or study it with `tidemark sim --protocol {asked}`");
        problems.push(Problem::new("cluster.protocol", what, remedy));
        return "";
    }
    let names = NAMES.iter().copied().chain(["causal"]);
    let meant =
        nearest(asked, names.clone()).map_or(String::new(), |near| format!("did you mean {near:?}? "));
    let remedy = format!("{meant}the protocols are {}", names.collect::<Vec<_>>().join(", "));
    problems.push(Problem::new("cluster.protocol", format!("no protocol is called {asked:?}"), remedy));
    ""
}

fn cluster_table(file: &ClusterFile, problems: &mut Vec<Problem>) {
    let table = &file.cluster;
    name("cluster.name", &table.name, problems);
    if !(1..=SLOTS).contains(&table.partitions) {
        let what = format!("{} partitions are not possible", table.partitions);
        problems.push(Problem::new("cluster.partitions", what, format!("choose 1 to {SLOTS}")));
    }
    if !(1..=MAX_REPLICAS).contains(&table.replicas) {
        let what = format!("{} replicas are not possible", table.replicas);
        problems.push(Problem::new(
            "cluster.replicas",
            what,
            format!("choose 1 to {MAX_REPLICAS}; 3 is usual"),
        ));
    }
    if table.max_skew.0.is_zero() {
        let remedy = "choose what your time synchronisation keeps to, such as \"500ms\"";
        problems.push(Problem::new("cluster.max_skew", "no two clocks agree to the microsecond", remedy));
    }
    for (place, secret) in [("peer_secret", &table.peer_secret), ("requirepass", &table.requirepass)] {
        if secret.as_ref().is_some_and(|secret| secret.0.is_empty()) {
            let place = format!("cluster.{place}");
            problems.push(Problem::new(
                place,
                "an empty password protects nothing",
                "remove it, or choose a longer one",
            ));
        }
    }
    limits(file, problems);
}

fn limits(file: &ClusterFile, problems: &mut Vec<Problem>) {
    let limits = &file.limits;
    let least = [
        ("log_segment", limits.log_segment, 1 << 20, "1MiB"),
        ("log_retain", limits.log_retain, limits.log_segment.0, "log_segment"),
        ("snapshot_every", limits.snapshot_every, 1 << 20, "1MiB"),
    ];
    for (key, size, bound, words) in least {
        if size.0 < bound {
            let what = format!("{size} is too small");
            problems.push(Problem::new(format!("limits.{key}"), what, format!("make it at least {words}")));
        }
    }
    if !(LEAST_ELECTION..=MOST_ELECTION).contains(&limits.election_timeout.0) {
        let what = format!("{} is no time to wait for a leader", limits.election_timeout);
        let remedy = "choose 50ms to 60s: some times what a message between two nodes of a region takes";
        problems.push(Problem::new("limits.election_timeout", what, remedy));
    }
    if !limits.relay_after.0.is_zero() && limits.relay_after.0 < LEAST_RELAY {
        let what = format!("{} is too short", limits.relay_after);
        let remedy = "choose at least 100ms, or 0s if a region is to wait for the other one itself";
        problems.push(Problem::new("limits.relay_after", what, remedy));
    }
    if limits.expire_grace.0 < LEAST_GRACE {
        let what = format!("{} is too short", limits.expire_grace);
        let remedy = "choose at least 1s: what another region does to a key meanwhile may be lost";
        problems.push(Problem::new("limits.expire_grace", what, remedy));
    }
    if limits.max_clients == 0 || limits.request_timeout.0.is_zero() {
        let key = if limits.max_clients == 0 { "max_clients" } else { "request_timeout" };
        let remedy = "zero would serve nobody: choose more, or remove the line for the default";
        problems.push(Problem::new(format!("limits.{key}"), "zero is not possible", remedy));
    }
}

/// A name must be usable in file names, in Prometheus labels and on command lines.
fn name(place: &str, name: &str, problems: &mut Vec<Problem>) {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !(1..=64).contains(&name.len()) || !name.chars().all(plain) || name.starts_with('-') {
        let remedy = "use 1 to 64 letters, digits, hyphens and underscores, not starting with a hyphen";
        problems.push(Problem::new(place, format!("{name:?} is no name"), remedy));
    }
}

fn regions(file: &ClusterFile, problems: &mut Vec<Problem>) {
    let count = file.regions.len();
    if count == 0 {
        problems.push(Problem::new("", "there is no region", "add a [[region]] table with a name"));
    }
    if count > MAX_REGIONS {
        let what = format!("{count} regions are more than {MAX_REGIONS}");
        problems.push(Problem::new(format!("region[{MAX_REGIONS}]"), what, "remove some"));
    }
    for (index, region) in file.regions.iter().enumerate() {
        let place = format!("region[{index}].name");
        name(&place, &region.name, problems);
        let letter = DcId(index.min(255) as u8).to_string();
        if file.regions[..index].iter().any(|other| other.name.eq_ignore_ascii_case(&region.name)) {
            let what = format!("there are two regions called {:?}", region.name);
            problems.push(Problem::new(place, what, "give each its own name"));
        } else if region.name.len() == 1 && !region.name.eq_ignore_ascii_case(&letter) {
            let what = format!("a name of one letter is that of another region: this one is {letter}");
            problems.push(Problem::new(
                place,
                what,
                format!("call it {:?}, or something longer", letter.to_lowercase()),
            ));
        }
    }
}

fn nodes(file: &ClusterFile, base: &Path, problems: &mut Vec<Problem>) -> Vec<Node> {
    if file.nodes.is_empty() {
        problems.push(Problem::new("", "there is no node", "add a [[node]] table for each process"));
    }
    if file.nodes.len() > MAX_NODES {
        problems.push(Problem::new("", format!("there are more than {MAX_NODES} nodes"), "remove some"));
    }
    let each = file.nodes.iter().enumerate();
    each.map(|(index, table)| node(file, index, table, base, problems)).collect()
}

fn node(
    file: &ClusterFile,
    index: usize,
    table: &NodeTable,
    base: &Path,
    problems: &mut Vec<Problem>,
) -> Node {
    let place = |key: &str| format!("node[{index}].{key}");
    name(&place("name"), &table.name, problems);
    if file.nodes[..index].iter().any(|other| other.name == table.name) {
        let what = format!("there are two nodes called {:?}", table.name);
        problems.push(Problem::new(place("name"), what, "give each its own name"));
    }
    let region = file.regions.iter().position(|region| region.name == table.region);
    if region.is_none() {
        let names: Vec<&str> = file.regions.iter().map(|region| region.name.as_str()).collect();
        let meant = nearest(&table.region, names.iter().copied());
        let meant = meant.map_or(String::new(), |near| format!("did you mean {near:?}? "));
        let remedy = format!("{meant}the regions are {}", names.join(", "));
        let what = format!("there is no region {:?}", table.region);
        problems.push(Problem::new(place("region"), what, remedy));
    }
    let peer_address = table.peer_address.clone().unwrap_or_else(|| table.peer_listen.clone());
    if peer_address.is_unspecified() && file.nodes.len() > 1 {
        let key = if table.peer_address.is_some() { "peer_address" } else { "peer_listen" };
        let remedy = "say how other nodes reach it: peer_address = \"host:port\"";
        problems.push(Problem::new(place(key), format!("nobody can connect to {peer_address}"), remedy));
    }
    let partitions = partitions(file, index, &table.partitions, problems);
    let dir = table.dir.clone().unwrap_or_else(|| format!("data/{}", table.name));
    if dir.is_empty() {
        problems.push(Problem::new(
            place("dir"),
            "the directory has no name",
            "remove the line for data/<name>",
        ));
    }
    Node {
        name: table.name.clone(),
        region: DcId(region.unwrap_or_default() as u8),
        listen: table.listen.clone(),
        peer_listen: table.peer_listen.clone(),
        peer_address,
        admin_listen: table.admin_listen.clone(),
        edge_listen: table.edge_listen.clone(),
        dir: base.join(dir),
        partitions,
    }
}

fn partitions(
    file: &ClusterFile,
    index: usize,
    set: &PartitionSet,
    problems: &mut Vec<Problem>,
) -> Vec<PartitionId> {
    let count = file.cluster.partitions;
    let PartitionSet::These(these) = set else { return (0..count).map(PartitionId).collect() };
    let place = format!("node[{index}].partitions");
    match these.iter().find(|partition| **partition >= count) {
        Some(beyond) => {
            let what = format!("there is no partition {beyond}");
            let remedy =
                format!("[cluster] partitions = {count}, so they are numbered 0 to {}", count.max(1) - 1);
            problems.push(Problem::new(place, what, remedy));
        }
        None if these.is_empty() => {
            problems.push(Problem::new(
                place,
                "the node holds nothing",
                "give it partitions, or remove the node",
            ));
        }
        None => {}
    }
    these.iter().filter(|partition| **partition < count).map(|partition| PartitionId(*partition)).collect()
}

/// What listens beyond loopback must be protected.
fn protection(file: &ClusterFile, problems: &mut Vec<Problem>) {
    let table = &file.cluster;
    let otherwise = "or listen on loopback";
    for (index, node) in file.nodes.iter().enumerate() {
        let mut beyond = |key: &str, address: &Address, what: &str, remedy: &str| {
            if !address.is_loopback() {
                let what = format!("{address} is open to the network, and {what}");
                problems.push(Problem::new(
                    format!("node[{index}].{key}"),
                    what,
                    format!("{remedy}, {otherwise}"),
                ));
            }
        };
        if table.requirepass.is_none() {
            let remedy = "set requirepass in [cluster] or TIDEMARK_REQUIREPASS";
            beyond("listen", &node.listen, "clients need no password", remedy);
            let remedy = "set requirepass, which HTTP requests then bear as their token";
            beyond("admin_listen", &node.admin_listen, "anybody may change the cluster", remedy);
            let remedy = "set requirepass, which edge clients then give as their token";
            node.edge_listen.iter().for_each(|listen| {
                beyond("edge_listen", listen, "anybody may read and write every key", remedy);
            });
        }
        if table.peer_secret.is_none() {
            let remedy = "set peer_secret in [cluster] or TIDEMARK_PEER_SECRET";
            beyond("peer_listen", &node.peer_listen, "anybody may pose as a peer", remedy);
        }
    }
}
