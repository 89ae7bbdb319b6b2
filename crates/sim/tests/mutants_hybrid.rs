//! Hybrid with one rule broken at a time.
//!
//! A GET that finds an older version than its session knows of looks into the newer one, which often mends what a rule was
//! to prevent. Three rules have a step test only, for what they prevent takes servers of a data centre that differ in
//! their stable time, and a read that does not look: `CHECKS_TELL_GST`, `ASKS_AFTER_OWN` and `FLOOR_IS_ADOPTED`.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::hybrid::{Rules, Server};

mutants! {
    CHECKS_CAUSES,
    CAUSES_HAVE_CAUSES,
    PUT_CARRIES_GST,
    PUT_ABOVE_PAST,
    FORGETS_ONLY_EVERYWHERE,
    ROTX_WAITS,
    MARKS_SURVIVE,
    GST_SURVIVES,
    MOVERS_WAIT,
    STABLE_STAYS_HOME,
}

#[test]
fn hybrid_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&CHECKS_CAUSES, 20_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_PAST, 20_000);
    convicted::<Server<Mutant>>(&ROTX_WAITS, 20_000);
    convicted::<Server<Mutant>>(&MARKS_SURVIVE, 20_000);
    convicted::<Server<Mutant>>(&MOVERS_WAIT, 20_000);
    convicted_over::<Server<Mutant>>(&CAUSES_HAVE_CAUSES, 3, 20_000);
    convicted_over::<Server<Mutant>>(&PUT_CARRIES_GST, 3, 20_000);
    convicted_over::<Server<Mutant>>(&FORGETS_ONLY_EVERYWHERE, 3, 20_000);
    convicted_over::<Server<Mutant>>(&GST_SURVIVES, 3, 40_000);
    convicted_over::<Server<Mutant>>(&STABLE_STAYS_HOME, 3, 20_000);
}
