//! Doing without a region, and taking it back: the operator's steps, each told to every node of the other regions
//! before the next one begins (see [`tidemark_contract::removal::Removal`]). The nodes know how far it is, whatever becomes of
//! this process: what was begun and not finished is taken up again when the same is asked for.

use super::Supervisor;
use crate::commands::status::of_link;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidemark_contract::core::{DcId, PartitionId, ServerId};
use tidemark_contract::removal::{Away, Exclusion, Stage, Standing, Step};
use tidemark_protocols::{Protocol, with_protocol};
use tokio::time::{Instant, sleep};

/// How long to wait for what regions send each other.
const PATIENCE: Duration = Duration::from_secs(15);

/// How far behind a region may be that is taken back, in microseconds: the others wait for it that long.
const BEHIND_US: u64 = 2_000_000;

/// What a node says of one of its partitions.
#[derive(Deserialize)]
struct Told {
    partition: PartitionId,
    #[serde(flatten)]
    standing: Standing,
}

/// A change of the membership of a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Change {
    /// The others go on without it.
    Exclude { region: String, for_good: bool },
    /// They take it back.
    Readmit { region: String },
}

/// As the command that orders it.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclude { region, for_good: true } => write!(f, "exclude {region} --for-good"),
            Self::Exclude { region, for_good: false } => write!(f, "exclude {region}"),
            Self::Readmit { region } => write!(f, "readmit {region}"),
        }
    }
}

type Answers = BTreeMap<ServerId, Standing>;

impl Supervisor {
    /// Excludes a region, or readmits it; says in words what is so now. While a node does not answer the order stands: it is carried
    /// out once all do.
    pub(super) async fn change_membership(&self, change: Change) -> anyhow::Result<String> {
        let before = self.orders().membership;
        let mut done = match &change {
            Change::Exclude { region, for_good } => self.exclude(region, *for_good).await,
            Change::Readmit { region } => self.readmit(region, before.as_ref()).await,
        };
        let (Change::Exclude { region, .. } | Change::Readmit { region }) = &change;
        let waits = done.as_ref().is_err_and(|why| self.may_end(why, region));
        let wanted = waits.then(|| change.clone());
        if wanted != before {
            self.want(|orders| orders.membership = wanted)?;
        }
        if waits {
            let cancel = match &change {
                Change::Exclude { .. } => format!("; `tidemark readmit {region}` cancels it"),
                Change::Readmit { .. } => String::new(),
            };
            done = done.with_context(|| {
                format!("`{change}` waits, and is carried out once all nodes answer{cancel}")
            });
        }
        done
    }

