//! Each guarantee on its own, by values alone: what breaks it, what does not, and how the verdicts read.

use crate::common::script::history;
use tidemark_check::{Guarantee, Holds, Verdicts, check_each};

fn verdicts(script: &str, values_only: bool) -> Verdicts {
    check_each(&history(script), &Guarantee::all(), 3, values_only)
}

/// Exactly these guarantees are broken by the values alone.
#[track_caller]
fn breaks(script: &str, expected: &[&str]) -> Verdicts {
    let all = verdicts(script, true);
    let violated = all.verdicts.iter().filter(|v| v.verdict == Holds::Violated);
    assert_eq!(violated.map(|v| v.guarantee).collect::<Vec<_>>(), expected, "{script}\n{all}");
    assert_eq!(all.ok(), expected.is_empty());
    all
}

#[test]
fn absence_after_the_own_write() {
    breaks("c0@A put x a\nc0@A get x -", &["read-your-writes", "session", "causal"]);
}

/// Two sessions that each miss their own write: no order of the two writes suits both.
#[test]
fn two_who_miss_their_own_writes() {
    let story = "c0@A put x a\nc1@B put x b\nc0@A get x b";
    breaks(story, &[]);
    let all = breaks(&format!("{story}\nc1@B get x a"), &["read-your-writes", "session", "causal"]);
    let told = all.to_string();
    assert!(told.contains("no order of the writes of x keeps read-your-writes: "), "{told}");
    assert!(told.contains("s0 in A (#2) reads x = \"b\" after its own write of \"a\""), "{told}");
}

/// An own older write: nothing is wrong with either guarantee alone, and no order keeps both.
#[test]
fn an_older_write_of_ones_own() {
    let all = breaks("c0@A put x a\nc0@A put x b\nc0@A get x a", &["session", "causal"]);
    let told = all.to_string();
    assert!(
        told.contains("no order of the writes of x keeps read-your-writes and monotonic-writes"),
        "{told}"
    );
}

#[test]
fn reads_that_go_back() {
    let story = "c0@A put x a\nc1@B put x b\nc2@A get x a\nc2@A get x b";
    breaks(story, &[]);
    breaks(&format!("{story}\nc2@A get x a"), &["monotonic-reads", "session", "causal"]);
    // Two readers that see two writes in two orders.
    breaks(&format!("{story}\nc3@A get x b\nc3@A get x a"), &["monotonic-reads", "session", "causal"]);
}

/// Who sees the second write of a session sees its first, of another key.
#[test]
fn a_write_without_the_one_before_it() {
    let story = "c0@A put x a\nc0@A put y b\nc1@B get y b";
    breaks(&format!("{story}\nc1@B get x a"), &[]);
    breaks(&format!("{story}\nc1@B get x -"), &["monotonic-writes-global", "causal"]);
}

/// Who sees a write sees what its session had read before, of another key.
#[test]
fn a_write_without_what_it_follows() {
    let story = "c0@A put x a\nc1@A get x a\nc1@A put y b\nc2@B get y b";
    breaks(&format!("{story}\nc2@B get x a"), &[]);
    breaks(&format!("{story}\nc2@B get x -"), &["writes-follow-reads-global", "causal"]);
}

/// A write that lost to what its session had read or written shows in the end, and only there.
#[test]
fn last_words_show_which_write_won() {
    let story = "c0@A put x a\nc1@A get x a\nc1@A put x b";
    breaks(&format!("{story}\nfinal A x b\nfinal B x b"), &[]);
    let all = breaks(&format!("{story}\nfinal A x a\nfinal B x a"), &["session"]);
    assert!(all.to_string().contains("keeps writes-follow-reads and convergence"), "{all}");
    breaks("c0@A put x a\nc0@A put x b\nfinal A x a\nfinal B x a", &["session"]);
}

#[test]
fn an_acknowledged_write_that_does_not_show() {
    let write = "10..20 c0@A put x a";
    breaks(&format!("{write}\n21..30 c1@A get x -"), &["immediate"]);
    breaks(&format!("{write}\n21..30 c1@B get x -"), &[]);
    breaks(&format!("{write}\n20..30 c1@A get x -"), &[]);
    // Each of two is acknowledged where the other one is read later.
    let two = "10..20 c0@A put x a\n10..20 c1@B put x b\n21..30 c2@A get x b";
    breaks(two, &[]);
    breaks(&format!("{two}\n21..30 c3@B get x a"), &["immediate"]);
}

#[test]
fn what_cannot_be_told_is_said() {
    let all = verdicts("c0@A put x a\nc1@B get x a", true);
    let of = |name: &str| all.verdicts.iter().find(|v| v.guarantee == name).unwrap();
    for name in ["overwrite-order", "atomic-writes", "immediate", "convergence"] {
        assert_eq!(of(name).verdict, Holds::NotChecked, "{all}");
    }
    assert_eq!(of("monotonic-writes").verdict, Holds::Holds);
    assert!(of("monotonic-writes").remark.unwrap().contains("`session` can"), "{all}");
    assert!(all.to_string().ends_with("told apart by value: nothing is violated"), "{all}");
    let json = serde_json::to_value(&all).unwrap();
    assert_eq!(json["verdicts"][0]["guarantee"], "well-formed");
    assert_eq!(json["verdicts"][0]["verdict"], "holds");
    assert_eq!(json["mode"], "black-box");
}

/// With versions each guarantee is exact on its own.
#[test]
fn versions_tell_more_than_values() {
    let script = "c0@A put x a 5\nc0@B put x b 2\nc0@B get x a 5A";
    let violated = |values_only| {
        let all = verdicts(script, values_only);
        let violated = all.verdicts.into_iter().filter(|v| v.verdict == Holds::Violated);
        violated.map(|v| v.guarantee).collect::<Vec<_>>()
    };
    assert_eq!(violated(false), ["monotonic-writes", "session", "overwrite-order"]);
    assert_eq!(violated(true), ["session", "causal"]);
}

#[test]
fn guarantees_are_found_by_name() {
    for guarantee in Guarantee::all() {
        assert_eq!(Guarantee::named(guarantee.name), Some(guarantee));
    }
    assert_eq!(Guarantee::named("linearizable"), None);
    assert_eq!(Guarantee::all().len(), 15);
}
