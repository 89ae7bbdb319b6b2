//! One guarantee at a time: which of them does a history keep?

use crate::index::Index;
use crate::lost::without_lost;
use crate::property::{Properties, Property};
use crate::report::{Mode, Report, Violation};
use crate::{Options, examine};
use serde::Serialize;
use std::fmt;
use tidemark_core::history::{Action, Fate, History, ReadKind};

/// What a history can be held to on its own: a property, or the session guarantees together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// The name on command lines and in reports.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// What it consists of.
    pub properties: Properties,
}

impl Guarantee {
    /// Every guarantee, in the order in which they are listed.
    pub fn all() -> Vec<Self> {
        let session = Self {
            name: "session",
            about: "the four of them, and convergence, by one order of each key's writes",
            properties: Property::of(tidemark_core::Promise::Session).without(Property::WellFormed),
        };
        let one = |property: Property| Self {
            name: property.name(),
            about: property.about(),
            properties: Properties::default().with(property),
        };
        let mut all: Vec<Self> = Property::ALL.into_iter().map(one).collect();
        let after = all.iter().position(|g| g.name == Property::WritesFollowReads.name());
        all.insert(after.map_or(0, |place| place + 1), session);
        all
    }

    /// The guarantee of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|guarantee| guarantee.name == name)
    }
}

/// Whether a guarantee is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// The history keeps it.
    Holds,
    /// It does not.
    Violated,
    /// The history does not say enough to tell.
    NotChecked,
}

impl Holds {
    fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::NotChecked => "not checked",
        }
    }
}

/// What became of one guarantee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Its name.
    pub guarantee: &'static str,
    /// Whether it is kept.
    pub verdict: Holds,
    /// How many violations there are, shown or not.
    pub violated: u64,
    /// The first of them.
    pub violations: Vec<Violation>,
    /// What to know about the verdict.
    pub remark: Option<&'static str>,
}

/// What became of several guarantees, each on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// How versions were told apart.
    pub mode: Mode,
    /// Recorded operations, those that failed included.
    pub ops: u64,
    /// Keys read and answered.
    pub reads: u64,
    /// Versions known to have been written.
    pub writes: u64,
    /// Sessions.
    pub sessions: u64,
    /// One for each guarantee asked for.
    pub verdicts: Vec<Verdict>,
}

/// Holds `history` to each of `guarantees` on its own. Of each, `limit` violations are told.
pub fn check_each(history: &History, guarantees: &[Guarantee], limit: usize, values_only: bool) -> Verdicts {
    let history = &*without_lost(history);
    let index = Index::new(history, values_only);
    let mut last = None;
    let verdicts = guarantees.iter().map(|guarantee| {
        let options = Options { properties: guarantee.properties, limit, values_only };
        let report = examine(&index, options);
        let verdict = verdict(history, guarantee, &report);
        last = Some(report);
        verdict
    });
    let verdicts = verdicts.collect();
    let none = Options { properties: Properties::default(), limit, values_only };
    let Report { mode, ops, reads, writes, sessions, .. } = last.unwrap_or_else(|| examine(&index, none));
    Verdicts { mode, ops, reads, writes, sessions, verdicts }
}

fn verdict(history: &History, guarantee: &Guarantee, report: &Report) -> Verdict {
    let by_value = report.mode == Mode::BlackBox;
    let is = |property: Property| guarantee.properties == Properties::default().with(property);
    let missing = if by_value && is(Property::OverwriteOrder) {
        Some("by values, this is part of causal")
    } else if by_value && is(Property::AtomicWrites) {
        Some("by values, this is part of causal and snapshot")
    } else if by_value && is(Property::Sequential) {
        Some("values alone do not say which write of a key is the newer")
    } else if is(Property::Convergence) && history.finals.is_empty() {
        Some("no `final` lines say what replicas return in the end")
    } else if is(Property::Immediate) && !timed(history) {
        Some("no GET has a start_us")
    } else {
        None
    };
    let one_sided = is(Property::MonotonicWrites) || is(Property::WritesFollowReads);
    let verdict = match report.violated {
        0 if missing.is_some() => Holds::NotChecked,
        0 => Holds::Holds,
        _ => Holds::Violated,
    };
    let vacuous = (by_value && one_sided).then_some("values alone cannot show otherwise; `session` can");
    Verdict {
        guarantee: guarantee.name,
        verdict,
        violated: report.violated,
        violations: report.violations.clone(),
        remark: missing.or(vacuous),
    }
}

fn timed(history: &History) -> bool {
    let get = |action: &Action| matches!(action, Action::Read { kind: ReadKind::Get, .. });
    history.events.iter().any(|e| get(&e.action) && e.fate == Fate::Ok && e.start_us.is_some())
}

impl Verdicts {
    /// Whether everything that was checked is kept.
    pub fn ok(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.violated == 0)
    }

    /// The first violation that is told.
    pub fn first(&self) -> Option<&Violation> {
        self.verdicts.iter().find_map(|verdict| verdict.violations.first())
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for verdict in &self.verdicts {
            let count = match (verdict.violated, verdict.violations.len() as u64) {
                (0, _) => String::new(),
                (1, _) => "1 violation".to_string(),
                (n, shown) if shown < n => format!("{n} violations, {shown} shown"),
                (n, _) => format!("{n} violations"),
            };
            let remark = verdict.remark.unwrap_or(&count);
            let line = format!("{:<28}{:<13}{remark}", verdict.guarantee, verdict.verdict.words());
            writeln!(f, "{}", line.trim_end())?;
        }
        for verdict in self.verdicts.iter().filter(|verdict| verdict.violated > 0) {
            writeln!(f, "\n== {}", verdict.guarantee)?;
            for violation in &verdict.violations {
                write!(f, "\n{violation}")?;
            }
        }
        let violated = self.verdicts.iter().filter(|verdict| verdict.violated > 0).count();
        let by = if self.mode == Mode::WhiteBox { "version" } else { "value" };
        write!(
            f,
            "\n{} operations of {} sessions ({} reads, {} writes), told apart by {by}: ",
            self.ops, self.sessions, self.reads, self.writes
        )?;
        match violated {
            0 => write!(f, "nothing is violated"),
            1 => write!(f, "1 guarantee is violated"),
            n => write!(f, "{n} guarantees are violated"),
        }
    }
}
