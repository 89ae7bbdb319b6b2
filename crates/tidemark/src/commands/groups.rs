//! `tidemark groups`

use crate::output::{print, print_json, row, table};
use crate::running::Which;
use crate::supervisor::api::{Action, ClusterStatus, Regroup};
use anyhow::bail;
use clap::{Args, Subcommand};
use serde::de::IntoDeserializer;
use serde::de::value::Error;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use tidemark_adapt::{Account, list, ms};
use tidemark_contract::grouping::{Division, GroupStage, GroupStanding, Groupings};

const EXAMPLES: &str = "\
Examples:
  tidemark up --protocol accf
  tidemark groups                            all groups, and how often clients name them
  tidemark groups add shop a/0 b/0           for clients that use only the first partition
  redis-cli -p 6379 TIDE.CHECKING shop GET k is how they say so
  tidemark groups remove shop                it ends once no client names it any more
  tidemark groups track system               one time beside a version, for all servers
  tidemark groups track west='a/*' 'b=b/*'   or one for each group of your own";

/// How many of the controller's changes are shown.
const CHANGES: usize = 5;

/// Show and change the checking groups and the tracking of servers (accf).
///
/// The servers of a checking group send each other what they have received. A session that reads only at them, and names the group, never
/// waits. The servers of a tracking group share one entry of every version's dependencies. With `tidemark up --adapt` a controller adapts
/// checking groups to clients: then this also shows the users of each group, what it saves and costs, and why it was added.
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Groups {
    #[command(subcommand)]
    change: Option<Change>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Subcommand)]
enum Change {
    /// Add a checking group: its servers send each other what they have received.
    Add {
        /// What clients call the group.
        name: String,
        /// Its servers: `a/0`, `a/*` (all of a region), `*/0` (all of a partition) or `*`.
        #[arg(required = true)]
        servers: Vec<String>,
        #[command(flatten)]
        which: Which,
    },
    /// Remove a checking group, once no client asks for it. Only groups that were added at run time can be removed.
    Remove {
        /// What clients call the group.
        name: String,
        #[command(flatten)]
        which: Which,
    },
    /// Change the tracking groups. Stored versions are read as before.
    Track {
        /// `server`, `partition`, `region` or `system`; or groups, such as `west=a/*,b/0`.
        #[arg(required = true)]
        groups: Vec<String>,
        #[command(flatten)]
        which: Which,
    },
}

