//! Links that are cut or slow, nodes that are slow or whose clocks are wrong. The supervisor knows them all and tells
//! the nodes. A node that it starts has them from its first connection on.

use super::Supervisor;
use super::api::{Action, Fault, NOT_TOLD, NodeFault};
use crate::commands::status::in_words;
use crate::http;
use anyhow::bail;
use serde_json::{Value, json};
use std::iter::once;
use std::sync::PoisonError;
use std::time::Duration;
use tidemark_server::config::Node;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The faults of one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
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

    /// What is wrong with a node: how much later it speaks, how far its clock is ahead.
    fn of_node(&self, node: &str) -> (u64, i64) {
        let fault = self.nodes.iter().find(|fault| fault.node == node);
        fault.map_or((0, 0), |fault| (fault.slow_us, fault.ahead_us))
    }

    /// Returns what has to be told to `node`, which knows `before`.
    fn since(&self, before: &Self, node: &str) -> Vec<Order> {
        let mut orders = orders(&before.links, &self.links);
        orders.extend(own_orders(before.of_node(node), self.of_node(node)));
        orders
    }

    /// Heals what leads from `from` to `to`; naming a region heals what is inside, too.
    fn heal(&mut self, from: &str, to: &str) {
        let inside = |outer: &str, inner: &str| inner == outer || inner.split('/').next() == Some(outer);
        self.links.retain(|fault| !(inside(from, &fault.from) && inside(to, &fault.to)));
    }
}

