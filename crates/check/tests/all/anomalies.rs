//! Histories written by hand: the textbook anomalies, the errata that a model search found in published
//! protocols, and the borders between what is a violation and what is not.

use crate::common::script::history;
use crate::common::without_versions;
use tidemark_check::{Options, Promise, Properties, Property, Report, check, check_with};
use tidemark_core::history::History;

fn all(history: &History) -> Report {
    check_with(
        history,
        Options { limit: 10, ..Options::new(Properties::all().without(Property::Sequential)) },
    )
}

/// Exactly these properties are violated, of all there are.
#[track_caller]
fn violates(script: &str, properties: &[Property]) -> Report {
    let report = all(&history(script));
    let violated: Vec<Property> = Property::ALL.into_iter().filter(|p| report.violates(*p)).collect();
    assert_eq!(violated, properties, "{script}\n{report}");
    report
}

#[track_caller]
fn accepts(script: &str) {
    violates(script, &[]);
}

use Property::*;

/// GentleRain, Alg. 1 line 8: a local version is visible at once although its cause is not stable here.
#[test]
fn gentlerain_put_that_does_not_carry_the_stable_time() {
    let script = "
        c1@B put z z0 1
        c1@B put y y1 2
        c1@B put x x2 3
        c0@A get y y1 2B
        c0@A put x x3 4
        c2@A get x x3 4A
        c2@A get z -";
    let report = violates(script, &[Causal]);
    let steps: Vec<u64> = report.violations[0].steps.iter().filter_map(|s| s.event).collect();
    assert_eq!(steps, [0, 1, 3, 4, 5, 6], "{report}");
    assert_eq!(report.violations[0].to_string(), GENTLERAIN);
    let blind = check(&without_versions(history(script)), Promise::Causal);
    assert!(blind.violates(Causal), "WriteCOInitRead\n{blind}");
}

const GENTLERAIN: &str = "\
causal: s2 in A reads z = nothing, but \"z0\" (0+1@B) is in its causal past
  #0  s1  B  writes z = \"z0\" (0+1@B)
  #1  s1  B  writes y = \"y1\" (0+2@B)  later in the same session
  #3  s0  A  reads y = \"y1\" (0+2@B)   returns what the line above wrote
  #4  s0  A  writes x = \"x3\" (0+4@A)  later in the same session
  #5  s2  A  reads x = \"x3\" (0+4@A)   returns what the line above wrote
  #6  s2  A  reads z = nothing        later in the same session
";

/// CausalSpartanX, Alg. 5.2: merging what a client has read into the server's stable vector claims too much.
#[test]
fn causal_spartan_merging_dependencies_into_the_stable_vector() {
    let script = "
        c0@A put z z0 1
        c3@A put y y1 1
        c3@A put x x2 2
        c1@B get z z0 1A
        c1@B put z z3 2
        c1@B get x x2 2A
        c1@B get y -";
    violates(script, &[MonotonicWritesGlobal, Causal]);
    assert!(check(&without_versions(history(script)), Promise::Causal).violates(Causal));
}

/// COPS with a dependency check that any newer version satisfies: y is applied in B without z.
#[test]
fn cops_dependency_check_answered_by_a_concurrent_version() {
    violates(
        "c1@B put x x0 1
         c1@B put x x2 2
         c2@A put z z1 1
         c2@A put x x3 2
         c2@A put y y4 3
         c3@B get y y4 3A
         c3@B get z -",
        &[MonotonicWritesGlobal, Causal],
    );
}

/// CC-LO answering an old reader by logical time: the time falls before a version that another slice needs.
#[test]
fn cc_lo_cut_by_logical_time() {
    let report = violates(
        "c1@A put x x0 5
         c1@A put y y1 7
         c2@A put z z2 2
         c2@A put x x3 8
         c0@A rotx z -, y y1 7A, x -",
        &[Snapshot],
    );
    assert!(report.violations[0].explanation.contains("x = nothing"), "{report}");
}

/// NuKV, Alg. 4.2: a leader that answers before it has committed.
#[test]
fn nukv_acknowledgement_before_commit() {
    let script = "c0@A put x v0 1\nc0@A put x v1 2\nc0@A get x v0 1A";
    assert!(check(&history(script), Promise::ReadYourWrites).violates(ReadYourWrites));
    assert!(check(&history(script), Promise::MonotonicReads).ok());
}