impl Groups {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let regroup = |which: &Which, change| which.act(&Action::Regroup { change });
        match self.change {
            Some(Change::Add { name, servers, which }) => regroup(&which, Regroup::Add { name, servers }),
            Some(Change::Remove { name, which }) => regroup(&which, Regroup::Remove { name }),
            Some(Change::Track { groups, which }) => regroup(&which, tracked(&groups)?),
            None => {
                let shown = Shown::of(&self.which.find()?.status()?)?;
                if self.json {
                    print_json(&shown)?
                } else {
                    print(&shown.described())
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// What `track` is to mean.
fn tracked(groups: &[String]) -> anyhow::Result<Regroup> {
    if let [word] = groups
        && !word.contains('=')
    {
        let Ok(division) = Division::deserialize(IntoDeserializer::<Error>::into_deserializer(word.as_str()))
        else {
            bail!("{word:?} is no way to track: write server, partition, region, system, or NAME=SERVERS");
        };
        return Ok(Regroup::Track { division: Some(division), groups: Vec::new() });
    }
    let named = |text: &String| {
        let Some((name, servers)) = text.split_once('=') else {
            bail!("{text:?} is no group: write NAME=SERVERS, such as west=a/*,b/0");
        };
        Ok((name.to_string(), servers.split(',').map(str::to_string).collect()))
    };
    let groups = groups.iter().map(named).collect::<anyhow::Result<_>>()?;
    Ok(Regroup::Track { division: None, groups })
}

/// The groups of a cluster.
#[derive(Serialize)]
struct Shown {
    /// Who shares entries of dependencies: one way, unless servers are about to learn of another.
    tracking: BTreeSet<String>,
    checking: Vec<Group>,
    /// What became of groups that follow what clients do.
    #[serde(skip_serializing_if = "Option::is_none")]
    adapts: Option<Account>,
}

/// A checking group.
#[derive(Serialize)]
struct Group {
    name: String,
    servers: Vec<String>,
    /// It came while the cluster ran.
    added: bool,
    /// None if none of its servers is heard.
    stage: Option<GroupStage>,
    /// How many requests named it, since its servers started.
    asked: u64,
}

impl Shown {
    fn of(status: &ClusterStatus) -> anyhow::Result<Self> {
        let details = status.nodes.iter().filter_map(|node| node.detail.as_ref());
        let partitions = details.filter_map(|detail| detail["host"]["partitions"].as_array()).flatten();
        let adapts = status.adapts.clone();
        let mut shown = Self { tracking: BTreeSet::new(), checking: Vec::new(), adapts };
        let mut all: BTreeMap<(bool, String, Vec<String>), Vec<GroupStanding>> = BTreeMap::new();
        for groupings in
            partitions.filter_map(|partition| Groupings::deserialize(&partition["groupings"]).ok())
        {
            shown.tracking.insert(groupings.tracking);
            for group in groupings.checking {
                let key = (group.added, group.name.clone(), group.servers.clone());
                all.entry(key).or_default().push(group);
            }
        }
        if all.is_empty() {
            bail!("{} has no groups, or none of its nodes runs", status.protocol);
        }
        shown.checking.extend(all.into_iter().map(|((added, name, servers), at)| {
            let members = || at.iter().filter(|group| group.stage != GroupStage::Elsewhere);
            let is = |stage: &GroupStage| members().any(|group| group.stage == *stage);
            let stages = [GroupStage::Retiring, GroupStage::Forming, GroupStage::Active];
            let stage = stages.into_iter().find(is);
            Group { name, servers, added, stage, asked: members().map(|group| group.asked).sum() }
        }));
        Ok(shown)
    }

    fn described(&self) -> String {
        let mut rows = vec![row(["GROUP", "SERVERS", "STAGE", "ASKED", ""])];
        for Group { name, servers, added, stage, asked } in &self.checking {
            let stage = match stage {
                None | Some(GroupStage::Elsewhere) => "not heard",
                Some(GroupStage::Forming) => "forming",
                Some(GroupStage::Active) => "active",
                Some(GroupStage::Retiring) => "retiring",
            };
            let (asked, added) = (asked.to_string(), if *added { "added" } else { "" });
            rows.push(row([name, &servers.join(" "), stage, &asked, added]));
        }
        let tracking: Vec<&str> = self.tracking.iter().map(String::as_str).collect();
        let adapts = self.adapts.as_ref().map(adapted).unwrap_or_default();
        format!("dependencies are tracked by {}\n\n{}{adapts}", tracking.join(", and by "), table(&rows))
    }
}

/// What became of groups that follow what clients do.
fn adapted(account: &Account) -> String {
    let settings = account.settings;
    let mut text = format!(
        "\nController: {} rounds; at most {} groups a server; a value 1 ms older counts as {} ms of waiting.\n",
        account.observed, settings.budget, settings.freshness
    );
    for group in &account.groups {
        text += &format!("\n{}: {}\n  added because {}\n", group.name, list(&group.servers), group.why);
        text += &match group.saves_us {
            _ if group.promised_us == 0.0 => String::new(),
            Some(saves) => {
                format!("  saves {} a read; predicted: {}\n", ms(saves), ms(group.promised_us))
            }
            None => format!("  predicted to save {} a read; not measured yet\n", ms(group.promised_us)),
        };
        for user in &group.users {
            text += &format!(
                "  used by sessions that read at {}: {:.0} reads a second, each waits {}, and is at most {} older for it\n",
                list(&user.servers),
                user.reads,
                ms(user.waits_us),
                ms(user.older_us)
            );
        }
        if group.users.is_empty() {
            text += "  not used now\n";
        }
    }
    if !account.changes.is_empty() {
        text += "\nlast changes\n";
    }
    for change in account.changes.iter().rev().take(CHANGES) {
        let ago = account.at.saturating_sub(change.at) / 1_000_000;
        text += &format!("  {ago} s ago: {}\n", change.what);
    }
    text
}
