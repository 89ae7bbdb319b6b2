//! Occult with one rule broken at a time.

mod mutants;

use mutants::convicted;
use tidemark_protocols::occult::{Rules, Server};

mutants! {
    READS_ARE_VALIDATED,
    SETS_ARE_VALIDATED,
    READS_JOIN_CT,
    UPDATES_DEPEND_ON_CT,
    CT_MOVES,
}

#[test]
fn occult_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&READS_ARE_VALIDATED, 20_000);
    convicted::<Server<Mutant>>(&SETS_ARE_VALIDATED, 20_000);
    convicted::<Server<Mutant>>(&READS_JOIN_CT, 20_000);
    convicted::<Server<Mutant>>(&UPDATES_DEPEND_ON_CT, 20_000);
    convicted::<Server<Mutant>>(&CT_MOVES, 20_000);
}
