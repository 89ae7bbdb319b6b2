//! From the flags of `tidemark up` to a cluster file.

use crate::Usage;
use std::net::TcpListener;
use std::path::Path;
use tidemark_core::DcId;
use tidemark_server::config::file::{ClusterTable, NodeTable, RegionTable, WanTable};
use tidemark_server::config::wan::{PRESETS, Preset};
use tidemark_server::config::{
    AdaptTable, Address, ClusterFile, Elsewhere, Fsync, Limits, MemoryPolicy, PartitionSet, PlacementTable,
    SessionScope, Size, Span,
};

/// How far a node's port for peers lies above its port for Redis clients.
const PEER_PORTS_ABOVE: u16 = 100;
const DEFAULT_REGIONS: usize = 3;

/// What the flags say; none for what they leave open.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) regions: Option<u8>,
    pub(crate) nodes: Option<u8>,
    pub(crate) replicas: Option<u8>,
    pub(crate) partitions: Option<u16>,
    pub(crate) protocol: Option<String>,
    pub(crate) params: toml::Table,
    pub(crate) placement: Vec<PlacementTable>,
    pub(crate) elsewhere: Option<Elsewhere>,
    pub(crate) adapt: Option<AdaptTable>,
    pub(crate) fsync: Option<Fsync>,
    pub(crate) session_scope: Option<SessionScope>,
    pub(crate) max_memory: Option<Size>,
    pub(crate) max_memory_policy: Option<MemoryPolicy>,
    pub(crate) latency: Option<String>,
    pub(crate) base_port: Option<u16>,
    pub(crate) http_port: Option<u16>,
    /// The first region's port for edge clients.
    pub(crate) edge_port: Option<u16>,
}

/// The cluster file that fulfils the wish: one node a region, or as many as wished, all on loopback.
pub(crate) fn cluster_file(wish: &Wish) -> anyhow::Result<ClusterFile> {
    let (names, wan) = names_and_delays(wish)?;
    let partitions = wish.partitions.unwrap_or(2);
    let replicas = usize::from(wish.replicas.unwrap_or(1)).max(1);
    let a_region = wish.nodes.map_or(replicas, usize::from);
    let groups = a_region / replicas;
    if groups * replicas != a_region {
        let what = format!("--nodes {a_region}: {a_region} nodes are no groups of {replicas}");
        return Err(Usage(format!("{what}; choose a multiple of --replicas, or leave it out")).into());
    }
    if groups > usize::from(partitions).max(1) {
        let has = usize::from(partitions) * replicas;
        let what =
            format!("--nodes {a_region}: a region of {partitions} partitions has work for {has} nodes");
        return Err(Usage(format!("{what}; give it more --partitions")).into());
    }
    let ports = Ports::choose(wish, names.len() * a_region)?;
    let at = |port: u16| Address { host: "127.0.0.1".into(), port };
    let node = |index: usize| {
        let (region, number) = (&names[index / a_region], index % a_region);
        let group = number / replicas;
        let first = |group: usize| (usize::from(partitions) * group / groups) as u16;
        NodeTable {
            name: if a_region == 1 { region.clone() } else { format!("{region}-{}", number + 1) },
            region: region.clone(),
            listen: at(ports.redis[index]),
            peer_listen: at(ports.peers[index]),
            peer_address: None,
            admin_listen: at(ports.http[index]),
            edge_listen: wish.edge_port.map(|first| at(first + index as u16)),
            dir: None,
            partitions: match groups {
                1 => PartitionSet::All,
                _ => PartitionSet::These((first(group)..first(group + 1)).collect()),
            },
        }
    };
    Ok(ClusterFile {
        cluster: ClusterTable {
            name: "up".into(),
            protocol: wish.protocol.clone().unwrap_or_else(|| "causal".into()),
            partitions,
            replicas: replicas as u8,
            fsync: wish.fsync.unwrap_or_default(),
            peer_secret: None,
            requirepass: None,
            max_skew: "5s".parse().expect("a length of time"),
            elsewhere: wish.elsewhere.unwrap_or_default(),
            session_scope: wish.session_scope.unwrap_or_default(),
        },
        protocol: wish.params.clone(),
        placement: wish.placement.clone(),
        adapt: wish.adapt.clone(),
        limits: Limits {
            max_memory: wish.max_memory.unwrap_or_default(),
            max_memory_policy: wish.max_memory_policy.unwrap_or_default(),
            ..Limits::default()
        },
        wan,
        nodes: (0..names.len() * a_region).map(node).collect(),
        regions: names.into_iter().map(|name| RegionTable { name }).collect(),
    })
}

