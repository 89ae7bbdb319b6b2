//! Conflicts that are resolved otherwise than by the last writer (GentleRain §4.4, D9): replicas converge, for a resolver is a
//! function of what it is asked about, and what lost stays until a later write has seen it.

use crate::playing::of_this_run;
use std::ops::Range;
use tidemark_check::{Options as Checks, Promise, Property, Violation, check_with};
use tidemark_protocols::GentleRain;
use tidemark_protocols::gentlerain::LOSERS_STAY;
use tidemark_registry::factory_of;
use tidemark_sim::{Options, Simulation};

/// Schedules of two data centres under all faults.
fn simulation(resolver: &str, more: Options) -> Simulation {
    let params = [("resolver".to_string(), resolver.into())].into();
    let options = Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, params, ..more };
    Simulation::new(factory_of::<GentleRain>(), options)
}

/// The violations of convergence in a schedule, and whether its last words are not those of the last writer.
fn play(simulation: &Simulation, seed: u64) -> (Vec<Violation>, bool) {
    let history = simulation.run(seed).history;
    let checks = Checks { limit: 1, ..Checks::of(Promise::Eventual) };
    let converges = |violation: &Violation| violation.property == Property::Convergence;
    let otherwise = check_with(&history, checks).violations.iter().any(converges);
    let by_value = Checks { values_only: true, ..checks }; // whoever wins need not be the last writer
    let mut violations = check_with(&history, by_value).violations;
    violations.retain(converges);
    (violations, otherwise)
}

/// Requires that replicas converge in these schedules. Returns how many there were, and in how many the last words are not those of the
/// last writer.
fn converge(resolver: &str, more: Options, seeds: Range<u64>) -> (usize, usize) {
    let simulation = simulation(resolver, more);
    let (mut schedules, mut otherwise) = (0, 0);
    for seed in of_this_run(seeds) {
        let (violations, differs) = play(&simulation, seed);
        assert!(violations.is_empty(), "{resolver}, seed {seed}: {:?}", violations[0]);
        schedules += 1;
        otherwise += usize::from(differs);
    }
    (schedules, otherwise)
}

#[test]
fn resolvers_converge_on_what_the_last_writer_would_not_have_left() {
    for resolver in ["largest-value", "smallest-value"] {
        let (schedules, otherwise) = converge(resolver, Options::default(), 0..1_000);
        println!(
            "{otherwise} of {schedules} schedules end otherwise than by the last writer with {resolver}"
        );
        assert!(otherwise > schedules / 33, "{resolver}: {otherwise}");
    }
}

/// A region had collected a deletion which won elsewhere against a later value that had not seen it.
#[test]
fn a_deletion_that_a_region_has_forgotten_loses_in_all() {
    let (violations, _) = play(&simulation("smallest-value", Options::default()), 20_787_000_021);
    assert!(violations.is_empty(), "{violations:?}");
}

/// Until it decides, the last writer wins; with groups, too, whose leaders recover what is in conflict.
#[test]
fn an_application_that_does_not_decide_leaves_what_the_last_writer_does() {
    for replicas in [1, 3] {
        let (_, otherwise) = converge("application", Options { replicas, ..Options::default() }, 0..300);
        assert_eq!(otherwise, 0);
    }
}

/// Some replicas have dropped what wins at others.
#[test]
fn replicas_that_drop_what_lost_are_convicted() {
    let without = vec![LOSERS_STAY];
    let mutant = simulation("largest-value", Options { without, ..Options::default() });
    let found = (0..2_000).find(|seed| !play(&mutant, *seed).0.is_empty());
    println!("seed {found:?}");
    assert!(found.is_some());
}
