//! From a node's directory to what it is to its partitions.

use super::dialect::{Dialect, params};
use super::seat::Seat;
use crate::clock::Clock;
use crate::{NodeConfig, ServeError};
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_group::Member;
use tidemark_node::founding::{Founding, Place};
use tidemark_replica::{Host, HostConfig};
use tidemark_store::disk::RealDisk;

/// Opens the node's directory; and what the protocol is, with its numbers. In a group, one that is empty waits for what the others say.
pub(crate) fn open_seat<P: Protocol>(
    config: &NodeConfig,
    place: Option<&Place>,
    clock: &Clock,
) -> Result<(Seat<P>, Dialect), ServeError> {
    let params = params::<P>(&config.cluster.params, &config.cluster.topology)?;
    let dialect = Dialect::of::<P>(&params, &config.cluster.topology);
    let disk = RealDisk::open(&config.data_dir).map_err(|error| ServeError::Failed(error.to_string()))?;
    let host = HostConfig {
        dc: config.dc(),
        partitions: config.layout().partitions.clone(),
        topology: config.cluster.topology.clone(),
        params,
        fsync: config.fsync,
        max_skew_us: config.max_skew_us,
        log_segment_bytes: config.log_segment_bytes,
        log_retain_bytes: config.log_retain_bytes,
        snapshot_every_bytes: config.snapshot_every_bytes,
        new_incarnation: fastrand::u64(1..),
    };
    let (disk, now) = (Arc::new(disk), clock.now());
    let failed = |error: tidemark_replica::OpenError| ServeError::Failed(error.to_string());
    let Some(place) = place else {
        let host = Host::open(host, disk, now).map_err(failed)?;
        if let Some(cut) = host.cut() {
            tracing::warn!("{cut}");
        }
        return Ok((Seat::Alone(Box::new(host)), dialect));
    };
    let wrong = |error| ServeError::Failed(format!("{}: {error}", config.data_dir.display()));
    match place.name(&*disk).map_err(wrong)? {
        Some(name) => {
            let member = Member::open(place.config(name), host, disk, now).map_err(failed)?;
            Ok((Seat::Member(Box::new(member)), dialect))
        }
        None => {
            let founding = Founding::new(place.clone(), host, disk);
            let names = founding.missing().map(|node| config.cluster.nodes[node.index()].name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            tracing::info!(
                "this directory is empty: waiting for {names}, to found a group with, or to join theirs"
            );
            Ok((Seat::Founding(Box::new(founding)), dialect))
        }
    }
}
