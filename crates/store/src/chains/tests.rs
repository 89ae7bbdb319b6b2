use super::*;
use std::collections::BTreeSet;
use tidemark_core::{DcId, Hlc};

fn version(ts: u64, value: Option<&str>) -> Version<()> {
    let write = value.map_or(Write::Remove, |v| Write::Assign(v.as_bytes().into()));
    Version { stamp: Stamp::new(Hlc(ts), DcId(0)), meta: (), write }
}

fn stamps(store: &Store<()>, key: &str) -> Vec<u64> {
    store.chain(key.as_bytes()).map(|v| v.stamp.ts.0).collect()
}

#[test]
fn a_chain_is_ordered_whatever_the_order_of_arrival_and_ignores_repeats() {
    let mut store = Store::new(1);
    for ts in [3, 1, 5, 2, 4, 3, 5, 1] {
        store.insert(b"k", version(ts, Some("v")));
    }
    assert_eq!(stamps(&store, "k"), [5, 4, 3, 2, 1]);
    assert_eq!(store.totals(), Totals { keys: 1, versions: 5, bytes: 6 });
    assert_eq!(store.chain(b"nothing").next(), None);
}

#[test]
fn collection_keeps_the_newest_safe_version_and_all_that_is_newer() {
    let mut store = Store::new(1);
    for ts in 1..=5 {
        store.insert(b"k", version(ts, Some("v")));
    }
    let collected = store.collect(10, |v| v.stamp.ts.0 <= 3, |_| false);
    assert_eq!((stamps(&store, "k"), collected.versions), (vec![5, 4, 3], 2));
    assert_eq!(store.garbage(), 1, "two newer versions are still there");
    store.collect(10, |_| true, |_| false);
    assert_eq!(stamps(&store, "k"), [5]);
    assert_eq!(store.garbage(), 0);
    assert_eq!(store.totals(), Totals { keys: 1, versions: 1, bytes: 2 });
}

#[test]
fn nothing_goes_while_nothing_is_safe() {
    let mut store = Store::new(1);
    for ts in 1..=3 {
        store.insert(b"k", version(ts, Some("v")));
    }
    store.collect(10, |_| false, |_| true);
    assert_eq!(stamps(&store, "k"), [3, 2, 1]);
}

#[test]
fn a_tombstone_goes_only_when_safe_alone_and_passed_by_all() {
    let mut store = Store::new(1);
    store.insert(b"k", version(1, Some("v")));
    store.insert(b"k", version(2, None));
    store.collect(10, |_| true, |_| false);
    assert_eq!(stamps(&store, "k"), [2], "somebody may still send something older");
    store.collect(10, |_| false, |_| true);
    assert_eq!(stamps(&store, "k"), [2], "an older snapshot may still be read");
    store.insert(b"k", version(3, Some("w")));
    store.collect(10, |v| v.stamp.ts.0 <= 2, |_| true);
    assert_eq!(stamps(&store, "k"), [3, 2], "the newer version is not safe yet");
    store.insert(b"k", version(4, None));
    let collected = store.collect(10, |_| true, |_| true);
    assert_eq!((stamps(&store, "k"), collected), (vec![], Collected { versions: 2, keys: 1 }));
    assert_eq!(store.totals(), Totals::default());
    store.insert(b"k", version(9, Some("again")));
    assert_eq!(stamps(&store, "k"), [9], "the place in the slab is used again");
}

#[test]
fn what_stands_beside_any_version_of_a_chain_can_be_changed() {
    let mut store = Store::new(1);
    for ts in 1..=3 {
        let Version { stamp, write, .. } = version(ts, Some("v"));
        store.insert(b"k", Version { stamp, write, meta: ts });
    }
    let at = |ts| version(ts, None).stamp;
    for ts in [1, 3, 9] {
        store.meta_mut(b"k", at(ts)).into_iter().for_each(|meta| *meta += 10);
    }
    assert_eq!(store.chain(b"k").map(|v| v.meta).collect::<Vec<_>>(), [13, 2, 11]);
    assert_eq!(store.meta_mut(b"other", at(1)), None);
}

