//! Groups of servers that a protocol has: they are changed through any node, which tells the others.

use super::Supervisor;
use super::api::Regroup;
use super::groups::serves;
use anyhow::{Context, bail};
use tidemark_contract::grouping::{Grouping, Regrouping, Servers};

impl Supervisor {
    /// Has one node know of a change; says in words what comes of it.
    pub(super) async fn regroup(&self, change: Regroup) -> anyhow::Result<String> {
        let (order, done) = match change {
            Regroup::Add { name, servers } => {
                let servers = self.servers(&servers)?;
                let done = format!("{name} is used as soon as all of its servers have heard of each other");
                (Regrouping::Add { name, servers }, done)
            }
            Regroup::Remove { name } => {
                let done = format!("{name} is retiring, and ends once no client asks for it any more");
                (Regrouping::Remove { name }, done)
            }
            Regroup::Track { division, groups } => {
                let named = |(name, servers): (String, Vec<String>)| Ok((name, self.servers(&servers)?));
                let tracking = match division {
                    Some(division) => Grouping::By(division),
                    None => Grouping::Named(groups.into_iter().map(named).collect::<anyhow::Result<_>>()?),
                };
                let done = format!("versions written from now on are tracked by {tracking}");
                (Regrouping::Track { tracking }, done)
            }
        };
        self.order_groups(&order).await?;
        Ok(done)
    }

    /// Has the first node that serves carry out an order; it tells the others.
    pub(super) async fn order_groups(&self, order: &Regrouping) -> anyhow::Result<()> {
        let order = serde_json::to_value(order)?;
        for node in &self.cluster.nodes {
            if self.ask(node, "status", None).await.is_ok_and(|status| serves(&status)) {
                self.ask(node, "admin/groupings", Some(order)).await?;
                return Ok(());
            }
        }
        bail!("no node serves now: some have to run for this")
    }

    /// Servers as users write them, with names of regions.
    fn servers(&self, written: &[String]) -> anyhow::Result<Vec<Servers>> {
        let one = |text: &String| {
            let text = match text.split_once('/') {
                Some((region, rest)) if region != "*" => {
                    let region = self.cluster.find_region(region);
                    format!("{}/{rest}", region.with_context(|| format!("{text}: there is no such region"))?)
                }
                _ => text.clone(),
            };
            Servers::try_from(text).map_err(anyhow::Error::msg)
        };
        written.iter().map(one).collect()
    }
}