/// The regions' names, and the delays between them.
fn names_and_delays(wish: &Wish) -> anyhow::Result<(Vec<String>, Option<WanTable>)> {
    let letters =
        |count: usize| (0..count as u8).map(|n| DcId(n).to_string().to_lowercase()).collect::<Vec<_>>();
    let wished = wish.regions.map(usize::from);
    let Some(latency) = wish.latency.as_deref().filter(|latency| *latency != "none") else {
        return Ok((letters(wished.unwrap_or(DEFAULT_REGIONS)), None));
    };
    if let Some(preset) = Preset::find(latency) {
        let sites = preset.sites;
        let count = wished.unwrap_or(DEFAULT_REGIONS.min(sites.len()));
        if count > sites.len() {
            let (has, names) = (sites.len(), sites.join(", "));
            let what = format!(
                "--latency {latency} has {has} sites ({names}), but --regions {count} were asked for"
            );
            return Err(Usage(format!("{what}; take a larger preset, or a file of your own")).into());
        }
        let names = sites[..count].iter().map(|site| site.to_string()).collect();
        return Ok((names, Some(WanTable { preset: Some(latency.into()), ..WanTable::default() })));
    }
    let table = read_delays(latency)?;
    let mut names: Vec<String> = Vec::new();
    for name in table.rtt.iter().flat_map(|(from, row)| std::iter::once(from).chain(row.keys())) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        names = letters(wished.unwrap_or(DEFAULT_REGIONS));
    }
    if wished.is_some_and(|wished| wished != names.len()) {
        let (has, wished) = (names.len(), wished.unwrap_or_default());
        let what = format!(
            "{latency} names {has} regions ({}), but --regions {wished} were asked for",
            names.join(", ")
        );
        return Err(Usage(what).into());
    }
    Ok((names, Some(table)))
}

/// A file with the contents of a `[wan]` table, or with that table itself.
fn read_delays(latency: &str) -> anyhow::Result<WanTable> {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    if !Path::new(latency).exists() {
        let what = format!("--latency {latency}: neither a preset (none, {}) nor a file", presets.join(", "));
        return Err(Usage(what).into());
    }
    let wrong = |error: &dyn std::fmt::Display| Usage(format!("--latency {latency}: {error}"));
    let text = std::fs::read_to_string(latency).map_err(|error| wrong(&error))?;
    let mut table: toml::Table = toml::from_str(&text).map_err(|error| wrong(&error))?;
    let inner = match table.remove("wan") {
        Some(toml::Value::Table(inner)) => inner,
        _ => table,
    };
    Ok(inner.try_into().map_err(|error: toml::de::Error| wrong(&error.message()))?)
}

struct Ports {
    redis: Vec<u16>,
    peers: Vec<u16>,
    http: Vec<u16>,
}

impl Ports {
    fn choose(wish: &Wish, count: usize) -> anyhow::Result<Self> {
        let row = |base: u16| (0..count as u16).map(|n| base.checked_add(n)).collect::<Option<Vec<u16>>>();
        // All at once: a port that is let go may be given out again.
        let mut any = free(3 * count)?;
        let mut fixed = |base: Option<u16>, otherwise: u16, above: u16| match base.unwrap_or(otherwise) {
            0 => anyhow::Ok(any.split_off(any.len() - count)),
            base => row(base.saturating_add(above))
                .ok_or_else(|| Usage(format!("ports from {base} on go beyond 65535")).into()),
        };
        Ok(Self {
            redis: fixed(wish.base_port, 7001, 0)?,
            peers: fixed(wish.base_port, 7001, PEER_PORTS_ABOVE)?,
            http: fixed(wish.http_port.or(wish.base_port.filter(|port| *port == 0)), 8001, 0)?,
        })
    }
}

/// Where ports are looked for: the operating system gives those above to whoever connects to something, and might give one away
/// before the node that is to listen there has started. Tests have those from 20,000 on.
const FREE: std::ops::Range<u32> = 10_000..20_000;
/// How far apart processes begin to look, so that two that start at once do not find the same ports.
const APART: u32 = 64;

/// Ports at which nobody listens.
fn free(count: usize) -> anyhow::Result<Vec<u16>> {
    let first = std::process::id().wrapping_mul(APART);
    let ports =
        (0..FREE.end - FREE.start).map(|n| FREE.start + first.wrapping_add(n) % (FREE.end - FREE.start));
    let unused = ports.map(|port| port as u16).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    let found: Vec<u16> = unused.take(count).collect();
    anyhow::ensure!(
        found.len() == count,
        "there are no {count} ports free from {} to {}",
        FREE.start,
        FREE.end
    );
    Ok(found)
}

