//! How a member of a group with an empty directory finds out who it is.
//!
//! If the others' directories are empty, too, they found the group together. If the group exists, this node was a member
//! once and has lost its disk, or comes later: under its old name it might break what it has promised, so it takes a new
//! one and waits until the leader takes it in. Who cannot be asked is waited for: he may know a group.

use crate::node::{Groups, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_contract::Protocol;
use tidemark_group::{GroupConfig, Member};
use tidemark_replica::{HostConfig, Now};
use tidemark_store::disk::Disk;

/// Names of one node differ by multiples of this.
const RANKS: u64 = 256;
/// The file of a data directory that says under which name it belongs to its group.
const FILE: &str = "member";

/// What a member says of itself to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// Its name in the group; 0 if it does not know yet.
    pub(crate) member: u64,
    /// It has nothing yet, and waits to be taken in.
    pub(crate) joins: bool,
    /// To whom this is said is a founder, as far as it knows.
    pub(crate) founded_with_you: bool,
}

/// A member that does not know yet who it is.
pub(crate) struct Founding<P: Protocol> {
    pub(crate) place: Place,
    config: HostConfig<P>,
    disk: Arc<dyn Disk>,
    /// What each of the others has said, and in which start.
    heard: BTreeMap<NodeId, (u64, Standing)>,
}

/// The place of a node in its group.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// All members, in their order.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) me: NodeId,
    pub(crate) election_timeout_us: u64,
    pub(crate) directory: PathBuf,
}

/// How many ticks an election timeout has.
const ELECTION_TICKS: usize = 10;

impl Place {
    pub(crate) fn new(groups: &Groups, me: NodeId, election_timeout_us: u64, directory: &Path) -> Self {
        let nodes = groups.members(groups.of_node(me)).to_vec();
        Self { nodes, me, election_timeout_us, directory: directory.to_path_buf() }
    }

    fn rank(&self, node: NodeId) -> u64 {
        self.nodes.iter().position(|member| *member == node).expect("it is one of the group") as u64
    }

    /// The name of a founder.
    fn founder(&self, node: NodeId) -> u64 {
        self.rank(node) + 1
    }

    /// The node that a name is or was of.
    pub(crate) fn node(&self, member: u64) -> Option<NodeId> {
        self.nodes.get((member.checked_sub(1)? % RANKS) as usize).copied()
    }

    /// A name that this node has never had.
    fn new_name(&self) -> u64 {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
        self.founder(self.me) + RANKS * seconds
    }

    /// The name that the directory says, if it does.
    pub(crate) fn name(&self) -> Result<Option<u64>, String> {
        let path = self.directory.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return self.no_name(),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let name = text.trim().parse().ok().filter(|name| self.node(*name) == Some(self.me));
        let wrong = || {
            let shown = path.display();
            format!(
                "{shown} does not name this node in its group ({}): it is damaged, or another node's",
                text.trim()
            )
        };
        name.map(Some).ok_or_else(wrong)
    }

    /// There is no name: then there is to be nothing else.
    fn no_name(&self) -> Result<Option<u64>, String> {
        let shown = self.directory.display();
        match self.directory.join("MANIFEST").exists() {
            false => Ok(None),
            true => Err(format!(
                "{shown} holds data, and no file `{FILE}` that says under which name it belongs to a group. A cluster with \
                 replicas begins with empty directories; a member that has lost its own is given an empty one"
            )),
        }
    }

    /// Has the directory say so, durably.
    fn write_name(&self, name: u64) -> std::io::Result<()> {
        let partial = self.directory.join("member.partial");
        let mut file = std::fs::File::create(&partial)?;
        writeln!(file, "{name}")?;
        file.sync_all()?;
        std::fs::rename(&partial, self.directory.join(FILE))?;
        std::fs::File::open(&self.directory)?.sync_all()
    }

    /// What the member called `name` runs with.
    pub(crate) fn config(&self, name: u64) -> GroupConfig {
        let is_founder = name <= self.nodes.len() as u64;
        let founders = self.nodes.iter().map(|node| self.founder(*node));
        GroupConfig {
            id: name,
            founders: if is_founder { founders.collect() } else { Vec::new() },
            tick_us: self.election_timeout_us / ELECTION_TICKS as u64,
            election_ticks: ELECTION_TICKS,
            heartbeat_ticks: 2,
            entries_bytes: 64 << 20,
            pinned_bytes: 512 << 20,
            broken: None,
        }
    }
}

impl<P: Protocol> Founding<P> {
    pub(crate) fn new(place: Place, config: HostConfig<P>, disk: Arc<dyn Disk>) -> Self {
        Self { place, config, disk, heard: BTreeMap::new() }
    }

