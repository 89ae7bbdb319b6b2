//! What is wrong with a cluster file: where, what, and what to do about it.

use std::fmt;
use toml::de::{DeTable, DeValue};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place in the file, such as `node[2].listen`; empty for the whole file.
    pub place: String,
    /// Its line, if it stands in the file.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    /// A problem at `place`.
    pub fn new(place: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, what: what.into(), remedy: remedy.into() }
    }
}

/// Why a cluster file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// What is wrong with it: at least one thing, all that was found.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.file)?;
            if let Some(line) = problem.line {
                write!(f, ":{line}")?;
            }
            if !problem.place.is_empty() {
                write!(f, ": {}", problem.place)?;
            }
            write!(f, ": {}", problem.what)?;
            if !problem.remedy.is_empty() {
                write!(f, "\n    {}", problem.remedy)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// The line of `place` in `text`, or of the innermost table around it that stands there.
pub(super) fn line_of(text: &str, place: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut offset = None;
    for step in place.split('.') {
        let (key, index) = match step.split_once('[') {
            Some((key, rest)) => (key, rest.trim_end_matches(']').parse::<usize>().ok()),
            None => (step, None),
        };
        let Some((name, mut value)) = table.iter().find(|(name, _)| name.get_ref().as_ref() == key) else {
            break;
        };
        offset = Some(name.span().start);
        if let (Some(index), DeValue::Array(array)) = (index, value.get_ref()) {
            let Some(element) = array.get(index) else { break };
            offset = Some(element.span().start);
            value = element;
        }
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    offset.map(|offset| 1 + text[..offset].matches('\n').count())
}

/// The candidate nearest to `word`, if any is near enough to be what was meant.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|candidate| (distance(word, candidate), candidate));
    let (distance, candidate) = scored.min()?;
    (distance * 2 <= candidate.len()).then_some(candidate)
}

/// Levenshtein distance: how many letters must change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lead_to_lines() {
        let text = "[cluster]\nname = \"x\"\n\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[wan.rtt]\na = { b = \"1ms\" }\n";
        assert_eq!(line_of(text, "cluster.name"), Some(2));
        assert_eq!(line_of(text, "node[1].name"), Some(7));
        assert_eq!(line_of(text, "node[1].dir"), Some(6), "what is missing is where its table is");
        assert_eq!(line_of(text, "wan.rtt.a.b"), Some(9));
        assert_eq!(line_of(text, "limits"), None);
    }

    #[test]
    fn the_nearest_word_is_near() {
        assert_eq!(nearest("casual", ["eventual", "causal"]), Some("causal"));
        assert_eq!(nearest("paxos", ["eventual", "causal"]), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