#[test]
fn the_photo_that_the_blocked_friend_sees() {
    // Two GETs in this order are fine; in one transaction they are not.
    let story = "
        c0@A put bob friend 1
        c0@A put photo old 2
        c0@A put bob blocked 3
        c0@A put photo new 4";
    accepts(&format!("{story}\nc1@B get bob friend 1A\nc1@B get photo new 4A"));
    violates(
        &format!("{story}\nc1@B get photo new 4A\nc1@B get bob friend 1A"),
        &[MonotonicWritesGlobal, Causal],
    );
    let torn = format!("{story}\nc1@B rotx bob friend 1A, photo new 4A");
    let report = violates(&torn, &[Snapshot]);
    assert!(report.violations[0].explanation.contains("in the past of photo"), "{report}");
    assert!(check(&without_versions(history(&torn)), Promise::CausalSnapshot).violates(Snapshot));
    violates(&format!("{story}\nc1@B snap bob friend 1A, photo new 4A"), &[Snapshot]);
    accepts(&format!("{story}\nc1@B rotx bob blocked 3A, photo old 2A"));
    violates(&format!("{story}\nc1@B rotx photo new 4A, bob -"), &[Snapshot]);
}

#[test]
fn a_snapshot_may_miss_its_session_and_a_transaction_may_not() {
    let story = "c0@A put x x1 1";
    accepts(&format!("{story}\nc0@A snap x -, y -"));
    violates(&format!("{story}\nc0@A rotx x -, y -"), &[ReadYourWrites, Snapshot]);
    // What a snapshot returned is in the past of what follows.
    violates("c0@A put x x1 1\nc1@B snap x x1 1A\nc1@B get x -", &[MonotonicReads, Causal]);
}

/// Whoever promises causality and no snapshots answers a read-only transaction by several reads. They were held to
/// nothing, so that `causal` did not imply `session`.
#[test]
fn a_transaction_without_a_snapshot_is_several_reads() {
    let script = "c0@A put x x1 1\nc0@A rotx x -, y -";
    let report = check(&history(script), Promise::Causal);
    assert!(report.violates(Causal) && !check(&history(script), Promise::Session).ok(), "{report}");
    assert!(!check(&without_versions(history(script)), Promise::Causal).ok());
    // Two reads, which do not see each other's past.
    let torn = "c0@A put x a 1\nc0@A put y b 2\nc1@B rotx y b 2A, x -";
    assert!(check(&history(torn), Promise::Causal).ok());
    assert!(check(&without_versions(history(torn)), Promise::Causal).ok());
    assert!(!check(&history(torn), Promise::CausalSnapshot).ok());
}

#[test]
fn the_four_session_guarantees() {
    violates("c0@A put x a 1\nc0@A put x b 2\nc0@B get x a 1A", &[ReadYourWrites, Causal]);
    violates("c0@A put x a 1\nc0@A put x b 2\nc1@B get x b 2A\nc1@B get x a 1A", &[MonotonicReads, Causal]);
    violates("c0@A put x a 5\nc0@B put x b 2", &[MonotonicWrites, OverwriteOrder]);
    violates("c0@A put x a 5\nc1@B get x a 5A\nc1@B put x b 2", &[WritesFollowReads, OverwriteOrder]);
}

#[test]
fn writes_follow_reads_across_keys() {
    let script = "
        c0@A put x a 1
        c1@A get x a 1A
        c1@A put y b 2
        c2@B get y b 2A
        c2@B get x -";
    violates(script, &[WritesFollowReadsGlobal, Causal]);
    assert!(check(&history(script), Promise::Session).ok(), "a session guarantee speaks of one key");
}

#[test]
fn monotonic_writes_across_keys() {
    let script = "
        c0@A put x a 1
        c0@A put y b 2
        c1@B get y b 2A
        c1@B get x -";
    let report = violates(script, &[MonotonicWritesGlobal, Causal]);
    let steps: Vec<u64> = report.violations[0].steps.iter().filter_map(|s| s.event).collect();
    assert_eq!(steps, [0, 1, 2, 3], "{report}");
    assert!(check(&history(script), Promise::Session).ok(), "a session guarantee speaks of one key");
    // What a session adopts, it has read and written itself.
    let adopted = "
        c0@A put x a 1
        c2@A adopt c0 1
        c2@A put y b 2
        c1@B get y b 2A
        c3@B adopt c1 1
        c3@B get x -";
    violates(adopted, &[MonotonicWritesGlobal, Causal]);
}

/// Two sessions overwrite each other; everybody agrees on the last writer, whoever it is.
#[test]
fn conflicts_are_not_anomalies() {
    accepts(
        "c0@A put x a 1
         c1@B put x b 1
         c0@A get x a 1A
         c1@B get x b 1B
         c0@A get x b 1B
         final A x b 1B
         final B x b 1B",
    );
}

