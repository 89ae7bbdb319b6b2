//! Which session guarantees an operation asks for.
//!
//! Source: D. B. Terry et al., *Session guarantees for weakly consistent replicated data* (PDIS 1994); that each request
//! chooses, and the names of the levels, from M. Roohitavaf et al., *Session Guarantees with Raft and Hybrid Logical Clocks*.
//!
//! Two of them speak of reads, two of writes. An operation that asks for less may see or leave behind less; what it read
//! or wrote counts for later ones that ask for more.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which session guarantees an operation asks for: all of them, unless it says otherwise.
///
/// In files it is the list of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Vec<Name>", from = "Vec<Name>")]
pub struct Guarantees {
    /// A read returns what the session has read of the key before, or something newer.
    pub monotonic_reads: bool,
    /// A read returns what the session has written last, or something newer.
    pub read_your_writes: bool,
    /// A write wins over what the session has read of the key.
    pub writes_follow_reads: bool,
    /// A write wins over what the session has written to the key before.
    pub monotonic_writes: bool,
}

/// The name of one guarantee.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    MonotonicReads,
    ReadYourWrites,
    WritesFollowReads,
    MonotonicWrites,
}

impl From<Guarantees> for Vec<Name> {
    fn from(asked: Guarantees) -> Self {
        let each = [
            (asked.monotonic_reads, Name::MonotonicReads),
            (asked.read_your_writes, Name::ReadYourWrites),
            (asked.writes_follow_reads, Name::WritesFollowReads),
            (asked.monotonic_writes, Name::MonotonicWrites),
        ];
        each.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, name)| name).collect()
    }
}

impl From<Vec<Name>> for Guarantees {
    fn from(names: Vec<Name>) -> Self {
        Self {
            monotonic_reads: names.contains(&Name::MonotonicReads),
            read_your_writes: names.contains(&Name::ReadYourWrites),
            writes_follow_reads: names.contains(&Name::WritesFollowReads),
            monotonic_writes: names.contains(&Name::MonotonicWrites),
        }
    }
}

/// The levels of reads: their names, whether reads are monotonic, and whether they see the session's writes.
const READS: [(&str, bool, bool); 4] = [
    ("eventual", false, false),
    ("monotonic-read", true, false),
    ("read-your-writes", false, true),
    ("both", true, true),
];

/// The levels of writes: their names, whether they follow reads, and whether they are monotonic.
const WRITES: [(&str, bool, bool); 4] = [
    ("eventual", false, false),
    ("writes-follow-reads", true, false),
    ("monotonic-writes", false, true),
    ("both", true, true),
];

impl Guarantees {
    /// All four.
    pub const ALL: Self = Self {
        monotonic_reads: true,
        read_your_writes: true,
        writes_follow_reads: true,
        monotonic_writes: true,
    };
    /// None: eventual consistency.
    pub const NONE: Self = Self {
        monotonic_reads: false,
        read_your_writes: false,
        writes_follow_reads: false,
        monotonic_writes: false,
    };

    /// The level of reads, by name.
    pub fn reads(self) -> &'static str {
        name_of(&READS, self.monotonic_reads, self.read_your_writes)
    }

    /// The level of writes, by name.
    pub fn writes(self) -> &'static str {
        name_of(&WRITES, self.writes_follow_reads, self.monotonic_writes)
    }

    /// With another level of reads.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn with_reads(self, level: &str) -> Result<Self, UnknownLevel> {
        let (monotonic_reads, read_your_writes) = level_of("read", &READS, level)?;
        Ok(Self { monotonic_reads, read_your_writes, ..self })
    }

    /// With another level of writes.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn with_writes(self, level: &str) -> Result<Self, UnknownLevel> {
        let (writes_follow_reads, monotonic_writes) = level_of("write", &WRITES, level)?;
        Ok(Self { writes_follow_reads, monotonic_writes, ..self })
    }
}

fn name_of(levels: &[(&'static str, bool, bool); 4], first: bool, second: bool) -> &'static str {
    levels[usize::from(first) + 2 * usize::from(second)].0
}

fn level_of(
    what: &'static str,
    levels: &[(&'static str, bool, bool); 4],
    name: &str,
) -> Result<(bool, bool), UnknownLevel> {
    let found = levels.iter().find(|level| level.0.eq_ignore_ascii_case(name));
    found.map(|level| (level.1, level.2)).ok_or_else(|| UnknownLevel {
        what,
        name: name.to_string(),
        choices: levels.map(|level| level.0),
    })
}

impl Default for Guarantees {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for Guarantees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read={} write={}", self.reads(), self.writes())
    }
}

/// A level that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel {
    what: &'static str,
    name: String,
    choices: [&'static str; 4],
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, choices } = self;
        if *what == "level" {
            write!(f, "'{name}' is neither read=LEVEL nor write=LEVEL")
        } else {
            write!(f, "no {what} level is called '{name}'; choose one of {}", choices.join(", "))
        }
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Guarantees {
    type Err = UnknownLevel;

    /// Reads `read=LEVEL write=LEVEL`; what is left out is `both`.
    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        text.split_whitespace().try_fold(Self::ALL, |so_far, word| match word.split_once('=') {
            Some(("read", level)) => so_far.with_reads(level),
            Some(("write", level)) => so_far.with_writes(level),
            _ => Err(UnknownLevel {
                what: "level",
                name: word.to_string(),
                choices: READS.map(|level| level.0),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_parses_back() {
        for bits in 0..16 {
            let asked = Guarantees {
                monotonic_reads: bits & 1 > 0,
                read_your_writes: bits & 2 > 0,
                writes_follow_reads: bits & 4 > 0,
                monotonic_writes: bits & 8 > 0,
            };
            assert_eq!(asked.to_string().parse(), Ok(asked));
        }
        assert_eq!(Guarantees::NONE.to_string(), "read=eventual write=eventual");
        assert_eq!("".parse(), Ok(Guarantees::ALL));
        assert_eq!("write=eventual".parse::<Guarantees>().unwrap().to_string(), "read=both write=eventual");
    }

    #[test]
    fn a_level_that_does_not_exist_is_told_with_those_that_do() {
        let told = |text: &str| text.parse::<Guarantees>().unwrap_err().to_string();
        let all = "no write level is called 'causal'; choose one of eventual, writes-follow-reads, monotonic-writes, both";
        assert_eq!(told("write=causal"), all);
        assert!(told("read=writes-follow-reads").contains("monotonic-read, read-your-writes"));
        assert_eq!(told("eventual"), "'eventual' is neither read=LEVEL nor write=LEVEL");
    }
}
