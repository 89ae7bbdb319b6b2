//! Two regions execute a command each, without having seen the other's.

use super::region::Region;

/// The outcome of `ours` and `theirs` behind `base`: if `ours` has the earlier stamp, and if `theirs` has. The order in which the
/// effects arrive must make no difference, nor must settling.
fn merge(base: &[&str], ours: &str, theirs: &str) -> [String; 2] {
    [0, 50].map(|late| {
        let mut start = Region::new(0);
        base.iter().for_each(|command| drop(start.run(command)));
        let (mut first, mut second) = (start.clone(), Region { origin: tidemark_core::DcId(1), ..start });
        (first.clock, second.clock) = (first.clock + late, second.clock + 25);
        let ((_, a, ours), (_, b, theirs)) = (first.prepare(ours), second.prepare(theirs));
        [(&ours, a), (&theirs, b)].iter().for_each(|(effect, stamp)| first.state.apply(*stamp, effect, None));
        [(&theirs, b), (&ours, a)]
            .iter()
            .for_each(|(effect, stamp)| second.state.apply(*stamp, effect, None));
        assert_eq!(first.state.elements(), second.state.elements(), "the regions disagree");
        let shown = first.list().join(" ").replace('\'', "");
        assert_eq!(second.list(), first.list());
        first.state.settle(a.ts.max(b.ts), usize::MAX);
        assert_eq!(second.list(), first.list());
        shown
    })
}

fn assert_merges(base: &[&str], ours: &str, theirs: &str, expected: [&str; 2]) {
    assert_eq!(merge(base, ours, theirs), expected, "{ours} || {theirs}");
}

#[test]
fn l1_concurrent_pushes_all_stay_each_run_together() {
    let base = ["RPUSH k x y"];
    assert_merges(&base, "RPUSH k a b", "RPUSH k c d", ["x y c d a b"; 2]);
    assert_merges(&base, "LPUSH k a b", "LPUSH k c d", ["b a d c x y"; 2]);
    assert_merges(&base, "LPUSH k a b", "RPUSH k c d", ["b a x y c d"; 2]);
    assert_merges(&base, "LINSERT k AFTER x a", "LINSERT k BEFORE y c", ["x a c y"; 2]);
    assert_merges(&[], "RPUSH k a b", "RPUSH k c d", ["a b c d"; 2]);
    assert_merges(&[], "LPUSH k a b", "LPUSH k c d", ["b a d c"; 2]);
    assert_merges(&[], "LPUSH k a b", "RPUSH k c d", ["b a c d"; 2]);
    assert_merges(&["RPUSH k x", "LPOP k"], "RPUSH k a b", "RPUSH k c d", ["a b c d"; 2]);
}

#[test]
fn l2_an_element_is_removed_once() {
    let base = ["RPUSH k x y x z"];
    assert_merges(&base, "LPOP k", "LPOP k", ["y x z"; 2]);
    assert_merges(&base, "LPOP k 2", "LPOP k", ["x z"; 2]);
    assert_merges(&base, "LPOP k", "RPOP k", ["y x"; 2]);
    assert_merges(&base, "LREM k 0 x", "LREM k 1 x", ["y z"; 2]);
    assert_merges(&base, "LREM k 1 x", "LREM k -1 x", ["y z"; 2]);
    assert_merges(&base, "LTRIM k 1 -1", "LTRIM k 0 -2", ["y x"; 2]);
    assert_merges(&base, "LTRIM k 1 0", "LPOP k", [""; 2]);
    assert_merges(&base, "DEL k", "LPOP k 4", [""; 2]);
}

#[test]
fn l3_a_set_element_has_the_later_value_and_stays() {
    let base = ["RPUSH k x y z"];
    assert_merges(&base, "LSET k 1 a", "LSET k 1 b", ["x b z", "x a z"]);
    assert_merges(&base, "LSET k 1 a", "LSET k 2 b", ["x a b"; 2]);
    assert_merges(&base, "LSET k 1 a", "LREM k 0 y", ["x a z"; 2]);
    assert_merges(&base, "LSET k 0 a", "LPOP k", ["a y z"; 2]);
    assert_merges(&base, "LSET k -1 a", "RPOP k 3", ["a"; 2]);
    assert_merges(&base, "LSET k 1 a", "LTRIM k 1 0", ["a"; 2]);
    assert_merges(&base, "LSET k 1 a", "DEL k", ["a"; 2]);
}

#[test]
fn l3_a_pushed_element_does_not_meet_the_popped_one() {
    // The new element stands where the old one did, and is another one.
    let mut first = Region::new(0);
    first.run("RPUSH k x y");
    let mut second = Region { origin: tidemark_core::DcId(1), ..first.clone() };
    let (_, set, setting) = second.prepare("LSET k 1 a");
    let mut effects = vec![(set, setting)];
    for command in ["RPOP k", "RPUSH k b"] {
        let (_, stamp, effect) = first.prepare(command);
        first.state.apply(stamp, &effect, None);
        effects.push((stamp, effect));
    }
    effects.iter().for_each(|(stamp, effect)| second.state.apply(*stamp, effect, None));
    first.state.apply(effects[0].0, &effects[0].1, None);
    assert_eq!(first.list(), ["'x'", "'a'", "'b'"]);
    assert_eq!(second.list(), first.list());
}

#[test]
fn l4_pushed_elements_survive_what_has_not_seen_them() {
    let base = ["RPUSH k x y z"];
    assert_merges(&base, "DEL k", "RPUSH k a b", ["a b"; 2]);
    assert_merges(&base, "LTRIM k 1 1", "RPUSH k a b", ["y a b"; 2]);
    assert_merges(&base, "LTRIM k 1 0", "LPUSH k a b", ["b a"; 2]);
    assert_merges(&base, "LPOP k 3", "LINSERT k AFTER y a", ["a"; 2]);
}

#[test]
fn l5_an_inserted_element_stands_where_its_pivot_was() {
    let base = ["RPUSH k x y z"];
    assert_merges(&base, "LINSERT k BEFORE y a", "LREM k 0 y", ["x a z"; 2]);
    assert_merges(&base, "LINSERT k AFTER y a", "LREM k 0 y", ["x a z"; 2]);
    assert_merges(&base, "LINSERT k BEFORE x a", "LPOP k 2", ["a z"; 2]);
}
