//! Links that are cut or slow, nodes that are slow or whose clocks are wrong: what the supervisor wants of them.

use super::Supervisor;
use super::api::{Action, Fault, NodeFault};
use crate::commands::status::in_words;
use anyhow::bail;
use serde::{Deserialize, Serialize};
use tidemark_server::Wanted;

/// A node's faults end when they are not said again for so long.
const LEASE_US: u64 = 30_000_000;

/// The faults of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Faults {
    pub(super) links: Vec<Fault>,
    pub(super) nodes: Vec<NodeFault>,
}

impl Faults {
    fn change(&mut self, from: &str, to: &str, change: impl FnOnce(&mut Fault)) {
        let place = self.links.iter().position(|fault| fault.from == from && fault.to == to);
        let place = place.unwrap_or_else(|| {
            self.links.push(Fault { from: from.into(), to: to.into(), cut: false, slow_us: 0 });
            self.links.len() - 1
        });
        change(&mut self.links[place]);
        self.links.retain(|fault| fault.cut || fault.slow_us > 0);
    }

    fn change_node(&mut self, node: &str, change: impl FnOnce(&mut NodeFault)) {
        let place = self.nodes.iter().position(|fault| fault.node == node);
        let place = place.unwrap_or_else(|| {
            self.nodes.push(NodeFault { node: node.into(), slow_us: 0, ahead_us: 0 });
            self.nodes.len() - 1
        });
        change(&mut self.nodes[place]);
        self.nodes.retain(|fault| fault.slow_us > 0 || fault.ahead_us != 0);
    }

    /// All that one node is to be told.
    pub(super) fn of(&self, node: &str, version: u64) -> Wanted {
        let own = self.nodes.iter().find(|fault| fault.node == node);
        let (late_us, ahead_us) = own.map_or((0, 0), |fault| (fault.slow_us, fault.ahead_us));
        let links = self.links.clone();
        Wanted { version, lease_us: LEASE_US, links, late_us, ahead_us, waiting: Vec::new() }
    }

    /// Heals what leads from `from` to `to`; naming a region heals what is inside, too.
    fn heal(&mut self, from: &str, to: &str) {
        let inside = |outer: &str, inner: &str| inner == outer || inner.split('/').next() == Some(outer);
        self.links.retain(|fault| !(inside(from, &fault.from) && inside(to, &fault.to)));
    }
}

impl Supervisor {
    /// The faults that there are to be, in words.
    pub(crate) fn faults_in_words(&self) -> Vec<String> {
        let faults = self.known_faults();
        in_words(&faults.links, &faults.nodes)
    }

    /// Cuts, slows, skews or heals; says in words what is so now, once every node that runs has heard of it.
    pub(super) async fn change_faults(&self, action: Action) -> anyhow::Result<String> {
        let version = self.note(action)?;
        self.all_told(version).await?;
        let told = self.faults_in_words();
        Ok(if told.is_empty() { "all links are whole, and all clocks right".into() } else { told.join("\n") })
    }

    fn note(&self, action: Action) -> anyhow::Result<u64> {
        if let Action::Slow { by_us, .. } = action {
            limited(by_us)?;
        }
        if let Action::Skew { by_us, .. } = action {
            limited(by_us.unsigned_abs())?;
        }
        let mut faults = self.known_faults();
        match action {
            Action::Cut { from, to, one_way } => {
                let (from, to) = self.places(&from, &to)?;
                faults.change(&from, &to, |fault| fault.cut = true);
                if !one_way {
                    faults.change(&to, &from, |fault| fault.cut = true);
                }
            }
            Action::Slow { from, to: Some(to), by_us, one_way } => {
                let (from, to) = self.places(&from, &to)?;
                if from.contains('/') {
                    bail!(
                        "only whole regions and whole nodes can be slowed: say {from:.1} and {to:.1}, or name one node"
                    );
                }
                faults.change(&from, &to, |fault| fault.slow_us = by_us);
                if !one_way {
                    faults.change(&to, &from, |fault| fault.slow_us = by_us);
                }
            }
            Action::Slow { from, to: None, by_us, .. } => {
                for node in self.nodes_of(&from)? {
                    faults.change_node(&self.cluster.nodes[node].name, |fault| fault.slow_us = by_us);
                }
            }
            Action::Skew { target, by_us } => {
                for node in self.nodes_of(&target)? {
                    faults.change_node(&self.cluster.nodes[node].name, |fault| fault.ahead_us = by_us);
                }
            }
            Action::Heal { between: Some((from, to)) } => {
                let (from, to) = self.places(&from, &to)?;
                faults.heal(&from, &to);
                faults.heal(&to, &from);
            }
            _ => faults = Faults::default(),
        }
        self.want(|wanted| wanted.faults = faults)
    }

