//! Keys of data types on simulated disks: no element comes back, no counter doubles, whatever crashes, and regions agree.

mod cases;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use tidemark_contract::core::Verb;
use world::{P0, REGIONS, Shown, World, call, call_on};

/// What a client wrote, as far as it can be foretold.
#[derive(Clone, Debug)]
enum Did {
    Counted(String, i64),
    Added(String, String),
    Removed(String, String),
    Moved,
    Other,
}

/// What was written in each region: the numbers of records, and what they do.
type Written = [Vec<(u64, Did)>; REGIONS];

fn keys() -> Vec<String> {
    let of = |prefix: &'static str| (0..3).map(move |number| format!("{prefix}{number}"));
    ["n", "s", "m", "x", "h"].into_iter().flat_map(of).collect()
}

/// One operation of the session of a region.
fn act(world: &mut World, dc: usize, written: &mut Written) {
    let (a, b) = (world.rng.u32(0..3), world.rng.u32(0..3));
    let added = |written: &Written| -> Vec<(String, String)> {
        let adds = written.iter().flatten().filter_map(|(_, did)| match did {
            Did::Added(key, member) => Some((key.clone(), member.clone())),
            _ => None,
        });
        adds.collect()
    };
    let (wrote, did) = match world.rng.u32(0..14) {
        0..3 => {
            let (key, by) = (format!("n{a}"), world.rng.i64(-9..100));
            (world.ask(dc, &key, call(Verb::IncrBy, &[&by.to_string()])), Did::Counted(key, by))
        }
        3..5 => {
            let (key, member) = (format!("s{a}"), format!("of{dc}at{}", world.rng.u64(..)));
            (world.ask(dc, &key, call(Verb::SAdd, &[&member])), Did::Added(key, member))
        }
        5 => {
            let there = added(written);
            let Some((key, member)) = world.rng.choice(&there).cloned() else { return };
            (world.ask(dc, &key, call(Verb::SRem, &[&member])), Did::Removed(key, member))
        }
        6 => {
            // Members of "m" are moved by the region that added them alone: each is in one set at a time.
            let member = format!("of{dc}no{b}");
            let (from, to) = (format!("m{a}"), format!("m{}", (a + 1) % 3));
            let moved = world.ask(dc, &from, call_on(Verb::SMove, &to, &[&member]));
            (moved, Did::Moved)
        }
        7..11 => (odd(world, dc, a), Did::Other),
        _ => (text(world, dc, a), Did::Other),
    };
    written[dc].extend(wrote.map(|number| (number, did)));
}

/// Something of a hash, a whole key, or a deadline.
fn odd(world: &mut World, dc: usize, a: u32) -> Option<u64> {
    let (key, field) = (format!("h{a}"), format!("f{}", world.rng.u32(0..4)));
    let update = match world.rng.u32(0..9) {
        0..3 => call(Verb::HSet, &[&field, &world.rng.u32(..).to_string()]),
        3 => call(Verb::HIncrBy, &["count", "1"]),
        4 => call(Verb::HDel, &[&field, "count"]),
        5 => call(Verb::Del, &[]),
        6 => call(Verb::PExpire, &[&world.rng.u32(1..3_000).to_string()]),
        7 => call(Verb::Persist, &[]),
        _ => call_on(Verb::Rename, &format!("h{}", (a + 1) % 3), &[]),
    };
    world.ask(dc, &key, update)
}

/// Something of a string that is a register at times.
fn text(world: &mut World, dc: usize, a: u32) -> Option<u64> {
    let (key, value) = (format!("x{a}"), format!("{}", world.rng.u32(0..1000)));
    match world.rng.u32(0..6) {
        0..2 => world.set(dc, &key, Some(&value)),
        2 => world.set(dc, &key, None),
        3 => world.ask(dc, &key, call(Verb::Append, &[&value])),
        4 => world.ask(dc, &key, call(Verb::Del, &[])),
        _ => world.ask(dc, &key, call(Verb::Incr, &[])),
    }
}

/// A step of somebody.
fn step(world: &mut World, written: &mut Written) {
    let (a, b) = (world.rng.usize(0..REGIONS), world.rng.usize(0..REGIONS));
    match world.rng.u32(0..24) {
        0..9 => {
            act(world, a, written);
            if world.rng.bool() {
                world.commit(a);
            }
        }
        9..11 => world.sync(a),
        11..15 => world.upkeep(a),
        15..20 if a != b => {
            let items = world.rng.usize(0..20);
            world.pump(a, b, items);
        }
        20..23 => {
            let us = world.rng.u64(0..60_000);
            world.pass(us);
        }
        23 => {
            world.crash(a);
            let last = world.regions[a].host.written(P0);
            written[a].retain(|(number, _)| *number <= last);
        }
        _ => {}
    }
}

/// The elements' names.
fn names(shown: &Shown) -> BTreeSet<String> {
    shown.iter().map(|one| one.split('"').nth(1).expect("it has a name").to_string()).collect()
}

/// Compares what is there with what was written.
fn judge(seed: u64, there: &BTreeMap<String, Shown>, written: &Written) {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    let mut sets: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let all = || written.iter().flatten().map(|(_, did)| did);
    for did in all() {
        match did {
            Did::Counted(key, by) => *counts.entry(key.clone()).or_default() += by,
            Did::Added(key, member) => drop(sets.entry(key.clone()).or_default().insert(member.clone())),
            Did::Removed(..) | Did::Moved | Did::Other => {}
        }
    }
    for did in all() {
        if let Did::Removed(key, member) = did {
            sets.get_mut(key).expect("somebody added it").remove(member);
        }
    }
    for (key, count) in counts {
        assert_eq!(there[&key], [format!("\"\" \"{count}\"")], "seed {seed}, {key}");
    }
    for (key, members) in sets {
        assert_eq!(names(&there[&key]), members, "seed {seed}, {key}");
    }
    let moved: Vec<String> = (0..3).flat_map(|number| names(&there[&format!("m{number}")])).collect();
    assert_eq!(moved.len(), 9, "seed {seed}: each is in one set: {moved:?}");
}

fn run(seed: u64) {
    let (mut world, mut written) = (World::new(seed), Written::default());
    for dc in 0..REGIONS {
        for number in 0..3 {
            world.ask(dc, "m0", call(Verb::SAdd, &[&format!("of{dc}no{number}")]));
        }
        world.sync(dc);
    }
    for _ in 0..300 {
        step(&mut world, &mut written);
    }
    world.settle();
    let all: Vec<_> = (0..REGIONS).map(|dc| world.read(dc, &keys())).collect();
    for dc in 1..REGIONS {
        assert_eq!(all[0], all[dc], "seed {seed}: regions 0 and {dc}");
    }
    judge(seed, &all[0], &written);
    for dc in 0..REGIONS {
        world.crash(dc);
        assert_eq!(world.read(dc, &keys()), all[0], "seed {seed}: after the last start of {dc}");
    }
}

#[test]
fn regions_agree_whatever_crashes() {
    (0..300).for_each(run);
}

/// Before and after a crash a session sees the same, wherever a snapshot and the stable time stand.
#[test]
fn a_session_sees_the_same_after_a_crash() {
    for seed in 0..150 {
        let (mut world, mut written) = (World::new(seed), Written::default());
        for round in 0..12 {
            for _ in 0..25 {
                step(&mut world, &mut written);
            }
            let dc = world.rng.usize(0..REGIONS);
            let before = world.read(dc, &keys());
            world.crash(dc);
            assert_eq!(world.read(dc, &keys()), before, "seed {seed}, round {round}, region {dc}");
        }
    }
}