    /// Another member has said how it stands, in a start of that number. Returns who this one is, if that is known now, and
    /// with which starts of the others it founds the group, if it does.
    pub(crate) fn hear(
        &mut self,
        node: NodeId,
        start: u64,
        standing: Standing,
    ) -> Option<(u64, Vec<(NodeId, u64)>)> {
        self.heard.insert(node, (start, standing));
        let founder = self.place.founder(self.place.me);
        if self.heard.values().any(|(_, other)| other.founded_with_you) {
            return Some((founder, self.starts()));
        }
        if self.heard.values().any(|(_, other)| other.member != 0) {
            return Some((self.place.new_name(), Vec::new()));
        }
        let all = self.heard.len() + 1 == self.place.nodes.len();
        all.then(|| (founder, self.starts()))
    }

    fn starts(&self) -> Vec<(NodeId, u64)> {
        self.heard.iter().map(|(node, (start, _))| (*node, *start)).collect()
    }

    /// Who has not been heard yet.
    pub(crate) fn missing(&self) -> impl Iterator<Item = NodeId> + '_ {
        let others = self.place.nodes.iter().filter(|node| **node != self.place.me);
        others.filter(|node| !self.heard.contains_key(node)).copied()
    }

    /// Takes the name, and opens the directory under it.
    pub(crate) fn open(&self, name: u64, now: Now) -> Result<Member<P>, String> {
        let place = &self.place;
        place
            .write_name(name)
            .map_err(|error| format!("cannot write {}: {error}", place.directory.join(FILE).display()))?;
        Member::open(place.config(name), self.config.clone(), self.disk.clone(), now)
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_contract::Topology;
    use tidemark_core::{DcId, PartitionId};
    use tidemark_protocols::Eventual;
    use tidemark_store::disk::SimDisk;
    use tidemark_store::log::Fsync;

    fn founding() -> Founding<Eventual> {
        let nodes = vec![NodeId(4), NodeId(6), NodeId(7)];
        let directory = std::env::temp_dir();
        let place = Place { nodes, me: NodeId(6), election_timeout_us: 1_000_000, directory };
        let config = HostConfig {
            dc: DcId(0),
            partitions: vec![PartitionId(0)],
            topology: Topology::new(1, 1),
            params: (),
            fsync: Fsync::No,
            max_skew_us: 0,
            log_segment_bytes: 1 << 20,
            log_retain_bytes: 1 << 20,
            snapshot_every_bytes: 1 << 20,
            new_incarnation: 1,
        };
        Founding::new(place, config, Arc::new(SimDisk::new()))
    }

    const EMPTY: Standing = Standing { member: 0, joins: false, founded_with_you: false };

    #[test]
    fn a_group_is_founded_when_all_directories_are_empty() {
        let mut founding = founding();
        assert_eq!(founding.hear(NodeId(4), 11, EMPTY), None);
        assert_eq!(founding.missing().collect::<Vec<_>>(), [NodeId(7)]);
        let starts = vec![(NodeId(4), 11), (NodeId(7), 12)];
        assert_eq!(founding.hear(NodeId(7), 12, EMPTY), Some((2, starts)));
    }

    #[test]
    fn who_comes_to_a_group_that_exists_takes_a_new_name() {
        let mut founding = founding();
        let (name, with) = founding.hear(NodeId(4), 11, Standing { member: 1, ..EMPTY }).unwrap();
        assert!(name > RANKS && with.is_empty());
        assert_eq!(founding.place.node(name), Some(NodeId(6)));
        assert!(founding.place.config(name).founders.is_empty());
    }

    #[test]
    fn who_was_there_when_it_was_founded_is_a_founder() {
        let mut founding = founding();
        let (name, _) =
            founding.hear(NodeId(7), 12, Standing { member: 3, founded_with_you: true, ..EMPTY }).unwrap();
        assert_eq!(name, 2);
        assert_eq!(founding.place.config(name).founders, [1, 2, 3]);
    }

    #[test]
    fn a_directory_keeps_its_name_and_is_not_taken_for_another() {
        let mut founding = founding();
        let directory = tempfile::tempdir().unwrap();
        founding.place.directory = directory.path().to_path_buf();
        let mut place = founding.place;
        assert_eq!(place.name(), Ok(None));
        place.write_name(2 + RANKS * 9).unwrap();
        assert_eq!(place.name(), Ok(Some(2 + RANKS * 9)));
        place.me = NodeId(4);
        assert!(place.name().unwrap_err().contains("another node's"));
        std::fs::write(directory.path().join(FILE), "x").unwrap();
        assert!(place.name().unwrap_err().contains("does not name this node"));
        std::fs::remove_file(directory.path().join(FILE)).unwrap();
        std::fs::write(directory.path().join("MANIFEST"), "").unwrap();
        assert!(place.name().unwrap_err().contains("begins with empty directories"));
    }
}