#[test]
fn versions_are_picked_by_their_stamps_wherever_they_stand() {
    let mut store = Store::new(7);
    for (key, ts) in [("b", 4), ("a", 5), ("b", 1), ("a", 2), ("c", 3)] {
        store.insert(key.as_bytes(), version(ts, Some("v")));
    }
    let picked = store.pick(|v| (v.stamp.ts.0 != 3).then_some(v.stamp.ts.0 * 10));
    let picked: Vec<_> =
        picked.into_iter().map(|(stamp, key, taken)| (stamp.ts.0, key.to_string(), taken)).collect();
    assert_eq!(
        picked,
        [(1, "b", 10), (2, "a", 20), (4, "b", 40), (5, "a", 50)].map(|(ts, k, t)| (ts, k.into(), t))
    );
}

#[test]
fn a_scan_meets_every_key_once_while_others_come_and_go() {
    let mut store = Store::new(7);
    for i in 0..2_000 {
        // Half of the keys share one slot: cursors have to cut inside it.
        let key = if i % 2 == 0 { format!("key:{i}") } else { format!("{{tag}}:{i}") };
        store.insert(key.as_bytes(), version(1, Some("v")));
    }
    let (mut seen, mut cursor, mut calls) = (BTreeSet::new(), 0, 0);
    loop {
        let (keys, next) = store.scan((cursor, 10), Hlc::ZERO, |mut all| all.next(), |_| true, |_| ());
        for key in keys {
            assert!(seen.insert(key));
        }
        store.insert(format!("new:{calls}").as_bytes(), version(2, Some("v")));
        calls += 1;
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    let there_all_along = seen.iter().filter(|key| !key.starts_with(b"new:")).count();
    assert_eq!(there_all_along, 2_000);
    assert!(calls > 100, "a call stays near its limit");
}

#[test]
fn scan_and_count_agree_with_what_is_visible() {
    let mut store = Store::new(7);
    store.insert(b"a", version(1, Some("v")));
    store.insert(b"a", version(5, None));
    store.insert(b"b", version(2, Some("v")));
    let names = |at: u64| {
        let (mut keys, _) =
            store.scan((0, 100), Hlc::ZERO, |mut all| all.find(|v| v.stamp.ts.0 <= at), |_| true, |_| ());
        keys.sort();
        keys.iter().map(|k| k.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(1), names(2), names(5)),
        (vec!["a".into()], vec!["a".into(), "b".into()], vec!["b".into()])
    );
    assert_eq!(
        [0, 1, 2, 5].map(|at| store.count(Hlc::ZERO, |mut all| all.find(|v| v.stamp.ts.0 <= at), |_| true)),
        [0, 1, 2, 1]
    );
}

/// All chains, by key.
fn chains(store: &Store<()>) -> Vec<(Vec<u8>, Vec<u64>)> {
    let mut all: Vec<(Vec<u8>, Vec<u64>)> = Vec::new();
    store.dump(0, usize::MAX, |key, version| match all.last_mut() {
        Some((last, stamps)) if last == key => stamps.push(version.stamp.ts.0),
        _ => all.push((key.to_vec(), vec![version.stamp.ts.0])),
    });
    all.sort();
    all
}

/// A store collects, another hears each turn what was inserted, and then what was dropped. It holds the same after each turn,
/// also if it hears all of it twice, and its queue does not grow.
#[test]
fn who_follows_a_journal_holds_the_same() {
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut leads, mut follows) = (Store::new(1), Store::new(2));
    leads.keep_journal();
    let (mut ts, mut all_gone) = (0, 0);
    for turn in 0..3_000 {
        let mut inserted = Vec::new();
        for _ in 0..rng.usize(0..6) {
            ts += 1;
            let key = format!("k{}", rng.u32(0..20));
            inserted.push((key, version(ts, (rng.u32(0..3) > 0).then_some("v"))));
        }
        for (key, version) in &inserted {
            leads.insert(key.as_bytes(), version.clone());
            match rng.u32(0..4) {
                0 => leads.keep_newest(key.as_bytes()),
                1 => {
                    leads.collect(rng.usize(0..10), |v| v.stamp.ts.0 + 20 <= ts, |at| at.ts.0 + 40 <= ts);
                }
                _ => {}
            }
        }
        let dropped = leads.take_journal();
        all_gone += dropped.iter().filter(|one| one.gone).count();
        for _ in 0..1 + turn % 2 {
            inserted.iter().for_each(|(key, version)| {
                follows.insert(key.as_bytes(), version.clone());
            });
            follows.follow(&dropped);
        }
        assert_eq!(chains(&follows), chains(&leads), "turn {turn}");
        assert_eq!(follows.totals(), leads.totals());
        assert!(follows.garbage() < 100, "{} are queued", follows.garbage());
    }
    assert!(all_gone > 100, "{all_gone} keys went");
    // It could go on by itself: it knows what to look at.
    leads.collect(usize::MAX, |_| true, |_| true);
    follows.collect(usize::MAX, |_| true, |_| true);
    assert_eq!(chains(&follows), chains(&leads));
}

