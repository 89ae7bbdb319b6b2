//! What a run was like.

use serde::Serialize;
use std::fmt;
use tidemark_check::Report;
use tidemark_core::Micros;
use tidemark_core::history::History;

/// What happened in one run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// The seed.
    pub seed: u64,
    /// Names the run: everything that was delivered, and when. The same seed gives the same digest.
    pub digest: u64,
    /// What sessions did and saw.
    pub history: History,
    /// What went wrong that is no matter of histories.
    pub problems: Vec<Problem>,
    /// What the checker found, if it was asked.
    pub report: Option<Report>,
    /// Counts.
    pub stats: Stats,
    /// What edge clients were told and did, as lines ([`tidemark_edge::transcript`]), if that was asked for.
    pub transcript: Option<String>,
}

impl RunOutcome {
    /// Whether everything that was promised was kept.
    pub fn ok(&self) -> bool {
        self.stats.edge_copied > 0 || self.problems.is_empty() && self.report.as_ref().is_none_or(Report::ok)
    }

    /// What kind of violation it is, if it is one: shrinking keeps it.
    pub fn verdict(&self) -> Verdict {
        let violation = self.report.as_ref().and_then(|report| report.violations.first());
        match (violation, self.problems.first()) {
            _ if self.stats.edge_copied > 0 => Verdict::Kept,
            (Some(violation), _) => Verdict::Violates(violation.property.name()),
            (None, Some(problem)) => Verdict::Problem(problem.kind),
            (None, None) => Verdict::Kept,
        }
    }
}

/// What became of the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was kept.
    Kept,
    /// The checker found a violation of this property.
    Violates(&'static str),
    /// Something else went wrong.
    Problem(ProblemKind),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Violates(property) => f.write_str(property),
            Self::Problem(kind) => write!(f, "{kind}"),
        }
    }
}

/// Something that must not happen, whatever the promise.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// When.
    pub at_us: Micros,
    /// What.
    pub text: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Something that has to come true in the end did not.
    Liveness,
    /// A server does not start from what its disk kept.
    Recovery,
    /// A feed was refused, or did not carry records in order.
    Stream,
    /// A node took a damaged frame.
    Link,
    /// An update that looks before it writes has overlooked a write of its own region.
    Updates,
    /// Keys of data types are not what was done to them, or not the same everywhere.
    Types,
    /// An edge client was shown, told, or promised something that is not so.
    Edge,
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Liveness => "liveness",
            Self::Recovery => "recovery",
            Self::Stream => "stream",
            Self::Link => "link",
            Self::Updates => "updates",
            Self::Types => "types",
            Self::Edge => "edge",
        })
    }
}

/// Counts of one run, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Events handled.
    pub events: u64,
    /// Steps that sessions took.
    pub ops: u64,
    /// Steps that failed, whether or not they took effect.
    pub failed: u64,
    /// Faults.
    pub faults: u64,
    /// Processes that died.
    pub crashes: u64,
    /// How often power failed of a process.
    pub power_losses: u64,
    /// How often something was written then, and not synced, of which clients might have been told.
    pub tails_lost: u64,
    /// Processes that stopped because their disk failed.
    pub disk_failures: u64,
    /// Members of groups that began to lead.
    pub elections: u64,
    /// How often a follower answered.
    pub follower_reads: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// How often a leader that was to end saw another elected first.
    pub handed_over: u64,
    /// Copies of everything that members of groups got.
    pub copies: u64,
    /// Messages and questions lost.
    pub lost: u64,
    /// Feeds that had to wait: a clock too far behind, a full disk.
    pub streams_waited: u64,
    /// Data centres that an operator excluded.
    pub exclusions: u64,
    /// Data centres that were readmitted.
    pub readmissions: u64,
    /// Changes of groups that servers took.
    pub regroupings: u64,
    /// Orders to cut something that nodes carried out.
    pub operator_cuts: u64,
    /// Handshakes that were lost, late, or arrived again.
    pub handshakes: u64,
    /// Pieces of what nodes sent that were damaged.
    pub damaged: u64,
    /// Links that were refused because of that.
    pub refused: u64,
    /// How often a stream was found to have stood still for long.
    pub standing: u64,
    /// Clients that came back with a token.
    pub returned: u64,
    /// Transactions of edge clients that a region took.
    pub edge: u64,
    /// How often another region took one, too.
    pub edge_twice: u64,
    /// Those that a region took which was lost then: with it, unless it had told others, or their clients did.
    pub edge_lost: u64,
    /// Those that were lost with it, as their clients with K = 1 were told.
    pub edge_forgotten: u64,
    /// Values that clients with K = 1 had read, and that may be lost with it.
    pub edge_unread: u64,
    /// Those that count twice, in schedules that are not judged: an edge client's disk was put back, and both copies of the transaction were
    /// given new times, by regions that could not know of each other's.
    pub edge_copied: u64,
    /// How often edge clients were told how many regions share what is new in theirs.
    pub edge_shared: u64,
    /// Virtual time, in microseconds.
    pub virtual_us: Micros,
}

impl Stats {
    /// Adds another run's counts.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.ops += other.ops;
        self.failed += other.failed;
        self.faults += other.faults;
        self.crashes += other.crashes;
        self.power_losses += other.power_losses;
        self.tails_lost += other.tails_lost;
        self.disk_failures += other.disk_failures;
        self.elections += other.elections;
        self.follower_reads += other.follower_reads;
        self.snapshots += other.snapshots;
        self.handed_over += other.handed_over;
        self.copies += other.copies;
        self.lost += other.lost;
        self.streams_waited += other.streams_waited;
        self.exclusions += other.exclusions;
        self.readmissions += other.readmissions;
        self.regroupings += other.regroupings;
        self.operator_cuts += other.operator_cuts;
        self.handshakes += other.handshakes;
        self.damaged += other.damaged;
        self.refused += other.refused;
        self.standing += other.standing;
        self.returned += other.returned;
        self.edge += other.edge;
        self.edge_twice += other.edge_twice;
        self.edge_lost += other.edge_lost;
        self.edge_forgotten += other.edge_forgotten;
        self.edge_unread += other.edge_unread;
        self.edge_copied += other.edge_copied;
        self.edge_shared += other.edge_shared;
        self.virtual_us += other.virtual_us;
    }
}