#[test]
fn replicas_that_do_not_converge() {
    let story = "c0@A put x a 1\nc1@B put x b 1\n";
    violates(&format!("{story} final A x a 1A\nfinal B x b 1B"), &[Convergence]);
    let report = violates(&format!("{story} final A x a 1A\nfinal B x a 1A"), &[Convergence]);
    assert!(report.violations[0].explanation.contains("is lost"), "{report}");
    violates(&format!("{story} final A x b 1B\nfinal B x -"), &[Convergence]);
    accepts(&format!("{story} c0@A del x 2\nfinal A x gone 2A\nfinal B x -"));
    violates(&format!("{story} c0@A del x 2\nfinal A x b 1B\nfinal B x b 1B"), &[Convergence]);
    // A write that got no answer may be the last one, or not.
    accepts(&format!("{story} c0@A ?put x c\nfinal A x b 1B\nfinal B x b 1B"));
    accepts(&format!("{story} c0@A ?put x c\nfinal A x c 9A\nfinal B x c 9A"));
    let blind =
        |finals: &str| check(&without_versions(history(&format!("{story}{finals}"))), Promise::Causal);
    assert!(blind("final A x a\nfinal B x b").violates(Convergence));
    assert!(blind("final A x -\nfinal B x -").violates(Convergence));
    assert!(blind("final A x a\nfinal B x a").ok(), "some order explains that");
    assert!(blind("c1@B get x a\nc1@B put x c\nfinal A x a\nfinal B x a").violates(Convergence));
}

#[test]
fn a_collected_tombstone_reads_as_absence() {
    accepts("c0@A put x a 1\nc0@A del x 2\nc0@A get x -");
    accepts("c0@A put x a 1\nc1@B del x 5\nc0@A get x -");
    violates("c0@A put x a 6\nc1@B del x 5\nc0@A get x -", &[ReadYourWrites, Causal]);
    accepts("c0@A put x a 6\nc1@B ?del x\nc0@A get x -");
    violates("c0@A put x a 1\nc0@A del x 2\nc0@A get x a 1A", &[ReadYourWrites, Causal]);
}

#[test]
fn an_unknown_write_may_be_seen_and_its_session_does_not_depend_on_it() {
    let story = "c0@A put y y1 1\nc0@A ?put x x1\nc0@A get x -\nc0@A put z z1 3";
    accepts(story);
    accepts(&format!("{story}\nc1@B get z z1 3A\nc1@B get x -"));
    // Whoever reads it has its past.
    let past = [MonotonicWritesGlobal, Causal];
    violates(&format!("{story}\nc1@B get x x1 2A\nc1@B get y -"), &past);
    violates(&format!("{story}\nc1@B get x x1 2A\nc1@B get x -"), &[MonotonicReads, Causal]);
    accepts(&format!("{story}\nc1@B get x x1 2A\nc1@B get z -"));
    let report = violates(&format!("{story}\nc1@B get x x1 2A\nc2@A get x x1 7A"), &[WellFormed]);
    assert!(report.violations[0].explanation.contains("two versions"), "{report}");
}

#[test]
fn what_nobody_wrote() {
    violates("c0@A get x ghost 1A", &[WellFormed]);
    violates("c0@A put x a 1\nc1@A get x b 1A", &[WellFormed]);
    violates("c0@A put x a 1\nc1@A put x b 1", &[WellFormed]);
    let report = violates("c0@A !put x a\nc1@A get x a 1A", &[WellFormed]);
    assert!(report.violations[0].explanation.contains("did not happen"), "{report}");
    violates("c0@A put x a 1\nc1@A get x a 2A\nfinal A x a 2A", &[WellFormed]);
}

/// Reads from the future, in happens-before rather than in the file: reported, not followed for ever.
#[test]
fn causes_that_run_in_a_circle() {
    let circle = "c0@A get x x1 1B\nc0@A put y y1 1\nc1@B get y y1 1A\nc1@B put x x1 1";
    let report = violates(circle, &[WellFormed]);
    assert_eq!(report.violations[0].steps.len(), 5, "{report}");
    assert!(!check(&without_versions(history(circle)), Promise::Causal).ok());
    violates("c0@A get x x1 1A\nc0@A put x x1 1", &[WellFormed]);
    // The file may tell effects before causes.
    accepts("c1@B get x x1 1A\nc0@A put x x1 1");
}

