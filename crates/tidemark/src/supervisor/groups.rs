//! Groups: who leads, and members that go or are replaced.

use super::{Child, Supervisor};
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::time::Duration;
use tidemark_contract::core::{DcId, PartitionId};
use tidemark_server::config::Node;
use tokio::time::{Instant, sleep};

/// How long a group may take for what an operator asks of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether a node serves what it holds: it does so alone, or leads its group.
pub(super) fn serves(status: &Value) -> bool {
    status["group"].is_null() || status["group"]["role"] == "leader"
}

/// Whether a node that has just started takes part in its group, if it is of one.
pub(super) fn takes_part(status: &Value) -> bool {
    let group = &status["group"];
    group.is_null()
        || !group["leader"].is_null() && matches!(group["role"].as_str(), Some("leader" | "follower"))
}

impl Supervisor {
    /// The nodes that hold the same as this one, and it.
    fn group(&self, index: usize) -> Vec<usize> {
        let nodes = &self.cluster.nodes;
        let same =
            |other: &Node| other.region == nodes[index].region && other.partitions == nodes[index].partitions;
        (0..nodes.len()).filter(|other| same(&nodes[*other])).collect()
    }

    /// The node that serves what this one holds, if one does now.
    async fn leader(&self, index: usize) -> Option<usize> {
        for member in self.group(index) {
            let status = self.ask(&self.cluster.nodes[member], "status", None).await;
            if status.is_ok_and(|status| serves(&status)) {
                return Some(member);
            }
        }
        None
    }

    /// Whether so many members of a node's group run that they can agree.
    pub(super) fn group_can_agree(&self, index: usize) -> bool {
        let group = self.group(index);
        let slots = self.locked();
        2 * group.iter().filter(|member| slots[**member].child.is_some()).count() > group.len()
    }

    /// The node that serves a partition, such as `a/0`, now.
    pub(super) async fn serving(&self, place: &str) -> anyhow::Result<usize> {
        let place = self.place(place)?;
        let (region, partition) = place.split_once('/').context("name a partition, such as a/0")?;
        let region = self.cluster.find_region(region).context("there is no such region")?;
        let partition = PartitionId(partition.parse()?);
        let holds = |node: &&Node| node.region == region && node.partitions.contains(&partition);
        let index = self.cluster.nodes.iter().position(|node| holds(&node)).expect("somebody holds it");
        self.leader(index).await.with_context(|| format!("no node serves {region}/{partition} now"))
    }

    /// One node of each group outside of region `dc`: the one that serves.
    pub(super) async fn servers_beside(&self, dc: DcId) -> anyhow::Result<Vec<&Node>> {
        let mut servers = Vec::new();
        for index in 0..self.cluster.nodes.len() {
            let node = &self.cluster.nodes[index];
            if node.region == dc || self.group(index)[0] != index {
                continue;
            }
            let leader = match self.cluster.replicas {
                1 => Some(index),
                _ => self.leader(index).await,
            };
            let leader = leader.with_context(|| format!("the group of {} has no leader now", node.name))?;
            servers.push(&self.cluster.nodes[leader]);
        }
        Ok(servers)
    }

    /// Takes a node out of its group, and stops it; says in words what is so now.
    pub(super) async fn remove(&self, name: &str) -> anyhow::Result<String> {
        let index = self.member(name)?;
        let begun = Instant::now();
        let group = loop {
            match self.try_to_remove(index).await {
                Ok(true) => break self.group(index).len() - 1,
                Ok(false) if begun.elapsed() < PATIENCE => sleep(Duration::from_millis(100)).await,
                Ok(false) => bail!("{name} is still a member: a quorum of its group must run for this"),
                Err(why) if begun.elapsed() > PATIENCE => return Err(why),
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        self.end(&[index], "removed", Child::stop).await;
        Ok(format!(
            "{name} belongs to its group no more ({group} are left); `tidemark replace {name}` takes it in again"
        ))
    }

    /// Has the leader remove a member, which must not be the leader. Whether it is removed.
    async fn try_to_remove(&self, index: usize) -> anyhow::Result<bool> {
        let name = &self.cluster.nodes[index].name;
        let leader =
            self.leader(index).await.with_context(|| format!("the group of {name} has no leader now"))?;
        if leader == index {
            // A leader does not remove itself: another takes its place.
            self.end(&[index], "removed", Child::stop).await;
            return Ok(false);
        }
        let leader = &self.cluster.nodes[leader];
        let status = self.ask(leader, "status", None).await?;
        let listed = |list: &str| {
            let members = status["group"][list].as_array().into_iter().flatten();
            members.into_iter().any(|member| member == name.as_str())
        };
        if !listed("voters") && !listed("learners") {
            return Ok(true);
        }
        self.ask(leader, "admin/group", Some(json!({ "remove": name }))).await?;
        Ok(false)
    }

    /// Starts a node with an empty directory: its group takes it in again, and gives it a copy of everything.
    pub(super) async fn replace(self: &std::sync::Arc<Self>, name: &str) -> anyhow::Result<String> {
        let index = self.member(name)?;
        let group = self.group(index);
        let running = group.iter().filter(|other| **other != index && self.locked()[**other].child.is_some());
        let running = running.count();
        if 2 * running <= group.len() {
            let others = group.len() / 2 + 1;
            bail!(
                "{running} other members of the group of {name} run, and {others} must run to add it again"
            );
        }
        self.end(&[index], "stopped", Child::stop).await;
        let dir = &self.cluster.nodes[index].dir;
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", dir.display()));
            }
            _ => {}
        }
        self.start(vec![index]).await?;
        let begun = Instant::now();
        loop {
            match self.has_come_back(index).await {
                Ok(true) => {
                    return Ok(format!("{name} begins with an empty directory, and has everything again"));
                }
                _ if self.locked()[index].child.is_none() => {
                    let log = self.log_of(&self.cluster.nodes[index]);
                    bail!("{name} has ended while it was brought up to date; see {}", log.display());
                }
                Ok(false) if begun.elapsed() > PATIENCE => {
                    return Ok(format!(
                        "{name} begins with an empty directory, and is being brought up to date"
                    ));
                }
                // Who takes in a copy hears nothing else meanwhile, and answers late.
                Err(why) if begun.elapsed() > PATIENCE => {
                    return Err(why).with_context(|| format!("{name} is being brought up to date"));
                }
                _ => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Whether a node that began with nothing has what its group has, and votes again.
    async fn has_come_back(&self, index: usize) -> anyhow::Result<bool> {
        let node = &self.cluster.nodes[index];
        let status = self.ask(node, "status", None).await?;
        let voters = status["group"]["voters"].as_array();
        let votes = voters.is_some_and(|voters| voters.iter().any(|voter| voter == node.name.as_str()));
        Ok(votes && takes_part(&status))
    }

    fn member(&self, name: &str) -> anyhow::Result<usize> {
        let Some(id) = self.cluster.find_node(name) else {
            let names: Vec<&str> = self.cluster.nodes.iter().map(|node| node.name.as_str()).collect();
            bail!("there is no node {name:?}; the nodes are {}", names.join(", "));
        };
        if self.cluster.replicas == 1 {
            bail!("{name} holds its partitions alone: only a cluster with --replicas has members to replace");
        }
        Ok(id.index())
    }
}
