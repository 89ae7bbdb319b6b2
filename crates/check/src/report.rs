//! Verdicts: what was checked, what was violated, and the few events that show it.

use crate::property::Property;
use serde::Serialize;
use std::fmt;
use tidemark_core::history::SessionId;
use tidemark_core::{DcId, Promise};

/// How the checker told versions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By their stamps, which also order them.
    WhiteBox,
    /// By their values.
    BlackBox,
}

/// What the checker found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What the history was held to; none if single properties were asked for.
    pub promise: Option<Promise>,
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
    /// How many violations there are, shown or not.
    pub violated: u64,
    /// The first of them, in the order of the properties.
    pub violations: Vec<Violation>,
    /// What could not be checked, and why.
    pub notes: Vec<String>,
}

/// One violation of one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// What was violated.
    pub property: Property,
    /// What happened, in words.
    pub explanation: String,
    /// The events that matter, causes first; the last one is where it shows.
    pub steps: Vec<Step>,
}

/// One event of a violation's story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its place among the history's operations, from 0; none for a replica's last word.
    pub event: Option<u64>,
    /// Whose it is.
    pub session: Option<SessionId>,
    /// Where it was answered.
    pub dc: DcId,
    /// What was done and found.
    pub text: String,
    /// How it follows from the step before it.
    pub link: Link,
    /// What was done, without what was found.
    pub deed: Deed,
    /// What was written, or found, key by key.
    pub facts: Vec<Fact>,
    /// Whether the violation shows here.
    pub shows: bool,
}

/// What an event of a story did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deed {
    /// Which kind of deed it was.
    pub kind: DeedKind,
    /// What was done, in words.
    pub words: String,
}

/// A kind of deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeedKind {
    /// A write or a delete.
    Write,
    /// A read of one or more keys.
    Read,
    /// The taking over of another session's past.
    Adopt,
    /// A replica's last word.
    LastWord,
}

/// What one key was found to be, or was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The key.
    pub key: String,
    /// Its value, as it is shown: quoted, shortened, or `nothing`, or `a delete`.
    pub value: String,
    /// Its version, if it is known.
    pub version: Option<String>,
}

/// How a step follows from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// It does not: a story begins here, or another event is shown beside it.
    Beside,
    /// It comes later in the same session.
    SessionOrder,
    /// It returns what the step before it wrote.
    ReadsFrom,
    /// It adopts the past of the step before it.
    Adopts,
    /// It started after the step before it was acknowledged.
    Later,
    /// Every arbitration that explains the reads puts it after the step before it.
    Overwrites,
    /// It comes after the step before it, which returned an older version.
    NotYet,
}

impl Link {
    fn words(self) -> &'static str {
        match self {
            Self::Beside => "",
            Self::SessionOrder => "later in the same session",
            Self::ReadsFrom => "returns what the line above wrote",
            Self::Adopts => "adopts the past of the line above",
            Self::Later => "started after the line above was acknowledged",
            Self::Overwrites => "must win over the line above",
            Self::NotYet => "comes after the line above, which returned an older version",
        }
    }
}

impl Report {
    /// Whether the history keeps what it was held to.
    pub fn ok(&self) -> bool {
        self.violated == 0
    }

    /// Whether `property` was violated (as far as violations are kept).
    pub fn violates(&self, property: Property) -> bool {
        self.violations.iter().any(|v| v.property == property)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.property, self.explanation)?;
        let number = |s: &Step| s.event.map_or_else(|| "end".to_string(), |e| format!("#{e}"));
        let who = |s: &Step| s.session.map_or_else(String::new, |s| s.to_string());
        let widest = |of: &dyn Fn(&Step) -> String| {
            self.steps.iter().map(|s| of(s).chars().count()).max().unwrap_or_default()
        };
        let (a, b, c) = (widest(&number), widest(&who), widest(&|s| s.text.clone()).min(60));
        for step in &self.steps {
            let line = format!(
                "  {:>a$}  {:<b$}  {}  {:<c$}  {}",
                number(step),
                who(step),
                step.dc,
                step.text,
                step.link.words()
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "{violation}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let held_to = self.promise.map_or_else(|| "the properties asked for".to_string(), |p| p.to_string());
        write!(
            f,
            "{} operations of {} sessions ({} reads, {} writes) against {held_to}: ",
            self.ops, self.sessions, self.reads, self.writes
        )?;
        match (self.violated, self.violations.len() as u64) {
            (0, _) => write!(f, "no violation"),
            (1, _) => write!(f, "1 violation"),
            (n, shown) if shown < n => write!(f, "{n} violations, {shown} shown"),
            (n, _) => write!(f, "{n} violations"),
        }
    }
}
