//! Numbers that documents give for protocols are measured again. With `UPDATE_DOCS=1` they are brought up to date; then read the difference.

use crate::costs::{BESIDE, Cells, SINGLE, TRANSACTIONS};
use crate::harness::{said, tidemark};
use crate::searches::violations;
use crate::sentences::{Document, thousands, updating};
use crate::table::Table;
use serde_json::Value;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The protocols that are measured again whenever something changes: the default one, and those that it is compared with.
const FIVE: [&str; 5] = ["tidemark", "causal-spartan-x", "contrarian", "gentlerain", "eventual"];

/// The output of `tidemark protocols --table` for them.
static MEASURED: LazyLock<Cells> = LazyLock::new(|| Cells::measure(&FIVE));

const VISIBLE: &str = "VISIBLE p50 ms";

/// At most two decimals.
fn decimals(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// `docs/protocols.md` shows what `tidemark protocols` and its map print, word for word, and all protocols in its measured tables. What
/// is measured of five of them is what is shown.
#[test]
fn the_document_of_protocols_lists_them_and_shows_what_they_cost() {
    let mut document = Document::open("docs/protocols.md");
    let dir = TempDir::new().unwrap();
    let drawn = dir.path().join("models.svg");
    document.block(0, &said(&tidemark(&["protocols"])));
    document.block(1, &said(&tidemark(&["protocols", "--map", "--svg", drawn.to_str().unwrap()])));
    document.drawing("docs/img/models.svg", &std::fs::read_to_string(&drawn).unwrap());
    let shown = Cells::of(document.shown(2));
    let json: Value = serde_json::from_slice(&tidemark(&["protocols", "--json"]).stdout).unwrap();
    for protocol in json.as_array().unwrap() {
        let name = protocol["name"].as_str().unwrap();
        assert!(updating() || shown.rows(name) == 3, "{name} in the measured tables: {WHOLE}");
    }
    results_of_five(&mut document, &MEASURED);
    let differing = shown.only(&FIVE).differing(&MEASURED);
    assert!(updating() || differing.is_empty(), "{WHOLE}:\n{}", differing.join("\n"));
    document.check();
}

/// The command that brings the measured tables up to date.
const WHOLE: &str = "UPDATE_DOCS=1 cargo test -p tidemark --test cli the_document, and read the difference";

/// All measured tables of `docs/protocols.md`, word for word, and every sentence there that repeats a number.
#[test]
fn the_document_of_protocols_shows_all_that_is_measured() {
    let mut document = Document::open("docs/protocols.md");
    let measured = said(&tidemark(&["protocols", "--table"]));
    document.block(2, &measured);
    let cells = Cells::of(&measured);
    results_of_five(&mut document, &cells);
    results(&mut document, &cells);
    hybrid(&mut document, &cells);
    let [nukv, accf] = ["nukv-published", "accf-published"].map(violations);
    document.says("Of 2,000 schedules without faults {} have a violation", &[thousands(nukv)]);
    document.says("({} of 2,000 schedules without faults have a violation)", &[thousands(accf)]);
    document.check();
}

/// Compares sentences of the section *Results*, and above it, on five protocols alone.
fn results_of_five(document: &mut Document, cells: &Cells) {
    let visible = |protocol: &str| cells.number(BESIDE, protocol, VISIBLE);
    assert_eq!(visible("contrarian"), visible("causal-spartan-x"));
    document.says(
        "a remote write is visible after {} ms, the one-way latency, where `causal-spartan-x` and `contrarian` take {} and `gentlerain` {}.",
        &["tidemark", "causal-spartan-x", "gentlerain"].map(visible),
    );
    document.says(
        "fresh too: {}% of the keys they read were stale, against {}%, {}% and {}%.",
        &cells.numbers(TRANSACTIONS, &FIVE[..4], &["STALE"]),
    );
    let more = more_bytes(cells);
    document.says("versions carry {} bytes more.", std::slice::from_ref(&more));
    document.says(
        "requests carry the session's vectors, {} bytes instead of {}.",
        &cells.numbers(SINGLE, &["tidemark", "causal-spartan-x"], &["ASK B2"]),
    );
    document.says(
        "in each θ: {} messages a second for each server",
        &cells.numbers(BESIDE, &["gentlerain"], &["S-S/s"]),
    );
}

/// Returns how many bytes more a version has under the default protocol than under the one that it comes from.
fn more_bytes(cells: &Cells) -> String {
    let bytes =
        |protocol: &str| cells.number(BESIDE, protocol, "VERSION B").parse::<f64>().expect("a number");
    decimals(bytes("tidemark") - bytes("causal-spartan-x"))
}

/// Compares sentences of the section *Results* on the other protocols.
fn results(document: &mut Document, cells: &Cells) {
    let [messages, bytes] = ["S-S", "S-S B"].map(|column| cells.number(SINGLE, "cc-lo", column));
    let bytes = thousands(bytes.parse().expect("a whole number"));
    document.says("its price for writes: {} messages and {} bytes for each PUT", &[messages, bytes]);
    document.says(
        "with waiting: {}% of its read-only transactions waited for a clock that was behind, {} ms each",
        &cells.numbers(TRANSACTIONS, &["cure"], &["WAITED", "FOR ms"]),
    );
    let stale = cells.numbers(TRANSACTIONS, &["wren"], &["STALE"]);
    document.says(
        "no transaction waited, {}% of the keys read were stale, and remote writes are visible as late as under `gentlerain`, after {} and {} ms",
        &[stale, cells.numbers(BESIDE, &["wren", "gentlerain"], &[VISIBLE])].concat(),
    );
    let both = ["eiger", "cops-gt"];
    document.says(
        "without its lists: {} bytes for each version instead of {}, and {} bytes for each reply to a GET instead of {}.",
        &[cells.whole(BESIDE, &both, &["VERSION B"]), cells.numbers(SINGLE, &both, &["ANSWER B"])].concat(),
    );
    let second = Table::measure(&["eiger"]).of("eiger", "transaction.rounds") - 1.0;
    document.says("Of its transactions {}% take a second round.", &[format!("{:.2}", 100.0 * second)]);
    let both = ["nukv", "eventual"];
    let asked = ["ASK B", "ASK B2"].map(|column| cells.numbers(SINGLE, &both, &[column])).concat();
    document.says(
        "than `eventual`: {} of metadata in a GET request instead of {}, {} in a PUT request instead of {}, and {} beside a version instead of {}.",
        &[asked, cells.whole(BESIDE, &both, &["VERSION B"])].concat(),
    );
    document.says("A session token has {} bytes.", &cells.whole(BESIDE, &["nukv"], &["TOKEN B"]));
}

/// The table of the section *Hybrid*.
fn hybrid(document: &mut Document, cells: &Cells) {
    let four = ["gentlerain", "cops", "okapi", "hybrid"];
    let busy = ["--sessions", "240", "--ops", "40000"];
    let (usual, busy) = (Table::measure(&four), Table::measure(&[&busy[..], &four].concat()));
    let of = |table: &Table, numbers: &[&str], written: fn(f64) -> String| {
        let mut all = Vec::new();
        for protocol in four {
            all.extend(numbers.iter().map(|number| written(table.of(protocol, number))));
        }
        all
    };
    document.says(
        "| a remote write is visible after (median, p99) | {}, {} ms | {}, {} ms | {}, {} ms | {}, {} ms |",
        &cells.numbers(BESIDE, &four, &[VISIBLE, "p99 ms"]),
    );
    for (line, table) in [("| ", &usual), ("| ten times the sessions: ", &busy)] {
        document.says(
            &format!("{line}stale GETs | {{}}% | {{}}% | {{}}% | {{}}% |"),
            &of(table, &["get.stale_share"], |share| format!("{:.2}", 100.0 * share)),
        );
        document.says(
            &format!("{line}messages for dependencies: a GET, a PUT | {{}}, {{}} | {{}}, {{}} | {{}}, {{}} | {{}}, {{}} |"),
            &of(table, &["get.near_messages", "put.near_messages"], decimals),
        );
        document.says(
            &format!("{line}metadata of a version | {{}} B | {{}} B | {{}} B | {{}} B |"),
            &of(table, &["updates.metadata_bytes"], |bytes| format!("{bytes:.1}")),
        );
    }
    // Messages that ask for dependencies, and tell of them, are sent when a key is read or written.
    let checks = |protocol: &str| {
        let of = |number: &str| usual.of(protocol, number);
        of("get.count") * of("get.near_messages") + of("put.count") * of("put.near_messages")
    };
    document.says(
        "with one message where COPS sends {}, because",
        &[format!("{:.0}", checks("cops") / checks("hybrid"))],
    );
    let each = 2.0 / usual.of("hybrid", "get.near_messages");
    document.says("so one GET in {} sent a check to one sibling.", &[format!("{each:.0}")]);
    let hops = [&usual, &busy].map(|table| table.of("hybrid", "get.hops_max"));
    document.says("({} hops were seen)", &[decimals(hops[0].max(hops[1]))]);
    let waited = cells.numbers(SINGLE, &four, &["WAITED"]);
    assert!(waited[..3].iter().all(|share| share == "0"), "{waited:?}");
    document.says(
        "| GETs that waited for other events than messages of their own | 0 | 0 | 0 | {}% |",
        &waited[3..],
    );
    document.says(
        "| GET p99 | {} ms | {} ms | {} ms | {} ms |",
        &of(&usual, &["get.latency_us_p99"], |us| format!("{:.1}", us / 1e3)),
    );
    document.says(
        "bytes a second | {}, {} | {}, {} | {}, {} | {}, {} |",
        &cells.numbers(BESIDE, &four, &["DC/s", "B/s"]),
    );
    let snapshots = cells.numbers(TRANSACTIONS, &["gentlerain", "okapi", "hybrid"], &["WAITED", "STALE"]);
    assert_eq!(snapshots[2], "0", "okapi: {snapshots:?}");
    document.says(
        "| transactions that waited, stale keys in them | {}%, {}% | (single reads) | {}, {}% | {}%, {}% |",
        &snapshots,
    );
}

/// The seeds of mutants that `docs/simulator.md` counts are those that are stored.
#[test]
fn the_document_of_the_simulator_counts_the_stored_seeds() {
    let stored = include_str!("../../../simulators/tests/seeds.txt");
    let seed = |line: &str| line.split_once("--seeds ")?.1.split_once("..")?.0.parse::<u64>().ok();
    let seeds: Vec<u64> = stored.lines().filter_map(seed).collect();
    let late = seeds.iter().filter(|seed| **seed >= 4_000).count();
    let latest = seeds.iter().max().copied().expect("a seed");
    let mut document = Document::open("docs/simulator.md");
    document.says(
        "a seed for each of all {}; {} of them are later ones, up to {}, which",
        &[seeds.len().to_string(), late.to_string(), thousands(latest)],
    );
    document.check();
}

/// The section *Cost and freshness* of `docs/tidemark-protocol.md`, and the bytes that other documents repeat.
#[test]
fn the_document_of_the_default_protocol_shows_what_is_measured() {
    let mut document = Document::open("docs/tidemark-protocol.md");
    let cells = &*MEASURED;
    document.says(
        "| a remote write is visible after, median | {} ms | {} ms | {} ms | {} ms | {} ms |",
        &cells.numbers(BESIDE, &FIVE, &[VISIBLE]),
    );
    for (of, table) in [("GET", SINGLE), ("transaction", TRANSACTIONS)] {
        document.says(
            &format!("| {of}: stale | {{}} % | {{}} % | {{}} % | {{}} % | {{}} |"),
            &cells.numbers(table, &FIVE, &["STALE"]),
        );
    }
    document.says(
        "and hops between servers | {}, {} | {}, {} | {}, {} | {}, {} | {}, {} |",
        &cells.numbers(TRANSACTIONS, &FIVE, &["ROUNDS", "HOPS"]),
    );
    let waited = cells.numbers(TRANSACTIONS, &FIVE, &["WAITED"]);
    assert!([0, 1, 2, 4].iter().all(|at| waited[*at] == "0"), "{waited:?}");
    document.says("| transactions that blocked | none | none | none | {} % | none |", &waited[3..4]);
    let mut messages = cells.whole(TRANSACTIONS, &FIVE, &["C-S", "S-S"]);
    // Under contrarian and eventual servers send each other nothing.
    assert_eq!([messages.remove(9), messages.remove(5)], ["0", "0"]);
    document.says("with clients and between servers | {} + {} | {} + {} | {} | {} + {} | {} |", &messages);
    document.says(
        "in replies, between servers | {}, {}, {} | {}, {}, {} | {}, {}, {} | {}, {}, {} | {}, {}, {} |",
        &cells.numbers(TRANSACTIONS, &FIVE, &["ASK B", "ANSWER B", "S-S B"]),
    );
    document.says(
        "| PUT: metadata bytes in the request, in the reply | {}, {} | {}, {} | {}, {} | {}, {} | {}, {} |",
        &cells.numbers(SINGLE, &FIVE, &["ASK B2", "ANSWER B2"]),
    );
    document.says(
        "| replicated version: metadata bytes | {} | {} | {} | {} | {} |",
        &cells.numbers(BESIDE, &FIVE, &["VERSION B"]),
    );
    document
        .says("| session token, bytes | {} | {} | {} | {} | {} |", &cells.whole(BESIDE, &FIVE, &["TOKEN B"]));
    published(&mut document);
    document.check();
    let mut durability = Document::open("docs/durability.md");
    durability.says("its versions carry {} bytes more in a message", &[more_bytes(cells)]);
    durability.check();
}

/// The shares that are published of the experiment `transactions`.
fn published(document: &mut Document) {
    let shown = tidemark(&["experiment", "show", "transactions", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", said(&shown)));
    let statements = shown["published"]["statements"].as_array().expect("a list");
    let of_gets =
        |one: &Value| one["says"].as_str().is_some_and(|says| says.ends_with("stale under Tidemark"));
    let first = statements.iter().position(of_gets).expect("the statement on GETs");
    let stale = &statements[first..][..3];
    assert!(stale[1]["says"] == "under Cure" && stale[2]["says"] == "under Wren", "{stale:?}");
    let stale: Vec<String> =
        stale.iter().map(|one| format!("{:.2}", one["value"].as_f64().expect("a number"))).collect();
    document
        .says("With 15 % of them {} % of GETs are stale, {} % under `cure` and {} % under `wren`.", &stale);
}

/// The same seed plays the same schedule: the table of `docs/roaming.md` is that of `tidemark demo roaming`.
#[test]
fn the_document_of_roaming_shows_what_is_played() {
    let mut document = Document::open("docs/roaming.md");
    let played = said(&tidemark(&["demo", "roaming"]));
    let (_, from_table) = played.split_once("\n\n").expect("a story before the table");
    let (table, _) = from_table.split_once("\nServed at once").expect("a violation behind it");
    assert!(table.starts_with("GIVES UP"), "{table}");
    document.block(0, table);
    document.check();
}
