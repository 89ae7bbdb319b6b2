//! Campaigns over seeds: who is convicted, who is cleared, and that a seed says it all.

use crate::playing::{Search, cleared, play, play_through, run, violating};
use tidemark_contract::core::Promise;
use tidemark_contract::stabilised::{READS_ABOVE_HORIZON, READS_AT_STABLE};
use tidemark_protocols::*;
use tidemark_sim::{Campaign, Options, Placed};

/// Two data centres, two partitions: few actors meet often.
fn small(faults: &str) -> Options {
    let faults = faults.parse().expect("a list of faults");
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, faults, ..Options::default() }
}

/// Of what the first violation of a protocol as published is, in schedules with no fault but delays, once it is shrunk to so many steps
/// at most. The corrected protocol passes on the same schedule.
#[track_caller]
fn published(variant: &str, corrected: &str, verdict: &str, steps: usize) {
    let summary = violating(variant, small("none"), Search::Within(20_000), 1);
    let found = summary.counterexamples.first().unwrap_or_else(|| panic!("no violation of {variant}"));
    println!("{found}");
    assert_eq!(found.verdict, verdict);
    assert!(found.shrunk_steps <= steps, "{} steps", found.shrunk_steps);
    cleared(corrected, small("none"), found.seed..found.seed + 1);
}

/// Reference: erratum E-1. A session reads a stable version, and the server of its next update has not heard that
/// it is stable: the update does not see the version's cause.
#[test]
fn gentlerain_as_published_is_convicted_by_a_trace_of_e_1() {
    published("gentlerain-published", GentleRain::INFO.name, "causal", 4);
}

/// Reference: erratum E-3.
#[test]
fn causal_spartan_x_as_published_is_convicted_by_a_trace_of_e_3() {
    published("causal-spartan-x-published", CausalSpartanX::INFO.name, "causal", 9);
}

/// Reference: erratum E-4. A check is met by a concurrent version of the key, whose causes are others.
#[test]
fn cops_as_published_is_convicted_by_a_trace_of_e_4() {
    published("cops-published", Cops::INFO.name, "causal", 8);
}

/// Schedules with reads at a time, of which all have to agree.
fn dated(options: Options) -> Options {
    Options { reads_at_a_time: true, ..options }
}

/// Crashes, clocks that jump and drift, and groups whose leaders change.
#[test]
fn reads_at_a_time_agree_wherever_and_whenever_they_are_asked() {
    for name in [Tidemark::INFO.name, CausalSpartanX::INFO.name, GentleRain::INFO.name, NuKv::INFO.name] {
        cleared(name, dated(small("all")), 0..1_000);
        cleared(name, dated(Options { partitions: 3, ..small("all") }), 0..300);
        cleared(name, dated(Options::default()), 0..60);
        cleared(name, dated(Options { replicas: 3, ..small("all") }), 0..100);
    }
    let away = Options { dcs: 3, sessions: 6, exclusions: true, ..small("all") };
    cleared(GentleRain::INFO.name, dated(away), 0..1_000);
    for name in [Tidemark::INFO.name, CausalSpartanX::INFO.name, GentleRain::INFO.name] {
        cleared(name, dated(Options { placement: Placed::Random, dcs: 3, ..small("all") }), 0..300);
    }
}

/// A server that answers although something may still come, or from what collection has left.
#[test]
fn reads_at_a_time_that_do_not_wait_or_come_too_late_are_convicted() {
    for name in [Tidemark::INFO.name, CausalSpartanX::INFO.name, GentleRain::INFO.name, NuKv::INFO.name] {
        for rule in [READS_AT_STABLE, READS_ABOVE_HORIZON] {
            let mutant = Options { without: vec![rule], ..dated(small("all")) };
            let summary = violating(name, mutant, Search::Within(500), 1);
            let verdicts: Vec<&str> = summary.counterexamples.iter().map(|found| &*found.verdict).collect();
            println!("{name} without {rule}: {verdicts:?}");
            assert!(summary.violations > 0, "no violation of {name} without {rule}");
        }
    }
}

#[test]
fn eventual_is_convicted_at_once_of_not_being_causal() {
    let summary =
        play(Eventual::INFO.name, Options { promise: Some(Promise::Causal), ..Options::default() }, 0..20);
    assert!(summary.violations > 0);
}

