//! A look inside a node, for whoever has to know whether everything has been exchanged: simulations and tests. Plain values,
//! copied out; nothing here changes the node.

use crate::hold::Hold;
use crate::of::NodeOf;
use tidemark_contract::{Protocol, Store};
use tidemark_core::{DcId, Key, PartitionId, ServerId, Stamp, Vector, Write};
use tidemark_store::Dump;

/// What can be seen of a node from inside.
pub trait Inspect {
    /// The number of the epoch in which it serves its partitions, if it does.
    fn serves(&self) -> Option<u64>;

    /// How one of its partitions stands; none unless it serves it.
    fn partition(&self, partition: PartitionId) -> Option<PartitionView>;

    /// How many records of `from` its `partition` has durably received; none unless it serves it.
    fn received(&self, from: ServerId, partition: PartitionId) -> Option<u64>;

    /// Every version of a partition that it holds, those of a key oldest first.
    fn versions(&self, partition: PartitionId, each: &mut dyn FnMut(&Key, Stamp, &Write));

    /// The newest version of each region in each key of a data type of a partition, also if it is folded and no version any more; as
    /// long as a region may be left that does not show it.
    fn folded(&self, partition: PartitionId, each: &mut dyn FnMut(Stamp));

    /// How it stands in its Raft group; none if it is in none, or does not know its name yet.
    fn member(&self) -> Option<MemberView>;
}

/// How a partition stands.
#[derive(Clone, Debug)]
pub struct PartitionView {
    /// The number of the last record that it has written.
    pub written: u64,
    /// What it believes to be stable.
    pub stable: Vector,
    /// Pieces of work that are blocked.
    pub blocked: usize,
    /// The region that it does without, and how far that is.
    pub without: Option<(DcId, String)>,
    /// Versions that it keeps.
    pub versions: u64,
    /// Keys that these are of.
    pub keys: u64,
}

/// How a member of a Raft group stands.
#[derive(Clone, Debug)]
pub struct MemberView {
    /// Its name in the group.
    pub name: u64,
    /// The last entry that it has applied.
    pub applied: u64,
    /// The last entry of its log.
    pub last_entry: u64,
    /// The names of those that vote, as of what is applied.
    pub voters: Vec<u64>,
    /// Followers answer requests that only read.
    pub followers_read: bool,
}

impl<P: Protocol> NodeOf<P> {
    fn store(&self, partition: PartitionId) -> Option<&Store<P::Meta>> {
        match &self.hold {
            Hold::Alone(host) => host.holds(partition).then(|| host.store(partition)),
            Hold::Member(member) => self.core.holds(partition).then(|| member.store(partition)),
            Hold::Founding(_) => None,
        }
    }
}

impl<P: Protocol> Inspect for NodeOf<P> {
    fn serves(&self) -> Option<u64> {
        self.hold.host().map(|host| host.life())
    }

    fn partition(&self, partition: PartitionId) -> Option<PartitionView> {
        let host = self.hold.host().filter(|host| host.holds(partition))?;
        let (status, totals) = (host.partition(partition).status(), host.store(partition).totals());
        Some(PartitionView {
            written: host.written(partition),
            stable: status.stable,
            blocked: status.blocked,
            without: status.away.map(|away| (away.dc, format!("{:?}", away.stage))),
            versions: totals.versions,
            keys: totals.keys,
        })
    }

    fn received(&self, from: ServerId, partition: PartitionId) -> Option<u64> {
        let host = self.hold.host().filter(|host| host.holds(partition))?;
        Some(host.received(from, partition))
    }

    fn versions(&self, partition: PartitionId, each: &mut dyn FnMut(&Key, Stamp, &Write)) {
        let Some(store) = self.store(partition) else { return };
        store.dump(0, usize::MAX, |key, version| {
            each(&Key(bytes::Bytes::copy_from_slice(key)), version.stamp, &version.write);
        });
    }

    fn folded(&self, partition: PartitionId, each: &mut dyn FnMut(Stamp)) {
        let Some(store) = self.store(partition) else { return };
        store.dump_all(0, usize::MAX, |_, dump| {
            if let Dump::Object(object) = dump {
                object.folded().iter().for_each(|version| each(version.stamp));
            }
        });
    }

    fn member(&self) -> Option<MemberView> {
        let Hold::Member(member) = &self.hold else { return None };
        let state = member.state();
        Some(MemberView {
            name: member.id(),
            applied: state.applied,
            last_entry: member.last_entry(),
            voters: state.voters.clone(),
            followers_read: P::EXTENSIONS.follower_read.is_some(),
        })
    }
}
