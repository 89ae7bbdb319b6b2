//! The dissertation's chapter 6, played: who serves a traveller at once under a cut is convicted, and each remedy is clean
//! and costs what it gives up.

use tidemark_protocols::{CausalSpartanX, GentleRain};
use tidemark_registry::factory_of;
use tidemark_sim::roaming::{Costs, Remedy, roam};

/// Longer than any delay without a cut.
const LONG_US: u64 = 1_000_000;

fn spartan(remedy: Remedy, seed: u64) -> Costs {
    let costs = roam(factory_of::<CausalSpartanX>(), remedy, seed).unwrap();
    println!("{costs:?}");
    costs
}

#[test]
fn a_store_that_serves_travellers_at_once_is_convicted() {
    for seed in 0..3 {
        let costs = spartan(Remedy::None, seed);
        assert!(costs.violations > 50, "{costs:?}");
        assert_eq!((costs.refused, costs.wait.p99_us), (0, 0), "it is always available");
        let violation = costs.violation.unwrap();
        // Proof 23: k1 is written, then k2; the traveller reads k2, moves, and misses k1.
        assert_eq!(violation.property.name(), "causal");
        let told = violation.to_string();
        assert!(told.contains("writes ") && told.contains("adopts the past of the line above"), "{told}");
        assert!(violation.steps.len() >= 4, "{told}");
    }
}

#[test]
fn waiting_is_clean_and_takes_as_long_as_the_cut() {
    for seed in 0..3 {
        let costs = spartan(Remedy::Wait, seed);
        assert_eq!((costs.violations, costs.refused), (0, 0), "{costs:?}");
        assert!(costs.wait.p99_us > 3 * LONG_US, "{costs:?}");
        assert_eq!(costs.stale_at_home.p99_us, 0, "local writes are visible at once");
    }
}

#[test]
fn refusing_is_clean_and_turns_away_those_who_come_under_the_cut() {
    for seed in 0..3 {
        let costs = spartan(Remedy::Refuse, seed);
        assert_eq!(costs.violations, 0, "{costs:?}");
        // The cut is half of the time; shortly after a write most are early even without it.
        assert!(costs.refused * 2 > costs.moves && costs.refused < costs.moves, "{costs:?}");
        assert!(costs.wait.p99_us < LONG_US / 50, "{costs:?}");
        assert_eq!(costs.stale_at_home.p99_us, 0, "{costs:?}");
    }
}

#[test]
fn stable_reads_are_clean_and_available_and_not_immediate() {
    for seed in 0..3 {
        let costs = roam(factory_of::<GentleRain>(), Remedy::StableReads, seed).unwrap();
        assert_eq!((costs.violations, costs.refused), (0, 0), "{costs:?}");
        assert!(costs.wait.p99_us < LONG_US, "{costs:?}");
        assert!(costs.stale_at_home.p99_us > LONG_US, "{costs:?}");
    }
}

#[test]
fn a_seed_says_it_all() {
    let digest = |seed| spartan(Remedy::Wait, seed).digest;
    assert_eq!(digest(7), digest(7));
    assert_ne!(digest(7), digest(8));
}
