//! Mutants: each breaks one rule that a protocol's correctness rests on, and is convicted within a range of seeds. A
//! checker of protocols is itself checked by protocols that are wrong.
//!
//! A mutant takes a simulator of its own to compile, the better part of a minute: so a protocol has one, `Mutant`, whose rules have
//! switches, and a test binary, `mutants_NAME.rs`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use tidemark_contract::Protocol;
use tidemark_sim::{Campaign, Options, Summary, campaign};

/// A rule that can be switched off.
pub(crate) struct Switch {
    pub(crate) name: &'static str,
    pub(crate) on: AtomicBool,
}

/// Rules like those of the protocol, of which those named here can be switched off.
#[macro_export]
macro_rules! mutants {
    ($($rule:ident,)*) => {
        $(static $rule: mutants::Switch =
            mutants::Switch { name: stringify!($rule), on: std::sync::atomic::AtomicBool::new(true) };)*
        struct Mutant;
        impl Rules for Mutant {
            const NAME: &'static str = "mutant";
            const ABOUT: &'static str = "with one rule broken at a time";
            $(const $rule: tidemark_contract::Rule = tidemark_contract::Rule::Switched(&$rule.on);)*
        }
    };
}

/// What `f` finds while `rule` is broken, and no other is: tests wait for each other.
pub(crate) fn without<T>(rule: &'static Switch, f: impl FnOnce() -> T) -> T {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    struct Mended(&'static Switch);
    impl Drop for Mended {
        fn drop(&mut self) {
            self.0.on.store(true, Relaxed);
        }
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let _mended = Mended(rule);
    rule.on.store(false, Relaxed);
    f()
}

/// Hunts for a violation without `rule` in `seeds` schedules of a few actors under all faults.
#[track_caller]
#[allow(dead_code)] // not every protocol has mutants for both
pub(crate) fn convicted<P: Protocol>(rule: &'static Switch, seeds: u64) {
    convicted_over::<P>(rule, 2, seeds);
}

#[track_caller]
#[allow(dead_code)]
pub(crate) fn convicted_over<P: Protocol>(rule: &'static Switch, partitions: usize, seeds: u64) {
    convicted_under::<P>(rule, Options { partitions, ..few() }, seeds);
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
pub(crate) fn convicted_under<P: Protocol>(rule: &'static Switch, options: Options, seeds: u64) {
    let what = Campaign { jobs: 2, explain: 0, ..Campaign::new(options, 0..seeds) };
    let summary = without(rule, || campaign::<P>(&what, |_| ()));
    println!("without {}: {:?} {:?}", rule.name, summary.violating_seeds.first(), summary.by_verdict);
    assert!(summary.violations > 0, "cleared in {seeds} schedules without {}", rule.name);
}
