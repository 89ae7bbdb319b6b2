//! A checker of protocols is itself checked by protocols that are wrong. Each mutant breaks one rule that a
//! protocol's correctness rests on, and is convicted within a range of seeds.

use tidemark_contract::Protocol;
use tidemark_protocols::causal_spartan_x::{self as spartan, Rules as SpartanRules};
use tidemark_protocols::contrarian::{self, Rules as ContrarianRules};
use tidemark_protocols::gentlerain::{self as rain, Rules as RainRules};
use tidemark_protocols::tidemark::{self as own, Rules as OwnRules};
use tidemark_sim::{Campaign, Options, campaign};

macro_rules! mutants {
    ($($rules:ident $name:ident breaks $rule:ident;)*) => {$(
        struct $name;
        impl $rules for $name {
            const NAME: &'static str = concat!("mutant-", stringify!($name));
            const ABOUT: &'static str = concat!("without ", stringify!($rule));
            const $rule: bool = false;
        }
    )*};
}

mutants! {
    SpartanRules UtUnstable breaks UT_MUST_BE_STABLE;
    SpartanRules DsvLost breaks DSV_SURVIVES;
    SpartanRules StableTravels breaks STABLE_STAYS_HOME;
    SpartanRules PutForgetsDs breaks PUT_MERGES_DS;
    SpartanRules PutBelowFence breaks PUT_ABOVE_DSV;
    SpartanRules SliceUnfenced breaks SLICE_LIFTS;
    RainRules StampsRepeat breaks STAMPS_INCREASE;
    RainRules PutForgetsGst breaks PUT_CARRIES_GST;
    RainRules GstFalls breaks GST_NEVER_FALLS;
    RainRules GstLost breaks GST_SURVIVES;
    RainRules GstTravels breaks STABLE_STAYS_HOME;
    RainRules PutHurries breaks PUT_WAITS;
    RainRules RotxHurries breaks ROTX_WAITS;
    ContrarianRules SvForgetsDv breaks SV_COVERS_DV;
    ContrarianRules ReadLiftsNothing breaks READ_LIFTS_CLOCK;
    ContrarianRules PutUnderDv breaks PUT_ABOVE_DV;
    ContrarianRules AnswersCollected breaks REFUSES_COLLECTED;
    ContrarianRules ContrarianTravels breaks STABLE_STAYS_HOME;
    OwnRules GetUnfenced breaks GET_FENCES;
    OwnRules PutForgetsDsv breaks PUT_TAKES_DSV;
    OwnRules PutForgetsFence breaks PUT_TAKES_FENCE;
    OwnRules FreshIsStable breaks DS_IS_NOT_STABLE;
    OwnRules PutUnderFence breaks PUT_ABOVE_FENCE;
    OwnRules SliceLiftsNothing breaks SLICE_LIFTS;
    OwnRules AllCausesStable breaks FRESH_CAUSES_MAY_LACK;
    OwnRules NeedAboveFence breaks NEED_UNDER_FENCE;
    OwnRules SliceTellsNoFence breaks SLICE_FENCES;
    OwnRules CollectsAtOwn breaks COLLECTS_AT_SAFE;
    OwnRules ExceptionsDropped breaks EXCEPTIONS_UNTIL_SAFE;
    OwnRules OwnDsvLost breaks DSV_SURVIVES;
    OwnRules FenceLost breaks FENCE_SURVIVES;
    OwnRules OwnDsvTravels breaks STABLE_STAYS_HOME;
}

/// Hunts for a violation in `seeds` schedules of a few actors under all faults.
#[track_caller]
fn convicted<P: Protocol>(seeds: u64) {
    convicted_over::<P>(2, seeds);
}

#[track_caller]
fn convicted_over<P: Protocol>(partitions: usize, seeds: u64) {
    let options = Options { dcs: 2, partitions, sessions: 4, ops: 40, ..Options::default() };
    let what = Campaign { jobs: 2, explain: 0, ..Campaign::new(options, 0..seeds) };
    let summary = campaign::<P>(&what, |_| ());
    println!("{}: {:?} {:?}", P::NAME, summary.violating_seeds.first(), summary.by_verdict);
    assert!(summary.violations > 0, "{} was cleared in {seeds} schedules", P::NAME);
}

#[test]
fn causal_spartan_x_with_a_rule_broken_is_convicted() {
    convicted::<spartan::Server<UtUnstable>>(20_000);
    convicted::<spartan::Server<PutForgetsDs>>(20_000);
    convicted::<spartan::Server<StableTravels>>(20_000);
}

/// The fence of a transaction lies above a server's clock only where another server of the data centre put it.
/// The transaction must then meet two servers that are behind it, so this takes three.
#[test]
fn causal_spartan_x_without_a_fence_is_convicted() {
    convicted_over::<spartan::Server<PutBelowFence>>(3, 20_000);
    convicted_over::<spartan::Server<SliceUnfenced>>(3, 20_000);
}

#[test]
fn causal_spartan_x_that_forgets_its_stable_vector_is_convicted() {
    convicted::<spartan::Server<DsvLost>>(20_000);
}

#[test]
fn contrarian_with_a_rule_broken_is_convicted() {
    convicted::<contrarian::Server<SvForgetsDv>>(20_000);
    convicted_over::<contrarian::Server<ReadLiftsNothing>>(3, 20_000);
    convicted::<contrarian::Server<PutUnderDv>>(20_000);
    convicted::<contrarian::Server<AnswersCollected>>(20_000);
    convicted::<contrarian::Server<ContrarianTravels>>(20_000);
}

#[test]
fn tidemark_with_a_rule_broken_is_convicted() {
    convicted::<own::Server<PutForgetsDsv>>(20_000);
    convicted::<own::Server<FreshIsStable>>(20_000);
    convicted::<own::Server<AllCausesStable>>(20_000);
    convicted::<own::Server<NeedAboveFence>>(20_000);
    convicted::<own::Server<CollectsAtOwn>>(20_000);
    convicted::<own::Server<ExceptionsDropped>>(20_000);
    convicted::<own::Server<OwnDsvLost>>(20_000);
    convicted::<own::Server<OwnDsvTravels>>(20_000);
}

/// As above: it takes three.
#[test]
fn tidemark_without_a_fence_is_convicted() {
    convicted_over::<own::Server<GetUnfenced>>(3, 20_000);
    convicted_over::<own::Server<PutForgetsFence>>(3, 20_000);
    convicted_over::<own::Server<PutUnderFence>>(3, 20_000);
    convicted_over::<own::Server<SliceLiftsNothing>>(3, 20_000);
    convicted_over::<own::Server<SliceTellsNoFence>>(3, 20_000);
    convicted_over::<own::Server<FenceLost>>(3, 20_000);
}

#[test]
fn gentlerain_with_a_rule_broken_is_convicted() {
    convicted_over::<rain::Server<StampsRepeat>>(3, 20_000);
    convicted::<rain::Server<PutForgetsGst>>(20_000);
    convicted::<rain::Server<GstFalls>>(20_000);
    convicted::<rain::Server<PutHurries>>(20_000);
    convicted::<rain::Server<RotxHurries>>(20_000);
}

#[test]
fn gentlerain_that_forgets_its_stable_time_is_convicted() {
    convicted::<rain::Server<GstLost>>(20_000);
}

#[test]
fn gentlerain_whose_stable_time_travels_is_convicted() {
    convicted::<rain::Server<GstTravels>>(20_000);
}
