//! Occult with one rule broken at a time.

mod mutants;

use mutants::convicted;
use tidemark_protocols::occult::{Rules, Server};

mutants! {
    BelievesSlaves breaks READS_ARE_VALIDATED;
    BelievesSets breaks SETS_ARE_VALIDATED;
    ForgetsReads breaks READS_JOIN_CT;
    WritesAlone breaks UPDATES_DEPEND_ON_CT;
    MovesEmpty breaks CT_MOVES;
}

#[test]
fn occult_with_a_rule_broken_is_convicted() {
    convicted::<Server<BelievesSlaves>>(20_000);
    convicted::<Server<BelievesSets>>(20_000);
    convicted::<Server<ForgetsReads>>(20_000);
    convicted::<Server<WritesAlone>>(20_000);
    convicted::<Server<MovesEmpty>>(20_000);
}