/// How `span` is written after `--by` and in messages.
pub(crate) fn micros(span: Span) -> u64 {
    span.0.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_server::config::{Overrides, parse};

    fn planned(wish: Wish) -> Result<tidemark_server::config::Cluster, String> {
        let file = cluster_file(&wish).map_err(|error| error.to_string())?;
        let text = toml::to_string(&file).map_err(|error| error.to_string())?;
        parse(&text, "x", Path::new(""), &Overrides::default(), None).map_err(|error| error.to_string())
    }

    #[test]
    fn by_default_there_are_three_regions_named_by_letter() {
        let cluster = planned(Wish::default()).unwrap();
        assert_eq!(cluster.regions, ["a", "b", "c"]);
        assert_eq!((cluster.nodes[2].listen.port, cluster.nodes[2].peer_listen.port), (7003, 7103));
        assert_eq!(cluster.nodes[2].admin_listen.port, 8003);
        assert_eq!(planned(Wish { regions: Some(40), ..Wish::default() }).unwrap().regions[30], "r30");
    }

    #[test]
    fn the_partitions_of_a_region_are_spread_over_its_nodes() {
        let wish =
            |nodes| Wish { regions: Some(2), nodes: Some(nodes), partitions: Some(5), ..Wish::default() };
        let cluster = planned(wish(2)).unwrap();
        let names: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["a-1", "a-2", "b-1", "b-2"]);
        let held: Vec<usize> = cluster.nodes.iter().map(|node| node.partitions.len()).collect();
        assert_eq!(held, [2, 3, 2, 3]);
        assert!(planned(wish(6)).unwrap_err().contains("more --partitions"));
    }

    #[test]
    fn replicas_of_a_partition_are_a_group_of_nodes() {
        let wish = |nodes| Wish { regions: Some(1), nodes, replicas: Some(3), ..Wish::default() };
        let cluster = planned(wish(None)).unwrap();
        assert_eq!((cluster.replicas, cluster.nodes.len()), (3, 3));
        assert!(cluster.nodes.iter().all(|node| node.partitions.len() == 2));
        let cluster = planned(wish(Some(6))).unwrap();
        let held: Vec<u16> = cluster.nodes.iter().map(|node| node.partitions[0].0).collect();
        assert_eq!(held, [0, 0, 0, 1, 1, 1]);
        assert!(planned(wish(Some(4))).unwrap_err().contains("a multiple of --replicas"));
        assert!(planned(wish(Some(9))).unwrap_err().contains("more --partitions"));
    }

    #[test]
    fn numbers_of_the_protocol_stand_in_its_table() {
        let wish = |params: &str| {
            let params = toml::from_str(params).unwrap();
            planned(Wish { protocol: Some("gentlerain".into()), params, ..Wish::default() })
        };
        let cluster = wish("fan_out = 3\nalpha = \"20ms\"").unwrap();
        assert_eq!((&cluster.params["fan_out"], &cluster.params["alpha_us"]), (&3.into(), &20_000.into()));
        assert!(wish("fan_in = 3").unwrap_err().contains("fan_out"));
    }

    #[test]
    fn a_preset_names_the_regions() {
        let wish = |latency: &str| Wish { latency: Some(latency.into()), ..Wish::default() };
        assert_eq!(planned(wish("nukv")).unwrap().regions, ["phoenix", "salt-lake-city"]);
        assert_eq!(planned(wish("gentlerain")).unwrap().regions, ["virginia", "oregon", "ireland"]);
        let small = planned(Wish { regions: Some(3), ..wish("nukv") }).unwrap_err();
        assert!(small.contains("2 sites (phoenix, salt-lake-city)"), "{small}");
        assert!(planned(wish("nothing")).unwrap_err().contains("neither a preset"));
    }

    #[test]
    fn a_file_of_delays_names_the_regions() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "[wan.rtt]\nrome = { oslo = '30ms' }\n").unwrap();
        let wish = Wish { latency: Some(file.path().display().to_string()), ..Wish::default() };
        let cluster = planned(wish.clone()).unwrap();
        assert_eq!(cluster.regions, ["rome", "oslo"]);
        assert_eq!(cluster.wan.unwrap().rtt(DcId(0), DcId(1)).as_millis(), 30);
        assert!(planned(Wish { regions: Some(3), ..wish }).unwrap_err().contains("names 2 regions"));
    }

    #[test]
    fn port_zero_means_any_free_ones() {
        let cluster = planned(Wish { base_port: Some(0), ..Wish::default() }).unwrap();
        let mut ports: Vec<u16> = cluster
            .nodes
            .iter()
            .flat_map(|n| [n.listen.port, n.peer_listen.port, n.admin_listen.port])
            .collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 9);
        assert!(ports.iter().all(|port| FREE.contains(&u32::from(*port))), "{ports:?}");
        let taken = free(2).unwrap()[0];
        let _taken = TcpListener::bind(("127.0.0.1", taken)).unwrap();
        assert!(!free(2).unwrap().contains(&taken));
        assert!(planned(Wish { base_port: Some(65535), ..Wish::default() }).is_err());
    }
}