/// What is left of a key counts when it is told, not what was cut when: one statement a key.
#[test]
fn a_journal_says_what_is_left() {
    let mut store = Store::new(1);
    store.insert(b"before", version(1, None));
    store.collect(9, |_| true, |_| true);
    store.keep_journal();
    for ts in 1..=5 {
        store.insert(b"cut", version(ts, Some("v")));
        store.keep_newest(b"cut");
        store.insert(b"gone", version(ts, None));
        store.collect(9, |_| true, |_| true);
    }
    store.insert(b"again", version(6, None));
    store.collect(9, |_| true, |_| true);
    store.insert(b"again", version(7, Some("v")));
    store.insert(b"untouched", version(8, Some("v")));
    let told: Vec<_> =
        store.take_journal().into_iter().map(|d| (d.key.to_string(), d.oldest.ts.0, d.gone)).collect();
    assert_eq!(told, [("again".into(), 7, false), ("cut".into(), 5, false), ("gone".into(), 5, true)]);
    assert_eq!(store.take_journal(), []);
}

/// Found by the simulator: a write transaction of a protocol without data types stopped the replication stream.
#[test]
fn registers_are_written_together_where_there_are_no_data_types() {
    let group = |writes: &[(&str, Write)]| {
        Write::Group(
            writes.iter().map(|(key, write)| ((*key).into(), write.clone())).collect::<Vec<_>>().into(),
        )
    };
    let mut store = Store::new(1);
    let assign = |value: &str| Write::Assign(value.as_bytes().into());
    for ts in 1..=2 {
        let write = group(&[("k", assign("v")), ("l", if ts == 1 { assign("v") } else { Write::Remove })]);
        assert_eq!(store.understands(&write), Ok(()));
        store.insert(b"k", Version { write: write.clone(), ..version(ts, None) });
        store.keep_newest_of(b"k", &write);
        assert_eq!((stamps(&store, "k"), stamps(&store, "l")), (vec![ts], vec![ts]));
    }
    assert_eq!(store.totals().versions, 2);
    let typed = Write::Apply(Vec::new().into());
    assert_eq!(store.understands(&group(&[("k", typed)])), Err(Misunderstood::Untyped));
}

/// What is said of a key twice, or late, drops nothing that came later, and all that was older even if what stayed then is
/// gone: else what was deleted would be back.
#[test]
fn what_is_said_late_drops_what_was_older_and_nothing_else() {
    let mut store = Store::new(1);
    let k = tidemark_core::Key::from("k");
    let dropped = |ts, gone| Dropped { key: k.clone(), oldest: version(ts, None).stamp, gone };
    [2, 5, 9].into_iter().for_each(|ts| assert!(store.insert(b"k", version(ts, Some("v")))));
    store.follow(&[dropped(3, false), dropped(3, false)]);
    assert_eq!(stamps(&store, "k"), [9, 5], "what stayed is not here");
    store.follow(&[dropped(5, false)]);
    assert_eq!(stamps(&store, "k"), [9, 5]);
    store.follow(&[dropped(5, true)]);
    assert_eq!(stamps(&store, "k"), [9], "the key has a newer version");
    store.insert(b"k", version(1, Some("v")));
    store.follow(&[dropped(9, false)]);
    assert_eq!(stamps(&store, "k"), [9]);
    store.follow(&[dropped(10, true), dropped(10, true)]);
    assert_eq!((store.totals(), store.garbage()), (Totals::default(), 0));
}
