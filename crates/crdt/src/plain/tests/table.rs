//! Tables against maps; scans and samples.

use super::{assert_uniform, key};
use crate::plain::{ShortBytes, Slot, Table};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Random calls; `value` makes a value of a number and `same` compares.
fn run<V: Slot, M: Clone + Debug + PartialEq>(
    seed: u64,
    distinct: u32,
    long: u32,
    make: impl Fn(u32) -> M,
    show: impl for<'a> Fn(&'a M) -> V::Ref<'a>,
    model_of: impl Fn(V::Ref<'_>) -> M,
) {
    let (mut rng, mut table, mut model) = (Rng::with_seed(seed), Table::<V>::new(), BTreeMap::new());
    let mut inserts = 60;
    for round in 0..8000 {
        if round % 1000 == 0 {
            inserts = rng.u32(20..80);
        }
        let key = key(&mut rng, distinct, long);
        if rng.u32(0..100) < inserts {
            let value = make(rng.u32(0..100));
            assert_eq!(table.insert(&key, show(&value)), model.insert(key.clone(), value).is_none());
        } else {
            assert_eq!(table.remove(&key), model.remove(&key).is_some());
        }
        assert_eq!(table.len(), model.len());
        assert_eq!(table.get(&key).map(&model_of), model.get(&key).cloned());
        if round % 100 == 0 {
            let all: BTreeMap<Vec<u8>, M> =
                table.clone().iter().map(|(key, value)| (key.to_vec(), model_of(value))).collect();
            assert_eq!(all, model);
            assert_eq!(table.iter().count(), model.len());
            assert_eq!(table.sample(round).is_some(), !model.is_empty());
        }
    }
}

#[test]
fn tables_are_maps() {
    for (seed, distinct, long) in
        [(1, 20, 0), (2, 120, 0), (3, 300, 0), (4, 3000, 0), (5, 100, 50), (6, 9000, 7)]
    {
        run::<(), ()>(seed, distinct, long, |_| (), |_| (), |()| ());
        run::<f64, f64>(seed, distinct, long, f64::from, |value| *value, |value| value);
        let bytes = |number: u32| number.to_string().repeat(number as usize % 9).into_bytes();
        run::<ShortBytes, Vec<u8>>(seed, distinct, long, bytes, |value| value, <[u8]>::to_vec);
        let long_bytes = |number: u32| vec![number as u8; number as usize];
        run::<ShortBytes, Vec<u8>>(seed, distinct, long, long_bytes, |value| value, <[u8]>::to_vec);
    }
}

#[test]
fn tables_are_packed_until_they_are_too_large() {
    let mut table = Table::<ShortBytes>::new();
    assert_eq!((table.memory(), table.longest()), (0, 0));
    (0..128u32).for_each(|number| assert!(table.insert(&number.to_le_bytes(), &[7; 64])));
    assert!(table.is_packed());
    assert!(!table.insert(&1u32.to_le_bytes(), b"in place"));
    assert!(table.is_packed() && table.longest() == 64);
    table.insert(b"one more", b"");
    assert!(!table.is_packed() && table.len() == 129);
    (0..129u32).for_each(|number| _ = table.remove(&number.to_le_bytes()));
    assert!(!table.is_packed() && table.len() == 1 && table.longest() == 64);

    let mut table = Table::<ShortBytes>::new();
    table.insert(b"a", b"b");
    table.insert(b"a", &[1; 65]);
    assert!(!table.is_packed() && table.longest() == 65 && table.len() == 1);
}

/// Scans while elements that are not watched come and go, in numbers that make the table grow and shrink.
fn scan_amid_changes(seed: u64, start: u32) {
    let mut rng = Rng::with_seed(seed);
    let mut table = Table::<()>::new();
    let watched: BTreeSet<Vec<u8>> =
        (0..100u32).map(|number| format!("watched:{number}").into_bytes()).collect();
    watched.iter().for_each(|key| _ = table.insert(key, ()));
    let other = |number: u32| format!("other:{number}").into_bytes();
    (0..start).for_each(|number| _ = table.insert(&other(number), ()));
    let (mut seen, mut cursor, mut calls) = (BTreeSet::new(), 0, 0);
    loop {
        cursor = table.scan(cursor, 10, |key, ()| _ = seen.insert(key.to_vec()));
        calls += 1;
        if cursor == 0 {
            break;
        }
        let grow = rng.bool();
        for _ in 0..rng.u32(0..500) {
            let key = other(rng.u32(0..4000));
            if grow {
                table.insert(&key, ())
            } else {
                table.remove(&key)
            };
        }
    }
    assert!(seen.is_superset(&watched), "seed {seed}");
    assert!(calls < 3000, "seed {seed}: {calls} calls");
}

#[test]
fn a_scan_sees_all_that_stays() {
    (0..200).for_each(|seed| scan_amid_changes(seed, seed as u32 * 20));
}

#[test]
fn a_scan_of_a_table_at_rest_sees_each_entry_once_in_about_as_many_calls_as_asked_for() {
    let mut table = Table::<()>::new();
    (0..10_000u32).for_each(|number| _ = table.insert(&number.to_be_bytes(), ()));
    let (mut seen, mut cursor, mut calls) = (Vec::new(), 0, 0);
    loop {
        let before = seen.len();
        cursor = table.scan(cursor, 20, |key, ()| seen.push(key.to_vec()));
        assert!(seen.len() - before < 120, "{}", seen.len() - before);
        assert!(cursor <= u64::from(u32::MAX));
        calls += 1;
        if cursor == 0 {
            break;
        }
    }
    assert!((200..500).contains(&calls), "{calls}");
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 10_000);
}

#[test]
fn a_cursor_of_a_large_table_holds_for_a_packed_one() {
    let mut table = Table::<()>::new();
    table.insert(b"a", ());
    let mut seen = 0;
    assert_eq!(table.scan(1 << 31, 1, |_, ()| seen += 1), 0);
    assert_eq!(seen, 1);
}

#[test]
fn samples_are_uniform() {
    for len in [7u32, 100, 500] {
        let mut table = Table::<()>::new();
        // Half of those that come go again, so that there are free places.
        (0..2 * len).for_each(|number| _ = table.insert(&number.to_be_bytes(), ()));
        (len..2 * len).for_each(|number| _ = table.remove(&number.to_be_bytes()));
        let mut counts = vec![0; len as usize];
        for seed in 0..u64::from(len) * 100 {
            let (key, ()) = table.sample(seed).expect("there are entries");
            counts[u32::from_be_bytes(key.try_into().expect("four bytes")) as usize] += 1;
        }
        assert_uniform(&counts);
    }
    assert!(Table::<()>::new().sample(1).is_none());
}

#[test]
fn the_order_follows_from_the_calls() {
    let build = || {
        let (mut rng, mut table) = (Rng::with_seed(9), Table::<()>::new());
        for round in 0..5000 {
            let key = key(&mut rng, 2000, 9);
            if round < 3000 {
                table.insert(&key, ())
            } else {
                table.remove(&key)
            };
        }
        let all: Vec<Vec<u8>> = table.iter().map(|(key, ())| key.to_vec()).collect();
        let mut scanned = Vec::new();
        table.scan(0, 50, |key, ()| scanned.push(key.to_vec()));
        (all, scanned)
    };
    assert_eq!(build(), build());
}
