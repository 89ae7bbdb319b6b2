//! The traits that every protocol implements stay small: each has a limit of members, which is lowered when members go and
//! is never raised. What few protocols need goes into `Extensions`, or into the component that needs it. Nor does the list
//! grow of names that `contract` exports from its root: what few protocols or only drivers need has the path of its module.

use super::{Finding, source::Source};

/// A file, its trait, and how many members that has.
const LIMITS: [(&str, &str, usize); 4] = [
    ("crates/contract/src/protocol.rs", "Protocol", 21),
    ("crates/contract/src/session.rs", "Session", 7),
    ("crates/contract/src/one_round.rs", "OneRound", 2),
    ("crates/contract/src/stabilised.rs", "StableTime", 10),
];

/// How many names `contract` exports from its root.
const EXPORTED: usize = 50;
const ROOT: &str = "crates/contract/src/lib.rs";

const HERE: &str = "xtask/src/tidy/members.rs";

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let at = |path: &str| sources.iter().find(|source| source.path == path);
    let traits = LIMITS.iter().map(|(path, name, limit)| {
        let count = at(path).and_then(|source| members(source, name));
        within(&format!("{path}: members of {name}"), count, *limit)
    });
    let exported = within(&format!("{ROOT}: exported names"), at(ROOT).map(exported), EXPORTED);
    traits.chain([exported]).flatten().collect()
}

fn within(what: &str, count: Option<usize>, limit: usize) -> Option<Finding> {
    match count {
        None => Some(format!("{what}: there are none any more: correct {HERE}")),
        Some(count) if count > limit => Some(format!("{what}: {count}, more than {limit} ({HERE})")),
        Some(count) if count < limit => Some(format!("{what}: {count}: lower the limit in {HERE}")),
        Some(_) => None,
    }
}

/// How many names a formatted root module exports.
fn exported(source: &Source) -> usize {
    let uses = source.text.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';'));
    uses.map(|(names, _)| names.split(',').filter(|name| !matches!(name.trim(), "" | "}")).count()).sum()
}

/// How many constants, types and functions a trait of a formatted file has.
fn members(source: &Source, name: &str) -> Option<usize> {
    let head = format!("pub trait {name}");
    let lines = source.text.lines();
    let mut body = lines.skip_while(|line| {
        line.strip_prefix(&head).is_none_or(|rest| rest.starts_with(|c: char| c.is_alphanumeric()))
    });
    body.next()?;
    let is_member =
        |line: &&str| ["    const ", "    type ", "    fn "].iter().any(|word| line.starts_with(word));
    Some(body.take_while(|line| *line != "}").filter(is_member).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_counted_to_the_end_of_their_trait() {
        let text = "pub trait ProtocolX {\n    fn x();\n}\npub trait Protocol: Sized {\n    const A: u8;\n    type B;\n    fn c() {\n        \
                    fn d() {}\n    }\n}\nimpl T {\n    fn e() {}\n}\n";
        let source = Source { path: "a.rs".into(), text: text.into() };
        assert_eq!(members(&source, "Protocol"), Some(3));
        assert_eq!(members(&source, "Session"), None);
    }

    #[test]
    fn a_trait_may_not_grow_and_a_limit_follows_it_down() {
        let with = |count: usize| {
            let body = "    fn f();\n".repeat(count);
            let path = "crates/contract/src/session.rs".into();
            check(&[Source { path, text: format!("pub trait Session<P> {{\n{body}}}\n") }])
        };
        let told = |count: usize| {
            let finding = with(count).into_iter().find(|finding| finding.contains("of Session"));
            finding.is_some()
        };
        assert_eq!([6, 7, 8].map(told), [true, false, true]);
    }

    #[test]
    fn exported_names_are_counted_one_by_one() {
        let text =
            "pub mod a;\npub use a::{A, B};\npub use b::{\n    C, D,\n    E,\n};\npub use c::F;\nuse d::G;\n";
        assert_eq!(exported(&Source { path: ROOT.into(), text: text.into() }), 6);
    }
}