#[test]
fn eventual_keeps_its_own_promise_under_all_faults() {
    cleared(Eventual::INFO.name, small("all"), 0..1_000);
    cleared(Eventual::INFO.name, Options::default(), 0..100);
}

#[test]
fn gentlerain_keeps_its_promise_under_all_faults() {
    cleared(GentleRain::INFO.name, small("all"), 0..1_000);
    cleared(GentleRain::INFO.name, Options::default(), 0..200);
}

/// α = 0: no transaction waits.
#[test]
fn gentlerain_keeps_its_promise_when_its_transactions_do_not_wait() {
    let hasty = |options: Options| {
        let alpha = ("alpha_us".to_string(), 0.into());
        Options { params: [alpha].into(), ..options }
    };
    cleared(GentleRain::INFO.name, hasty(small("all")), 0..1_000);
    cleared(GentleRain::INFO.name, hasty(Options { partitions: 3, ..small("all") }), 0..1_000);
    cleared(GentleRain::INFO.name, hasty(Options::default()), 0..200);
}

/// Reference: erratum E-11, as corrected: an operator excludes a data centre that is cut off, and readmits it.
#[test]
fn gentlerain_keeps_its_promise_while_it_does_without_a_data_centre() {
    let away = |dcs: usize| Options { dcs, sessions: 2 * dcs, exclusions: true, ..small("all") };
    cleared(GentleRain::INFO.name, away(3), 0..1_000);
    cleared(GentleRain::INFO.name, away(2), 0..1_000);
    cleared(GentleRain::INFO.name, Options { exclusions: true, ..Options::default() }, 0..100);
}

/// No tree (0), chains (1) and stars (4) of five partitions; the default is 2.
#[test]
fn gentlerain_keeps_its_promise_in_trees_of_any_shape() {
    for fan_out in [0, 1, 3, 4] {
        let params = [("fan_out".to_string(), fan_out.into())].into();
        cleared(GentleRain::INFO.name, Options { partitions: 5, params, ..small("all") }, 0..300);
    }
}

#[test]
fn causal_spartan_x_keeps_its_promise_under_all_faults() {
    cleared(CausalSpartanX::INFO.name, small("all"), 0..1_000);
    cleared(CausalSpartanX::INFO.name, Options::default(), 0..200);
}

#[test]
fn tidemark_keeps_its_promise_under_all_faults() {
    cleared(Tidemark::INFO.name, small("all"), 0..1_000);
    cleared(Tidemark::INFO.name, Options { partitions: 3, ..small("all") }, 0..2_000);
    cleared(Tidemark::INFO.name, Options::default(), 0..200);
}

#[test]
fn contrarian_keeps_its_promise_under_all_faults() {
    cleared(Contrarian::INFO.name, small("all"), 0..1_000);
    cleared(Contrarian::INFO.name, Options { partitions: 3, ..small("all") }, 0..1_000);
    cleared(Contrarian::INFO.name, Options::default(), 0..200);
}

/// Two partitions are asked through a third, and answer by themselves.
#[test]
fn contrarian_keeps_its_promise_in_one_and_a_half_rounds_too() {
    let through = |options: Options| {
        let rounds = [("rounds".into(), "one-and-a-half".into())];
        Options { params: rounds.into(), ..options }
    };
    cleared(Contrarian::INFO.name, through(small("all")), 0..1_000);
    cleared(Contrarian::INFO.name, through(Options { partitions: 3, ..small("all") }), 0..1_000);
    cleared(Contrarian::INFO.name, through(Options::default()), 0..200);
}

/// Three data centres too: Okapi asks all of them.
#[test]
fn okapi_keeps_its_promise_under_all_faults() {
    everywhere(Okapi::INFO.name);
}

#[test]
fn pocc_keeps_its_promise_under_all_faults() {
    everywhere(Pocc::INFO.name);
}

#[test]
fn occult_keeps_its_promise_under_all_faults() {
    everywhere(Occult::INFO.name);
}

/// Operations ask for some of the guarantees, and sessions go on in other regions.
#[test]
fn nukv_keeps_its_promise_under_all_faults() {
    everywhere(NuKv::INFO.name);
}

#[test]
fn nukv_keeps_its_promise_without_a_hybrid_clock() {
    everywhere(NuKvPhysical::INFO.name);
}

