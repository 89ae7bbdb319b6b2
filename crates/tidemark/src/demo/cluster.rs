//! A cluster of two regions, run and controlled by the same commands that a user would type.

use super::Stage;
use super::client::Client;
use crate::live::{Live, PATIENCE};
use anyhow::{Context, bail};
use serde_json::Value;
use std::time::{Duration, Instant};

const PARTITIONS: u16 = 2;

/// A running cluster; dropping it stops it and removes its files.
pub(crate) struct Cluster {
    live: Live,
}

impl Cluster {
    pub(crate) fn start(stage: &Stage) -> anyhow::Result<Self> {
        let redis = stage.base_port.to_string();
        // 0 means any free ports, here too.
        let http = if stage.base_port == 0 { 0 } else { stage.base_port + 50 }.to_string();
        let partitions = PARTITIONS.to_string();
        let arguments = ["--regions", "2", "--partitions", &partitions, "--protocol", &stage.protocol];
        let ports = ["--base-port", &redis, "--http-port", &http];
        let live = Live::start(&[&arguments[..], &ports[..]].concat())?;
        Ok(Self { live })
    }

    /// A session in region `region`, 0 for A.
    pub(crate) fn client(&self, region: usize) -> anyhow::Result<Client> {
        Client::connect(&self.live.nodes[region].redis)
    }

    /// A key that `partition` holds, whose name begins with `name`.
    pub(crate) fn key(&self, name: &str, partition: u16) -> String {
        let topology = tidemark_contract::Topology::new(2, PARTITIONS as usize);
        let names = (0..).map(|n| if n == 0 { name.to_string() } else { format!("{name}:{n}") });
        let mut held = names.filter(|name| topology.partition_of(name.as_bytes()).0 == partition);
        held.next().expect("some name hashes to the partition")
    }

    /// Cuts what partition `partition` of A sends to B.
    pub(crate) fn cut(&self, partition: u16) -> anyhow::Result<()> {
        self.live.tell(&["cut", &format!("a/{partition}"), &format!("b/{partition}")]).map(drop)
    }

    /// Mends everything.
    pub(crate) fn heal(&self) -> anyhow::Result<()> {
        self.live.tell(&["heal"]).map(drop)
    }

    fn status(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&self.live.tell(&["status", "--json"])?.stdout)?)
    }

    /// What the protocol promises, in words.
    pub(crate) fn promise(&self) -> anyhow::Result<String> {
        Ok(self.status()?["promise"].as_str().unwrap_or_default().to_string())
    }

    /// Whether the protocol promises what the acts show.
    pub(crate) fn promises_causality(&self) -> anyhow::Result<bool> {
        Ok(self.promise()?.starts_with("causal"))
    }

    /// How many records partition `partition` has written in A, and how many of them B has received.
    fn progress(&self, partition: u16) -> anyhow::Result<(u64, u64)> {
        let status = self.status()?;
        let of = |letter: &str| -> anyhow::Result<Value> {
            let nodes = status["nodes"].as_array().context("status has no nodes")?;
            let node = nodes.iter().find(|node| node["letter"] == letter).context("a region is missing")?;
            let partitions =
                node["detail"]["host"]["partitions"].as_array().context("a region does not answer")?;
            Ok(partitions[partition as usize].clone())
        };
        let written = of("A")?["written"].as_u64().context("no count of what was written")?;
        let b = of("B")?;
        let peers = b["peers"].as_array().context("no peers")?;
        let from_a = peers.iter().find(|peer| peer["dc"] == 0).context("A is no peer of B")?;
        Ok((written, from_a["received"].as_u64().context("no count of what was received")?))
    }

    /// Waits until everything that partition `partition` has written in A has arrived in B.
    pub(crate) fn await_arrival(&self, partition: u16) -> anyhow::Result<()> {
        self.until("nothing arrives", || {
            // A region may be too busy to answer, and is asked again.
            Ok(self.progress(partition).is_ok_and(|(written, received)| received == written))
        })
    }

    /// Waits until `what` holds.
    pub(crate) fn until(
        &self,
        otherwise: &str,
        mut what: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !what()? {
            if Instant::now() > deadline {
                bail!("{otherwise} within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
