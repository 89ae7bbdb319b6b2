//! What deterministic crates must not contain: clocks, chance, threads, and the order of a hash table.
//!
//! A line that has to, and does no harm, says why: `// tidy: allowed, because …` on it or above it.

use super::{Finding, source::Source};

const CRATES: &[&str] = &[
    "core",
    "crdt",
    "contract",
    "protocols",
    "store",
    "replica",
    "group",
    "node",
    "sim",
    "check",
    "edge",
    "workload",
];

/// Where real files are touched, and the only place.
const EXEMPT: &[&str] = &["crates/store/src/disk/real", "crates/sim/src/campaign.rs"];

const FORBIDDEN: &[(&str, &str)] = &[
    ("Instant::now", "time is an argument"),
    ("SystemTime", "time is an argument"),
    ("thread::spawn", "a driver brings threads"),
    ("thread::scope", "a driver brings threads"),
    ("rand::rng", "chance comes from the seed"),
    ("thread_rng", "chance comes from the seed"),
    ("Rng::new()", "chance comes from the seed: Rng::with_seed"),
    ("RandomState", "its order differs from run to run"),
];

/// Ways to walk through a hash table.
const WALKS: &[&str] = &[
    ".iter()",
    ".iter_mut()",
    ".into_iter()",
    ".keys()",
    ".into_keys()",
    ".values()",
    ".values_mut()",
    ".into_values()",
    ".drain(",
    ".retain(",
    ".extract_if(",
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let exempt = EXEMPT.iter().any(|place| source.path.starts_with(place));
    if !CRATES.contains(&source.krate()) || source.is_test() || exempt {
        return Vec::new();
    }
    let tables = tables(source);
    let mut findings = Vec::new();
    for (number, line) in source.code() {
        if is_allowed(source, number) {
            continue;
        }
        let place = format!("{}:{number}", source.path);
        for (word, why) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
            findings.push(format!("{place}: {word} in a deterministic crate: {why}"));
        }
        if let Some(at) = line.find("fastrand::") {
            let next = line[at + "fastrand::".len()..].chars().next();
            if next.is_some_and(|letter| letter.is_ascii_lowercase()) {
                findings.push(format!("{place}: fastrand's own generator is seeded by chance: pass an Rng"));
            }
        }
        if let Some(table) = tables.iter().find(|table| walks(line, table)) {
            findings.push(format!(
                "{place}: the order of the hash table `{table}` is not defined: use a BTreeMap, or sort"
            ));
        }
    }
    findings
}

/// Names that are declared as hash tables in this file.
fn tables(source: &Source) -> Vec<String> {
    let mut tables = Vec::new();
    for (_, line) in source.code() {
        let Some(at) =
            ["HashMap<", "HashMap::", "HashSet<", "HashSet::"].iter().find_map(|word| line.find(word))
        else {
            continue;
        };
        let declared =
            line[..at].trim_end_matches(|c: char| c.is_alphanumeric() || "_:&".contains(c)).trim_end();
        let declared = declared.strip_suffix(':').or(declared.strip_suffix('=')).map(str::trim_end);
        let declared = declared.or_else(|| line[..at].trim_end().strip_suffix(':')).unwrap_or_default();
        let word = declared.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if !word.is_empty() {
            tables.push(word.to_string());
        }
    }
    tables
}

fn walks(line: &str, table: &str) -> bool {
    let walked = |at: usize| {
        let before = line[..at].chars().next_back();
        let after = &line[at + table.len()..];
        let whole = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let looped = line.contains("for ")
            && line[..at]
                .trim_end_matches(['&', '.'])
                .trim_end_matches("self")
                .trim_end_matches(['&', ' '])
                .trim_end_matches("mut")
                .trim_end_matches(['&', ' '])
                .ends_with(" in");
        whole && (WALKS.iter().any(|walk| after.starts_with(walk)) || (looped && after.starts_with(' ')))
    };
    line.match_indices(table).any(|(at, _)| walked(at))
}

fn is_allowed(source: &Source, number: usize) -> bool {
    let mut lines = source.text.lines().skip(number.saturating_sub(2)).take(2);
    lines.any(|line| line.contains("// tidy: allowed, because "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&Source { path: path.into(), text: text.into() })
    }

    #[test]
    fn clocks_chance_and_threads_are_found_outside_tests_and_comments() {
        let path = "crates/contract/src/x.rs";
        for bad in
            ["let t = Instant::now();", "std::thread::spawn(f);", "fastrand::u64(..)", "let r = Rng::new();"]
        {
            assert_eq!(found(path, bad).len(), 1, "{bad}");
            assert!(found(path, &format!("// {bad}")).is_empty());
            assert!(found(path, &format!("#[cfg(test)]\nmod tests {{ {bad} }}")).is_empty());
            assert!(found(path, &format!("// tidy: allowed, because it is a test\n{bad}")).is_empty());
            assert!(found("crates/server/src/x.rs", bad).is_empty());
            assert!(found("crates/store/src/disk/real.rs", bad).is_empty());
        }
        assert!(found(path, "use fastrand::Rng;").is_empty());
    }

    #[test]
    fn walking_through_a_hash_table_is_found_and_looking_things_up_is_not() {
        let with = |use_: &str| {
            found("crates/sim/src/x.rs", &format!("struct S {{\n    seen: HashMap<u8, u8>,\n}}\n{use_}"))
        };
        for bad in [
            "self.seen.iter()",
            "for (k, v) in &self.seen {",
            "for x in seen.values() {",
            "self.seen.retain(|_| true)",
        ] {
            assert_eq!(with(bad).len(), 1, "{bad}");
        }
        for fine in ["self.seen.get(&1)", "unseen.iter()", "seen.len()", "seen_at.iter()"] {
            assert!(with(fine).is_empty(), "{fine}");
        }
        assert_eq!(
            found("crates/sim/src/x.rs", "let mut open = HashSet::new();\nfor x in open.drain() {").len(),
            1
        );
    }
}
