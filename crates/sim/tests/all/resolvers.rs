//! Conflicts that are resolved otherwise than by the last writer (GentleRain §4.4, D9): replicas converge, for a resolver is a
//! function of what it is asked about, and what lost stays until a later write has seen it.

use tidemark_check::{Options as Checks, Promise, Property, Violation, check_with};
use tidemark_node::factory_of;
use tidemark_protocols::GentleRain;
use tidemark_protocols::gentlerain::LOSERS_STAY;
use tidemark_sim::{Options, Simulation};

/// Plays schedules of two data centres under all faults: what of convergence was violated, and in how many of them the
/// last words are not those of the last writer.
fn play(resolver: &str, more: Options, seeds: std::ops::Range<u64>) -> (Vec<Violation>, usize) {
    let params = [("resolver".to_string(), resolver.into())].into();
    let options = Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, params, ..more };
    let simulation = Simulation::new(factory_of::<GentleRain>(), options);
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
fn resolvers_converge_on_what_the_last_writer_would_not_have_left() {
    for resolver in ["largest-value", "smallest-value"] {
        let (violations, otherwise) = play(resolver, Options::default(), 0..1_000);
        assert!(violations.is_empty(), "{resolver}: {:?}", violations[0]);
        println!("{otherwise} schedules end otherwise than by the last writer with {resolver}");
        assert!(otherwise > 30, "{resolver}: {otherwise}");
    }
}

/// Until it decides, the last writer wins; with groups, too, whose leaders recover what is in conflict.
#[test]
fn an_application_that_does_not_decide_leaves_what_the_last_writer_does() {
    for replicas in [1, 3] {
        let (violations, otherwise) = play("application", Options { replicas, ..Options::default() }, 0..300);
        assert!(violations.is_empty(), "{:?}", violations[0]);
        assert_eq!(otherwise, 0);
    }
}

/// Some replicas have dropped what wins at others.
#[test]
fn replicas_that_drop_what_lost_are_convicted() {
    let without = vec![LOSERS_STAY];
    let (violations, _) = play("largest-value", Options { without, ..Options::default() }, 0..2_000);
    assert!(!violations.is_empty());
}
