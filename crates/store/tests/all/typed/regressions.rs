//! Mistakes that the oracle has found, step by step.

use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Regions, Reply, Stamp, Vector, Verb, Write};
use tidemark_crdt::effect::{Bound, Change, Cut, Datum, Kill, Name, Start};
use tidemark_crdt::number::Number;
use tidemark_crdt::{Effect, Kind, Moment, State, evaluate, string_of};
use tidemark_store::chains::Frozen;
use tidemark_store::chains::effect_of;
use tidemark_store::{Mark, Object, Store, Version};

fn assign(kind: Kind, name: &[u8], datum: Datum) -> Change {
    Change::Assign { kind, name: Name::of(name), datum, bound: Bound::None, kill: Kill::default() }
}

fn version(ts: u64, origin: u8, floor: u64, changes: Vec<Change>) -> Version<()> {
    let effect = Effect { floor: Hlc(floor), changes };
    Version { stamp: Stamp::new(Hlc(ts), DcId(origin)), meta: (), write: Write::Apply(effect.encode()) }
}

/// A set, and a hash that another region has begun later and without having seen it: the key shows the hash.
fn contested() -> Object<()> {
    let mut object = Object::default();
    object.insert(version(10, 0, 0, vec![assign(Kind::Set, b"m", Datum::Unit)]));
    object.insert(version(20, 1, 0, vec![assign(Kind::Hash, b"f", Datum::bytes(b"1"))]));
    object.refresh(1, |_, _| (), |_| true);
    assert_eq!(object.head().kind(), Some(Kind::Hash));
    object
}

fn fold_and_settle(object: &mut Object<()>, upto: u64) {
    object.fold(|_, _| (), |version| version.stamp.ts <= Hlc(upto));
    object.settle(Hlc(upto), 100);
}

