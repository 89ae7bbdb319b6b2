//! COPS with one rule broken at a time.

mod mutants;

use mutants::convicted;
use tidemark_protocols::cops::{Rules, Server};

mutants! {
    READS_ARE_NEAR,
    PUT_IS_NEAR,
    ASKS_SIBLINGS,
    LOSERS_WAIT,
    APPLIED_SURVIVES,
    WAITING_SURVIVES,
    FORGETS_ONLY_EVERYWHERE,
    MOVERS_WAIT,
    SPARES_WAITING,
}

#[test]
fn cops_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&READS_ARE_NEAR, 20_000);
    convicted::<Server<Mutant>>(&PUT_IS_NEAR, 20_000);
    convicted::<Server<Mutant>>(&ASKS_SIBLINGS, 20_000);
    convicted::<Server<Mutant>>(&LOSERS_WAIT, 20_000);
    convicted::<Server<Mutant>>(&APPLIED_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&WAITING_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&FORGETS_ONLY_EVERYWHERE, 20_000);
    convicted::<Server<Mutant>>(&MOVERS_WAIT, 20_000);
    convicted::<Server<Mutant>>(&SPARES_WAITING, 20_000);
}