    /// Two places as all nodes name them, in different regions: two regions, or two servers.
    fn places(&self, from: &str, to: &str) -> anyhow::Result<(String, String)> {
        let (a, b) = (self.place(from)?, self.place(to)?);
        if a.split('/').next() == b.split('/').next() {
            bail!("{from} and {to} are in one region: only links between regions can be cut or slowed");
        }
        if a.contains('/') != b.contains('/') {
            bail!("name two regions, or two servers, not one of each: {a} and {b}");
        }
        Ok((a, b))
    }

    pub(super) fn place(&self, text: &str) -> anyhow::Result<String> {
        let (region, partition) =
            text.split_once('/').map_or((text, None), |(region, rest)| (region, Some(rest)));
        let Some(region) = self.cluster.find_region(region) else {
            bail!("there is no region {region:?}; the regions are {}", self.cluster.regions.join(", "));
        };
        let Some(partition) = partition else { return Ok(region.to_string()) };
        let count = self.cluster.topology.partitions;
        match partition.parse::<usize>() {
            Ok(partition) if partition < count => Ok(format!("{region}/{partition}")),
            _ => bail!("there is no partition {text:?}: they are numbered 0 to {}", count - 1),
        }
    }
}

/// Nodes refuse more, and what they refuse is not to be noted.
fn limited(by_us: u64) -> anyhow::Result<()> {
    match by_us <= 3_600_000_000 {
        true => Ok(()),
        false => bail!("an hour is the most"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_told_of_all_links_and_of_its_own_faults() {
        let mut faults = Faults::default();
        faults.change("A", "B", |fault| fault.cut = true);
        faults.change_node("a-1", |fault| fault.slow_us = 5_000);
        faults.change_node("a-1", |fault| fault.ahead_us = -2_000);
        let told = |node: &str| {
            let told = faults.of(node, 7);
            assert_eq!((told.version, told.links.len(), told.links[0].cut), (7, 1, true));
            (told.late_us, told.ahead_us)
        };
        assert_eq!((told("a-1"), told("a-2")), ((5_000, -2_000), (0, 0)));
        faults.change_node("a-1", |fault| fault.slow_us = 0);
        faults.change_node("a-1", |fault| fault.ahead_us = 0);
        assert!(faults.nodes.is_empty());
    }

    #[test]
    fn healing_a_region_heals_what_is_inside_it_and_nothing_else() {
        let mut faults = Faults::default();
        for (from, to) in [("A", "B"), ("A/0", "B/0"), ("A", "C")] {
            faults.change(from, to, |fault| fault.cut = true);
        }
        faults.heal("A/0", "B/0");
        assert_eq!(faults.links.len(), 2);
        faults.change("A/1", "B/1", |fault| fault.cut = true);
        faults.heal("A", "B");
        assert_eq!(faults.links.iter().map(|fault| fault.to.as_str()).collect::<Vec<_>>(), ["C"]);
        faults.change("A", "C", |fault| fault.cut = false);
        assert!(faults.links.is_empty());
    }
}
