//! What a controller is told.

use crate::watch::{Touched, UseReport};
use crate::words::parse;
use std::collections::BTreeMap;
use tidemark_contract::grouping::{Behind, GroupStage, Groupings};
use tidemark_core::{Micros, ServerId};

/// What was seen of a whole system at one time.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// When: microseconds of a clock that does not go back.
    pub at: Micros,
    /// What sessions have done, by node: counted since it started.
    pub nodes: BTreeMap<String, Vec<UseReport>>,
    /// The checking groups, the founding ones in their order.
    pub groups: Vec<SeenGroup>,
    /// How far servers are behind.
    pub behind: BTreeMap<ServerId, Behind>,
}

impl Observation {
    /// What `server` says of the groups.
    pub fn hear(&mut self, server: ServerId, says: &Groupings) {
        self.behind.insert(server, says.behind.clone());
        for group in &says.checking {
            let named = group.servers.iter().map(|name| parse(name.clone()));
            let Ok(mut servers) = named.collect::<Result<Touched, _>>() else { continue };
            servers.sort();
            let is_it = |seen: &&mut SeenGroup| seen.name == group.name && seen.servers == servers;
            match self.groups.iter_mut().find(is_it) {
                Some(seen) if group.stage != GroupStage::Elsewhere => {
                    seen.stage = least(seen.stage, group.stage);
                }
                Some(_) => {}
                None => {
                    let (name, added, stage) = (group.name.clone(), group.added, group.stage);
                    self.groups.push(SeenGroup { name, servers, added, stage });
                }
            }
        }
    }
}

/// Of what two servers say of a group, what holds for it: that it goes, or forms, if one says so.
fn least(one: GroupStage, other: GroupStage) -> GroupStage {
    let order = [GroupStage::Retiring, GroupStage::Forming, GroupStage::Active];
    order.into_iter().find(|stage| [one, other].contains(stage)).unwrap_or(GroupStage::Elsewhere)
}

/// A checking group that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenGroup {
    /// What it is called.
    pub name: String,
    /// Who is in it.
    pub servers: Touched,
    /// Whether it came while the system ran.
    pub added: bool,
    /// The least that one of its servers says.
    pub stage: GroupStage,
}
