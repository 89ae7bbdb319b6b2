//! A store that folds versions as they come holds what one holds that folds them later, and so does one that replays its log.

use bytes::Bytes;
use fastrand::Rng;
use tidemark_core::{Command, DcId, Hlc, Regions, Reply, Stamp, Update, Value, Verb, Write};
use tidemark_crdt::state::Element;
use tidemark_crdt::{Effect, Moment, cell::Cell, evaluate, overwrite};
use tidemark_store::{Object, Store, Version};

const KEYS: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
const HOME: DcId = DcId(0);

fn store() -> Store<()> {
    Store::new(1).with_types(|_, _| (), 1, Regions::NONE)
}

/// Milliseconds since 1970 at which all of this happens.
const START_MS: u64 = 1_700_000_000_000;

fn hlc(step: u64) -> Hlc {
    Hlc::at(START_MS * 1000 + step * 1000)
}

fn pick<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    words[rng.usize(0..words.len())]
}

/// A command, or none for SET.
fn command(rng: &mut Rng, step: u64) -> Option<Command> {
    let (name, other, number) = (pick(rng, &["x", "y", "z"]), pick(rng, &["v", "ww", ""]), rng.i32(-3..9));
    let (number, deadline) = (number.to_string(), (START_MS + step + rng.u64(0..40)).to_string());
    let (verb, args): (Verb, &[&str]) = match rng.u32(0..24) {
        0 => return None,
        1 | 2 => (Verb::HSet, &[name, other]),
        3 => (Verb::HDel, &[name]),
        4 => (Verb::HIncrBy, &[name, &number]),
        5 => (Verb::SAdd, &[name, other]),
        6 => (Verb::SPop, &[]),
        7 | 8 => (Verb::ZAdd, &[&number, name]),
        9 => (Verb::ZAdd, &["GT", &number, name]),
        10 => (Verb::ZIncrBy, &["0.1", name]),
        11 => (Verb::ZPopMin, &[]),
        12 => (Verb::Incr, &[]),
        13 => (Verb::Append, &["7"]),
        14 | 15 => (Verb::LPush, &[other, name]),
        16 => (Verb::RPush, &[name]),
        17 => (Verb::RPop, &[]),
        18 => (Verb::LSet, &["0", other]),
        19 => (Verb::PExpireAt, &[&deadline]),
        20 => (Verb::Persist, &[]),
        21 => (Verb::SetBit, &["3", "1"]),
        22 => (Verb::HIncrByFloat, &[name, "0.3"]),
        _ => (Verb::Del, &[]),
    };
    let args = args.iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
    Some(Command { seed: step, ..Command::new(verb, args) })
}

fn version(step: u64, write: Write) -> Version<()> {
    Version { stamp: Stamp::new(hlc(step), HOME), meta: (), write }
}

