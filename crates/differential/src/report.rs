//! What a campaign has found, and how it is told.

use crate::Words;
use std::collections::{BTreeMap, BTreeSet};

/// How two servers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was compared.
    pub what: String,
    /// Of redis-server.
    pub theirs: String,
    /// Of Tidemark.
    pub ours: String,
    /// What is the same for differences of one kind.
    pub kind: String,
}

impl Difference {
    /// A difference between replies to `words`.
    pub(crate) fn of_reply(words: &Words, theirs: &str, ours: &str) -> Self {
        let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
        let encoding = words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"ENCODING"));
        let class = if encoding { String::from } else { class };
        let kind = format!("{name}: {} / {}", class(theirs), class(ours));
        Self { what: "reply".into(), theirs: theirs.into(), ours: ours.into(), kind }
    }

    /// A difference between what the servers hold.
    pub fn of_state(what: &str, theirs: &str, ours: &str) -> Self {
        let kind = what.split(" of ").next().unwrap_or_default();
        Self { what: what.into(), theirs: theirs.into(), ours: ours.into(), kind: format!("state: {kind}") }
    }
}

/// A kind of difference, and the shortest sequence that shows it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How often it was found.
    pub count: usize,
    /// The sequence, from empty servers on.
    pub sequence: Vec<Words>,
    /// What differs after the sequence.
    pub difference: Difference,
}

/// What a campaign has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many commands both servers have executed.
    pub commands: usize,
    /// How often all that the servers hold was compared.
    pub states: usize,
    /// Commands of the table that Tidemark does not know: they were left out.
    pub unknown: BTreeSet<String>,
    /// Replies with which Tidemark refuses what it does not support, each with a command.
    pub refused: BTreeMap<String, String>,
    /// How many commands were left out, because redis-server draws lots for their replies.
    pub random: usize,
    /// Differences that are meant, by their reason.
    pub intended: BTreeMap<&'static str, usize>,
    /// All others, the shortest first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Counts one more of a kind that is known.
    pub(crate) fn count(&mut self, kind: &str) {
        if let Some(finding) = self.findings.iter_mut().find(|finding| finding.difference.kind == kind) {
            finding.count += 1;
        }
    }

    /// Of one kind and one last command the shortest sequence is kept.
    pub(crate) fn add(&mut self, finding: Finding) {
        let name = |finding: &Finding| finding.sequence.last().map(|words| words[0].to_ascii_uppercase());
        let same = |other: &&mut Finding| {
            other.difference.kind == finding.difference.kind && name(other) == name(&finding)
        };
        match self.findings.iter_mut().find(same) {
            None => self.findings.push(finding),
            Some(other) => {
                let count = other.count + 1;
                if finding.sequence.len() < other.sequence.len() {
                    *other = finding;
                }
                other.count = count;
            }
        }
    }

    /// The findings with their sequences, as redis-cli can read them, and all that was left out.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let difference = &finding.difference;
            text.push_str(&format!("--- {} ({} times)\n", difference.kind, finding.count));
            for words in &finding.sequence {
                text.push_str(&format!("{}\n", crate::line(words)));
            }
            let (what, theirs, ours) = (&difference.what, &difference.theirs, &difference.ours);
            text.push_str(&format!("    {what}\n    redis-server {theirs}\n    tidemark     {ours}\n"));
        }
        for (reason, count) in &self.intended {
            text.push_str(&format!("meant, {count} times: {reason}\n"));
        }
        if self.random > 0 {
            let why = "redis-server draws lots for their replies";
            text.push_str(&format!("left out, {} commands: {why}\n", self.random));
        }
        for (error, command) in &self.refused {
            text.push_str(&format!("refused: {command}: {error}\n"));
        }
        if !self.unknown.is_empty() {
            let unknown: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            text.push_str(&format!("left out, because Tidemark does not know them: {}\n", unknown.join(" ")));
        }
        text.push_str(&format!(
            "{} commands, all that is held compared {} times, {} kinds of differences\n",
            self.commands,
            self.states,
            self.findings.len()
        ));
        text
    }
}

/// What kind of reply it is: its type, or the beginning of an error without its numbers.
fn class(reply: &str) -> String {
    if let Some(error) = reply.strip_prefix('-') {
        let words = error.trim_end_matches("\\r\\n").split_whitespace().take(5);
        return words.collect::<Vec<_>>().join(" ").replace(|letter: char| letter.is_ascii_digit(), "#");
    }
    let null = ["$-1", "*-1", "_"].iter().any(|null| reply.starts_with(null));
    if null { "null".into() } else { reply.chars().take(1).collect() }
}
