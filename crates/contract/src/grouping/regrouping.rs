//! Groups that change while a system runs, as an operator orders it and as status pages show it.
//!
//! Source: 000 §9.6. An order is for any server of a protocol that has groups; it tells the others.

use super::{Grouping, Members, Servers};
use crate::Topology;
use serde::{Deserialize, Serialize};
use tidemark_core::ServerId;

/// What is to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Regrouping {
    /// A checking group comes.
    Add {
        /// What it is to be called.
        name: String,
        /// Who is to be in it.
        servers: Vec<Servers>,
    },
    /// A checking group that came while the system ran goes, once nobody asks for it any more.
    Remove {
        /// What it is called.
        name: String,
    },
    /// Servers share entries of dependencies in another way from now on.
    Track {
        /// The tracking groups.
        tracking: Grouping,
    },
}

impl Regrouping {
    /// The servers of a checking group that is to come.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn members(name: &str, servers: &[Servers], topology: &Topology) -> Result<Vec<ServerId>, String> {
        let named = [(name.to_string(), servers.to_vec())].into_iter().collect();
        let groups = Grouping::Named(named).groups(topology)?;
        let is_it = |group: &Members| group.name == name;
        Ok(groups.into_iter().find(is_it).expect("it was named").servers)
    }
}

/// How the groups of a protocol stand, as one of its servers sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groupings {
    /// Who shares entries of dependencies.
    pub tracking: String,
    /// The checking groups.
    pub checking: Vec<GroupStanding>,
    /// How far this server is behind.
    pub behind: Behind,
}

/// What a server says of what it has received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behind {
    /// For each tracking group, how long ago it was, in microseconds, up to when everything has arrived here that its servers write;
    /// nothing where none of them writes anything that this server holds.
    pub us: Vec<Option<u64>>,
    /// The server's own tracking group.
    pub own: usize,
}

/// How one checking group stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStanding {
    /// What it is called.
    pub name: String,
    /// Who is in it.
    pub servers: Vec<String>,
    /// Whether it came while the system ran.
    pub added: bool,
    /// At this server.
    pub stage: GroupStage,
    /// How many requests this server was asked that named it, since it started.
    pub asked: u64,
}

/// How far a checking group has come at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupStage {
    /// The server is not in it.
    Elsewhere,
    /// Not everybody in it has told what has arrived there: nobody is answered by it yet.
    Forming,
    /// It is used.
    Active,
    /// It goes, once nobody has asked for it for a while.
    Retiring,
}
