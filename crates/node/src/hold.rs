//! How a node holds its partitions: alone, or as a member of a Raft group, whose host it has while it leads.

use crate::founding::Founding;
use crate::job::{Done, Job, Result as JobResult, Work};
use crate::node::Fatal;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, PartitionId};
use tidemark_group::Member;
use tidemark_replica::{Host, HostStatus, Now, Output, UpkeepDone, Waits};
use tidemark_store::log::{BallastDone, Position, SpareDone};

fn fatal(error: impl std::fmt::Display) -> Fatal {
    Fatal(error.to_string())
}

/// Up to where the log is so that what rests on it may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// To clients of this node.
    pub(crate) clients: Position,
    /// To nodes of its region, on behalf of clients.
    pub(crate) siblings: Position,
    /// To whomever.
    pub(crate) others: Position,
}

impl Limits {
    fn of_all(position: Position) -> Self {
        Self { clients: position, siblings: position, others: position }
    }
}

/// How a node holds its partitions.
pub(crate) enum Hold<P: Protocol> {
    /// It alone holds them in its region.
    Alone(Box<Host<P>>),
    /// It is one of several that hold them.
    Member(Box<Member<P>>),
    /// It is to be, once it knows from the others whether there is a group already.
    Founding(Box<Founding<P>>),
}

impl<P: Protocol> Hold<P> {
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

    /// What it holds, whether requests may be given to that or not.
    pub(crate) fn held(&self) -> Option<&Host<P>> {
        match self {
            Self::Alone(host) => Some(host),
            Self::Member(member) => Some(member.held()),
            Self::Founding(_) => None,
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

    /// Ends the turn: its records are written. What the turn did may leave once [`Self::limits`] have reached what this
    /// returns.
    pub(crate) fn commit(&mut self, now: Now) -> Result<Position, Fatal> {
        match self {
            Self::Alone(host) => host.commit().map_err(fatal),
            Self::Member(member) => {
                member.commit(now).map_err(fatal)?;
                // A turn of a follower has done nothing to what it holds.
                Ok(member.host().map_or(Position::START, Host::flushed))
            }
            Self::Founding(_) => Ok(Position::START),
        }
    }

    /// What was done in turns up to here may leave now.
    pub(crate) fn limits(&self, now: Now) -> Limits {
        match self {
            Self::Alone(host) => {
                Limits { clients: host.for_clients(), siblings: host.for_siblings(), others: host.durable() }
            }
            Self::Member(member) => Limits::of_all(member.released(now)),
            Self::Founding(_) => Limits::of_all(Position::START),
        }
    }

    /// For what a sync that could run now is waited for: see [`Host::waits_for_sync`].
    pub(crate) fn waits_for_sync(&self, linked: bool, wanted: bool) -> Option<Waits> {
        match self {
            Self::Alone(host) => host.waits_for_sync(linked, wanted),
            Self::Member(member) => member.held().waits_for_sync(linked, wanted),
            Self::Founding(_) => None,
        }
    }

    /// The making of the log's next segment, when it will soon need it.
    pub(crate) fn spare_job(&mut self) -> Option<Job> {
        let opened = self.opened();
        self.kept_mut()?.spare_job().map(|job| Job(Work::Spare(opened, job)))
    }

    /// A segment was made, in the opening `of`. One of an earlier opening is removed by the next.
    pub(crate) fn spared(&mut self, of: u64, done: SpareDone) {
        let opened = self.opened();
        if let Some(host) = self.kept_mut().filter(|_| opened == of) {
            host.spared(done);
        }
    }

    /// Whose log it is, whether requests may be given to it or not.
    fn kept_mut(&mut self) -> Option<&mut Host<P>> {
        match self {
            Self::Alone(host) => Some(host),
            Self::Member(member) => Some(member.held_mut()),
            Self::Founding(_) => None,
        }
    }

    pub(crate) fn take_outputs(&mut self, now: Now) -> Vec<Output<P>> {
        match self {
            Self::Alone(host) => host.take_outputs(),
            Self::Member(member) => member.take_outputs(now),
            Self::Founding(_) => Vec::new(),
        }
    }

    /// A sync of what is written, if there is something to sync and none is running.
    pub(crate) fn sync_job(&mut self) -> Option<Job> {
        match self {
            Self::Alone(host) => host.sync_job().map(Work::Sync),
            Self::Member(member) => member.sync_job().map(Work::MemberSync),
            Self::Founding(_) => None,
        }
        .map(Job)
    }

    /// A sync has ended; one of an earlier opening is ignored.
    pub(crate) fn synced(&mut self, now: Now, done: Done) -> Result<(), Fatal> {
        match (self, done.0) {
            (Self::Alone(host), JobResult::Sync(done)) => host.synced(now, done).map_err(fatal),
            (Self::Member(member), JobResult::MemberSync(done)) => member.synced(now, done).map_err(fatal),
            _ => Ok(()),
        }
    }

    /// Whether something waits for a sync that the policy does not ask for.
    pub(crate) fn wants_sync(&self) -> bool {
        match self {
            Self::Alone(host) => host.snapshot_waits(),
            Self::Member(member) => member.wants_sync(),
            Self::Founding(_) => false,
        }
    }

    /// A snapshot to be taken, if one is due.
    pub(crate) fn upkeep_job(&mut self, now: Now) -> Option<Job> {
        let opened = self.opened();
        let job = match self {
            Self::Alone(host) => host.upkeep(),
            Self::Member(member) => member.upkeep(now),
            Self::Founding(_) => None,
        };
        job.map(|job| Job(Work::Upkeep(opened, job)))
    }

    /// The making of the log's ballast, if it is missing.
    pub(crate) fn ballast_job(&mut self) -> Option<Job> {
        let opened = self.opened();
        self.kept_mut()?.ballast_job().map(|job| Job(Work::Ballast(opened, job)))
    }

    /// Ballast was made, or not, in the opening `of`.
    pub(crate) fn ballast_made(&mut self, of: u64, done: BallastDone) {
        let opened = self.opened();
        if let Some(host) = self.kept_mut().filter(|_| opened == of) {
            host.ballast_made(done);
        }
    }

    /// How often it began anew.
    pub(crate) fn opened(&self) -> u64 {
        match self {
            Self::Member(member) => member.opened(),
            Self::Alone(_) | Self::Founding(_) => 0,
        }
    }

    /// Upkeep was done in the opening `of`.
    pub(crate) fn upkept(&mut self, of: u64, done: UpkeepDone) {
        if self.opened() != of {
            return;
        }
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
    pub(crate) fn close(self) -> Result<(), Fatal> {
        match self {
            Self::Alone(host) => host.close().map_err(fatal),
            Self::Member(member) => member.close().map_err(fatal),
            Self::Founding(_) => Ok(()),
        }
    }
}