impl Supervisor {
    /// The faults there are.
    pub(super) fn known_faults(&self) -> Faults {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Cuts, slows, skews or heals; says in words what is so now.
    pub(super) async fn change_faults(&self, action: Action) -> anyhow::Result<String> {
        let before = self.known_faults();
        self.note(action)?;
        let after = self.known_faults();
        self.tell(&before, &after).await?;
        let told = in_words(&after.links, &after.nodes);
        Ok(if told.is_empty() { "all links are whole, and all clocks right".into() } else { told.join("\n") })
    }

    fn note(&self, action: Action) -> anyhow::Result<()> {
        if let Action::Slow { by_us, .. } = action {
            limited(by_us)?;
        }
        if let Action::Skew { by_us, .. } = action {
            limited(by_us.unsigned_abs())?;
        }
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
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
            _ => *faults = Faults::default(),
        }
        Ok(())
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

    /// Returns what a node that starts is told of faults, as its command line has them.
    pub(super) fn faults_of(&self, node: &Node) -> Vec<String> {
        let orders = self.known_faults().since(&Faults::default(), &node.name);
        orders.into_iter().map(|(what, body)| format!("{what} {body}")).collect()
    }

    /// Tells the nodes that run what has changed; everything to one that has not answered before.
    async fn tell(&self, before: &Faults, after: &Faults) -> anyhow::Result<()> {
        let mut result = Ok(());
        for (index, node) in self.cluster.nodes.iter().enumerate() {
            if self.locked()[index].child.is_none() {
                continue;
            }
            let orders = match std::mem::take(&mut self.locked()[index].unsure) {
                true => {
                    once(("heal", json!({}))).chain(after.since(&Faults::default(), &node.name)).collect()
                }
                false => after.since(before, &node.name),
            };
            for (what, body) in orders {
                if let Err(error) = self.ask(node, &format!("admin/{what}"), Some(body)).await {
                    self.locked()[index].unsure = true;
                    result = Err(error.context(format!("{} {NOT_TOLD}", node.name)));
                    break;
                }
            }
        }
        result
    }

    /// What a node answers over HTTP.
    pub(super) async fn ask(&self, node: &Node, what: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let url = format!("http://{}/{what}", node.admin_listen);
        let bearer = self.cluster.requirepass.clone().map(|secret| secret.0);
        let answer = tokio::task::spawn_blocking(move || match body {
            Some(body) => http::post(&url, bearer.as_deref(), PATIENCE, &body),
            None => http::get(&url, bearer.as_deref(), PATIENCE),
        });
        let (status, text) = answer.await??;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        match answer["error"].as_str() {
            Some(error) => bail!("{error}"),
            None if status != 200 => bail!("it answered {status}"),
            None => Ok(answer),
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

/// A request to a node: its path below `admin`, and its body.
type Order = (&'static str, Value);

/// What turns one node's own faults, as [`Faults::of_node`] has them, into others.
fn own_orders(before: (u64, i64), after: (u64, i64)) -> Vec<Order> {
    let slow = (after.0 != before.0).then(|| ("slow", json!({"ms": after.0 as f64 / 1e3})));
    let skew = (after.1 != before.1).then(|| ("skew", json!({"ms": after.1 as f64 / 1e3})));
    slow.into_iter().chain(skew).collect()
}

/// What turns the faults of links that nodes know into those that they are to know.
fn orders(before: &[Fault], after: &[Fault]) -> Vec<Order> {
    let whole = |of: &Fault| Fault { cut: false, slow_us: 0, ..of.clone() };
    let same = |a: &Fault, b: &Fault| a.from == b.from && a.to == b.to;
    let in_list = |list: &[Fault], of: &Fault| list.iter().find(|fault| same(fault, of)).cloned();
    let gone = before.iter().filter(|old| in_list(after, old).is_none()).map(whole);
    let mut orders = Vec::new();
    for new in gone.chain(after.iter().cloned()) {
        let old = in_list(before, &new).unwrap_or_else(|| whole(&new));
        let Fault { from, to, .. } = &new;
        if old.cut && !new.cut {
            orders.push(("heal", json!({"from": from, "to": to, "one_way": true})));
        }
        if new.cut && !old.cut {
            orders.push(("cut", json!({"from": from, "to": to, "one_way": true})));
        }
        if new.slow_us != old.slow_us {
            let ms = new.slow_us as f64 / 1e3;
            orders.push(("slow", json!({"from": from, "to": to, "one_way": true, "ms": ms})));
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_told_what_has_changed_and_nothing_else() {
        let fault = |to: &str, cut, slow_us| Fault { from: "A".into(), to: to.into(), cut, slow_us };
        let order = |before: &[Fault], after: &[Fault]| {
            let told = orders(before, after).into_iter();
            told.map(|(what, body)| format!("{what} {} {}", body["to"], body["ms"])).collect::<Vec<_>>()
        };
        assert_eq!(order(&[], &[fault("B", true, 0)]), ["cut \"B\" null"]);
        assert_eq!(order(&[fault("B", true, 0)], &[fault("B", true, 5_000)]), ["slow \"B\" 5.0"]);
        assert_eq!(order(&[fault("B", false, 5_000)], &[]), ["slow \"B\" 0.0"]);
        let (b, c) = (fault("B", true, 0), fault("C", true, 0));
        assert_eq!(order(&[b.clone(), c.clone()], std::slice::from_ref(&c)), ["heal \"B\" null"]);
        assert!(order(&[b.clone(), c.clone()], &[c, b]).is_empty());
    }

    #[test]
    fn a_node_is_told_of_its_own_faults_what_has_changed() {
        let mut faults = Faults::default();
        faults.change_node("a-1", |fault| fault.slow_us = 5_000);
        faults.change_node("a-1", |fault| fault.ahead_us = -2_000);
        assert_eq!((faults.of_node("a-1"), faults.of_node("a-2")), ((5_000, -2_000), (0, 0)));
        let told = |before, after| {
            own_orders(before, after).iter().map(|(what, body)| format!("{what} {body}")).collect::<Vec<_>>()
        };
        assert_eq!(told((0, 0), (5_000, -2_000)), [r#"slow {"ms":5.0}"#, r#"skew {"ms":-2.0}"#]);
        assert_eq!(told((5_000, -2_000), (5_000, 0)), [r#"skew {"ms":0.0}"#]);
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
