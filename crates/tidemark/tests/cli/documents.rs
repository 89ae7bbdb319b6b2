//! What documents say of protocols is measured again. With `UPDATE_DOCS=1` they are brought up to date; then read the difference.

use crate::harness::{said, tidemark};
use crate::searches::violations;
use crate::sentences::Document;
use crate::table::Table;
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

/// What `tidemark protocols --table` measures if nothing else is said.
static USUAL: LazyLock<Table> = LazyLock::new(|| Table::measure(&[]));

/// Writes a number of some protocols in one way.
fn each(table: &Table, protocols: &[&str], number: &str, written: fn(f64) -> String) -> Vec<String> {
    protocols.iter().map(|protocol| written(table.of(protocol, number))).collect()
}

/// Some numbers of some protocols, protocol by protocol, each written in one way.
fn all(table: &Table, protocols: &[&str], numbers: &[&str], written: fn(f64) -> String) -> Vec<String> {
    let of = |number: &str, protocol: &str| written(table.of(protocol, number));
    protocols.iter().flat_map(|protocol| numbers.iter().map(move |number| of(number, protocol))).collect()
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

/// At most so many decimals.
fn decimals(number: f64, most: usize) -> String {
    let text = format!("{number:.most$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn short(number: f64) -> String {
    decimals(number, 1)
}

fn fine(number: f64) -> String {
    if number == 0.0 { "0".into() } else { format!("{number:.2}") }
}

fn percent(share: f64) -> String {
    fine(100.0 * share)
}

/// A number with a comma before its last three digits.
fn thousands(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

fn ms(us: f64) -> String {
    decimals(us / 1e3, 1)
}

/// What `docs/protocols.md` shows of `tidemark protocols`, its map and its table, word for word, the picture of the map beside it, and the
/// sentences that repeat measured numbers.
#[test]
fn the_document_of_protocols_shows_what_is_measured() {
    let mut document = Document::open("docs/protocols.md");
    let dir = TempDir::new().unwrap();
    let drawn = dir.path().join("models.svg");
    document.block(0, &said(&tidemark(&["protocols"])));
    document.block(1, &said(&tidemark(&["protocols", "--map", "--svg", drawn.to_str().unwrap()])));
    document.block(2, &said(&tidemark(&["protocols", "--table"])));
    results(&mut document, &USUAL);
    hybrid(&mut document, &USUAL);
    let [nukv, accf] = ["nukv-published", "accf-published"].map(violations);
    document.says("Of 2,000 schedules without faults {} have a violation", &[thousands(nukv)]);
    document.says("({} of 2,000 schedules without faults have a violation)", &[thousands(accf)]);
    document.check();
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/img/models.svg");
    let drawing = std::fs::read_to_string(&drawn).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(&picture, drawing).unwrap();
    }
    assert!(std::fs::read_to_string(&picture).unwrap() == drawing, "docs/img/models.svg is another one");
}

/// The section *Results*, and what stands above it of stabilisation.
fn results(document: &mut Document, table: &Table) {
    let visible = "updates.visible_us_p50";
    assert_eq!(table.of("contrarian", visible), table.of("causal-spartan-x", visible));
    document.says(
        "a remote write is visible after {} ms, the one-way latency, where `causal-spartan-x` and `contrarian` take {} and `gentlerain` {}.",
        &each(table, &["tidemark", "causal-spartan-x", "gentlerain"], visible, ms),
    );
    document.says(
        "fresh too: {}% of the keys they read were stale, against {}%, {}% and {}%.",
        &each(
            table,
            &["tidemark", "causal-spartan-x", "contrarian", "gentlerain"],
            "transaction.stale_share",
            percent,
        ),
    );
    let version = |protocol: &str| table.of(protocol, "updates.metadata_bytes");
    let more = short(version("tidemark") - version("causal-spartan-x"));
    document.says("versions carry {} bytes more.", std::slice::from_ref(&more));
    document.says(
        "requests carry the session's vectors, {} bytes instead of {}.",
        &each(table, &["tidemark", "causal-spartan-x"], "put.request_bytes", whole),
    );
    document.says(
        "its price for writes: {} messages and {} bytes for each PUT",
        &[short(table.of("cc-lo", "put.near_messages")), whole(table.of("cc-lo", "put.server_bytes"))],
    );
    document.says(
        "pays for its snapshots with waiting: {}% of its read-only transactions waited for a clock that was behind, {} ms each",
        &[percent(table.of("cure", "transaction.waited_share")), ms(table.of("cure", "transaction.waited_us"))],
    );
    let [wren, gentlerain] = ["wren", "gentlerain"].map(|protocol| ms(table.of(protocol, visible)));
    document.says(
        "no transaction waited, {}% of the keys read were stale, and remote writes are visible as late as under `gentlerain`, after {} and {} ms",
        &[percent(table.of("wren", "transaction.stale_share")), wren, gentlerain],
    );
    let both = ["eiger", "cops-gt"];
    let of_both =
        [each(table, &both, "updates.metadata_bytes", whole), each(table, &both, "get.reply_bytes", whole)];
    document.says(
        "without its lists: {} bytes for each version instead of {}, and {} bytes for each reply to a GET instead of {}.",
        &of_both.concat(),
    );
    let second = percent(table.of("eiger", "transaction.rounds") - 1.0);
    document.says("Of its transactions {}% take a second round.", &[second]);
    let both = ["nukv", "eventual"];
    let bytes = ["get.request_bytes", "put.request_bytes", "updates.metadata_bytes"];
    let bytes = bytes.map(|number| each(table, &both, number, whole)).concat();
    document.says(
        "than `eventual`: {} of metadata in a GET request instead of {}, {} in a PUT request instead of {}, and {} beside a version instead of {}.",
        &bytes,
    );
    document.says("A session token has {} bytes.", &[whole(table.of("nukv", "token_bytes"))]);
    let messages = table.of("gentlerain", "background.near_messages");
    document.says("in each θ: {} messages a second for each server", &[whole(messages)]);
    let mut durability = Document::open("docs/durability.md");
    durability.says("its versions carry {} bytes more in a message", &[more]);
    durability.check();
}

/// The table of the section *Hybrid*.
fn hybrid(document: &mut Document, usual: &Table) {
    let four = ["gentlerain", "cops", "okapi", "hybrid"];
    let busy = Table::measure(&[&["--sessions", "240", "--ops", "40000"], &four[..]].concat());
    let stale = "transaction.stale_share";
    let fine = |number: f64| decimals(number, 2);
    document.says(
        "| a remote write is visible after (median, p99) | {}, {} ms | {}, {} ms | {}, {} ms | {}, {} ms |",
        &all(usual, &four, &["updates.visible_us_p50", "updates.visible_us_p99"], ms),
    );
    let messages = ["get.near_messages", "put.near_messages"];
    for (line, table) in [("| ", usual), ("| ten times the sessions: ", &busy)] {
        document.says(
            &format!("{line}stale GETs | {{}}% | {{}}% | {{}}% | {{}}% |"),
            &each(table, &four, "get.stale_share", percent),
        );
        document.says(
            &format!("{line}messages for dependencies: a GET, a PUT | {{}}, {{}} | {{}}, {{}} | {{}}, {{}} | {{}}, {{}} |"),
            &all(table, &four, &messages, fine),
        );
        document.says(
            &format!("{line}metadata of a version | {{}} B | {{}} B | {{}} B | {{}} B |"),
            &each(table, &four, "updates.metadata_bytes", short),
        );
    }
    assert!(
        ["gentlerain", "cops", "okapi"].iter().all(|protocol| usual.of(protocol, "get.waited_share") == 0.0)
    );
    document.says(
        "| GETs that waited for other events than messages of their own | 0 | 0 | 0 | {}% |",
        &[percent(usual.of("hybrid", "get.waited_share"))],
    );
    document
        .says("| GET p99 | {} ms | {} ms | {} ms | {} ms |", &each(usual, &four, "get.latency_us_p99", ms));
    document.says(
        "bytes a second | {}, {} | {}, {} | {}, {} | {}, {} |",
        &all(usual, &four, &["background.far_messages", "background.bytes"], whole),
    );
    assert_eq!(usual.of("okapi", "transaction.waited_share"), 0.0);
    let snapshots = ["gentlerain", "hybrid"];
    let waited = all(usual, &snapshots, &["transaction.waited_share", stale], percent);
    let [gentlerain, of_gentlerain, hybrid, of_hybrid] = &waited[..] else { panic!("two of each") };
    document.says(
        "| transactions that waited, stale keys in them | {}%, {}% | (single reads) | 0, {}% | {}%, {}% |",
        &[gentlerain, of_gentlerain, &percent(usual.of("okapi", stale)), hybrid, of_hybrid]
            .map(String::clone),
    );
}

/// The section *Cost and freshness* of `docs/tidemark-protocol.md`.
#[test]
fn the_document_of_the_default_protocol_shows_what_is_measured() {
    let mut document = Document::open("docs/tidemark-protocol.md");
    let five = ["tidemark", "causal-spartan-x", "contrarian", "gentlerain", "eventual"];
    document.says(
        "| a remote write is visible after, median | {} ms | {} ms | {} ms | {} ms | {} ms |",
        &each(&USUAL, &five, "updates.visible_us_p50", ms),
    );
    for (of, number) in [("GET", "get.stale_share"), ("transaction", "transaction.stale_share")] {
        assert_eq!(USUAL.of("eventual", number), 0.0);
        document.says(
            &format!("| {of}: stale | {{}} % | {{}} % | {{}} % | {{}} % | 0 |"),
            &each(&USUAL, &five[..4], number, percent),
        );
    }
    let rounds = ["transaction.rounds", "transaction.hops_max"];
    document.says(
        "and hops between servers | {}, {} | {}, {} | {}, {} | {}, {} | {}, {} |",
        &all(&USUAL, &five, &rounds, short),
    );
    let waited = each(&USUAL, &five, "transaction.waited_share", |share| percent(share));
    assert_eq!((&*waited[0], &*waited[1], &*waited[2], &*waited[4]), ("0", "0", "0", "0"));
    document.says("| transactions that blocked | none | none | none | {} % | none |", &waited[3..4]);
    let messages = ["transaction.client_messages", "transaction.near_messages"];
    let sent = all(&USUAL, &five, &messages, whole);
    assert_eq!((&*sent[5], &*sent[9]), ("0", "0"), "without messages between servers");
    let sent: Vec<String> =
        sent.into_iter().enumerate().filter(|(at, _)| ![5, 9].contains(at)).map(|(_, text)| text).collect();
    document.says("with clients and between servers | {} + {} | {} + {} | {} | {} + {} | {} |", &sent);
    let bytes = ["transaction.request_bytes", "transaction.reply_bytes", "transaction.server_bytes"];
    document.says(
        "in replies, between servers | {}, {}, {} | {}, {}, {} | {}, {}, {} | {}, {}, {} | {}, {}, {} |",
        &all(&USUAL, &five, &bytes, whole),
    );
    document.says(
        "| PUT: metadata bytes in the request, in the reply | {}, {} | {}, {} | {}, {} | {}, {} | {}, {} |",
        &all(&USUAL, &five, &["put.request_bytes", "put.reply_bytes"], whole),
    );
    document.says(
        "| replicated version: metadata bytes | {} | {} | {} | {} | {} |",
        &each(&USUAL, &five, "updates.metadata_bytes", short),
    );
    document.says(
        "| session token, bytes | {} | {} | {} | {} | {} |",
        &each(&USUAL, &five, "token_bytes", whole),
    );
    published(&mut document);
    document.check();
}

/// What it says of an experiment is what is published of that.
fn published(document: &mut Document) {
    let shown = tidemark(&["experiment", "show", "transactions", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", said(&shown)));
    let statements = shown["published"]["statements"].as_array().expect("a list");
    let first = statements
        .iter()
        .position(|one| one["says"].as_str().is_some_and(|says| says.ends_with("stale under Tidemark")));
    let stale = &statements[first.expect("the statement on GETs")..][..3];
    assert!(stale[1]["says"] == "under Cure" && stale[2]["says"] == "under Wren", "{stale:?}");
    let stale: Vec<String> = stale.iter().map(|one| fine(one["value"].as_f64().expect("a number"))).collect();
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