#[test]
fn a_type_that_settled_unseen_does_not_come_back_where_it_has_not() {
    let (mut settled, mut other) = (contested(), contested());
    fold_and_settle(&mut settled, 25);
    let command = Command::new(Verb::HDel, vec![Bytes::from_static(b"f")]);
    let moment = Moment {
        time: Hlc(30),
        origin: DcId(0),
        floor: Hlc(25),
        expiring: false,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let removal = evaluate(&command, settled.head(), moment);
    assert_eq!(removal.reply, Reply::Int(1));
    for object in [&mut settled, &mut other] {
        object.insert(version(30, 0, 25, removal.changes.clone()));
        object.refresh(2, |_, _| (), |_| true);
        assert_eq!(object.head().kind(), None, "the update had seen the set behind the hash");
    }
}

#[test]
fn a_snapshot_keeps_its_type_when_a_later_update_has_killed_the_others() {
    let mut object = contested();
    let clear = object.head().observed(Some(Kind::Set), Hlc(25));
    object.insert(version(30, 1, 25, vec![clear, assign(Kind::Hash, b"f", Datum::bytes(b"2"))]));
    object.refresh(2, |_, _| (), |_| true);
    object.fold(|_, _| (), |version| version.stamp.ts <= Hlc(20));
    object.settle(Hlc(25), 100);
    let before = object.view(|version| version.stamp.ts <= Hlc(20), |_| ());
    assert_eq!((before.kind(), object.head().kind()), (Some(Kind::Hash), Some(Kind::Hash)));
}

#[test]
fn a_snapshot_file_says_which_of_several_types_is_shown() {
    let mut object = contested();
    fold_and_settle(&mut object, 25);
    assert!(object.head().is_settled());
    let mut restored = Object::default();
    Frozen::new(&object, Hlc(25)).parts(|part| restored.restore(part, &Mark::default()));
    assert_eq!((object.head().kind(), restored.head().kind()), (Some(Kind::Hash), Some(Kind::Hash)));
    assert_eq!(restored.head().shadowed().collect::<Vec<_>>(), [Kind::Set]);
}

fn plain(ts: u64, origin: u8, value: &str) -> Version<()> {
    Version {
        stamp: Stamp::new(Hlc(ts), DcId(origin)),
        meta: (),
        write: Write::Assign(value.as_bytes().into()),
    }
}

/// A register keeps its newest version alone, so who deletes it cannot name those that it has lost.
#[test]
fn a_plain_write_that_lost_does_not_come_back_when_the_winner_is_deleted() {
    let (lost, won) = (plain(10, 0, "lost"), plain(20, 1, "won"));
    let (mut register, mut all) = (Object::default(), Object::default());
    register.insert(won.clone());
    register.refresh(1, |_, _| (), |_| true);
    let deletion = register.head().observed(None, Hlc(0));
    for (at, version) in [won, lost, version(30, 1, 0, vec![deletion])].into_iter().enumerate() {
        all.insert(version);
        all.refresh(1 + at as u64, |_, _| (), |_| true);
    }
    assert_eq!(all.head().kind(), None);
}

/// Where versions are folded as they arrive: R14.
#[test]
fn a_deletion_that_comes_before_the_increments_it_saw_takes_them() {
    let stamp = Stamp::new(Hlc(10), DcId(0));
    let (name, sum) = (Bytes::from_static(b"f"), Number::int(3));
    let cut = Cut { start: stamp, last: stamp, sum };
    let cuts = vec![(Kind::Hash, name.clone(), cut)];
    let deletion = version(20, 1, 0, vec![Change::Clear { kind: None, dots: Vec::new(), cuts }]);
    let count = Change::Count { kind: Kind::Hash, name: Name::Is(name), start: Start::Own, sum };
    let mut state = State::default();
    for (version, of_a) in [(deletion, 0), (version(10, 0, 0, vec![count]), 10)] {
        let received = Vector::from_entries([Hlc(of_a), Hlc(20)]);
        state.apply(version.stamp, &effect_of(&version.write), Some(&received));
    }
    assert_eq!(state.kind(), None);
}

#[test]
fn who_creates_a_key_kills_what_lost_against_its_deletion() {
    let mut object = Object::default();
    object.insert(version(10, 0, 0, vec![assign(Kind::String, b"", Datum::bytes(b"lost"))]));
    object.insert(Version { stamp: Stamp::new(Hlc(20), DcId(1)), meta: (), write: Write::Remove });
    object.refresh(1, |_, _| (), |_| true);
    assert_eq!(object.head().kind(), None);
    let command = Command::new(Verb::IncrBy, vec![Bytes::from_static(b"3")]);
    let moment = Moment {
        time: Hlc(30),
        origin: DcId(0),
        floor: Hlc(0),
        expiring: false,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let created = evaluate(&command, object.head(), moment);
    object.insert(version(30, 0, 0, created.changes));
    object.insert(plain(25, 1, "later"));
    let later = Change::Clear { kind: None, dots: vec![Stamp::new(Hlc(25), DcId(1))], cuts: Vec::new() };
    object.insert(version(40, 1, 0, vec![later]));
    object.refresh(2, |_, _| (), |_| true);
    assert_eq!(string_of(object.head(), Hlc(50)), Ok(Some(b"3"[..].into())));
}

/// A command of a data type that finds the key gone depends on nothing, and others may still see what was deleted.
#[test]
fn beside_keys_of_data_types_a_tombstone_stays_until_everybody_has_seen_it() {
    let mut store = Store::new(1).with_types(|_, _| (), 2, Regions::all_but(DcId(0), 2));
    store.insert(b"typed", version(10, 0, 0, vec![assign(Kind::Set, b"m", Datum::Unit)]));
    store.insert(b"plain", Version { stamp: Stamp::new(Hlc(20), DcId(1)), meta: (), write: Write::Remove });
    store.raise_floor(Hlc(30));
    store.collect(10, |_| true, |_| true);
    assert_eq!(store.chain(b"plain").count(), 1, "the other region's floor is not known");
    store.hear_floor(DcId(1), Hlc(20));
    store.collect(10, |_| true, |_| true);
    assert_eq!(store.chain(b"plain").count(), 0);
}
