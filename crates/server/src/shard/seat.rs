//! Who serves the partitions of a node: a host of its own, or, while it leads, that of a member of a group.

use tidemark_contract::{Members, Protocol};
use tidemark_core::{CheckingGroup, Micros, PartitionId};
use tidemark_group::{Member, SyncTask};
use tidemark_node::founding::Founding;
use tidemark_replica::{Host, HostStatus, Now, Output, UpkeepDone, UpkeepJob};
use tidemark_store::log::{Position, SyncDone, SyncJob};

/// The node cannot go on; why, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Broken(pub(crate) String);

fn broken(error: impl std::fmt::Display) -> Broken {
    Broken(error.to_string())
}

/// What a node is to its partitions.
pub(crate) enum Seat<P: Protocol> {
    /// It alone holds them in its region.
    Alone(Box<Host<P>>),
    /// It is one of several that hold them.
    Member(Box<Member<P>>),
    /// It is to be, once it knows from the others whether there is a group already.
    Founding(Box<Founding<P>>),
}

/// A sync, wherever it runs.
pub(crate) enum Sync {
    Alone(SyncJob),
    Member(SyncTask),
}

/// What it did.
pub(crate) enum Synced {
    Alone(SyncDone),
    Member((u64, SyncDone)),
}

impl Sync {
    /// Does it; blocks for as long as the disk takes.
    pub(crate) fn run(self) -> Synced {
        match self {
            Self::Alone(job) => Synced::Alone(job.run()),
            Self::Member(task) => Synced::Member(task.run()),
        }
    }
}

impl<P: Protocol> Seat<P> {
    /// The host, if requests may be given to it.
    #[inline]
    pub(crate) fn host(&self) -> Option<&Host<P>> {
        match self {
            Self::Alone(host) => Some(host),
            Self::Member(member) => member.host(),
            Self::Founding(_) => None,
        }
    }

    /// The host, if requests may be given to it.
    #[inline]
    pub(crate) fn host_mut(&mut self) -> Option<&mut Host<P>> {
        match self {
            Self::Alone(host) => Some(host),
            Self::Member(member) => member.host_mut(),
            Self::Founding(_) => None,
        }
    }

    /// Whether requests are taken, by who serves.
    #[inline]
    pub(crate) fn takes_requests(&self) -> bool {
        match self {
            Self::Member(member) => member.takes_requests(),
            Self::Alone(_) | Self::Founding(_) => true,
        }
    }

    /// What it may answer as a follower, to a question that only reads.
    #[inline]
    pub(crate) fn read_at_follower(&self, at: PartitionId, question: &P::Request) -> Option<P::Reply> {
        match self {
            Self::Member(member) if P::EXTENSIONS.follower_read.is_some() => {
                member.read_at_follower(at, question)
            }
            _ => None,
        }
    }

    /// The checking groups that operations may choose, as far as is known here.
    pub(crate) fn checking_groups(&self) -> Vec<(CheckingGroup, Members)> {
        match self {
            Self::Alone(host) => host.checking_groups(),
            Self::Member(member) => member.checking_groups(),
            Self::Founding(_) => Vec::new(),
        }
    }

    pub(crate) fn member_mut(&mut self) -> Option<&mut Member<P>> {
        match self {
            Self::Member(member) => Some(member),
            Self::Alone(_) | Self::Founding(_) => None,
        }
    }

    /// When time has to be told next.
    pub(crate) fn next_timer(&self) -> Option<Micros> {
        match self {
            Self::Alone(host) => host.next_timer(),
            Self::Member(member) => Some(member.next_timer()),
            Self::Founding(_) => None,
        }
    }

    /// Tells the time: timers that are due fire.
    pub(crate) fn fire_timers(&mut self, now: Now) {
        match self {
            Self::Alone(host) => host.fire_timers(now),
            Self::Member(member) => member.fire_timers(now),
            Self::Founding(_) => {}
        }
    }

    /// Ends the turn: its records are written. What the turn did may leave once [`Self::released`] has reached what this
    /// returns.
    pub(crate) fn commit(&mut self, now: Now) -> Result<Position, Broken> {
        match self {
            Self::Alone(host) => host.commit().map_err(broken),
            Self::Member(member) => {
                member.commit(now).map_err(broken)?;
                // A turn of a follower has done nothing to what it holds.
                Ok(member.host().map_or(Position::START, Host::flushed))
            }
            Self::Founding(_) => Ok(Position::START),
        }
    }

    /// What was done in turns up to here may leave now.
    pub(crate) fn released(&self, now: Now) -> Position {
        match self {
            Self::Alone(host) => host.durable(),
            Self::Member(member) => member.released(now),
            Self::Founding(_) => Position::START,
        }
    }

    pub(crate) fn take_outputs(&mut self, now: Now) -> Vec<Output<P>> {
        match self {
            Self::Alone(host) => host.take_outputs(),
            Self::Member(member) => member.take_outputs(now),
            Self::Founding(_) => Vec::new(),
        }
    }

    pub(crate) fn sync_job(&mut self) -> Option<Sync> {
        match self {
            Self::Alone(host) => host.sync_job().map(Sync::Alone),
            Self::Member(member) => member.sync_job().map(Sync::Member),
            Self::Founding(_) => None,
        }
    }

    pub(crate) fn synced(&mut self, done: Synced) -> Result<(), Broken> {
        match (self, done) {
            (Self::Alone(host), Synced::Alone(done)) => host.synced(done).map_err(broken),
            (Self::Member(member), Synced::Member(done)) => member.synced(done).map_err(broken),
            _ => Ok(()),
        }
    }

    /// Whether something waits for a sync that the policy does not ask for.
    pub(crate) fn wants_sync(&self) -> bool {
        matches!(self, Self::Member(member) if member.wants_sync())
    }

    pub(crate) fn upkeep(&mut self, now: Now) -> Option<UpkeepJob> {
        match self {
            Self::Alone(host) => host.upkeep(),
            Self::Member(member) => member.upkeep(now),
            Self::Founding(_) => None,
        }
    }

    /// How often it began anew.
    pub(crate) fn opened(&self) -> u64 {
        match self {
            Self::Member(member) => member.opened(),
            Self::Alone(_) | Self::Founding(_) => 0,
        }
    }

    pub(crate) fn upkept(&mut self, done: UpkeepDone) {
        match self {
            Self::Alone(host) => host.upkept(done),
            Self::Member(member) => member.upkept(done),
            Self::Founding(_) => {}
        }
    }

    /// How what it holds stands; nothing while it holds nothing.
    pub(crate) fn status(&self) -> HostStatus {
        match self {
            Self::Alone(host) => host.status(),
            Self::Member(member) => member.status(),
            Self::Founding(_) => HostStatus::default(),
        }
    }

    /// Ends well: everything is written, synced, and marked as such.
    pub(crate) fn close(self) -> Result<(), Broken> {
        match self {
            Self::Alone(host) => host.close().map_err(broken),
            Self::Member(member) => member.close().map_err(broken),
            Self::Founding(_) => Ok(()),
        }
    }
}
