//! `tidemark protocols --bound`: on which side of the lower bound for latency-optimal reads each protocol stands, as its executions
//! show.

use crate::output::table;
use tidemark_sim::{Bound, Bounded, GivesUp, Side};
use tidemark_simulators::simulator;

/// Runs the protocol called `name`, without the rules of these names.
///
/// # Errors
/// It has no such rule: a sentence for the user.
pub(super) fn row_of(name: &str, without: &[String], what: &Bound) -> Result<Option<Bounded>, String> {
    let Some(simulator) = simulator(name) else { return Ok(None) };
    let without = without.iter().map(|rule| simulator.rule(rule)).collect::<Result<_, _>>()?;
    Ok(Some(simulator.bound(&Bound { without, ..what.clone() })))
}

/// The table, for people.
pub(super) fn text(rows: &[Bounded], what: &Bound) -> String {
    let heading = COLUMNS.iter().map(|(title, _)| title.to_string()).collect();
    let line = |row| COLUMNS.iter().map(|(_, cell)| cell(row)).collect();
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(rows.iter().map(line)).collect();
    format!(
        "Executions of the simulator: two partitions of one data centre, and every set of {} readers.\n\n{}{}\n{LEGEND}",
        what.readers,
        table(&lines),
        without(rows),
    )
}

const LEGEND: &str = "\
ROUNDS    of requests and replies between a reader and servers, at most. HOPS: messages between servers, one caused by
          the other, before the reply. VERSIONS: of one key that a reader gets, at most.
BLOCKS    a server waits for something other than messages of the transaction.
OLD READ  what a reader is shown whose request to the server of x arrives before the write of x1, and whose request to
          that of y arrives after the write of y1, which depends on x1. `x0 y1` is no snapshot.
SEES y1   whoever reads later sees x1 and y1.
SETS      of readers. DISTINCT: different communications among them, from the first read until y1 is visible. BITS:
          the logarithm of that, which the longest communication has at least. BYTES: the shortest to the longest.
SIDE      Writes pay (DISTINCT is SETS) for reads that have everything: one round, one version, no blocking, snapshots, and
          all that is visible. Where writes do not pay, reads lack something.
";

type Column = (&'static str, fn(&Bounded) -> String);

const COLUMNS: &[Column] = &[
    ("PROTOCOL", |row| row.protocol.into()),
    ("ROUNDS", |row| row.rounds.to_string()),
    ("HOPS", |row| row.hops.to_string()),
    ("VERSIONS", |row| row.versions.to_string()),
    ("BLOCKS", |row| yes(row.blocks)),
    ("SNAPSHOT", |row| if row.snapshot { "kept".into() } else { "torn".into() }),
    ("OLD READ", |row| row.old_reads.iter().cloned().collect::<Vec<_>>().join(", ")),
    ("SEES y1", |row| yes(row.visible)),
    ("SETS", |row| row.reader_sets.to_string()),
    ("DISTINCT", |row| row.distinct.to_string()),
    ("BITS", |row| bits(row.bits)),
    ("BYTES", bytes),
    ("SIDE", side),
];

fn yes(is: bool) -> String {
    if is { "yes".into() } else { "no".into() }
}

fn bits(bits: f64) -> String {
    if bits.fract() == 0.0 { format!("{bits:.0}") } else { format!("{bits:.1}") }
}

fn bytes(row: &Bounded) -> String {
    match row.bytes_least == row.bytes_most {
        true => row.bytes_most.to_string(),
        false => format!("{}-{}", row.bytes_least, row.bytes_most),
    }
}

fn side(row: &Bounded) -> String {
    match row.side {
        Side::Pays => "writes pay".into(),
        Side::Contradicts => "contradicts the theorem".into(),
        Side::GivesUp => {
            let names = row.gives_up.iter().map(|what| name(*what));
            format!("lacks {}", names.collect::<Vec<_>>().join(", "))
        }
    }
}

fn name(what: GivesUp) -> &'static str {
    match what {
        GivesUp::OneRound => "one round",
        GivesUp::OneVersion => "one version",
        GivesUp::Nonblocking => "nonblocking",
        GivesUp::Visibility => "visibility",
        GivesUp::Snapshot => "snapshots",
    }
}

/// Says which rules were not kept, if the user left some out.
fn without(rows: &[Bounded]) -> String {
    let left_out = |row: &&Bounded| !row.without.is_empty() && !row.protocol.ends_with("-published");
    let line = |row: &Bounded| format!("\n{} without {}.", row.protocol, row.without.join(", "));
    let lines: String = rows.iter().filter(left_out).map(line).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}
