//! Groups of servers, as a configuration file names them and as a protocol uses them.
//!
//! - [`Grouping`]: groups as they are written down; [`Members`]: what that comes to in a topology
//! - [`Tracked`](tracked::Tracked): dependencies by tracking group
//! - [`CheckingGroups`]: what a protocol says of its checking groups
//! - [`Regrouping`]: groups that change while a system runs; [`Groupings`]: how they stand
//!
//! Source: the tracking grouping T and the checking grouping C of ACCF (000 chapter 7).

mod checking;
mod regrouping;
pub mod tracked;

pub use checking::{Checking, CheckingGroup, CheckingGroups, NamedGroup};
pub use regrouping::{Behind, GroupStage, GroupStanding, Groupings, Regrouping};
pub use tracked::{Tracking, TrackingGroup};

use crate::Topology;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tidemark_core::{DcId, PartitionId, ServerId};

/// A grouping as it is written down: by a word, or group by group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "write \"server\", \"partition\", \"region\" or \"system\", or a table of groups such as \
                               { left = [\"A/*\"], right = [\"B/0\", \"B/1\"] }"
)]
pub enum Grouping {
    /// One group for each of something.
    By(Division),
    /// The groups that are named; a server that none of them names is one of its own.
    Named(BTreeMap<String, Vec<Servers>>),
}

/// What there is one group for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// Each server.
    Server,
    /// Each partition, across data centres.
    Partition,
    /// Each data centre.
    Region,
    /// All servers together.
    System,
}

/// Some servers: `A/0`, `A/*` (all of a data centre), `*/0` (all of a partition) or `*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Servers {
    dc: Option<DcId>,
    partition: Option<PartitionId>,
}

impl Servers {
    /// The server, if it is one that is named.
    pub fn one(self) -> Option<ServerId> {
        Some(ServerId::new(self.dc?, self.partition?))
    }

    fn contains(self, server: ServerId) -> bool {
        self.dc.is_none_or(|dc| dc == server.dc) && self.partition.is_none_or(|p| p == server.partition)
    }
}

impl From<ServerId> for Servers {
    fn from(server: ServerId) -> Self {
        Self { dc: Some(server.dc), partition: Some(server.partition) }
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.dc, self.partition) {
            (Some(dc), Some(partition)) => write!(f, "{dc}/{partition}"),
            (Some(dc), None) => write!(f, "{dc}/*"),
            (None, Some(partition)) => write!(f, "*/{partition}"),
            (None, None) => write!(f, "*"),
        }
    }
}

impl From<Servers> for String {
    fn from(servers: Servers) -> Self {
        servers.to_string()
    }
}

impl TryFrom<String> for Servers {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} names no servers: write A/0, A/* (a region), */0 (a partition) or *");
        if text == "*" {
            return Ok(Self { dc: None, partition: None });
        }
        let (dc, partition) = text.split_once('/').ok_or_else(wrong)?;
        let dc = match dc {
            "*" => None,
            dc => {
                Some((0..64).map(DcId).find(|id| id.to_string().eq_ignore_ascii_case(dc)).ok_or_else(wrong)?)
            }
        };
        let partition = match partition {
            "*" => None,
            number => Some(PartitionId(number.parse().map_err(|_| wrong())?)),
        };
        Ok(Self { dc, partition })
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(Division::Server) => write!(f, "server"),
            Self::By(Division::Partition) => write!(f, "partition"),
            Self::By(Division::Region) => write!(f, "region"),
            Self::By(Division::System) => write!(f, "system"),
            Self::Named(named) => {
                for (place, (name, servers)) in named.iter().enumerate() {
                    let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
                    write!(f, "{}{name}: {}", if place > 0 { "; " } else { "" }, servers.join(" "))?;
                }
                Ok(())
            }
        }
    }
}

/// A group of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// What it is called.
    pub name: String,
    /// Its servers, in order.
    pub servers: Vec<ServerId>,
}

impl Grouping {
    /// The groups of a topology. Every server is in one at least.
    ///
    /// # Errors
    /// Says what is wrong with what is written down.
    pub fn groups(&self, topology: &Topology) -> Result<Vec<Members>, String> {
        let one = |name: String, servers: Servers| {
            let servers = topology.servers().filter(|server| servers.contains(*server)).collect();
            Members { name, servers }
        };
        let by = |servers: Servers| one(servers.to_string(), servers);
        Ok(match self {
            Self::By(Division::Server) => topology.servers().map(|server| by(server.into())).collect(),
            Self::By(Division::Partition) => {
                let parts = topology.all_partitions().map(Some);
                parts.map(|partition| by(Servers { dc: None, partition })).collect()
            }
            Self::By(Division::Region) => {
                let dcs = topology.all_dcs();
                dcs.map(|dc| one(dc.to_string(), Servers { dc: Some(dc), partition: None })).collect()
            }
            Self::By(Division::System) => {
                vec![one("system".to_string(), Servers { dc: None, partition: None })]
            }
            Self::Named(named) => named_groups(named, topology)?,
        })
    }

    /// As [`Self::groups`], where every server has to be in one alone.
    ///
    /// # Errors
    /// Says what is wrong with what is written down.
    pub fn disjoint(&self, topology: &Topology) -> Result<Vec<Members>, String> {
        let groups = self.groups(topology)?;
        for server in topology.servers() {
            let mut of = groups.iter().filter(|group| group.servers.contains(&server));
            if let (Some(one), Some(other)) = (of.next(), of.next()) {
                return Err(format!("{server} belongs to {} and to {}: choose one", one.name, other.name));
            }
        }
        Ok(groups)
    }

