//! Searches whose results documents tell are repeated: the same seed plays the same schedule.

use crate::harness::{said, tidemark};
use crate::sentences::Document;
use serde_json::Value;
use std::path::Path;

/// Two data centres of two partitions: few actors meet often.
const SMALL: &str = "--dcs 2 --partitions 2 --sessions 4 --ops 40";

/// Plays schedules until one violates something, or all of them with `--keep-going`.
fn search(options: &str) -> Value {
    let output = tidemark(&[&["sim", "--json"], &options.split(' ').collect::<Vec<_>>()[..]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{options}: {}", said(&output)))
}

/// The seed of the first violation among so many, and the steps that shrinking leaves of it.
fn first(options: &str, most: u64) -> [String; 2] {
    let found = search(&format!("{options} --seeds 0..{most}"));
    let first = &found["counterexamples"][0];
    ["seed", "shrunk_steps"].map(|number| match first[number].as_u64() {
        Some(number) => number.to_string(),
        None => panic!("no violation: {options}: {found}"),
    })
}

/// The table of violations in `docs/simulator.md`. With `UPDATE_DOCS=1` it is brought up to date.
#[test]
fn the_document_of_the_simulator_tells_the_first_violations() {
    let mut document = Document::open("docs/simulator.md");
    document.says(&format!("(`{SMALL} --faults none`)"), &[]);
    for (row, options, error, end) in [
        ("`gentlerain-published`", "", "erratum E-1:", "whose writer's server is ahead of theirs"),
        (
            "`gentlerain` with a cut of each region's own (§5.5; `--dcs 3 --sessions 6 --exclusions`)",
            "--without ONE_CUT --exclusions",
            "erratum E-11:",
            "one region shows what another hides",
        ),
        ("`causal-spartan-x-published`", "", "erratum E-3:", "a fresh read is treated as stable"),
        ("`cc-lo-published` (`--partitions 3`)", "", "erratum E-5:", "of what another slice returns"),
        ("`nukv-published`", "", "erratum E-6a:", "does not read it in another region"),
        ("`accf-published`", "", "erratum E-7:", "does not see what it has just written"),
        ("`cops-published`", "", "erratum E-4:", "satisfies a dependency check"),
    ] {
        let protocol = row.split('`').nth(1).expect("a name");
        let mut schedules = SMALL.to_string();
        for (small, other) in
            [("--dcs 2", "--dcs 3"), ("--sessions 4", "--sessions 6"), ("--partitions 2", "--partitions 3")]
        {
            if row.contains(other) {
                schedules = schedules.replace(small, other);
            }
        }
        let options = format!("--protocol {protocol} {schedules} --faults none {options}");
        let [seed, steps] = first(options.trim_end(), 20_000);
        document.says(&format!("| {row} | {{}} | {error}"), &[seed]);
        document.says(&format!("{end} | {{}} |"), &[steps]);
    }
    document.check();
}

/// Rules without which a schedule of a document violates something.
#[test]
fn schedules_that_documents_name_violate_something_without_their_rule() {
    let relays = "--protocol tidemark --dcs 3 --partitions 2 --sessions 4 --ops 40 --relays";
    let mut document = Document::open("docs/simulator.md");
    document.says("Without `BEATS_COME_LAST` seed 2955 of `tidemark` is not causal, and without `REPEATS_ARE_DROPPED` seed 21 has a gap.", &[]);
    for (rule, seed, verdict) in [("BEATS_COME_LAST", 2955, "causal"), ("REPEATS_ARE_DROPPED", 21, "stream")]
    {
        let found = search(&format!("{relays} --without {rule} --seeds {seed}..{}", seed + 1));
        assert_eq!(found["counterexamples"][0]["verdict"], verdict, "{rule}: {found}");
    }
}

/// Counts how many of 2,000 schedules without faults a protocol violates that follows a paper to the letter.
pub(crate) fn violations(protocol: &str) -> u64 {
    let options = format!("--protocol {protocol} {SMALL} --faults none --keep-going --seeds 0..2000");
    search(&options)["violations"].as_u64().expect("a number")
}

/// The names of schedules in `docs/edge-rules.md`, and the options with which they are played.
const KINDS: [(&str, &str, &str); 5] = [
    ("fewer ", "--edge 2 --dcs 2 --partitions 2 --sessions 4 --ops 30", ""),
    ("lost ", "--edge 2 --dcs 2 --partitions 2 --sessions 4 --ops 30", " --exclusions"),
    ("K = 1, ", "--edge 2 --dcs 2 --partitions 2 --sessions 4 --ops 30", " --exclusions --edge-k1"),
    ("three ", "--edge 3 --partitions 2 --sessions 6 --ops 60", ""),
    ("two ", "--edge 3 --dcs 2 --partitions 2 --sessions 4 --ops 24", ""),
];

/// Every single schedule in the tables of `docs/edge-rules.md` violates something without its rule. Ranges of seeds are searched by the
/// tests of the simulator.
#[test]
fn the_schedules_of_edge_rules_need_their_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/edge-rules.md");
    let text = std::fs::read_to_string(path).unwrap();
    for (_, options, more) in KINDS {
        assert!(text.contains(&format!("`{options}`")), "{options}");
        assert!(more.split_whitespace().all(|option| text.contains(&format!("`{option}`"))), "{more}");
    }
    let mut played = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, rules, shown, ""] = cells[..] else { continue };
        for (kind, options, more) in KINDS {
            let Some((_, seed)) = shown.split_once(kind) else { continue };
            let Ok(seed) = seed.split([',', ';', ' ']).next().unwrap_or_default().parse::<u64>() else {
                continue;
            };
            for rule in rules.split('`').filter(|word| word.contains('_')) {
                let found = search(&format!("{options}{more} --seeds {seed}..{} --without {rule}", seed + 1));
                assert!(found["violations"].as_u64() > Some(0), "{rule}: {shown}: {found}");
                played += 1;
            }
        }
    }
    assert!(played > 15, "{played} rows name a schedule");
}
