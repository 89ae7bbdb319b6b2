//! The names of a file that stand for a real time that has passed, or for a short duration.

use super::language::Language;
use super::text::{Statement, words};

#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    /// A real time that has passed.
    Passed,
    /// The time at which it was bound.
    Then,
    /// A duration below the patience.
    Short,
    /// A function, or a value, whose block is open: its end says more.
    Open,
    Other,
}

struct Name {
    name: String,
    meaning: Meaning,
    indentation: usize,
}

/// The names that are known at a statement, the latest last.
#[derive(Default)]
pub(super) struct Names(Vec<Name>);

impl Names {
    /// Whether a text mentions a real time that has passed.
    pub(super) fn passed(&self, text: &str, language: &Language) -> bool {
        let since = |rest| words(rest).next().is_some_and(|word| self.means(word, Meaning::Then));
        (language.passed)(text)
            || self.mentions(text, Meaning::Passed)
            || text.split(" - ").skip(1).any(since)
    }

    /// Whether a text mentions a duration below the patience.
    pub(super) fn short(&self, text: &str) -> bool {
        self.mentions(text, Meaning::Short)
    }

    fn mentions(&self, text: &str, meaning: Meaning) -> bool {
        words(text).any(|word| self.means(word, meaning))
    }

    fn means(&self, word: &str, meaning: Meaning) -> bool {
        let latest = self.0.iter().rev().find(|known| known.name == word);
        latest.is_some_and(|known| known.meaning == meaning)
    }

    /// Comes to a statement: forgets what was bound in blocks that have ended.
    pub(super) fn reach(&mut self, statement: &Statement) {
        let depth = |known: &Name| known.indentation + usize::from(known.meaning == Meaning::Open);
        self.0.retain(|known| depth(known) <= statement.indentation);
    }

    /// Notes what a statement binds. Of one that has a reason, or is found by itself, nothing is to be found later.
    pub(super) fn note(&mut self, statement: &Statement, language: &Language, settled: bool) {
        let text = statement.text.as_str();
        if !settled && self.ends_a_block_with_passed(text, language) {
            let open = self.0.iter_mut().rev().find(|known| known.meaning == Meaning::Open);
            open.into_iter().for_each(|known| known.meaning = Meaning::Passed);
        }
        let Some((names, value)) = binding(text) else { return };
        let meaning = match value {
            _ if settled => Meaning::Other,
            value if self.passed(value, language) => Meaning::Passed,
            value if (language.is_short)(value) => Meaning::Short,
            value if language.clocks.contains(&value.trim_end_matches(';')) => Meaning::Then,
            _ if text.ends_with('{') => Meaning::Open,
            _ => Meaning::Other,
        };
        let new = |name: &str| Name { name: name.into(), meaning, indentation: statement.indentation };
        self.0.extend(names.into_iter().map(new));
    }

    fn ends_a_block_with_passed(&self, text: &str, language: &Language) -> bool {
        let end = text.strip_prefix("return ").or_else(|| text.split_once(" }").map(|(end, _)| end));
        let plain = |c: char| c.is_alphanumeric() || "_.:()- ;".contains(c);
        end.is_some_and(|end| end.chars().all(plain) && self.passed(end, language))
    }
}

/// The names that a statement binds, and to what.
fn binding(text: &str) -> Option<(Vec<&str>, &str)> {
    for word in ["fn ", "function "] {
        if let Some((before, rest)) = text.split_once(word)
            && (before.is_empty() || before.ends_with(' '))
        {
            let body = rest.split_once('{').map_or("", |(_, body)| body);
            return Some((words(rest).take(1).collect(), body));
        }
    }
    let (pattern, value) = text.split_once(" = ")?;
    let mut pattern = words(pattern.split(": ").next()?);
    let keyword = pattern.find(|word| !["pub", "crate", "super", "export"].contains(word))?;
    if !["let", "const", "static", "var"].contains(&keyword) {
        return None;
    }
    let is_name = |word: &&str| {
        *word != "mut" && (word.starts_with(char::is_lowercase) || *word == word.to_uppercase())
    };
    Some((pattern.filter(is_name).collect(), value))
}