#[test]
fn a_moved_session_keeps_its_past() {
    let story = "c0@A put x a 1\nc0@A put y b 2\nc0@A put z c 3";
    accepts(&format!("{story}\nc1@B adopt c0 1\nc1@B get x a 1A\nc1@B get y -"));
    violates(&format!("{story}\nc1@B adopt c0 1\nc1@B get x -"), &[ReadYourWrites, Causal]);
    let report = violates(
        &format!("{story}\nc2@A get y b 2A\nc1@B adopt c2 1\nc1@B get y -"),
        &[MonotonicReads, Causal],
    );
    assert!(report.to_string().contains("adopts the past"), "{report}");
    accepts("c1@B adopt c0 1\nc0@A put x a 1\nc1@B get x a 1A");
}

#[test]
fn immediate_visibility_is_about_one_data_centre() {
    let write = "10..20 c0@A put x a 1";
    violates(&format!("{write}\n21..30 c1@A get x -"), &[Immediate]);
    accepts(&format!("{write}\n20..30 c1@A get x -"));
    accepts(&format!("{write}\n21..30 c1@B get x -"));
    accepts(&format!("{write}\n21..30 c1@A rotx x -"));
    accepts(&format!("{write}\n11..19 c1@B put x b 2\n21..30 c1@A get x b 2B"));
    let report = all(&history("c0@A put x a 1\nc1@A get x -"));
    assert!(report.ok() && report.notes.iter().any(|n| n.contains("start_us")), "{report}");
}

#[test]
fn an_update_observes_like_a_get() {
    violates("c0@A put x a 1\nc1@B get x a 1A\nc1@B nx x b 2 saw -", &[MonotonicReads, Causal]);
    accepts("c1@B nx x b 2 saw -\nc0@A put x a 1");
    violates("c0@A put x a 5\nc1@B nx x b 2 saw a 5A", &[WritesFollowReads, OverwriteOrder]);
}

/// Bouajjani et al., fig. 3: each is convicted without versions by the pattern that it is named for.
#[test]
fn bad_patterns_without_versions() {
    let pattern = |script: &str| {
        let report = check(&history(script), Promise::Causal);
        assert_eq!(report.violations.len(), 1, "{script}\n{report}");
        report.violations[0].clone()
    };
    let core = pattern("c0@A put x 1\nc0@A put x 2\nc1@A get x 2\nc1@A get x 1");
    assert!(core.explanation.contains("WriteCORead"), "{core}");
    let cf = pattern("c0@A put x 1\nc0@A get x 2\nc1@A put x 2\nc1@A get x 1");
    assert!(cf.explanation.contains("CyclicCF"), "{cf}");
    let thin = pattern("c0@A get x 1");
    assert_eq!(thin.property, WellFormed);
    // Causal memory allows this, convergence does not: two sessions see two writes in two orders.
    let twice = pattern("c0@A put x 1\nc1@B put x 2\nc2@A get x 1\nc2@A get x 2\nc3@B get x 2\nc3@B get x 1");
    assert!(twice.explanation.contains("CyclicCF"), "{twice}");
}

#[test]
fn a_write_transaction_is_seen_whole() {
    let mut torn = history("c0@A put x a 1\nc0@A put y b 2\nc1@B get x a 1A\nc1@B get y -");
    torn.events[..2].iter_mut().for_each(|e| e.txn = Some(7));
    let mut later = history("c0@A put x a 1\nc0@A put y b 2\nc1@B get x a 1A\nc1@B get y -");
    assert!(check(&later, Promise::Causal).ok());
    assert!(check(&torn, Promise::Causal).violates(Causal), "y comes with x");
    // Its own writes are what a transaction reads.
    later = history("c0@A put x a 1\nc0@A get x -");
    later.events.iter_mut().for_each(|e| e.txn = Some(7));
    assert!(check(&later, Promise::CausalSnapshot).violates(Snapshot));
    // Nobody reads what a transaction itself overwrote.
    later = history("c0@A put x a 1\nc0@A put x b 2\nc1@B get x a 1A");
    assert!(check(&later, Promise::CausalSnapshot).ok());
    later.events[..2].iter_mut().for_each(|e| e.txn = Some(7));
    assert!(check(&later, Promise::CausalSnapshot).violates(Snapshot));
}

#[test]
fn every_violation_is_counted_and_the_first_are_told() {
    let mut script = "c0@A put x a 1\nc0@A put x b 2\n".to_string();
    script.push_str(&"c0@A get x a 1A\n".repeat(25));
    let report = check(&history(&script), Promise::ReadYourWrites);
    assert_eq!((report.violated, report.violations.len()), (25, 10));
    assert!(report.to_string().ends_with("25 violations, 10 shown"), "{report}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["violations"][0]["property"], "read-your-writes");
    assert_eq!(json["promise"], "read-your-writes");
}
