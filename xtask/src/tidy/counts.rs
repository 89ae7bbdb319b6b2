//! Counts in documents are those of the lists that they count.

use super::Finding;
use crate::run::root;
use anyhow::{Context, Result};

/// The lists of client libraries' own tests: the names of their suites in the document, and of their files.
const SUITES: [(&str, &str); 3] =
    [("redis-py", "redis-py"), ("redis-py, asyncio", "redis-py-asyncio"), ("go-redis", "go-redis")];

/// The number of tests in lists, and what is expected of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    listed: usize,
    pass: usize,
    never: usize,
}

impl Counts {
    /// Counts the lines of a list.
    fn of(list: &str) -> Self {
        let count = |word: &str| list.lines().filter(|line| line.split(' ').next() == Some(word)).count();
        let [pass, todo, never, either] = ["pass", "todo", "never", "either"].map(count);
        Self { listed: pass + todo + never + either, pass, never }
    }

    fn and(self, other: Self) -> Self {
        Self {
            listed: self.listed + other.listed,
            pass: self.pass + other.pass,
            never: self.never + other.never,
        }
    }
}

pub(super) fn check() -> Result<Vec<Finding>> {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).with_context(|| path.to_string());
    let mut units = Counts::default();
    for entry in std::fs::read_dir(root().join("xtask/redis-tests"))? {
        units = units.and(Counts::of(&std::fs::read_to_string(entry?.path())?));
    }
    let suite = |(name, file): (&'static str, &str)| {
        Ok((name, Counts::of(&read(&format!("xtask/client-tests/{file}.txt"))?)))
    };
    let suites = SUITES.into_iter().map(suite).collect::<Result<Vec<_>>>()?;
    let mut findings = of_clients(&read("docs/clients.md")?, units, &suites);
    findings.extend(of_rust(&read("README.md")?, &read("Cargo.toml")?));
    Ok(findings)
}

/// Returns what the document on clients has to say, and does not.
fn of_clients(document: &str, units: Counts, suites: &[(&str, Counts)]) -> Vec<Finding> {
    let all = suites.iter().fold(Counts::default(), |sum, (_, counts)| sum.and(*counts));
    let sentences = [
        format!(
            "Of the {} that redis-server passes, {} have to pass here",
            thousands(units.listed),
            thousands(units.pass)
        ),
        format!("Of the {} tests that fail here", all.listed - all.pass),
        format!("{} what Tidemark does not have by design", all.never),
    ];
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(document);
    let missing = sentences.into_iter().filter(|sentence| !text.contains(sentence.as_str()));
    let rows = suites.iter().filter(|(name, counts)| {
        let (begin, end) = (format!("| {name} |"), format!("| {} | {} |", counts.listed, counts.pass));
        !document.lines().any(|line| line.starts_with(&begin) && line.ends_with(&end))
    });
    let rows =
        rows.map(|(name, counts)| format!("| {name} | (version) | {} | {} |", counts.listed, counts.pass));
    missing.chain(rows).map(|what| format!("docs/clients.md: its lists say: {what}")).collect()
}

/// Whether the README asks for the version of Rust that the packages ask for.
fn of_rust(readme: &str, manifest: &str) -> Option<Finding> {
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let sentence = format!("You need Rust {} or newer", version.unwrap_or_default().trim_matches('"'));
    (!readme.contains(&sentence)).then(|| format!("README.md: Cargo.toml says: {sentence}"))
}

/// A number with a comma before each three digits.
fn thousands(number: usize) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", thousands(number / 1_000), number % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lists_are_counted_by_what_is_expected() {
        let list = "# A list.\npass one\ntodo pass\nnever three\n     todo: a reason\neither four\n     a reason\npass five\n";
        assert_eq!(Counts::of(list), Counts { listed: 5, pass: 2, never: 1 });
    }

    #[test]
    fn a_document_that_counts_otherwise_is_found() {
        let units = Counts { listed: 1_718, pass: 1_002, never: 3 };
        let suites = [
            ("a", Counts { listed: 20, pass: 15, never: 2 }),
            ("b", Counts { listed: 2, pass: 2, never: 0 }),
        ];
        let text = "Of the 1,718 that redis-server\npasses, 1,002 have to pass here.\n| a | 1.0 | 20 | 15 |\n| b | 2.0 | 2 | 2 |\n\
                    Of the 5 tests that fail here, 3 x, and 2 what Tidemark does not have by design.\n";
        assert_eq!(of_clients(text, units, &suites), Vec::<Finding>::new());
        for (right, wrong) in [
            ("1,002", "1,001"),
            ("| 20 |", "| 21 |"),
            ("the 5 tests", "the 6 tests"),
            ("and 2 what", "and 1 what"),
        ] {
            assert_eq!(of_clients(&text.replace(right, wrong), units, &suites).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn the_version_of_rust_is_that_of_the_packages() {
        let manifest = "[workspace.package]\nrust-version = \"1.90\"\n";
        assert_eq!(of_rust("You need Rust 1.90 or newer, …", manifest), None);
        assert!(of_rust("You need Rust 1.89 or newer, …", manifest).is_some());
    }
}
