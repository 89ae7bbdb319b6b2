//! What own operations make of cached values.

use super::*;

/// No own elements.
const NONE: BTreeSet<Bytes> = BTreeSet::new();

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn string(at_us: u64, text: &'static str) -> Value {
    Value::String(written(at_us, &bytes(text)))
}

fn map(fields: &[(&'static str, u64, &'static str)]) -> Value {
    Value::Map(
        fields.iter().map(|(field, at_us, value)| (bytes(field), written(*at_us, &bytes(value)))).collect(),
    )
}

fn set(members: &[&'static str]) -> Value {
    Value::Set(members.iter().map(|member| bytes(member)).collect())
}

fn at(h_us: u64, epoch: Epoch) -> Moment {
    Moment { h_us, epoch }
}

fn list(elements: &[(&'static str, u64, &'static str)]) -> Value {
    let Value::Map(elements) = map(elements) else { unreachable!("it is one") };
    Value::List(elements)
}

fn after(cached: &Cached, operations: &[(Moment, OperationKind)]) -> Value {
    cached.with(operations.iter().map(|(moment, kind)| (*moment, kind)))
}

#[test]
fn a_pending_write_loses_against_a_later_one() {
    let cached = Cached::new(string(20, "theirs"));
    let set = OperationKind::Set(bytes("ours"));
    assert_eq!(after(&cached, &[(at(19, 0), set.clone())]), string(20, "theirs"));
    assert_eq!(after(&cached, &[(at(21, 0), set)]), string(21, "ours"));
    assert_eq!(after(&cached, &[(at(19, 0), OperationKind::Delete)]), string(20, "theirs"));
    assert_eq!(after(&cached, &[(at(21, 0), OperationKind::Delete)]), Value::Absent);
    let fields = Cached::new(map(&[("a", 20, "theirs")]));
    let set = OperationKind::MapSet(bytes("a"), bytes("ours"));
    assert_eq!(after(&fields, &[(at(19, 0), set.clone())]), map(&[("a", 20, "theirs")]));
    assert_eq!(after(&fields, &[(at(21, 0), set)]), map(&[("a", 21, "ours")]));
}

#[test]
fn increments_always_count() {
    let cached = Cached::new(string(20, "5"));
    assert_eq!(
        after(&cached, &[(at(1, 0), OperationKind::Add(2)), (at(2, 0), OperationKind::Add(-1))]),
        string(20, "6")
    );
    let fields = Cached::new(map(&[("a", 20, "5")]));
    assert_eq!(after(&fields, &[(at(1, 0), OperationKind::MapAdd(bytes("a"), 2))]), map(&[("a", 20, "7")]));
    assert_eq!(after(&Cached::default(), &[(at(1, 0), OperationKind::Add(2))]), string(1, "2"));
    let full = Cached::new(string(1, "9223372036854775807"));
    assert_eq!(after(&full, &[(Moment::NOW, OperationKind::Add(1))]), *full.value());
}

#[test]
fn a_removal_spares_what_a_later_base_brought() {
    let mut cached = Cached::new(map(&[("a", 1, "x"), ("b", 1, "x")]));
    let remove = [(at(5, 0), OperationKind::MapDelete(bytes("a")))];
    assert_eq!(after(&cached, &remove), map(&[("b", 1, "x")]));
    let written = BTreeMap::from([(bytes("a"), written(3, &bytes("y")))]);
    cached.change(&Change::Fields(written, BTreeSet::new()), 1, &NONE).unwrap();
    assert_eq!(after(&cached, &remove), map(&[("a", 3, "y"), ("b", 1, "x")]));
    assert_eq!(after(&cached, &[(at(5, 0), OperationKind::Delete)]), map(&[("a", 3, "y")]));
    assert_eq!(after(&cached, &[(at(5, 1), OperationKind::Delete)]), Value::Absent);
    let mut members = Cached::new(set(&["a"]));
    members.change(&Change::Whole(set(&["a", "b"])), 1, &NONE).unwrap();
    let remove = ["a", "b"].map(|member| (at(5, 0), OperationKind::SetRemove(bytes(member))));
    assert_eq!(after(&members, &remove), set(&["b"]));
}

#[test]
fn what_does_not_change_keeps_its_epoch() {
    let mut cached = Cached::new(map(&[("a", 1, "x"), ("b", 1, "x")]));
    cached.change(&Change::Whole(map(&[("a", 0, "x"), ("b", 2, "x"), ("c", 0, "z")])), 4, &NONE).unwrap();
    assert_eq!(after(&cached, &[(at(9, 3), OperationKind::Delete)]), map(&[("b", 2, "x"), ("c", 0, "z")]));
}

/// Its own write comes with a base, and its removal is not in it yet: what the client removed does not come back.
#[test]
fn an_own_removal_takes_what_own_transactions_wrote_before() {
    let own = BTreeSet::from([bytes("a")]);
    for of in [map, list] {
        let old = Cached::new(of(&[("b", 1, "x")]));
        let removal = if of(&[("a", 1, "x")]) == map(&[("a", 1, "x")]) {
            OperationKind::MapDelete(bytes("a"))
        } else {
            OperationKind::ListRemove(bytes("a"))
        };
        let fields = Change::Fields([(bytes("a"), written(3, &bytes("ours")))].into(), BTreeSet::new());
        for change in [fields, Change::Whole(of(&[("a", 3, "ours"), ("b", 1, "x")]))] {
            let mut cached = old.clone();
            cached.change(&change, 1, &own).unwrap();
            assert_eq!(after(&cached, &[(at(5, 0), removal.clone())]), of(&[("b", 1, "x")]));
            assert_eq!(after(&cached, &[(at(5, 0), OperationKind::Delete)]), Value::Absent);
            // Somebody else's comes later.
            let theirs = [(bytes("a"), written(9, &bytes("theirs")))];
            cached.change(&Change::Fields(theirs.into(), BTreeSet::new()), 2, &NONE).unwrap();
            assert_eq!(after(&cached, &[(at(5, 0), removal.clone())]), *cached.value());
        }
    }
    for change in [Change::Set(own.clone(), BTreeSet::new()), Change::Whole(set(&["a", "b"]))] {
        let mut cached = Cached::new(set(&["b"]));
        cached.change(&change, 1, &own).unwrap();
        assert_eq!(after(&cached, &[(at(5, 0), OperationKind::SetRemove(bytes("a")))]), set(&["b"]));
    }
}

/// Regions forget the times of writes; the client knows that its own was overwritten.
#[test]
fn what_was_seen_overwritten_stays_so_when_its_time_is_not_known_any_more() {
    let mut cached = Cached::new(string(20, "theirs"));
    let set = OperationKind::Set(bytes("ours"));
    for new in [string(0, "theirs"), string(0, "a later one")] {
        cached.change(&Change::Whole(new), 1, &NONE).unwrap();
        assert!(cached.hides(at(19, 0), &set) && !cached.hides(at(21, 0), &set), "{cached:?}");
    }
    cached.change(&Change::Whole(string(30, "x")), 2, &NONE).unwrap();
    assert_eq!(*cached.value(), string(30, "x"));
    // A string that replaced elements is later than they.
    let mut whole = Cached::new(map(&[("a", 20, "x")]));
    whole.change(&Change::Whole(string(0, "y")), 1, &NONE).unwrap();
    assert_eq!(*whole.value(), string(20, "y"));
    for of in [map, list] {
        let old = Cached::new(of(&[("a", 20, "x"), ("b", 20, "x")]));
        let mut cached = old.clone();
        cached.change(&Change::Whole(of(&[("a", 0, "x"), ("b", 0, "y"), ("c", 0, "z")])), 1, &NONE).unwrap();
        assert_eq!(*cached.value(), of(&[("a", 20, "x"), ("b", 20, "y"), ("c", 0, "z")]));
        assert_eq!(["a", "b", "c"].map(|one| cached.is_newer(&bytes(one), 0)), [false, true, true]);
        let set =
            BTreeMap::from([(bytes("b"), written(0, &bytes("y"))), (bytes("c"), written(0, &bytes("z")))]);
        let mut cached = old;
        cached.change(&Change::Fields(set, BTreeSet::new()), 1, &NONE).unwrap();
        assert_eq!(*cached.value(), of(&[("a", 20, "x"), ("b", 20, "y"), ("c", 0, "z")]));
    }
}

/// Positions stand in the place of fields.
#[test]
fn a_list_is_a_map_by_position() {
    let mut cached = Cached::new(list(&[("p", 20, "theirs"), ("q", 1, "x")]));
    let set = OperationKind::ListSet(bytes("p"), bytes("ours"));
    let both = |first| list(&[first, ("q", 1, "x")]);
    assert_eq!(after(&cached, &[(at(19, 0), set.clone())]), both(("p", 20, "theirs")));
    assert_eq!(after(&cached, &[(at(21, 0), set.clone())]), both(("p", 21, "ours")));
    assert_eq!(after(&Cached::default(), &[(at(1, 0), set.clone())]), list(&[("p", 1, "ours")]));
    let all = ["p", "q"].map(|one| (at(30, 0), OperationKind::ListRemove(bytes(one))));
    assert_eq!(after(&cached, &all), Value::Absent);
    // What a later base brought is not removed.
    let written = BTreeMap::from([(bytes("p"), written(25, &bytes("y")))]);
    cached.change(&Change::Fields(written, BTreeSet::from([bytes("q")])), 1, &NONE).unwrap();
    assert_eq!(after(&cached, &all), list(&[("p", 25, "y")]));
    assert_eq!(after(&cached, &[(at(30, 0), OperationKind::Delete)]), list(&[("p", 25, "y")]));
    cached.change(&Change::Whole(list(&[("p", 25, "y"), ("r", 0, "z")])), 2, &NONE).unwrap();
    assert_eq!(after(&cached, &[(at(30, 1), OperationKind::Delete)]), list(&[("r", 0, "z")]));
    assert!(Cached::new(map(&[])).change(&Change::Set(BTreeSet::new(), BTreeSet::new()), 1, &NONE).is_err());
    // Its elements are no fields.
    let wrong = [OperationKind::MapSet(bytes("p"), bytes("v")), OperationKind::MapDelete(bytes("r"))];
    let wrong = wrong.map(|kind| (Moment::NOW, kind));
    assert_eq!(after(&cached, &wrong), *cached.value());
    assert_eq!(after(&Cached::new(map(&[("p", 1, "x")])), &[(Moment::NOW, set)]), map(&[("p", 1, "x")]));
}

#[test]
fn what_is_of_another_type_stays() {
    let cached = Cached::new(set(&["a"]));
    let wrong = [OperationKind::Add(1), OperationKind::MapSet(bytes("a"), bytes("b"))];
    let wrong = wrong.map(|kind| (Moment::NOW, kind));
    assert_eq!(after(&cached, &wrong), set(&["a"]));
    let list = Cached::new(Value::Other(bytes("list")));
    assert_eq!(after(&list, &wrong), Value::Other(bytes("list")));
    assert_eq!(after(&list, &[(Moment::NOW, OperationKind::Delete)]), Value::Absent);
}

#[test]
fn what_is_empty_is_absent() {
    let mut cached = Cached::new(set(&["a"]));
    assert_eq!(after(&cached, &[(Moment::NOW, OperationKind::SetRemove(bytes("a")))]), Value::Absent);
    cached.change(&Change::Set(BTreeSet::new(), [bytes("a")].into()), 1, &NONE).unwrap();
    assert_eq!(*cached.value(), Value::Absent);
    assert!(
        cached.change(&Change::Set(BTreeSet::new(), BTreeSet::new()), 2, &NONE).is_err(),
        "it is no set now"
    );
}
