//! The smallest program that embeds a node: one region, one node, clients at the port given.

use std::path::PathBuf;
use std::sync::Arc;
use tidemark_server::{ClusterLayout, NodeConfig, NodeId, run_node};

#[global_allocator]
static ALLOCATOR: tidemark_server::Counting<mimalloc::MiMalloc> =
    tidemark_server::Counting(mimalloc::MiMalloc);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments.next().unwrap_or_else(|| "6380".to_string()).parse()?;
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| "tidemark-data".to_string()));
    let protocol = arguments.next().unwrap_or_else(|| "causal".to_string());
    let cluster = Arc::new(ClusterLayout::single(&protocol, 1));
    let mut config = NodeConfig::new(cluster, NodeId(0), directory, ([127, 0, 0, 1], port).into());
    config.spin_us = arguments.next().map_or(Ok(0), |text| text.parse())?;
    if let Some(policy) = arguments.next() {
        config.fsync = policy.parse()?;
    }
    Ok(run_node(config)?)
}
