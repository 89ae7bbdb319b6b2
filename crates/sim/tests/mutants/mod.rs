//! Mutants: each breaks one rule that a protocol's correctness rests on, and is convicted within a range of seeds. A
//! checker of protocols is itself checked by protocols that are wrong.
//!
//! One test binary a protocol, `mutants_NAME.rs`, for each mutant takes a simulator of its own to compile.

use tidemark_contract::Protocol;
use tidemark_sim::{Campaign, Options, Summary, campaign};

/// Rules like those of the protocol, but for one.
#[macro_export]
macro_rules! mutants {
    ($($name:ident breaks $rule:ident;)*) => {$(
        struct $name;
        impl Rules for $name {
            const NAME: &'static str = concat!("mutant-", stringify!($name));
            const ABOUT: &'static str = concat!("without ", stringify!($rule));
            const $rule: bool = false;
        }
    )*};
}

/// Hunts for a violation in `seeds` schedules of a few actors under all faults.
#[track_caller]
#[allow(dead_code)] // not every protocol has mutants for both
pub(crate) fn convicted<P: Protocol>(seeds: u64) {
    convicted_over::<P>(2, seeds);
}

#[track_caller]
#[allow(dead_code)]
pub(crate) fn convicted_over<P: Protocol>(partitions: usize, seeds: u64) {
    convicted_under::<P>(Options { partitions, ..few() }, seeds);
}

/// A few actors.
pub(crate) fn few() -> Options {
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, ..Options::default() }
}

/// Plays some schedules, and explains the first violation.
#[allow(dead_code)]
pub(crate) fn play<P: Protocol>(options: Options, seeds: std::ops::Range<u64>) -> Summary {
    campaign::<P>(&Campaign::new(options, seeds), |_| ())
}

#[track_caller]
pub(crate) fn convicted_under<P: Protocol>(options: Options, seeds: u64) {
    let what = Campaign { jobs: 2, explain: 0, ..Campaign::new(options, 0..seeds) };
    let summary = campaign::<P>(&what, |_| ());
    println!("{}: {:?} {:?}", P::NAME, summary.violating_seeds.first(), summary.by_verdict);
    assert!(summary.violations > 0, "{} was cleared in {seeds} schedules", P::NAME);
}
