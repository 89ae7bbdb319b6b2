//! Lists against sorted maps.

use crate::plain::Sequence;
use fastrand::Rng;
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn position(rng: &mut Rng, distinct: u32) -> Vec<u8> {
    let number = rng.u32(0..distinct);
    let mut position = b"list".repeat(number as usize % 3);
    position.extend((number / 7).to_be_bytes());
    position.truncate(1 + number as usize % 29);
    position
}

fn check(sequence: &Sequence, model: &Model, rng: &mut Rng) {
    let all: Vec<(&[u8], &[u8])> =
        model.iter().map(|(position, value)| (position.as_slice(), value.as_slice())).collect();
    assert!(sequence.iter().map(|(position, value)| (position.to_vec(), value.to_vec())).eq(model.clone()));
    let backwards = sequence.iter().rev().map(|entry| entry.1);
    assert!(backwards.eq(all.iter().rev().map(|entry| entry.1)));
    assert_eq!(sequence.first().map(|entry| entry.1), all.first().map(|entry| entry.1));
    assert_eq!(sequence.last().map(|entry| entry.0.to_vec()), all.last().map(|entry| entry.0.to_vec()));
    assert!(sequence.at(all.len()).is_none());
    for _ in 0..5 {
        let (from, to) = (rng.usize(0..all.len() + 2), rng.usize(0..all.len() + 2));
        let end = to.min(all.len());
        let meant = &all[from.min(end)..end];
        assert_eq!(sequence.range(from..to).len(), meant.len());
        assert!(sequence.range(from..to).map(|entry| entry.1).eq(meant.iter().map(|entry| entry.1)));
        let skip = rng.usize(0..20);
        assert_eq!(
            sequence.range(from..to).nth(skip).map(|entry| entry.1),
            meant.get(skip).map(|entry| entry.1)
        );
        let sought = position(rng, 3000);
        assert_eq!(sequence.index_of(&sought), model.range(..sought.clone()).count());
    }
    if !all.is_empty() {
        let index = rng.usize(0..all.len());
        let (position, value) = sequence.at(index).expect("there is one");
        assert_eq!((position.to_vec().as_slice(), value), all[index]);
        assert!(position == *all[index].0 && position.len() == all[index].0.len());
        assert_eq!(sequence.index_of(all[index].0), index);
    }
}

fn run(seed: u64, distinct: u32, length: usize) {
    let (mut rng, mut sequence, mut model) = (Rng::with_seed(seed), Sequence::new(), Model::new());
    let mut inserts = 60;
    for round in 0..8000 {
        if round % 1000 == 0 {
            inserts = rng.u32(10..90);
        }
        let position = position(&mut rng, distinct);
        if rng.u32(0..100) < inserts {
            let value = vec![round as u8; rng.usize(0..length)];
            assert_eq!(sequence.insert(&position, &value), model.insert(position.clone(), value).is_none());
        } else {
            assert_eq!(sequence.remove(&position), model.remove(&position).is_some());
        }
        assert_eq!(sequence.len(), model.len());
        assert_eq!(sequence.get(&position), model.get(&position).map(Vec::as_slice));
        if round % 200 == 0 {
            check(&sequence.clone(), &model, &mut rng);
        }
    }
}

#[test]
fn sequences_are_sorted_maps() {
    for (seed, distinct) in [(1, 20), (2, 300), (3, 3000), (4, 100_000)] {
        for length in [1, 20, 300] {
            run(seed, distinct, length);
        }
    }
    run(5, 300, 20_000);
}

/// Positions as pushes give them out: growing at the end, falling at the front.
fn pushed(number: i64) -> Vec<u8> {
    [&(number + (1 << 40)).to_be_bytes()[2..], b"node"].concat()
}

#[test]
fn pushes_and_pops_at_both_ends_keep_the_order() {
    let mut rng = Rng::with_seed(8);
    let (mut sequence, mut model) = (Sequence::new(), Model::new());
    let (mut low, mut high, mut longest) = (0, 0, 0);
    for round in 0..60_000 {
        let growing = (round / 10_000) % 2 == 0;
        let at_front = rng.bool();
        if rng.u32(0..100) < if growing { 80 } else { 20 } || low == high {
            let position = pushed(if at_front { low - 1 } else { high });
            if at_front {
                low -= 1
            } else {
                high += 1
            };
            let value = rng.u64(..).to_string().into_bytes();
            longest = longest.max(value.len());
            assert!(sequence.insert(&position, &value));
            model.insert(position, value);
        } else {
            let position = pushed(if at_front { low } else { high - 1 });
            if at_front {
                low += 1
            } else {
                high -= 1
            };
            assert!(sequence.remove(&position));
            model.remove(&position);
        }
        if round % 5000 == 0 {
            check(&sequence, &model, &mut rng);
        }
    }
    check(&sequence, &model, &mut rng);
    assert_eq!(sequence.longest(), longest);
    model.keys().for_each(|position| assert!(sequence.remove(position)));
    assert!(sequence.is_empty() && sequence.memory() == 0);
}
