//! `tidemark protocols --table`: what each protocol costs, measured in the simulator, beside what papers say.

use super::papers::{Says, says_of};
use crate::output::table;
use serde::Serialize;
use tidemark_sim::{Measured, Measurement, Operation, TRANSACTION_KEYS};
use tidemark_simulators::Simulator;

/// What was measured of one protocol, and what is said of it.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    measured: Measured,
    paper: Option<&'static Says>,
}

/// Measures a protocol.
///
/// # Errors
/// It cannot be measured so: a sentence for the user.
pub(super) fn row_of(simulator: Simulator, what: &Measurement) -> Result<Row, String> {
    simulator.validate_measurement(what)?;
    let measured = simulator.measure(what);
    Ok(Row { paper: says_of(measured.protocol), measured })
}

/// The tables, for people.
pub(super) fn tables(rows: &[Row], what: &Measurement) -> String {
    let Measurement { dcs, partitions, sessions, ops, write_transactions, seed, .. } = what;
    let spread = TRANSACTION_KEYS.min(*partitions);
    let (of_them, together) = match write_transactions {
        0 => ("of them".to_string(), String::new()),
        share => (
            format!("of those that are no write transactions, {share}%,"),
            format!("Write transactions\n{}\n", table(&body(TOGETHER, rows))),
        ),
    };
    format!(
        "Measured in the simulator: {dcs} data centres of {partitions} partitions, {sessions} sessions, {ops} \
         operations, seed {seed}.\nHalf {of_them} GET, a quarter PUT, a quarter read-only transactions of \
         {TRANSACTION_KEYS} keys over {spread} partitions.\n\n\
         Read-only transactions\n{}\n{together}Reads and writes of one key\n{}\nVersions, sessions, background\n{}\n{LEGEND}",
        table(&body(TRANSACTIONS, rows)),
        table(&body(SINGLE, rows)),
        table(&body(BESIDE, rows)),
    )
}

const LEGEND: &str = "\
PAPER   the claim of a paper for the column before it; `tidemark protocols --table --json` names the paper.
ROUNDS  of requests and replies between a session and servers. HOPS: the longest chain of messages between servers
        before the reply; papers that count rounds through a coordinator count two hops as a round.
WAITED  the share of operations that a server blocked for other events than messages of their own, and how long.
STALE   the share of keys read of which the server had received a newer version before.
C-S     messages between sessions and servers; S-S between servers of a data centre; DC between data centres,
        replicated versions included. Bytes are metadata, without the keys and values of the operation, of all its
        messages: ASK in requests, ANSWER in replies, S-S between servers (without replicated versions).
VERSION metadata of a replicated version. TOKEN: the size of a session token.
VISIBLE from a write until a new session in another data centre reads it. AT ONCE: promised for writes in their own
        data centre, or the share of keys read of which a local version was missed.
S-S/s, DC/s, B/s  background messages of a server: within its data centre, to others; bytes.
";

