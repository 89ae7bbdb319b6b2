//! The index of deadlines: keys that have expired are noticed and dropped without a walk over all keys.

use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Key, Regions, Stamp, Verb, Write};
use tidemark_crdt::{Effect, Moment, State, evaluate};
use tidemark_store::{Expired, Store, Version};

fn store() -> Store<()> {
    Store::new(1).with_types(|(), _| (), 1, Regions::NONE)
}

fn at(ms: u64) -> Hlc {
    Hlc::at(ms * 1000)
}

/// Carries out a command at a time in milliseconds, and lets a reader see it.
fn call(store: &mut Store<()>, key: &str, ms: u64, verb: Verb, args: &[&str]) {
    write(store, key, ms, verb, args);
    store.refreshed(key.as_bytes(), ms, |_| true);
}

/// The same, and nobody looks.
fn write(store: &mut Store<()>, key: &str, ms: u64, verb: Verb, args: &[&str]) {
    let args = args.iter().map(|arg| Bytes::copy_from_slice(arg.as_bytes())).collect();
    let moment = Moment {
        time: at(ms),
        origin: DcId(0),
        floor: store.floor(),
        expiring: store.is_expiring(),
        alone: true,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let empty = State::default();
    let state = store.object(key.as_bytes()).map_or(&empty, |object| object.head());
    let changes = evaluate(&Command::new(verb, args), state, moment).changes;
    let effect = Effect { floor: moment.floor, changes };
    let (stamp, write) = (Stamp::new(at(ms), DcId(0)), Write::Apply(effect.encode()));
    store.insert(key.as_bytes(), Version { stamp, meta: (), write });
}

fn collect(store: &mut Store<()>, ms: u64) {
    store.raise_floor(at(ms));
    store.collect(1_000, |version| version.stamp.ts <= at(ms), |stamp| stamp.ts <= at(ms));
}

fn expired(key: &str, deadline_ms: u64) -> Expired {
    Expired { key: Key::from(key), deadline_ms }
}

#[test]
fn keys_are_noticed_once_in_the_order_of_their_deadlines_and_within_the_budget() {
    let mut store = store();
    store.tell_expired(true);
    for (key, deadline) in [("c", "30"), ("a", "10"), ("b", "20"), ("d", "40")] {
        call(&mut store, key, 1, Verb::HSet, &["f", "v"]);
        call(&mut store, key, 2, Verb::PExpireAt, &[deadline]);
    }
    assert_eq!((store.next_deadline(), store.with_deadlines()), (Some(10), 4));
    assert_eq!(store.pass_deadlines(at(9), 10), 0);
    assert_eq!(store.pass_deadlines(at(30), 2), 2);
    assert_eq!(store.pass_deadlines(at(30), 2), 1);
    assert_eq!(store.take_expired(), [expired("a", 10), expired("b", 20), expired("c", 30)]);
    assert_eq!(store.pass_deadlines(at(39), 2), 0);
    assert_eq!((store.expired(), store.with_deadlines()), (3, 4), "their content is still there");
    assert_eq!(store.nearest_deadlines(2), [expired("a", 10), expired("b", 20)]);
}

#[test]
fn a_deadline_that_changes_counts_as_it_is_now() {
    let mut store = store();
    store.tell_expired(true);
    for key in ["extended", "persisted", "deleted", "made anew"] {
        call(&mut store, key, 1, Verb::HSet, &["f", "v"]);
        call(&mut store, key, 2, Verb::PExpireAt, &["10"]);
    }
    call(&mut store, "extended", 3, Verb::PExpireAt, &["20"]);
    call(&mut store, "persisted", 3, Verb::Persist, &[]);
    call(&mut store, "deleted", 3, Verb::Del, &[]);
    call(&mut store, "made anew", 11, Verb::HSet, &["f", "v"]);
    store.pass_deadlines(at(15), 10);
    assert_eq!(store.take_expired(), []);
    store.pass_deadlines(at(20), 10);
    assert_eq!(store.take_expired(), [expired("extended", 20)]);
    call(&mut store, "extended", 21, Verb::HSet, &["f", "v"]);
    call(&mut store, "extended", 22, Verb::PExpireAt, &["30"]);
    store.pass_deadlines(at(30), 10);
    assert_eq!(store.take_expired(), [expired("extended", 30)], "it has expired again");
}

#[test]
fn what_has_expired_goes_and_what_has_not_is_not_looked_at() {
    let mut store = store();
    for (key, deadline) in [("soon", "10"), ("later", "1000")] {
        call(&mut store, key, 1, Verb::HSet, &["f", "v"]);
        call(&mut store, key, 2, Verb::PExpireAt, &[deadline]);
    }
    collect(&mut store, 5);
    assert_eq!((store.totals().keys, store.garbage()), (2, 0), "both rest until their deadlines");
    collect(&mut store, 9);
    assert_eq!(store.totals().keys, 2);
    collect(&mut store, 10);
    assert_eq!((store.totals().keys, store.garbage()), (1, 0));
    assert_eq!((store.expired(), store.with_deadlines()), (1, 1), "noticed, although nobody asked");
    collect(&mut store, 1000);
    assert_eq!((store.totals().keys, store.with_deadlines(), store.next_deadline()), (0, 0, None));
}

#[test]
fn a_key_that_nobody_saw_before_it_expired_is_noticed_too() {
    let mut store = store();
    store.tell_expired(true);
    call(&mut store, "k", 1, Verb::HSet, &["f", "v"]);
    write(&mut store, "k", 2, Verb::PExpireAt, &["10"]);
    assert_eq!(store.with_deadlines(), 0, "nobody has looked");
    collect(&mut store, 20);
    assert_eq!((store.totals().keys, store.expired()), (0, 1));
    assert_eq!(store.take_expired(), [expired("k", 10)]);
}
