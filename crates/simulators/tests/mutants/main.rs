//! Mutants: of a protocol without one rule that its correctness rests on, a violation is found within a range of seeds. So
//! protocols that are wrong check the checker of protocols.
//!
//! `tidemark sim --protocol NAME --without RULE`, with the options of the table, plays one of them.

mod covered;
#[path = "../playing/mod.rs"]
mod playing;
mod table;

use playing::{cleared, play, search};
use table::Mutants;
use tidemark_contract::Rule;
use tidemark_protocols::gentlerain::{ONE_CUT, RETURN_WAITS};
use tidemark_protocols::{GentleRain, Protocol};
use tidemark_sim::{Campaign, Faults, Options};

/// How many schedules of one mutant a run of the tests plays at most.
const MOST: u64 = 4_000;

/// Requires violations of the mutants of `protocol`. [`table::RARE`] names some that need more schedules than are played here. Of the
/// others a third has to violate something: not each has been found over whole nodes yet in so few.
fn each_violates(protocol: &str, mutants: Mutants) {
    let (mut survive, mut played) = (Vec::new(), 0);
    for (rule, options, seeds) in mutants {
        if table::RARE.contains(&(protocol, rule.name)) {
            continue;
        }
        let options = Options { without: vec![rule], ..options };
        let what = Campaign { jobs: 2, explain: 0, ..Campaign::new(options, 0..seeds.min(MOST)) };
        let summary = search(protocol, &what);
        println!("{protocol} without {rule}: {:?} {:?}", summary.violating_seeds.first(), summary.by_verdict);
        played += 1;
        if summary.violations == 0 {
            survive.push(rule.name);
        }
    }
    assert!(3 * survive.len() <= 2 * played, "no violation of {protocol} without {survive:?}");
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
    violates_alone(ONE_CUT, 3, 2_191, 4);
}

/// Reference: erratum E-11. A data centre that is simply counted again is waited for, and what has arrived of it shows
/// before the rest has.
#[test]
fn gentlerain_that_readmits_at_once_violates_causality_by_a_trace_of_e_11() {
    violates_alone(RETURN_WAITS, 2, 19, 3);
}

/// With one seed and no faults, but that links are cut meanwhile, the mutant violates causality, and the protocol does not.
#[track_caller]
fn violates_alone(rule: Rule, dcs: usize, seed: u64, steps: usize) {
    let (quiet, seeds) = (Options { faults: Faults::NONE, ..table::away(dcs) }, seed..seed + 1);
    let broken = Options { without: vec![rule], ..quiet.clone() };
    let found = play(GentleRain::INFO.name, broken, seeds.clone());
    let counterexample = found.counterexamples.first().expect("there is a violation");
    println!("{counterexample}");
    assert_eq!(counterexample.verdict, "causal");
    assert!(counterexample.shrunk_steps <= steps, "{} steps", counterexample.shrunk_steps);
    assert!(counterexample.replay.contains(&format!("--without {rule}")), "{}", counterexample.replay);
    cleared(GentleRain::INFO.name, quiet, seeds);
}