type Column = (&'static str, fn(&Row) -> String);

const TRANSACTIONS: &[Column] = &[
    ("PROTOCOL", |row| row.measured.protocol.into()),
    ("ROUNDS", |row| rounds(&row.measured.transaction)),
    ("PAPER", |row| row.says(|says| says.rounds)),
    ("HOPS", |row| row.measured.transaction.hops_max.to_string()),
    ("VERSIONS", |row| versions(&row.measured.transaction)),
    ("PAPER", |row| row.says(|says| says.versions)),
    ("WAITED", |row| share(row.measured.transaction.waited_share)),
    ("PAPER", |row| row.says(|says| says.blocks)),
    ("FOR ms", |row| waited(&row.measured.transaction)),
    ("p50 ms", |row| ms(row.measured.transaction.latency_us_p50 as f64)),
    ("p99 ms", |row| ms(row.measured.transaction.latency_us_p99 as f64)),
    ("C-S", |row| few(row.measured.transaction.client_messages)),
    ("S-S", |row| few(row.measured.transaction.near_messages)),
    ("DC", |row| few(row.measured.transaction.far_messages)),
    ("ASK B", |row| whole(row.measured.transaction.request_bytes)),
    ("ANSWER B", |row| whole(row.measured.transaction.reply_bytes)),
    ("S-S B", |row| whole(row.measured.transaction.server_bytes)),
    ("STALE", |row| share(row.measured.transaction.stale_share)),
];

/// Of write transactions, and how stale what they have written is found.
const TOGETHER: &[Column] = &[
    ("PROTOCOL", |row| row.measured.protocol.into()),
    ("ROUNDS", |row| of_writes(row, rounds)),
    ("HOPS", |row| of_writes(row, |op| op.hops_max.to_string())),
    ("WAITED", |row| of_writes(row, |op| share(op.waited_share))),
    ("FOR ms", |row| of_writes(row, waited)),
    ("p50 ms", |row| of_writes(row, |op| ms(op.latency_us_p50 as f64))),
    ("p99 ms", |row| of_writes(row, |op| ms(op.latency_us_p99 as f64))),
    ("C-S", |row| of_writes(row, |op| few(op.client_messages))),
    ("S-S", |row| of_writes(row, |op| few(op.near_messages))),
    ("DC", |row| of_writes(row, |op| few(op.far_messages))),
    ("STALE GET", |row| known(row.measured.get.stale_together_share)),
    ("STALE READ-ONLY", |row| known(row.measured.transaction.stale_together_share)),
    ("PUT'S, GET", |row| known(row.measured.get.stale_alone_share)),
    ("READ-ONLY", |row| known(row.measured.transaction.stale_alone_share)),
];

const SINGLE: &[Column] = &[
    ("PROTOCOL", |row| row.measured.protocol.into()),
    ("GET ROUNDS", |row| rounds(&row.measured.get)),
    ("WAITED", |row| share(row.measured.get.waited_share)),
    ("STALE", |row| share(row.measured.get.stale_share)),
    ("ASK B", |row| whole(row.measured.get.request_bytes)),
    ("ANSWER B", |row| whole(row.measured.get.reply_bytes)),
    ("PUT ROUNDS", |row| rounds(&row.measured.put)),
    ("HOPS", |row| row.measured.put.hops_max.to_string()),
    ("WAITED", |row| share(row.measured.put.waited_share)),
    ("S-S", |row| few(row.measured.put.near_messages)),
    ("PAPER", |row| row.says(|says| says.write_messages)),
    ("DC", |row| few(row.measured.put.far_messages)),
    ("ASK B", |row| whole(row.measured.put.request_bytes)),
    ("PAPER", |row| row.says(|says| says.write_metadata)),
    ("ANSWER B", |row| whole(row.measured.put.reply_bytes)),
    ("S-S B", |row| whole(row.measured.put.server_bytes)),
    ("PAPER", |row| row.says(|says| says.server_metadata)),
];

const BESIDE: &[Column] = &[
    ("PROTOCOL", |row| row.measured.protocol.into()),
    ("VERSION B", |row| few(row.measured.updates.metadata_bytes)),
    ("TOKEN B", |row| few(row.measured.token_bytes)),
    ("VISIBLE p50 ms", |row| ms(row.measured.updates.visible_us_p50 as f64)),
    ("p99 ms", |row| ms(row.measured.updates.visible_us_p99 as f64)),
    ("AT ONCE", at_once),
    ("S-S/s", |row| whole(row.measured.background.near_messages)),
    ("DC/s", |row| whole(row.measured.background.far_messages)),
    ("B/s", |row| whole(row.measured.background.bytes)),
    ("CLOCK (paper)", |row| row.says(|says| says.clock)),
    ("TRACKS", |row| row.says(|says| says.tracks)),
    ("CHECKS", |row| row.says(|says| says.checks)),
];

fn of_writes(row: &Row, cell: fn(&Operation) -> String) -> String {
    row.measured.write_transaction.as_ref().map_or("-".into(), cell)
}

fn known(stale: Option<f64>) -> String {
    stale.map_or("-".into(), share)
}

impl Row {
    fn says(&self, what: fn(&Says) -> &'static str) -> String {
        self.paper.map_or("-", what).into()
    }
}

fn body(columns: &[Column], rows: &[Row]) -> Vec<Vec<String>> {
    let heading = columns.iter().map(|(title, _)| title.to_string()).collect();
    let line = |row| columns.iter().map(|(_, cell)| cell(row)).collect();
    std::iter::once(heading).chain(rows.iter().map(line)).collect()
}

fn rounds(op: &Operation) -> String {
    with_most(op.rounds, op.rounds_max)
}

fn versions(op: &Operation) -> String {
    with_most(op.versions, op.versions_max)
}

/// A mean, and the maximum where it is another number.
fn with_most(mean: f64, most: u32) -> String {
    if mean == f64::from(most) { few(mean) } else { format!("{mean:.2} (≤ {most})") }
}

fn at_once(row: &Row) -> String {
    match row.measured.local_at_once {
        true => "promised".into(),
        false => format!("misses {}", share(row.measured.missed_local_share)),
    }
}

fn waited(op: &Operation) -> String {
    if op.waited_share == 0.0 { "-".into() } else { ms(op.waited_us) }
}

fn ms(us: f64) -> String {
    format!("{:.1}", us / 1e3)
}

fn share(share: f64) -> String {
    if share == 0.0 { "0".into() } else { format!("{:.2}%", share * 100.0) }
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

fn few(number: f64) -> String {
    if number.fract() == 0.0 { whole(number) } else { format!("{number:.1}") }
}
