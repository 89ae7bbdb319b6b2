//! Hybrid with one rule broken at a time.
//!
//! A GET that finds an older version than its session knows of looks into the newer one, which often mends what a rule was
//! to prevent. Three rules have a step test only, for what they prevent takes servers of a data centre that differ in
//! their stable time, and a read that does not look: `CHECKS_TELL_GST`, `ASKS_AFTER_OWN` and `FLOOR_IS_ADOPTED`.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::hybrid::{Rules, Server};

mutants! {
    AsksNobody breaks CHECKS_CAUSES;
    CausesAlone breaks CAUSES_HAVE_CAUSES;
    PutForgetsGst breaks PUT_CARRIES_GST;
    PutUnderPast breaks PUT_ABOVE_PAST;
    ForgetsOwn breaks FORGETS_ONLY_EVERYWHERE;
    RotxRushes breaks ROTX_WAITS;
    MarksLost breaks MARKS_SURVIVE;
    GstLost breaks GST_SURVIVES;
    MoversRush breaks MOVERS_WAIT;
    GstTravels breaks STABLE_STAYS_HOME;
}

#[test]
fn hybrid_with_a_rule_broken_is_convicted() {
    convicted::<Server<AsksNobody>>(20_000);
    convicted::<Server<PutUnderPast>>(20_000);
    convicted::<Server<RotxRushes>>(20_000);
    convicted::<Server<MarksLost>>(20_000);
    convicted::<Server<MoversRush>>(20_000);
    convicted_over::<Server<CausesAlone>>(3, 20_000);
    convicted_over::<Server<PutForgetsGst>>(3, 20_000);
    convicted_over::<Server<ForgetsOwn>>(3, 20_000);
    convicted_over::<Server<GstLost>>(3, 40_000);
    convicted_over::<Server<GstTravels>>(3, 20_000);
}
