//! How a member of a group with an empty directory finds out who it is.
//!
//! If the others' directories are empty, too, they found the group together. If the group exists, this node was a member
//! once and has lost its disk, or comes later: under its old name it might break what it has promised, so it takes a new
//! one and waits until the leader takes it in. Who cannot be asked is waited for: he may know a group.
//!
//! A node that has founded the group may start again before the others have heard of it. So it keeps with which starts of the others it
//! did, and a node that waits keeps the number of its start: a founder that was not heard is one still, while a lost disk has another
//! number.

use crate::config::RaftLimits;
use crate::layout::{Groups, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tidemark_group::{GroupConfig, Member};
use tidemark_replica::{HostConfig, Now};
use tidemark_store::disk::{Disk, DiskErrorKind, DiskResult};

/// Names of one node differ by multiples of this.
const RANKS: u64 = 256;
/// So many new names one node can draw: as many as readers of JSON can tell apart.
const NAMES: u64 = 1 << 44;
/// The file of a data directory that says under which name it belongs to its group.
const FILE: &str = "member";
/// The file that says in which start a node waits for the others.
const START: &str = "founding";
/// The file that says with which starts of the others it founded the group.
const FOUNDED: &str = "founded";

/// What a member says of itself to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its name in the group; 0 if it does not know yet.
    pub member: u64,
    /// It has nothing yet, and waits to be taken in.
    pub joins: bool,
    /// To whom this is said is a founder, as far as it knows.
    pub founded_with_you: bool,
}

/// A member that does not know yet who it is.
pub struct Founding<P: Protocol> {
    /// Its place in its group.
    pub place: Place,
    config: HostConfig<P>,
    disk: Arc<dyn Disk>,
    /// What each of the others has said, and in which start.
    heard: BTreeMap<NodeId, (u64, Standing)>,
}

/// The place of a node in its group.
#[derive(Clone, Debug)]
pub struct Place {
    /// All members, in their order.
    pub nodes: Vec<NodeId>,
    /// This one.
    pub me: NodeId,
    /// How long a follower waits for its leader before it wants to lead.
    pub election_timeout_us: Micros,
    /// How much it keeps for the others.
    pub limits: RaftLimits,
}

/// How many ticks an election timeout has.
const ELECTION_TICKS: usize = 10;

impl Place {
    /// The place of node `me`.
    pub fn new(groups: &Groups, me: NodeId, election_timeout_us: Micros, limits: RaftLimits) -> Self {
        let nodes = groups.members(groups.of_node(me)).to_vec();
        Self { nodes, me, election_timeout_us, limits }
    }

    fn rank(&self, node: NodeId) -> u64 {
        self.nodes.iter().position(|member| *member == node).expect("it is one of the group") as u64
    }

    /// The name of a founder.
    fn founder(&self, node: NodeId) -> u64 {
        self.rank(node) + 1
    }

    /// The node that a name is or was of.
    pub fn node(&self, member: u64) -> Option<NodeId> {
        self.nodes.get((member.checked_sub(1)? % RANKS) as usize).copied()
    }

    /// A name that this node has never had: `draw` is random. Clocks go back, and stand where they stood before.
    fn new_name(&self, draw: u64) -> u64 {
        self.founder(self.me) + RANKS * (1 + draw % NAMES)
    }

    /// The name that the directory says, if it does.
    ///
    /// # Errors
    /// What is wrong with it, in words for the operator.
    pub fn name(&self, disk: &dyn Disk) -> Result<Option<u64>, String> {
        let Some(text) = read(disk, FILE).map_err(|error| error.to_string())? else { return no_name(disk) };
        let text = text.trim();
        let name = text.parse().ok().filter(|name| self.node(*name) == Some(self.me));
        let wrong = || {
            format!(
                "the file `{FILE}` does not name this node in its group ({text}): it is damaged, or another node's"
            )
        };
        name.map(Some).ok_or_else(wrong)
    }

    /// The number of the start in which this node waits for the others: `draw`, which is random, unless it has waited before.
    ///
    /// # Errors
    /// What is wrong with the directory, in words for the operator.
    pub fn start(&self, disk: &dyn Disk, draw: u64) -> Result<u64, String> {
        let said = read(disk, START).map_err(|error| error.to_string())?;
        if let Some(start) = said.and_then(|text| text.trim().parse().ok()) {
            return Ok(start);
        }
        write(disk, START, &format!("{draw}\n")).map_err(|error| error.to_string())?;
        Ok(draw)
    }

    /// With which starts of the others this node founded the group, if it did.
    ///
    /// # Errors
    /// What is wrong with the directory, in words for the operator.
    pub fn founded_with(&self, disk: &dyn Disk) -> Result<Vec<(NodeId, u64)>, String> {
        let text = read(disk, FOUNDED).map_err(|error| error.to_string())?.unwrap_or_default();
        let one = |line: &str| {
            let (node, start) = line.split_once(' ')?;
            Some((NodeId(node.parse().ok()?), start.parse().ok()?))
        };
        Ok(text.lines().filter_map(one).collect())
    }

