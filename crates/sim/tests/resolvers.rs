//! Conflicts that are resolved otherwise than by the last writer (GentleRain §4.4, D9): replicas converge if the
//! resolver is a function of what it is asked about, and only then.

use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_check::{Options as Checks, Promise, Property, Violation, check_with};
use tidemark_contract::Version;
use tidemark_contract::core::Hlc;
use tidemark_node::factory_of;
use tidemark_protocols::gentlerain::{Resolver, Server};
use tidemark_sim::{Options, Simulation};

/// The larger value wins.
struct Larger;

impl Resolver for Larger {
    fn newer_wins(older: &Version<Hlc>, newer: &Version<Hlc>) -> bool {
        older.write.value() <= newer.write.value()
    }
}

/// What wins depends on how often it was asked.
struct Fickle;

impl Resolver for Fickle {
    fn newer_wins(_: &Version<Hlc>, _: &Version<Hlc>) -> bool {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
    }
}

/// Plays schedules of two data centres under all faults: what of convergence was violated, and in how many of them the
/// last words are not those of the last writer.
fn play<R: Resolver>(seeds: std::ops::Range<u64>) -> (Vec<Violation>, usize) {
    let options = Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, ..Options::default() };
    let simulation = Simulation::new(factory_of::<Server<R>>(), options);
    let (mut violations, mut otherwise) = (Vec::new(), 0);
    for seed in seeds {
        let history = simulation.run(seed).history;
        let checks = Checks { limit: 1, ..Checks::of(Promise::Eventual) };
        let lost = check_with(&history, checks).violations;
        otherwise += usize::from(lost.iter().any(|violation| violation.property == Property::Convergence));
        let by_value = Checks { values_only: true, ..checks }; // whoever wins need not be the last writer
        violations.extend(check_with(&history, by_value).violations);
    }
    violations.retain(|violation| violation.property == Property::Convergence);
    (violations, otherwise)
}

#[test]
fn a_resolver_that_is_a_function_converges_on_what_the_last_writer_would_not_have_left() {
    let (violations, otherwise) = play::<Larger>(0..1_000);
    assert!(violations.is_empty(), "{:?}", violations[0]);
    println!("{otherwise} schedules end otherwise than by the last writer");
    assert!(otherwise > 30, "{otherwise}");
}

#[test]
fn a_resolver_that_is_none_is_convicted() {
    let (violations, _) = play::<Fickle>(0..300);
    assert!(!violations.is_empty());
}