    /// Goes on without a region, which may be cut off, or is lost; says in words what is so now.
    async fn exclude(&self, region: &str, for_good: bool) -> anyhow::Result<String> {
        let (dc, name) = self.region(region)?;
        self.may_exclude(dc, name, for_good).await?;
        let all = self.away(dc).await?;
        let excluded = |away: &Away| matches!(away.stage, Stage::Excluded { .. });
        if all.iter().any(|away| matches!(away.stage, Stage::HeldAgain { .. } | Stage::Readmitted { .. })) {
            bail!("{name} is being readmitted: `tidemark readmit {region}` finishes that");
        }
        let others = (self.cluster.regions.len() - 1) * self.cluster.topology.partitions;
        if all.len() == others && all.iter().all(excluded) {
            bail!("{name} is excluded already{}", self.or_readmit(region));
        }
        let begun = all.iter().find(|away| away.stage != Stage::Held).map(|away| away.round);
        let (round, cut) = match begun {
            Some(round) => (round, self.hold(dc, round).await?),
            None => {
                self.release(dc, &all).await;
                let round = now();
                match self.hold(dc, round).await {
                    Ok(cut) => (round, cut),
                    Err(why) => {
                        let _ = self.order(dc, round, Step::Release).await;
                        return Err(why.context(format!("{name} is not excluded")));
                    }
                }
            }
        };
        if let Err(why) = self.order(dc, round, cut).await {
            if !all.iter().any(excluded) {
                let _ = self.order(dc, round, Step::Release).await; // nobody was told to exclude
            }
            return Err(why.context("repeat the order"));
        }
        let begun = Instant::now();
        while let Err(why) = self.order(dc, round, Step::Exclude).await {
            if begun.elapsed() > PATIENCE {
                return Err(
                    why.context(format!("repeat the order, or `tidemark readmit {region}` to cancel it"))
                );
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(match excludes_for_good(self.cluster.protocol) {
            true => format!("{name} is excluded for good: do not start its nodes again"),
            false => format!(
                "{name} is excluded; its later writes become visible in other regions after `tidemark readmit {region}`"
            ),
        })
    }

    /// Whether the region may be excluded in the way that is asked for.
    async fn may_exclude(&self, dc: DcId, name: &str, for_good: bool) -> anyhow::Result<()> {
        let protocol = self.cluster.protocol;
        match (excludes_for_good(protocol), for_good) {
            (true, false) => bail!(
                "under {protocol} a region is excluded for good: what no other region has received of {name} is lost, and it cannot be \
                 readmitted. If it is lost anyway, repeat the order with --for-good"
            ),
            (false, true) => bail!("under {protocol} no region is excluded for good: leave out --for-good"),
            _ => {}
        }
        let nodes = self.cluster.nodes.iter().enumerate();
        for (index, node) in nodes.filter(|(_, node)| for_good && node.region == dc) {
            // One that is too busy to answer is not lost.
            let runs = self.locked()[index].child.is_some();
            if runs || self.ask(node, "status", None).await.is_ok() {
                bail!(
                    "{name} is not lost: its node {} runs. Stop all of its nodes for good first",
                    node.name
                );
            }
        }
        Ok(())
    }

    /// What can be done about an exclusion, in words.
    fn or_readmit(&self, region: &str) -> String {
        match excludes_for_good(self.cluster.protocol) {
            true => String::new(),
            false => format!("; `tidemark readmit {region}` readmits it"),
        }
    }

    /// Prepares an exclusion; returns the step that comes next.
    async fn hold(&self, dc: DcId, round: u64) -> anyhow::Result<Step> {
        let told = self.order(dc, round, Step::Hold).await?;
        Standing::cut(&told).context(
            "another region lacks so many of its writes that deletions among them were dropped elsewhere: \
             heal the links between the two",
        )
    }

    /// Takes a region back; says in words what is so now.
    async fn readmit(&self, region: &str, waits: Option<&Change>) -> anyhow::Result<String> {
        let (dc, name) = self.region(region)?;
        let all = self.away(dc).await?;
        let past = |step: fn(&Stage) -> bool| all.iter().find(|away| step(&away.stage));
        if let Some(Away { round, stage: Stage::Readmitted { from, .. }, .. }) =
            past(|stage| matches!(stage, Stage::Readmitted { .. }))
        {
            self.order(dc, *round, Step::Readmit { from: *from }).await?;
            return Ok(format!("{name} is being readmitted"));
        }
        let for_good = excludes_for_good(self.cluster.protocol);
        let Some(excluded) = past(|stage| !matches!(stage, Stage::Held | Stage::Cut { .. })) else {
            if all.is_empty() && !matches!(waits, Some(Change::Exclude { .. })) {
                bail!("{name} is not excluded");
            }
            self.release(dc, &all).await;
            return Ok(format!("{name} was not excluded yet, and will not be"));
        };
        if for_good {
            bail!(
                "{name} is excluded for good: what other regions had not received of it counts as never written. A cluster with a region \
                 more is a new cluster"
            );
        }
        if let Some(away) = past(|stage| matches!(stage, Stage::Cut { .. })) {
            self.order(dc, away.round, Step::Exclude).await?;
        }
        let letter = dc.to_string();
        let touches = |place: &str| place.split('/').next() == Some(&letter);
        if let Some(cut) = self.known_faults().links.iter().find(|it| it.cut && touches(&it.from)) {
            bail!("{name} is cut off: {}; `tidemark heal` comes first", of_link(cut));
        }
        let held = matches!(excluded.stage, Stage::HeldAgain { .. }).then_some(excluded.round);
        let (round, from) = self.recall(dc, held).await.with_context(|| format!("{name} stays excluded"))?;
        self.order(dc, round, Step::Readmit { from }).await?;
        Ok(format!("{name} is readmitted: hidden writes become visible as soon as all of them have arrived"))
    }

    /// Prepares a readmission, once the region is not far behind: the round, and from when on it counts.
    async fn recall(
        &self,
        dc: DcId,
        mut held: Option<u64>,
    ) -> anyhow::Result<(u64, tidemark_contract::core::Hlc)> {
        let begun = Instant::now();
        loop {
            let round = held.take().unwrap_or_else(now);
            let told = self.order(dc, round, Step::Hold).await?;
            let behind = |told: &Standing| told.clock.micros().saturating_sub(told.announced.micros());
            let behind = told.values().map(behind).max().unwrap_or_default();
            if behind <= BEHIND_US {
                return Ok((round, Standing::from(&told)));
            }
            self.order(dc, round, Step::Release).await?;
            if begun.elapsed() > PATIENCE {
                let seconds = behind as f64 / 1e6;
                bail!("it is {seconds:.1} s behind: heal its links, and wait until its writes have arrived");
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Gives up what was only prepared.
    async fn release(&self, dc: DcId, all: &[Away]) {
        for round in all.iter().map(|away| away.round).collect::<BTreeSet<_>>() {
            let _ = self.order(dc, round, Step::Release).await; // whoever was not told is in another round
        }
    }

    fn region(&self, region: &str) -> anyhow::Result<(DcId, &str)> {
        let regions = &self.cluster.regions;
        let Some(dc) = self.cluster.find_region(region) else {
            bail!("there is no region {region:?}; the regions are {}", regions.join(", "));
        };
        if regions.len() < 2 {
            bail!("{} is the only region", regions[dc.index()]);
        }
        Ok((dc, &regions[dc.index()]))
    }

    /// What the servers of the other regions say about who is away.
    async fn away(&self, dc: DcId) -> anyhow::Result<Vec<Away>> {
        let mut all = Vec::new();
        let servers = self.servers_beside(dc).await?;
        let asked: Vec<_> =
            servers.into_iter().map(|node| (node, self.asking(node, "status", None))).collect();
        for (node, said) in asked {
            let said = said.await?.with_context(|| format!("node {} must run for this", node.name))?;
            for partition in said["host"]["partitions"].as_array().into_iter().flatten() {
                let away: Option<Away> = serde_json::from_value(partition["away"].clone())?;
                all.extend(away);
            }
        }
        if let Some(other) = all.iter().find(|away| away.dc != dc) {
            let other = &self.cluster.regions[other.dc.index()];
            bail!("{other} is excluded already, and only one region can be{}", self.or_readmit(other));
        }
        Ok(all)
    }

    /// Gives an order to every server of the other regions, and fails if one of them was not told, or refused.
    async fn order(&self, dc: DcId, round: u64, step: Step) -> anyhow::Result<Answers> {
        let order = serde_json::to_value(Exclusion { dc, round, step })?;
        let (mut all, mut failed) = (Answers::new(), None);
        let servers = self.servers_beside(dc).await?;
        let ask = |node| (node, self.asking(node, "admin/membership", Some(order.clone())));
        for (node, said) in servers.into_iter().map(ask).collect::<Vec<_>>() {
            match said.await? {
                Ok(mut said) => {
                    let told: Vec<Told> = serde_json::from_value(said["partitions"].take())?;
                    let server = |told: Told| (ServerId::new(node.region, told.partition), told.standing);
                    all.extend(told.into_iter().map(server));
                }
                Err(why) => drop(failed.get_or_insert(why.context(format!("node {}", node.name)))),
            }
        }
        failed.map_or(Ok(all), Err)
    }
}

/// Whether a region that is excluded stays excluded under this protocol.
pub(crate) fn excludes_for_good(protocol: &str) -> bool {
    with_protocol!(protocol, P => P::INFO.excludes_for_good, otherwise false)
}

/// A number for a round: later ones have larger ones.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
