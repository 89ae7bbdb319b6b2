//! Reads at a time: what is found of them, with versions and without.

use tidemark_check::{Options, Properties, Property, check_with};
use tidemark_core::history::{Event, Fate, History, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Hlc, Key, Micros, Stamp, Value};

fn value(text: &str) -> Option<Value> {
    Some(Value::from(text.as_bytes()))
}

/// Session `s` writes `k` at a time; the value tells which.
fn put(s: u64, time: Micros, text: Option<&str>) -> Event {
    let stamp = Stamp::new(Hlc::at(time), DcId(s as u8));
    Event::put(SessionId(s), DcId(s as u8), Key::from("k"), text.and_then(value), Some(stamp))
}

/// Session `s` reads what was written at a time by a session, as of another time.
fn read(s: u64, as_of: Micros, found: Option<(&str, Micros, u64)>) -> Event {
    let found = found.map_or(Found::default(), |(text, time, by)| Found {
        stamp: Some(Stamp::new(Hlc::at(time), DcId(by as u8))),
        value: value(text),
        reply: None,
    });
    let reads = [Read::new(Key::from("k"), found)];
    Event::read(SessionId(s), DcId(0), ReadKind::Snapshot, reads).as_of(as_of)
}

/// What is told of a history, with versions and without.
fn told(events: Vec<Event>) -> [Option<String>; 2] {
    let history = History { events, ..History::default() };
    [false, true].map(|values_only| {
        let options = Options::new(Properties::default().with(Property::WellFormed));
        let report = check_with(&history, Options { values_only, ..options });
        report.violations.first().map(|violation| violation.explanation.clone())
    })
}

fn writes() -> Vec<Event> {
    vec![put(1, 10, Some("a")), put(2, 20, Some("b")), put(1, 30, Some("c"))]
}

#[track_caller]
fn fine(more: Vec<Event>) {
    assert_eq!(told([writes(), more].concat()), [None, None]);
}

#[test]
fn what_was_newest_then_may_be_returned_by_anybody() {
    fine(vec![read(3, 9, None), read(3, 10, Some(("a", 10, 1))), read(4, 19, Some(("a", 10, 1)))]);
    fine(vec![
        read(4, 29, Some(("b", 20, 2))),
        read(4, 15, Some(("a", 10, 1))),
        read(3, 29, Some(("b", 20, 2))),
    ]);
    fine(vec![read(3, 99, Some(("c", 30, 1)))]);
}

#[test]
fn reads_of_one_time_have_to_agree() {
    let [white, black] =
        told([writes(), vec![read(3, 25, Some(("b", 20, 2))), read(4, 25, Some(("a", 10, 1)))]].concat());
    for told in [white, black] {
        let told = told.expect("they do not");
        assert!(told.starts_with("as of 25, ") && told.contains(", and "), "{told}");
    }
}

#[test]
fn a_version_that_is_missed_or_comes_too_early_shows_where_versions_are_known() {
    for (found, what) in [(Some(("a", 10, 1)), "missed"), (None, "missed"), (Some(("c", 30, 1)), "early")] {
        let [white, black] = told([writes(), vec![read(3, 25, found)]].concat());
        assert!(white.expect(what).contains("although the newest version was"), "{what}");
        assert_eq!(black, None, "by values, any order may be the one");
    }
}

#[test]
fn a_delete_and_absence_are_the_same() {
    let gone = [writes(), vec![put(2, 40, None)]].concat();
    assert_eq!(told([gone.clone(), vec![read(3, 45, None)]].concat()), [None, None]);
    let [white, _] = told([gone, vec![read(3, 35, None)]].concat());
    assert!(white.unwrap().contains("although the newest version was"));
}

/// It may have happened, or not; if somebody has read it, it has.
#[test]
fn a_write_without_an_answer_counts_once_it_is_read() {
    let unknown = put(2, 40, Some("d")).with_fate(Fate::Unknown);
    let before = [writes(), vec![unknown.clone(), read(3, 45, Some(("c", 30, 1)))]].concat();
    assert_eq!(told(before.clone())[0], None);
    let [white, _] = told([before, vec![read(4, 45, Some(("d", 40, 2)))]].concat());
    assert!(white.is_some());
}