/// Reference: erratum E-6a. A session writes, goes on elsewhere, and does not read its write: the index that it was
/// answered is below that of the write.
#[test]
fn nukv_as_published_is_convicted_by_a_trace_of_e_6a() {
    published("nukv-published", NuKv::INFO.name, "read-your-writes", 5);
}

/// Reference: erratum E-6b. Two regions give two versions one time, and each keeps its own.
#[test]
fn nukv_as_published_is_convicted_of_not_converging() {
    let summary = play_through("nukv-published", small("none"), 0..1_000);
    println!("{} of {}: {:?}", summary.violations, summary.schedules, summary.by_verdict);
    assert!(summary.by_verdict.contains_key("convergence"), "{:?}", summary.by_verdict);
}

/// Session guarantees of one key are no causality, and what they need is more than eventual consistency.
#[test]
fn nukv_promises_less_than_causality_and_more_than_convergence() {
    let held_to = |promise: Promise| Options { promise: Some(promise), ..small("none") };
    assert!(play(NuKv::INFO.name, held_to(Promise::Causal), 0..200).violations > 0);
    assert!(play(Eventual::INFO.name, held_to(Promise::Session), 0..200).violations > 0);
}

/// Write transactions too: whole ones, or none.
#[test]
fn cure_keeps_its_promise_under_all_faults() {
    everywhere(Cure::INFO.name);
}

/// A version names what was stable where its transaction began, of every region. In the end all have to return it: once that
/// is stable everywhere, although a region that wrote nothing says so last.
#[test]
fn cure_converges_although_its_versions_name_regions_that_wrote_nothing() {
    cleared(Cure::INFO.name, Options { dcs: 3, partitions: 1, ..small("all") }, 0..1_000);
}

#[test]
fn wren_keeps_its_promise_under_all_faults() {
    everywhere(Wren::INFO.name);
}

/// A session took over another one of its region, and read at a server that had yet to hear that what it had taken over was
/// stable.
#[test]
fn wren_remembers_what_covered_a_session_when_it_was_taken_over() {
    cleared(Wren::INFO.name, small("all"), 2_637..2_638);
    cleared(Wren::INFO.name, Options { partitions: 3, ..small("all") }, 3_279..3_280);
}

/// The shapes in which the mutants of these protocols are convicted, and the default one.
#[track_caller]
fn everywhere(name: &str) {
    for (dcs, partitions) in [(2, 2), (2, 3), (3, 2)] {
        cleared(name, Options { dcs, partitions, ..small("all") }, 0..1_000);
    }
    cleared(name, Options::default(), 0..200);
}

#[test]
fn cc_lo_keeps_its_promise_under_all_faults() {
    everywhere(CcLo::INFO.name);
}

/// Half a second, after which it is forgotten who has read, is longer than most schedules.
#[test]
fn cc_lo_keeps_its_promise_when_it_forgets_soon_who_has_read() {
    let forgetful = |partitions| Options {
        partitions,
        params: [("collect_us".into(), 3_000.into())].into(),
        ..small("all")
    };
    cleared(CcLo::INFO.name, forgetful(2), 0..1_000);
    cleared(CcLo::INFO.name, forgetful(3), 0..1_000);
}

/// Reference: erratum E-5. What is older than a time may be older than a cause of what another slice returns.
#[test]
fn cc_lo_as_published_is_convicted_and_the_corrected_one_cleared_of_the_same_schedule() {
    let three = || Options { partitions: 3, ..small("none") };
    let summary = violating("cc-lo-published", three(), Search::Within(20_000), 1);
    println!("{:?} {:?}", summary.violating_seeds, summary.by_verdict);
    let seed = *summary.violating_seeds.first().expect("cc-lo-published was cleared");
    assert!(summary.by_verdict.contains_key("snapshot"));
    cleared(CcLo::INFO.name, three(), seed..seed + 1);
}

/// Its master may be elsewhere: what a session wrote there has yet to come back.
#[test]
fn occult_does_not_show_local_writes_at_once() {
    let immediate = Some(Promise::CausalImmediate);
    let summary = play(Occult::INFO.name, Options { promise: immediate, ..small("none") }, 0..200);
    assert!(summary.violations > 0);
}

