//! NuKV with one rule broken at a time, with its hybrid clock and without.

mod mutants;

use mutants::{convicted, few, without};
use std::sync::atomic::Ordering::Relaxed;
use tidemark_protocols::nukv::{Rules, Server};
use tidemark_sim::{Campaign, Summary, campaign};

mutants! {
    HYBRID,
    READS_WAIT,
    SV_SURVIVES,
    WRITES_ANSWER_IDX,
    TIES_ARE_BROKEN,
    DT_COVERS_READS,
    DT_COVERS_WRITES,
    PUT_ABOVE_DT,
    PUT_ABOVE_OBSERVED,
    PAST_MOVES,
}

#[test]
fn nukv_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&READS_WAIT, 5_000);
    convicted::<Server<Mutant>>(&SV_SURVIVES, 5_000);
    convicted::<Server<Mutant>>(&WRITES_ANSWER_IDX, 5_000);
    convicted::<Server<Mutant>>(&TIES_ARE_BROKEN, 5_000);
    convicted::<Server<Mutant>>(&DT_COVERS_READS, 5_000);
    convicted::<Server<Mutant>>(&DT_COVERS_WRITES, 5_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_DT, 5_000);
    convicted::<Server<Mutant>>(&PAST_MOVES, 5_000);
}

/// What a search finds in `nukv-physical` without `rule`.
fn physical_without(rule: &'static mutants::Switch, seeds: u64) -> Summary {
    let what = Campaign { jobs: 2, explain: 0, ..Campaign::new(few(), 0..seeds) };
    without(rule, || {
        HYBRID.on.store(false, Relaxed);
        let summary = campaign::<Server<Mutant>>(&what, |_| ());
        HYBRID.on.store(true, Relaxed);
        println!(
            "physical without {}: {:?} {:?}",
            rule.name,
            summary.violating_seeds.first(),
            summary.by_verdict
        );
        summary
    })
}

/// D7, D10: with a hybrid clock, which rises with all that arrives, a write wins over what it observed anyway.
#[test]
fn a_physical_clock_that_nobody_waits_for_is_convicted() {
    assert!(physical_without(&PUT_ABOVE_DT, 5_000).violations > 0);
    assert!(physical_without(&PUT_ABOVE_OBSERVED, 5_000).violations > 0);
}