    /// Any grouping of a topology, as `draw` decides, which returns a number below the one that it is given; one with groups
    /// that `overlap`, if they may.
    pub fn any(topology: &Topology, overlap: bool, draw: &mut dyn FnMut(usize) -> usize) -> Self {
        match draw(7) {
            0 => return Self::By(Division::Server),
            1 => return Self::By(Division::Partition),
            2 | 3 => return Self::By(Division::Region),
            4 => return Self::By(Division::System),
            _ => {}
        }
        let count = 1 + draw(4);
        let mut named = BTreeMap::<String, Vec<Servers>>::new();
        for server in topology.servers() {
            let mut chosen = vec![draw(count)];
            if overlap && draw(3) == 0 {
                chosen.push(draw(count));
                chosen.dedup();
            }
            chosen.into_iter().for_each(|group| {
                named.entry(format!("g{group}")).or_default().push(server.into());
            });
        }
        Self::Named(named)
    }
}

fn named_groups(named: &BTreeMap<String, Vec<Servers>>, topology: &Topology) -> Result<Vec<Members>, String> {
    let mut groups = Vec::with_capacity(named.len());
    for (name, patterns) in named {
        let usable = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if name.is_empty() || !name.chars().all(usable) {
            return Err(format!("{name:?} is no name for a group: use letters, digits and - _ . /"));
        }
        for pattern in patterns {
            if !topology.servers().any(|server| pattern.contains(server)) {
                let Topology { dcs, partitions, .. } = topology;
                return Err(format!(
                    "group {name} names {pattern}, and there are {dcs} regions with {partitions} partitions each"
                ));
            }
        }
        let belongs = |server: &ServerId| patterns.iter().any(|pattern| pattern.contains(*server));
        let servers: Vec<ServerId> = topology.servers().filter(belongs).collect();
        if servers.is_empty() {
            return Err(format!("group {name} names no server"));
        }
        if topology.servers().any(|server| server.to_string() == *name && servers != [server]) {
            return Err(format!("group {name} is called like a server that it is not"));
        }
        groups.push(Members { name: name.clone(), servers });
    }
    for server in topology.servers() {
        if !groups.iter().any(|group| group.servers.contains(&server)) {
            groups.push(Members { name: server.to_string(), servers: vec![server] });
        }
    }
    match groups.len() <= usize::from(u16::MAX) {
        true => Ok(groups),
        false => Err(format!("{} groups are too many", groups.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(groups: &[(&str, &[&str])]) -> Grouping {
        let servers = |list: &[&str]| list.iter().map(|text| text.to_string().try_into().unwrap()).collect();
        Grouping::Named(groups.iter().map(|(name, list)| (name.to_string(), servers(list))).collect())
    }

    fn told(grouping: &Grouping, topology: &Topology) -> String {
        let one = |group: Members| {
            let servers: Vec<String> = group.servers.iter().map(ToString::to_string).collect();
            format!("{}: {}", group.name, servers.join(" "))
        };
        grouping.groups(topology).unwrap().into_iter().map(one).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_word_divides_all_servers() {
        let two = Topology::new(2, 2);
        let by = |division| told(&Grouping::By(division), &two);
        assert_eq!(by(Division::Server), "A/0: A/0; A/1: A/1; B/0: B/0; B/1: B/1");
        assert_eq!(by(Division::Partition), "*/0: A/0 B/0; */1: A/1 B/1");
        assert_eq!(by(Division::Region), "A: A/0 A/1; B: B/0 B/1");
        assert_eq!(by(Division::System), "system: A/0 A/1 B/0 B/1");
    }

    #[test]
    fn groups_are_named_with_their_servers_and_whom_none_names_is_alone() {
        let some = named(&[("left", &["a/*"]), ("first", &["*/0"])]);
        assert_eq!(told(&some, &Topology::new(2, 2)), "first: A/0 B/0; left: A/0 A/1; B/1: B/1");
        let text = some.disjoint(&Topology::new(2, 2)).unwrap_err();
        assert_eq!(text, "A/0 belongs to first and to left: choose one");
        assert!(named(&[("x", &["*"])]).disjoint(&Topology::new(2, 2)).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |grouping: Grouping| grouping.groups(&Topology::new(2, 2)).unwrap_err();
        assert!(
            wrong(named(&[("x", &["C/0"])])).contains("names C/0, and there are 2 regions with 2 partitions")
        );
        assert!(wrong(named(&[("x", &[])])).contains("names no server"));
        assert!(wrong(named(&[("x y", &["*"])])).contains("no name for a group"));
        assert!(wrong(named(&[("A/0", &["A/1"])])).contains("called like a server"));
        for text in ["", "A", "A/", "A/x", "/0", "1/A"] {
            assert!(Servers::try_from(text.to_string()).is_err(), "{text}");
        }
    }

    #[test]
    fn whatever_is_drawn_covers_all_servers_and_is_written_as_it_is_read() {
        let (topology, mut state) = (Topology::new(3, 2), 1_u64);
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..200 {
            let tracking = Grouping::any(&topology, false, &mut draw);
            assert!(tracking.disjoint(&topology).is_ok(), "{tracking:?}");
            assert!(Grouping::any(&topology, true, &mut draw).groups(&topology).is_ok());
        }
    }
}
