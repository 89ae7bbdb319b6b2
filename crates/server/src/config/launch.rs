//! From the cluster file to what one process runs with.

use super::cluster::Cluster;
use super::units::Address;
use crate::{ClusterLayout, NodeConfig, NodeId, NodeLayout, WanLink};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tidemark_core::{DcId, Micros};

impl Cluster {
    /// The cluster as every node sees it.
    pub fn layout(&self) -> ClusterLayout {
        let node = |node: &super::Node| NodeLayout {
            name: node.name.clone(),
            dc: node.region,
            partitions: node.partitions.clone(),
            peer_address: node.peer_address.to_string(),
        };
        ClusterLayout {
            name: self.name.clone(),
            protocol: self.protocol.to_string(),
            params: self.params.clone(),
            topology: self.topology.clone(),
            replicas: usize::from(self.replicas),
            regions: self.regions.clone(),
            nodes: self.nodes.iter().map(node).collect(),
            wan: self.links(),
            adapts: self.adapt.is_some(),
        }
    }

    /// The emulated distances that are not zero, one a direction.
    fn links(&self) -> Vec<WanLink> {
        let Some(wan) = &self.wan else { return Vec::new() };
        let pairs =
            self.topology.all_dcs().flat_map(|from| self.topology.all_dcs().map(move |to| (from, to)));
        let link = |(from, to): (DcId, DcId)| WanLink {
            from,
            to,
            delay_us: micros(wan.one_way(from, to)),
            jitter_us: micros(wan.jitter),
            bytes_per_s: None,
        };
        pairs.filter(|(from, to)| from != to).map(link).collect()
    }

    /// What the node `me` runs with. Host names are looked up.
    ///
    /// # Errors
    /// A host name that stands for no address of this machine's resolver.
    pub fn node_config(&self, me: NodeId) -> Result<NodeConfig, String> {
        let node = &self.nodes[me.index()];
        let listen = resolve(&node.listen)?;
        let mut config = NodeConfig::new(Arc::new(self.layout()), me, node.dir.clone(), listen);
        config.peer_listen = if self.nodes.len() > 1 { Some(resolve(&node.peer_listen)?) } else { None };
        config.admin_listen = Some(resolve(&node.admin_listen)?);
        config.edge_listen = node.edge_listen.as_ref().map(resolve).transpose()?;
        config.requirepass = self.requirepass.as_ref().map(|secret| secret.0.clone());
        config.peer_secret = self.peer_secret.as_ref().map(|secret| secret.0.clone());
        config.fsync = self.fsync.into();
        config.session_scope = self.session_scope;
        config.max_skew_us = micros(self.max_skew);
        config.log_segment_bytes = self.limits.log_segment.0;
        config.log_retain_bytes = self.limits.log_retain.0;
        config.snapshot_every_bytes = self.limits.snapshot_every.0;
        config.max_memory_bytes = self.limits.max_memory.0;
        config.max_memory_policy = self.limits.max_memory_policy;
        config.expire_grace_us = micros(self.limits.expire_grace.0);
        config.max_clients = self.limits.max_clients as usize;
        config.op_deadline_us = micros(self.limits.request_timeout.0);
        config.election_timeout_us = micros(self.limits.election_timeout.0);
        config.relay_after_us = micros(self.limits.relay_after.0);
        Ok(config)
    }
}

fn micros(time: Duration) -> Micros {
    time.as_micros() as Micros
}

/// The address to bind; of several, an IPv4 one.
fn resolve(address: &Address) -> Result<SocketAddr, String> {
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| format!("{address}: {error}"))?.collect();
    let best = found.iter().find(|found| found.is_ipv4()).or(found.first());
    best.copied().ok_or_else(|| format!("{address}: the name has no address"))
}

#[cfg(test)]
mod tests {
    use crate::config::{Overrides, SessionScope, parse};
    use crate::{NodeId, WanLink};
    use std::path::Path;
    use tidemark_core::DcId;

    const FILE: &str = r#"
        [cluster]
        name = "shop"
        fsync = "always"
        session_scope = "client-name"
        max_skew = "2s"
        [protocol]
        theta = "7ms"
        [limits]
        max_clients = 7
        request_timeout = "1500ms"
        relay_after = "3s"
        [wan]
        preset = "nukv"
        jitter = "1ms"
        [[region]]
        name = "phoenix"
        [[region]]
        name = "salt-lake-city"
        [[node]]
        name = "p"
        region = "phoenix"
        listen = "localhost:7001"
        peer_listen = "127.0.0.1:7101"
        admin_listen = "127.0.0.1:8001"
        [[node]]
        name = "s"
        region = "salt-lake-city"
        listen = "127.0.0.1:7002"
        peer_listen = "127.0.0.1:7102"
        admin_listen = "127.0.0.1:8002"
    "#;

    #[test]
    fn a_node_runs_with_what_the_file_says() {
        let cluster = parse(FILE, "x", Path::new("/base"), &Overrides::default(), None).unwrap();
        let config = cluster.node_config(NodeId(1)).unwrap();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(config.fsync, tidemark_store::log::Fsync::Always);
        assert_eq!(config.session_scope, SessionScope::ClientName);
        assert_eq!(
            (config.max_skew_us, config.op_deadline_us, config.max_clients),
            (2_000_000, 1_500_000, 7)
        );
        assert_eq!(config.relay_after_us, 3_000_000);
        assert_eq!(config.data_dir, Path::new("/base/data/s"));
        assert_eq!(config.cluster.params["theta_us"], 7_000);
        let link = |from, to| WanLink {
            from: DcId(from),
            to: DcId(to),
            delay_us: 7_500,
            jitter_us: 1_000,
            bytes_per_s: None,
        };
        assert_eq!(config.cluster.wan, [link(0, 1), link(1, 0)]);
        assert_eq!(cluster.node_config(NodeId(0)).unwrap().redis_listen.to_string(), "127.0.0.1:7001");
    }
}