/// What `tidemark protocols` says of it is what is seen. In contrarian an acknowledged write of another session may
/// depend on what is not stable yet: it shows a moment later.
#[test]
fn whether_local_writes_show_at_once_is_what_the_promise_says() {
    let immediate = || Options { promise: Some(Promise::CausalImmediate), ..small("none") };
    for info in [CausalSpartanX::INFO, Tidemark::INFO] {
        assert!(info.promise.is_immediate());
        cleared(info.name, immediate(), 0..200);
    }
    let info = Contrarian::INFO;
    assert!(!info.promise.is_immediate());
    let verdicts = violating(info.name, immediate(), Search::Within(20_000), 0).by_verdict;
    assert_eq!(verdicts.keys().collect::<Vec<_>>(), ["immediate"], "{verdicts:?}");
}

#[test]
fn cops_keeps_its_promise_under_all_faults() {
    everywhere(Cops::INFO.name);
}

#[test]
fn hybrid_keeps_its_promise_under_all_faults() {
    everywhere(Hybrid::INFO.name);
}

/// GETs wait for no cause, and what they set going is for the next.
#[test]
fn hybrid_keeps_its_promise_when_nobody_waits_for_causes() {
    let hasty = |partitions| Options {
        partitions,
        params: [("check_wait_us".into(), 0.into())].into(),
        ..small("all")
    };
    cleared(Hybrid::INFO.name, hasty(2), 0..1_000);
    cleared(Hybrid::INFO.name, hasty(3), 0..1_000);
}

/// MGET is single reads: what belongs together may come apart.
#[test]
fn cops_has_no_snapshots() {
    let snapshots = Some(Promise::CausalSnapshot);
    assert!(play(Cops::INFO.name, Options { promise: snapshots, ..small("none") }, 0..200).violations > 0);
}

#[test]
fn cops_gt_keeps_its_promise_under_all_faults() {
    everywhere(CopsGt::INFO.name);
}

/// What is overwritten is dropped at once, and transactions have to begin again: their safety rests on no time.
#[test]
fn cops_gt_keeps_its_promise_without_old_versions() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    cleared(CopsGt::INFO.name, Options { partitions: 3, params, ..small("all") }, 0..1_000);
}

#[test]
fn eiger_keeps_its_promise_under_all_faults() {
    everywhere(Eiger::INFO.name);
}

/// What is overwritten is dropped at once, and transactions have to begin again.
#[test]
fn eiger_keeps_its_promise_without_old_versions() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    cleared(Eiger::INFO.name, Options { partitions: 3, params, ..small("all") }, 0..1_000);
}

#[test]
fn orbe_keeps_its_promise_under_all_faults() {
    cleared(Orbe::INFO.name, small("all"), 0..1_000);
    cleared(Orbe::INFO.name, Options { partitions: 3, ..small("all") }, 0..1_000);
    cleared(Orbe::INFO.name, Options { dcs: 3, ..small("all") }, 0..1_000);
    cleared(Orbe::INFO.name, Options::default(), 0..200);
}

/// A transaction that begins in the past waits less, and rests on the same.
#[test]
fn orbe_keeps_its_promise_with_older_snapshots() {
    let params = [("snapshot_age_us".to_string(), 20_000.into())].into();
    cleared(Orbe::INFO.name, Options { partitions: 3, params, ..small("all") }, 0..1_000);
}

/// A failure injected into a disk, but not met by the time everything healed, came up after the last words had been
/// prepared: the restarted server had not heard yet what was stable.
#[test]
fn a_disk_failure_that_did_not_happen_in_time_is_mended_with_the_rest() {
    cleared(CausalSpartanX::INFO.name, small("all"), 43_896..43_897);
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_number_of_threads() {
    let digest = |jobs: usize, seeds: std::ops::Range<u64>| {
        let what = Campaign { jobs, ..Campaign::new(Options::default(), seeds) };
        run(CausalSpartanX::INFO.name, &what).digest
    };
    assert_eq!(digest(1, 0..40), digest(2, 0..40));
    assert_ne!(digest(1, 0..40), digest(1, 1..41));
}

/// Every node is three processes, of which one leads: to a protocol, a new leader is a restart.
#[test]
fn every_protocol_keeps_its_promise_in_groups() {
    for name in NAMES {
        cleared(name, Options { replicas: 3, ..small("all") }, 0..40);
    }
}
