//! No rule is there for nothing: each is switched off by the table, or by a step test.

use super::table::{self, Mutants};
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use tidemark_protocols::{NAMES, Protocol, variants, with_protocol};
use tidemark_sim::{EDGE_RULES, GROUP_RULES, HOST_RULES, NODE_RULES, SAID_RULES};

fn all() -> Vec<(&'static str, Mutants)> {
    vec![
        table::accf(),
        table::causal_spartan_x(),
        table::cc_lo(),
        table::contrarian(),
        table::cops(),
        table::cops_gt(),
        table::cure(),
        table::eiger(),
        table::gentlerain(),
        table::hybrid(),
        table::nukv(),
        table::nukv_physical(),
        table::occult(),
        table::okapi(),
        table::orbe(),
        table::pocc(),
        table::tidemark(),
        table::wren(),
    ]
}

/// The Rust files in a directory, and in those that it holds.
fn files(place: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(place).into_iter().flatten() {
        let path = entry.expect("an entry of the directory").path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
}

/// Returns what stands in lists in these files, where tests name the rules that they play without, some with a seed; and the rules of the
/// variants that they play.
fn switched_off(files: &[PathBuf]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files {
        let text = read_to_string(file).expect("a test's source");
        let lists = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
        names.extend(lists.flat_map(|(list, _)| {
            list.split(',').map(|name| name.trim().trim_start_matches('(').to_string())
        }));
        let played =
            variants().filter(|(_, variant)| text.contains(&format!("as_published(\"{}\"", variant.name)));
        names
            .extend(played.flat_map(|(_, variant)| variant.without.iter().map(|rule| rule.name.to_string())));
    }
    names
}

/// The words of a test's source. A rule that is imported there is played without: the compiler refuses imports that nothing uses.
fn words(file: &str) -> BTreeSet<String> {
    let text = read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a test's source");
    text.split(|c: char| !c.is_alphanumeric() && c != '_').map(String::from).collect()
}

/// The step tests of a protocol, `NAME.rs` and what is in `NAME/`; those of components, which see to it themselves that they are
/// run for each protocol; and schedules of groups.
fn step_tests(protocol: &str) -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../steps/tests/all");
    let module = protocol.trim_end_matches("-physical").replace('-', "_");
    let groups = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/groups.rs");
    let components = ["stabilised.rs", "dependency_checked.rs"].map(|file| tests.join(file));
    let mut found = vec![tests.join(format!("{module}.rs")), groups];
    found.extend(components);
    files(&tests.join(module), &mut found);
    found
}

#[test]
fn each_rule_is_switched_off_by_a_test() {
    let table = all();
    for name in NAMES {
        let rules = with_protocol!(name, P => P::INFO.rules, otherwise &[]);
        let steps = switched_off(&step_tests(name));
        for rule in rules {
            let played =
                table.iter().any(|(of, mutants)| of == name && mutants.iter().any(|m| m.rule == *rule));
            let others = table::SAFE.iter().chain(&table::SOUGHT);
            let played = played || others.into_iter().any(|other| *other == (name, *rule));
            assert!(played || steps.contains(rule.name), "nothing is tested without {rule} of {name}");
        }
    }
}

#[test]
fn each_rule_of_groups_is_switched_off_by_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut tests = Vec::new();
    files(&crates.join("group/tests"), &mut tests);
    let mut names = switched_off(&tests);
    names.extend(words("tests/all/groups.rs"));
    names.extend(words("tests/all/mutants/table/synced.rs"));
    for rule in GROUP_RULES {
        assert!(names.contains(rule.name), "nothing is tested without {rule}");
    }
}

#[test]
fn each_rule_of_nodes_and_streams_is_switched_off_by_a_test() {
    let mut names = words("tests/all/nodes.rs");
    names.extend(words("tests/all/mutants/table/synced.rs"));
    for rule in HOST_RULES.iter().chain(SAID_RULES).chain(NODE_RULES) {
        assert!(names.contains(rule.name), "nothing is tested without {rule}");
    }
}

/// Schedules of simulators or of the client's model, or step tests, play without each; what the model leaves to others it names itself.
#[test]
fn each_rule_of_edge_clients_is_switched_off_by_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = |file: &str| read_to_string(crates.join(file)).expect("a test's source");
    let tests =
        ["simulators/tests/all/edge.rs", "edge/tests/all/client/rules.rs", "edge/tests/all/gateway/rules.rs"];
    let (named, model) = (tests.map(text).concat(), text("edge/tests/all/model.rs"));
    let elsewhere = model.split_once("let elsewhere = [").and_then(|(_, rest)| rest.split_once(']'));
    let (elsewhere, _) = elsewhere.expect("what the model leaves to others");
    for rule in EDGE_RULES {
        let played = named.contains(rule.name) || !elsewhere.contains(rule.name);
        assert!(played, "nothing is tested without {rule}");
    }
}

/// The table plays what is there: a rule of another protocol would be refused.
#[test]
fn the_table_plays_each_protocol_without_rules_of_its_own() {
    let table = all();
    assert_eq!(table.iter().map(|(_, mutants)| mutants.len()).sum::<usize>(), 232);
    for (name, mutants) in table {
        let rules = with_protocol!(name, P => P::INFO.rules, otherwise &[]);
        assert!(mutants.iter().all(|mutant| rules.contains(&mutant.rule)), "{name}");
    }
}