    /// What the member called `name` runs with.
    pub fn config(&self, name: u64) -> GroupConfig {
        let is_founder = name <= self.nodes.len() as u64;
        let founders = self.nodes.iter().map(|node| self.founder(*node));
        GroupConfig {
            id: name,
            founders: if is_founder { founders.collect() } else { Vec::new() },
            tick_us: self.election_timeout_us / ELECTION_TICKS as u64,
            election_ticks: ELECTION_TICKS,
            heartbeat_ticks: 2,
            entries_bytes: self.limits.entries_bytes,
            pinned_bytes: self.limits.pinned_bytes,
        }
    }
}

/// What a file says, if it exists.
fn read(disk: &dyn Disk, name: &str) -> DiskResult<Option<String>> {
    // What is acted upon must not be undone by a power failure, even if its writer died before it synced the name.
    disk.sync_dir()?;
    let file = match disk.open(name) {
        Ok(file) => file,
        Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = vec![0; file.size()? as usize];
    let count = file.read_at(0, &mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes[..count]).into_owned()))
}

/// Has a file say `text`, durably.
fn write(disk: &dyn Disk, name: &str, text: &str) -> DiskResult<()> {
    let partial = format!("{name}.partial");
    match disk.remove(&partial) {
        Err(error) if error.kind != DiskErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create(&partial, 0)?;
    file.write_at(0, text.as_bytes())?;
    file.sync()?;
    disk.rename(&partial, name)?;
    disk.sync_dir()
}

/// There is no name: then there is to be nothing else.
fn no_name(disk: &dyn Disk) -> Result<Option<u64>, String> {
    let names = disk.list().map_err(|error| error.to_string())?;
    match names.iter().any(|name| name == "MANIFEST") {
        false => Ok(None),
        true => Err(format!(
            "there are data, and no file `{FILE}` that says under which name they belong to a group. A cluster with \
             replicas begins with empty directories; a member that has lost its own is given an empty one"
        )),
    }
}

/// What a node that waits knows, once another member has said how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Not enough.
    Waits,
    /// These have to be asked again: what they said may be out of date.
    AskAgain(Vec<NodeId>),
    /// The node's name; and with which starts of the others it founds the group, if it does.
    Known(u64, Vec<(NodeId, u64)>),
}

impl<P: Protocol> Founding<P> {
    /// The member at `place`, whose directory is empty.
    pub fn new(place: Place, config: HostConfig<P>, disk: Arc<dyn Disk>) -> Self {
        Self { place, config, disk, heard: BTreeMap::new() }
    }

    /// Another member has said how it stands, in a start of that number. A name that this node has not had yet comes of `draw`,
    /// which is random.
    pub fn hear(&mut self, node: NodeId, start: u64, standing: Standing, draw: u64) -> Heard {
        self.heard.insert(node, (start, standing));
        let founder = self.place.founder(self.place.me);
        let any = |is: fn(&Standing) -> bool| self.heard.values().any(|(_, other)| is(other));
        if any(|other| other.founded_with_you) {
            return Heard::Known(founder, self.starts());
        }
        // A group that has begun can take this node in. Where nobody has anything yet, this one may be a founder, as one that has not
        // been heard knows, and be needed.
        if any(|other| other.member != 0 && !other.joins) {
            return Heard::Known(self.place.new_name(draw), Vec::new());
        }
        if self.heard.len() + 1 < self.place.nodes.len() {
            return Heard::Waits;
        }
        if !any(|other| other.member != 0) {
            return Heard::Known(founder, self.starts());
        }
        // Who has a new name has heard of a founder. If none of those that were heard is one, one of them became it since: perhaps
        // together with this node.
        let founders = 1..=self.place.nodes.len() as u64;
        let founder_known = self.heard.values().any(|(_, other)| founders.contains(&other.member));
        let nameless = self.heard.iter().filter(|(_, (_, other))| other.member == 0);
        let nameless: Vec<NodeId> = nameless.map(|(node, _)| *node).collect();
        if founder_known || nameless.is_empty() {
            return Heard::Known(self.place.new_name(draw), Vec::new());
        }
        self.heard.retain(|node, _| !nameless.contains(node));
        Heard::AskAgain(nameless)
    }

    fn starts(&self) -> Vec<(NodeId, u64)> {
        self.heard.iter().map(|(node, (start, _))| (*node, *start)).collect()
    }

    /// Who has not been heard yet.
    pub fn missing(&self) -> impl Iterator<Item = NodeId> + '_ {
        let others = self.place.nodes.iter().filter(|node| **node != self.place.me);
        others.filter(|node| !self.heard.contains_key(node)).copied()
    }

    /// Takes the name, and opens the directory under it. If it founds the group, it does so with these starts of the others.
    ///
    /// # Errors
    /// What is wrong with the directory, in words for the operator.
    pub fn open(&self, name: u64, with: &[(NodeId, u64)], now: Now) -> Result<Member<P>, String> {
        let with: String = with.iter().map(|(node, start)| format!("{} {start}\n", node.0)).collect();
        // The name last: it stands for both.
        write(&*self.disk, FOUNDED, &with).map_err(|error| error.to_string())?;
        write(&*self.disk, FILE, &format!("{name}\n")).map_err(|error| error.to_string())?;
        Member::open(self.place.config(name), self.config.clone(), self.disk.clone(), now)
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests;
