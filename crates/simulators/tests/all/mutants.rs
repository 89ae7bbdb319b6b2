//! Mutants: a protocol without one rule that its correctness rests on violates something. So protocols that are wrong check the checker
//! of protocols.
//!
//! `tests/seeds.txt` has the commands that play them.

mod covered;
pub(crate) mod table;

use crate::playing::{Search, cleared, violating};
use table::{Mutant, Mutants};
use tidemark_contract::Rule;
use tidemark_protocols::gentlerain::{ONE_CUT, RETURN_WAITS};
use tidemark_protocols::{GentleRain, Protocol};
use tidemark_sim::{Faults, Options};

/// Requires a violation of each mutant of `protocol`.
fn each_violates(protocol: &str, mutants: Mutants) {
    let mut survive = Vec::new();
    for Mutant { rule, options, search } in mutants {
        let summary = violating(protocol, Options { without: vec![rule], ..options }, search, 0);
        println!("{protocol} without {rule}: {:?} {:?}", summary.violating_seeds.first(), summary.by_verdict);
        if summary.violations == 0 {
            survive.push(rule.name);
        }
    }
    assert!(survive.is_empty(), "no violation of {protocol} without {survive:?}");
}

/// A test for each protocol of the table.
macro_rules! mutants_of {
    ($($protocol:ident)*) => {$(
        #[test]
        fn $protocol() {
            let (name, mutants) = table::$protocol();
            each_violates(name, mutants);
        }
    )*};
}

mutants_of! {
    accf causal_spartan_x cc_lo contrarian cops cops_gt cure eiger gentlerain hybrid nukv nukv_physical occult okapi orbe pocc
    tidemark wren
}

#[test]
fn what_names_few_dependencies_one_by_one_keeps_its_promise() {
    for (name, rule) in table::SAFE {
        for partitions in [2, 3] {
            let options = Options { without: vec![rule], partitions, ..table::few() };
            cleared(name, options, 0..2_000);
        }
    }
}

/// Reference: erratum E-11. Of two survivors each hides what the third wrote after its own stable time, as §5.5 has it.
/// A writes, C reads it, and who moves from C to B with that does not find it there; or who reads in B what was
/// written in C by one who had read it.
#[test]
fn gentlerain_as_published_violates_causality_by_traces_of_e_11() {
    violates_alone(ONE_CUT, 3, 4);
}

/// Reference: erratum E-11. A data centre that is simply counted again is waited for, and what has arrived of it shows
/// before the rest has.
#[test]
fn gentlerain_that_readmits_at_once_violates_causality_by_a_trace_of_e_11() {
    violates_alone(RETURN_WAITS, 2, 3);
}

/// With no faults, but that links are cut meanwhile, the first violation of the mutant is of causality, in so many steps at most, and
/// the protocol violates nothing with that seed.
#[track_caller]
fn violates_alone(rule: Rule, dcs: usize, steps: usize) {
    let quiet = Options { faults: Faults::NONE, ..table::away(dcs) };
    let broken = Options { without: vec![rule], ..quiet.clone() };
    let found = violating(GentleRain::INFO.name, broken, Search::Within(20_000), 1);
    let counterexample = found.counterexamples.first().expect("there is a violation");
    println!("{counterexample}");
    assert_eq!(counterexample.verdict, "causal");
    assert!(counterexample.shrunk_steps <= steps, "{} steps", counterexample.shrunk_steps);
    assert!(counterexample.replay.contains(&format!("--without {rule}")), "{}", counterexample.replay);
    cleared(GentleRain::INFO.name, quiet, counterexample.seed..counterexample.seed + 1);
}
