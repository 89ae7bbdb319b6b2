//! Sorted sets against sorted arrays.

use super::{assert_uniform, key};
use crate::plain::Ranked;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// A sorted set as a sorted array.
#[derive(Default)]
struct Model(BTreeMap<Vec<u8>, f64>);

impl Model {
    fn sorted(&self) -> Vec<(&[u8], f64)> {
        let mut all: Vec<_> = self.0.iter().map(|(member, score)| (member.as_slice(), *score)).collect();
        all.sort_by(|left, right| left.1.partial_cmp(&right.1).expect("no NaN").then(left.0.cmp(right.0)));
        all
    }
}

fn check(ranked: &Ranked, model: &Model, rng: &mut Rng) {
    let all = model.sorted();
    assert_eq!(ranked.iter().collect::<Vec<_>>(), all);
    let backwards: Vec<_> = all.iter().rev().copied().collect();
    assert_eq!(ranked.iter().rev().collect::<Vec<_>>(), backwards);
    assert_eq!((ranked.first(), ranked.last()), (all.first().copied(), all.last().copied()));
    assert!(ranked.at(all.len()).is_none());
    for _ in 0..5 {
        let (from, to) = (rng.usize(0..all.len() + 2), rng.usize(0..all.len() + 2));
        let to_end = to.min(all.len());
        let meant = &all[from.min(to_end)..to_end];
        assert_eq!(ranked.range(from..to).len(), meant.len());
        let mut range = ranked.range(from..to);
        let mut meant = meant.iter().copied();
        while let Some(expected) = if rng.bool() { meant.next() } else { None } {
            assert_eq!(range.next(), Some(expected));
            assert_eq!(range.next_back(), meant.next_back());
        }
        let score = f64::from(rng.i32(-3..60)) / 2.0;
        assert_eq!(ranked.rank_of_score(score, false), all.iter().filter(|entry| entry.1 < score).count());
        assert_eq!(ranked.rank_of_score(score, true), all.iter().filter(|entry| entry.1 <= score).count());
    }
    if !all.is_empty() {
        let rank = rng.usize(0..all.len());
        assert_eq!(ranked.at(rank), Some(all[rank]));
        assert_eq!(ranked.rank(all[rank].0), Some(rank));
    }
    assert_eq!(ranked.rank(b"nobody"), None);
}

fn run(seed: u64, distinct: u32, long: u32, scores: u32) {
    let (mut rng, mut ranked, mut model) = (Rng::with_seed(seed), Ranked::new(), Model::default());
    let mut inserts = 60;
    for round in 0..8000 {
        if round % 1000 == 0 {
            inserts = rng.u32(10..90);
        }
        let member = key(&mut rng, distinct, long);
        if rng.u32(0..100) < inserts {
            let score = f64::from(rng.u32(0..scores)) / 2.0 * if rng.bool() { 1.0 } else { -0.0 };
            assert_eq!(ranked.insert(&member, score), model.0.insert(member.clone(), score));
        } else {
            assert_eq!(ranked.remove(&member), model.0.remove(&member));
        }
        assert_eq!(ranked.len(), model.0.len());
        assert_eq!(ranked.score(&member), model.0.get(&member).copied());
        if round % 200 == 0 {
            check(&ranked.clone(), &model, &mut rng);
        }
    }
}

#[test]
fn sorted_sets_are_sorted_maps() {
    for (seed, distinct, long) in
        [(1, 20, 0), (2, 120, 0), (3, 400, 0), (4, 5000, 0), (5, 100, 50), (6, 9000, 7)]
    {
        run(seed, distinct, long, 3);
        run(seed, distinct, long, 50);
        run(seed, distinct, long, 100_000);
    }
}

#[test]
fn a_sorted_set_that_loses_almost_all_members_keeps_the_others() {
    let mut ranked = Ranked::new();
    let name = |number: u32| format!("member:{number:06}").into_bytes();
    (0..20_000u32).for_each(|number| _ = ranked.insert(&name(number), f64::from(number / 100)));
    let large = ranked.memory();
    (0..20_000u32).filter(|number| number % 1000 != 7).for_each(|number| _ = ranked.remove(&name(number)));
    let meant: Vec<Vec<u8>> = (0..20).map(|number| name(number * 1000 + 7)).collect();
    assert_eq!(ranked.iter().map(|(member, _)| member.to_vec()).collect::<Vec<_>>(), meant);
    assert!(ranked.memory() < large / 20, "{} of {large}", ranked.memory());
    (0..20_000u32).for_each(|number| _ = ranked.insert(&name(number), f64::from(number / 100)));
    assert!(ranked.iter().map(|(member, _)| member.to_vec()).eq((0..20_000).map(name)));
}

#[test]
fn ranks_by_bytes_are_those_of_a_sorted_set_of_members() {
    for len in [50u32, 3000] {
        let (mut rng, mut ranked, mut model) = (Rng::with_seed(3), Ranked::new(), BTreeSet::new());
        for _ in 0..len {
            let member = rng.u32(0..100_000).to_string().into_bytes();
            ranked.insert(&member, 1.5);
            model.insert(member);
        }
        for _ in 0..1000 {
            let bound = rng.u32(0..100_000).to_string().into_bytes();
            assert_eq!(ranked.rank_of_lex(&bound, false), model.range(..bound.clone()).count());
            assert_eq!(ranked.rank_of_lex(&bound, true), model.range(..=bound).count());
        }
        assert_eq!(ranked.rank_of_lex(b"", true), 0);
    }
}

#[test]
fn zeros_of_both_signs_are_equal() {
    for others in [0u32, 500] {
        let mut ranked = Ranked::new();
        (0..others).for_each(|number| _ = ranked.insert(&number.to_be_bytes(), f64::from(number + 1)));
        ranked.insert(b"b", -0.0);
        ranked.insert(b"a", 0.0);
        ranked.insert(b"c", f64::NEG_INFINITY);
        ranked.insert(b"d", f64::INFINITY);
        let first: Vec<&[u8]> = ranked.iter().take(3).map(|entry| entry.0).collect();
        assert_eq!(first, [&b"c"[..], b"a", b"b"]);
        assert_eq!(ranked.rank_of_score(-0.0, false), 1);
        assert_eq!(ranked.rank_of_score(0.0, true), 3);
        assert_eq!(ranked.insert(b"b", 0.0).map(f64::to_bits), Some((-0.0f64).to_bits()));
        assert_eq!(ranked.score(b"b").map(f64::to_bits), Some(0));
        assert_eq!(ranked.last(), Some((&b"d"[..], f64::INFINITY)));
    }
}

#[test]
fn samples_are_uniform_and_scans_complete() {
    for len in [20u32, 1000] {
        let mut ranked = Ranked::new();
        (0..len).for_each(|number| _ = ranked.insert(&number.to_be_bytes(), f64::from(number)));
        let mut counts = vec![0; len as usize];
        for seed in 0..u64::from(len) * 100 {
            counts[ranked.sample(seed).expect("there are members").1 as usize] += 1;
        }
        assert_uniform(&counts);
        let (mut seen, mut cursor) = (0, 0);
        loop {
            cursor = ranked.scan(cursor, 7, |member, score| {
                assert_eq!(f64::from(u32::from_be_bytes(member.try_into().expect("four bytes"))), score);
                seen += 1;
            });
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(seen, len);
    }
}
