//! Many seeds: run in order, on several threads, with results that do not depend on how many.

use crate::options::Options;
use crate::outcome::{RunOutcome, Stats};
use crate::report::Counterexample;
use crate::rng::mix;
use crate::run::Simulation;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use tidemark_core::history::History;
use tidemark_node::Factory;

/// What to run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The options of every schedule.
    pub options: Options,
    /// The seeds.
    pub seeds: Range<u64>,
    /// Go on after a violation.
    pub keep_going: bool,
    /// Threads.
    pub jobs: usize,
    /// How many violations are shrunk and explained; the others are only counted.
    pub explain: usize,
}

impl Campaign {
    /// The seeds, under some options: one thread, until the first violation, which is explained.
    pub fn new(options: Options, seeds: Range<u64>) -> Self {
        Self { options, seeds, keep_going: false, jobs: 1, explain: 1 }
    }
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Seeds that have run.
    pub done: u64,
    /// Seeds in all.
    pub of: u64,
    /// Violations so far.
    pub violations: u64,
}

/// What a campaign found.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The protocol.
    pub protocol: String,
    /// What its histories were held to.
    pub promise: String,
    /// The first seed.
    pub first_seed: u64,
    /// How many seeds ran.
    pub schedules: u64,
    /// Names all runs together; the same seeds give the same digest.
    pub digest: String,
    /// How many violated something.
    pub violations: u64,
    /// Violations by property, or kind of problem.
    pub by_verdict: BTreeMap<String, u64>,
    /// The seeds that did, at most a hundred of them.
    pub violating_seeds: Vec<u64>,
    /// The first of them, explained.
    pub counterexamples: Vec<Counterexample>,
    /// Counts, summed up.
    pub stats: Stats,
    /// The history of the first violation, or else of the last schedule.
    #[serde(skip)]
    pub history: Option<History>,
}

/// Seeds that a thread takes at a time.
const PORTION: u64 = 16;

/// What is kept of one run.
struct Kept {
    digest: u64,
    stats: Stats,
    /// The run itself, if it violates something or is the last one.
    outcome: Option<RunOutcome>,
}

/// Runs the seeds of `campaign` in order; `progress` is told now and then how far it is, from this thread.
pub fn campaign(
    factory: &'static dyn Factory,
    campaign: &Campaign,
    mut progress: impl FnMut(Progress),
) -> Summary {
    let simulation = Simulation::new(factory, campaign.options.clone());
    let mut summary = Summary {
        protocol: simulation.name().into(),
        promise: simulation.promise().to_string(),
        first_seed: campaign.seeds.start,
        schedules: 0,
        digest: String::new(),
        violations: 0,
        by_verdict: BTreeMap::new(),
        violating_seeds: Vec::new(),
        counterexamples: Vec::new(),
        stats: Stats::default(),
        history: None,
    };
    let mut digest = 0;
    let of = campaign.seeds.end.saturating_sub(campaign.seeds.start);
    in_order(&simulation, campaign, |kept| {
        digest = mix(digest, kept.digest);
        summary.schedules += 1;
        summary.stats.add(&kept.stats);
        let violates = kept.outcome.as_ref().is_some_and(|outcome| !outcome.ok());
        if let Some(outcome) = kept.outcome {
            summary.add(&simulation, campaign.explain, outcome);
        }
        progress(Progress { done: summary.schedules, of, violations: summary.violations });
        !violates || campaign.keep_going
    });
    summary.digest = format!("{digest:016x}");
    summary
}

impl Summary {
    fn add(&mut self, simulation: &Simulation, explain: usize, outcome: RunOutcome) {
        if outcome.ok() {
            if self.violations == 0 {
                self.history = Some(outcome.history);
            }
            return;
        }
        self.violations += 1;
        *self.by_verdict.entry(outcome.verdict().to_string()).or_default() += 1;
        if self.violating_seeds.len() < 100 {
            self.violating_seeds.push(outcome.seed);
        }
        if self.counterexamples.len() < explain {
            self.counterexamples.extend(simulation.counterexample(&outcome));
        }
        if self.violations == 1 {
            self.history = Some(outcome.history);
        }
    }
}

/// Hands the runs to `take` in the order of their seeds, until it says that it is enough.
fn in_order(simulation: &Simulation, campaign: &Campaign, mut take: impl FnMut(Kept) -> bool) {
    let (seeds, last) = (campaign.seeds.clone(), campaign.seeds.end.wrapping_sub(1));
    let run = |seed: u64| {
        let outcome = simulation.run(seed);
        let (digest, stats) = (outcome.digest, outcome.stats);
        Kept { digest, stats, outcome: (!outcome.ok() || seed == last).then_some(outcome) }
    };
    if campaign.jobs <= 1 {
        let _ = seeds.into_iter().map(run).all(take);
        return;
    }
    let portions = (seeds.end.saturating_sub(seeds.start)).div_ceil(PORTION);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel::<(u64, Vec<Kept>)>(4 * campaign.jobs);
        for _ in 0..campaign.jobs {
            let (send, next, seeds, run) = (send.clone(), &next, &seeds, &run);
            scope.spawn(move || {
                loop {
                    let portion = next.fetch_add(1, Ordering::Relaxed);
                    if portion >= portions {
                        return;
                    }
                    let first = seeds.start + portion * PORTION;
                    let kept = (first..(first + PORTION).min(seeds.end)).map(run).collect();
                    if send.send((portion, kept)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut early: BTreeMap<u64, Vec<Kept>> = BTreeMap::new();
        let mut expected = 0;
        for (portion, kept) in receive {
            early.insert(portion, kept);
            while let Some(kept) = early.remove(&expected) {
                expected += 1;
                if !kept.into_iter().all(&mut take) {
                    return; // the threads notice that nobody receives
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_protocols::Eventual;
    use tidemark_registry::factory_of;

    fn small() -> Options {
        Options { dcs: 2, partitions: 2, sessions: 4, ops: 20, ..Options::default() }
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let one = Campaign { keep_going: true, ..Campaign::new(small(), 5..105) };
        let two = Campaign { jobs: 3, ..one.clone() };
        let (one, two) = (
            campaign(factory_of::<Eventual>(), &one, |_| ()),
            campaign(factory_of::<Eventual>(), &two, |_| ()),
        );
        assert_eq!((one.schedules, one.violations), (100, 0), "{:?}", one.counterexamples);
        assert_eq!(one.digest, two.digest);
        assert_eq!(one.stats, two.stats);
        assert_eq!(one.history, two.history);
    }

    #[test]
    fn a_campaign_stops_at_the_first_violation_unless_told_otherwise() {
        let options = Options { promise: Some(tidemark_core::Promise::Causal), ..small() };
        let stops = Campaign { explain: 0, jobs: 2, ..Campaign::new(options, 0..400) };
        let goes_on = Campaign { keep_going: true, ..stops.clone() };
        let (first, all) = (
            campaign(factory_of::<Eventual>(), &stops, |_| ()),
            campaign(factory_of::<Eventual>(), &goes_on, |_| ()),
        );
        assert_eq!(first.violations, 1);
        assert_eq!(first.violating_seeds[0], all.violating_seeds[0]);
        assert_eq!(all.schedules, 400);
        assert!(all.violations > 1);
    }
}
