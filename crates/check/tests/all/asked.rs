//! What an operation asks for: each session guarantee is held against those that ask for it and nobody else, and what an
//! operation read or wrote counts for later ones whatever it asked for itself.

use crate::common::script::history;
use crate::common::without_versions;
use tidemark_check::{Promise, Property, check};

use Property::*;

const NONE: &str = "| read=eventual write=eventual";

/// One story for each guarantee, which its last operation breaks, and no other; what asks for that guarantee alone, and
/// for all others.
const STORIES: [(Property, &str, &str, &str); 4] = [
    (ReadYourWrites, "c0@A put x a 1\nc0@A get x -", "read=read-your-writes", "read=monotonic-read"),
    (
        MonotonicReads,
        "c1@B put x a 1\nc0@A get x a 1B\nc0@A get x -",
        "read=monotonic-read",
        "read=read-your-writes",
    ),
    (
        MonotonicWrites,
        "c0@A put x a 5\nc0@B put x b 2",
        "write=monotonic-writes",
        "write=writes-follow-reads",
    ),
    (
        WritesFollowReads,
        "c1@B put x a 5\nc0@A get x a 5B\nc0@A put x b 2",
        "write=writes-follow-reads",
        "write=monotonic-writes",
    ),
];

/// The properties of the promise that are violated.
fn violated(script: &str) -> Vec<Property> {
    let report = check(&history(script), Promise::Session);
    Property::ALL.into_iter().filter(|p| report.violates(*p)).collect()
}

#[test]
fn who_asks_for_a_guarantee_is_held_to_it_and_who_asks_for_all_others_is_exempt() {
    for (property, story, alone, others) in STORIES {
        assert_eq!(violated(story), [property], "everything is asked for where nothing is said\n{story}");
        assert_eq!(violated(&format!("{story} | {alone}")), [property], "{story} | {alone}");
        assert_eq!(violated(&format!("{story} | {others}")), [], "{story} | {others}");
        assert_eq!(violated(&format!("{story} {NONE}")), [], "{story}");
    }
}

/// All but the last operation ask for nothing.
#[test]
fn what_was_read_and_written_counts_whatever_it_asked_for() {
    for (property, story, alone, _) in STORIES {
        let (before, last) = story.rsplit_once('\n').expect("at least two operations");
        let weak: Vec<String> = before.lines().map(|line| format!("{line} {NONE}")).collect();
        let story = format!("{}\n{last} | {alone}", weak.join("\n"));
        assert_eq!(violated(&story), [property], "{story}");
    }
}

/// A read that may go back does not lower what is owed, and one that went forward raises it.
#[test]
fn a_read_that_was_exempt_lowers_nothing() {
    let back = format!("c1@B put x a 1\nc1@B put x b 2\nc0@A get x b 2B\nc0@A get x a 1B {NONE}");
    assert_eq!(violated(&back), []);
    assert_eq!(violated(&format!("{back}\nc0@A get x a 1B")), [MonotonicReads]);
    assert_eq!(violated(&format!("{back}\nc0@A get x b 2B")), []);
}

/// The looking half of a conditional update is a read, its writing half a write.
#[test]
fn a_conditional_update_asks_for_both_halves() {
    let looks = "c1@B put x a 5\nc0@A get x a 5B\nc0@A nx x b 2 saw -";
    assert_eq!(violated(looks), [MonotonicReads, WritesFollowReads]);
    assert_eq!(violated(&format!("{looks} | read=eventual")), [WritesFollowReads]);
    assert_eq!(violated(&format!("{looks} | write=eventual")), [MonotonicReads]);
}

#[test]
fn a_token_brings_what_was_done_elsewhere_and_who_arrives_may_ask_for_less() {
    let moves = "c0@A put x a 5\nc1@B adopt c0 1\nc1@B get x -";
    assert_eq!(violated(moves), [ReadYourWrites]);
    assert_eq!(violated(&format!("{moves} | read=eventual")), []);
}

/// Everybody is promised that replicas agree; and a stronger promise knows no weaker operations.
#[test]
fn convergence_and_causality_hold_for_all() {
    let apart = format!("c0@A put x a 1 {NONE}\nfinal A x a 1A\nfinal B x -");
    assert_eq!(violated(&apart), [Convergence]);
    let stale = format!("c0@A put x a 1\nc0@A get x - {NONE}");
    assert!(check(&history(&stale), Promise::Causal).violates(Causal));
}

/// By values alone, two of them cannot be seen to be broken on their own; what replicas return in the end brings it out.
#[test]
fn values_alone_exempt_the_same_operations() {
    let ok = |script: &str| check(&without_versions(history(script)), Promise::Session).ok();
    let last = "\nfinal A x a\nfinal B x a";
    for (property, story, alone, others) in STORIES {
        let end = if matches!(property, MonotonicWrites | WritesFollowReads) { last } else { "" };
        assert!(!ok(&format!("{story}{end}")), "{story}");
        assert!(!ok(&format!("{story} | {alone}{end}")), "{story} | {alone}");
        assert!(ok(&format!("{story} | {others}{end}")), "{story} | {others}");
    }
}
