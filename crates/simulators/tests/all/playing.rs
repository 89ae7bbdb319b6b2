//! Campaigns by the name of a protocol, and how many of their schedules a run of the tests plays.
//!
//! `TIDEMARK_SCHEDULES` chooses ([`tidemark_patience`]). Where something has to be violated, a run plays the seed that `tests/seeds.txt`
//! stores; with `all` it searches from the first seed on.
//!
//! With `TIDEMARK_SEEDS_TO=FILE` each seed that violates what it has to is written there: `./x seeds` makes the table of that.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::sync::OnceLock;
use tidemark_patience::{Schedules, drawn};
use tidemark_sim::{Campaign, FaultKind, Options, Policies, Summary};
use tidemark_simulators::simulator;

/// The number of seeds after which the search for a rare violation gives up, when the table is written.
const RARE: u64 = 1_000_000;

/// The seeds of a campaign that this run plays. One seed alone is a schedule that is known for something: it is played by all runs.
pub(crate) fn of_this_run(seeds: Range<u64>) -> Range<u64> {
    if seeds.end - seeds.start == 1 { seeds } else { drawn(seeds) }
}

/// Plays a campaign as it is.
pub(crate) fn run(name: &str, what: &Campaign) -> Summary {
    simulator(name).expect("its simulator").campaign(what, &mut |_| ())
}

/// Plays this run's share of some schedules, and explains the first violation.
pub(crate) fn play(name: &str, options: Options, seeds: Range<u64>) -> Summary {
    run(name, &Campaign::new(options, of_this_run(seeds)))
}

/// Plays this run's share of some schedules, whatever they violate.
pub(crate) fn play_through(name: &str, options: Options, seeds: Range<u64>) -> Summary {
    let what = Campaign { keep_going: true, explain: 0, ..Campaign::new(options, of_this_run(seeds)) };
    run(name, &what)
}

/// Requires that some schedules violate nothing.
#[track_caller]
pub(crate) fn cleared(name: &str, options: Options, seeds: Range<u64>) -> Summary {
    let summary = play(name, options, seeds);
    let told: Vec<String> = summary.counterexamples.iter().map(ToString::to_string).collect();
    assert!(summary.violations == 0, "{}", told.join("\n"));
    summary
}

/// The length of a search for a violation.
#[derive(Clone, Copy)]
pub(crate) enum Search {
    /// In the first so many seeds.
    Within(u64),
    /// A search took too long to be repeated: the stored seed shows it.
    Stored,
}

/// Plays a schedule that must violate something, and explains the first `explain` violations. No violation is for the caller to judge. Where
/// power fails nothing that was acknowledged is lost: seeds were searched so, and what is lost hides what a rule is for.
pub(crate) fn violating(name: &str, options: Options, search: Search, explain: usize) -> Summary {
    let loses = options.faults.has(FaultKind::Power) && options.fsync == Policies::Drawn;
    let options = Options { fsync: if loses { Policies::Lossless } else { options.fsync }, ..options };
    let play = |seeds| run(name, &Campaign { explain, ..Campaign::new(options.clone(), seeds) });
    let stored = stored(name, &options);
    let at_once = || stored.map(|seed| play(seed..seed + 1));
    let Some(file) = std::env::var_os("TIDEMARK_SEEDS_TO") else {
        return match (search, Schedules::of_this_run()) {
            (Search::Within(count), Schedules::All) => play(0..count),
            _ => at_once().unwrap_or_else(|| {
                panic!("{}: no seed is stored for this: ./x seeds", command(name, &options, ".."))
            }),
        };
    };
    let within = match search {
        Search::Within(count) => count,
        Search::Stored => RARE,
    };
    let found = at_once().filter(|found| found.violations > 0).unwrap_or_else(|| play(0..within));
    if let Some(seed) = found.violating_seeds.first() {
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the file of seeds");
        let line = command(name, &options, &format!("{seed}..{}", seed + 1)) + "\n";
        file.write_all(line.as_bytes()).expect("a line of the file of seeds");
    }
    found
}

/// The command that plays these seeds.
fn command(name: &str, options: &Options, seeds: &str) -> String {
    format!("tidemark sim --protocol {name} --seeds {seeds}{options}")
}

/// The seed that the table stores for these options.
fn stored(name: &str, options: &Options) -> Option<u64> {
    static TABLE: OnceLock<BTreeMap<String, u64>> = OnceLock::new();
    let read = || {
        let lines = include_str!("../seeds.txt").lines().filter(|line| line.starts_with("tidemark"));
        let entry = |line: &str| {
            let (before, rest) = line.split_once("--seeds ")?;
            let (seeds, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let (first, _) = seeds.split_once("..")?;
            let after = if after.is_empty() { String::new() } else { format!(" {after}") };
            Some((format!("{before}--seeds ..{after}"), first.parse().ok()?))
        };
        lines.map(|line| entry(line).unwrap_or_else(|| panic!("seeds.txt: {line}"))).collect()
    };
    TABLE.get_or_init(read).get(&command(name, options, "..")).copied()
}