/// Carries the command out as a server does; what it answers, and what is written.
fn carry_out(
    store: &mut Store<()>,
    key: &[u8],
    command: Option<&Command>,
    step: u64,
) -> (Option<Reply>, Option<Write>) {
    let set = Update::put(Write::Assign(Value::from(&b"5"[..])));
    if command.is_none() && !store.needs_evaluation(key) {
        store.insert(key, version(step, set.write.clone()));
        return (None, Some(set.write));
    }
    let state = match store.refreshed(key, step, |_| true) {
        Some(object) => object.head().clone(),
        None => {
            // What is written names the versions of a register that it has observed.
            let mut object = Object::default();
            store.chain(key).for_each(|version| {
                object.insert(version.clone());
            });
            object.view(|_| true, |_| ()).into_owned()
        }
    };
    let (floor, expiring) = (store.floor(), store.is_expiring());
    let moment = Moment {
        time: hlc(step),
        origin: HOME,
        floor,
        expiring,
        alone: true,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let (reply, changes) = match command {
        Some(command) => {
            let prepared = evaluate(command, &state, moment);
            (Some(prepared.reply), prepared.changes)
        }
        None => (None, overwrite(&set, &state, moment).1),
    };
    if changes.is_empty() {
        return (reply, None);
    }
    let effect = Effect { floor, changes };
    let write = Write::Apply(effect.encode());
    store.insert_evaluated(key, version(step, write.clone()), std::slice::from_ref(&effect));
    (reply, Some(write))
}

/// Folds and settles everything.
fn rest(store: &mut Store<()>, step: u64) {
    for key in KEYS {
        store.refreshed(key, u64::MAX, |_| true);
    }
    store.raise_floor(hlc(step));
    for _ in 0..3 {
        store.collect(100, |_| true, |_| true);
    }
}

/// A key with what it holds.
type Held = (Vec<u8>, Vec<(Element, Cell)>);

fn contents(store: &Store<()>) -> Vec<Held> {
    let mut all: Vec<_> = store.states().map(|(key, state)| (key.to_vec(), state.elements())).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

#[test]
fn folding_at_once_comes_to_the_same_as_folding_later_and_as_a_replay() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let (mut once, mut later) = (store().folding_at_once(), store());
        let mut log = Vec::new();
        for step in 1..200 {
            let (key, command) = (KEYS[rng.usize(0..KEYS.len())], command(&mut rng, step));
            let (reply, write) = carry_out(&mut once, key, command.as_ref(), step);
            let expected = carry_out(&mut later, key, command.as_ref(), step).0;
            assert_eq!(reply, expected, "seed {seed}, step {step}: {command:?}");
            log.extend(write.map(|write| (key, step, write)));
            if rng.u32(0..10) == 0 {
                let safe = hlc(step.saturating_sub(rng.u64(0..20)));
                later.raise_floor(safe);
                later.collect(rng.usize(0..5), |version| version.stamp.ts <= safe, |stamp| stamp.ts <= safe);
                once.collect(rng.usize(0..5), |_| true, |_| true);
            }
        }
        let mut again = store();
        let mut replayed = store().folding_at_once();
        for (number, (key, step, write)) in (1..).zip(log) {
            again.replay(key, version(step, write.clone()), None, number);
            replayed.replay(key, version(step, write), None, number);
        }
        for store in [&mut once, &mut later, &mut again, &mut replayed] {
            rest(store, 200);
        }
        assert_eq!(contents(&once), contents(&later), "seed {seed}");
        assert_eq!(contents(&once), contents(&again), "seed {seed}: a replay that folds later");
        assert_eq!(contents(&once), contents(&replayed), "seed {seed}: a replay that folds at once");
    }
}

#[test]
fn what_is_folded_at_once_leaves_nothing_to_collect() {
    let mut store = store().folding_at_once();
    for step in 1..50 {
        let field = Bytes::from(format!("f{}", step % 7));
        let command = Command::new(Verb::HSet, vec![field, Bytes::from_static(b"v")]);
        carry_out(&mut store, b"h", Some(&command), step);
        carry_out(&mut store, b"n", Some(&Command::new(Verb::Incr, Vec::new())), step);
    }
    let pending = |key: &[u8]| store.object(key).expect("it was written").pending().count();
    assert_eq!((pending(b"h"), pending(b"n")), (0, 0));
    assert_eq!((store.garbage(), store.totals().versions), (0, 0));
}

#[test]
fn a_string_takes_the_place_of_the_one_before_it() {
    let mut store = store().folding_at_once();
    let value = |text: &str| Write::Assign(text.as_bytes().into());
    let mut newest = 0;
    for step in [3, 1, 5, 5, 2, 4] {
        newest = step.max(newest);
        let is_new = store.insert(b"k", version(step, value(&"v".repeat(step as usize))));
        let expected = Stamp::new(hlc(newest), HOME);
        let stamps: Vec<Stamp> = store.chain(b"k").map(|version| version.stamp).collect();
        assert!(is_new || step == 5);
        assert_eq!((stamps, store.garbage()), (vec![expected], 0), "step {step}");
    }
    let totals = store.totals();
    assert_eq!((totals.keys, totals.versions, totals.bytes), (1, 1, 6));
}
