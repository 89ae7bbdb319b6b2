//! Both file forms: round trips, what conversion loses, and errors that say where and what to do.

use crate::common::script::history;
use crate::common::{Shape, generate, without_versions};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use tidemark_check::{
    Options, Promise, Properties, check, check_with, parse, read_history, read_text, write_history,
    write_text,
};
use tidemark_core::history::{Action, Event, Fate, Final, Header, History, Lost, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Guarantees, Hlc, Key, Stamp, Value};

fn lines(history: &History) -> String {
    let mut bytes = Vec::new();
    write_history(history, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn text(history: &History) -> String {
    let mut bytes = Vec::new();
    write_text(history, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"a".to_vec()),
        Just(b"b".to_vec()),
        vec(any::<u8>(), 0..6),
        "[a-z\\\\\"\u{e9}]{0,6}".prop_map(String::into_bytes)
    ]
}

fn key() -> impl Strategy<Value = Key> {
    bytes().prop_map(|b| Key(b.into()))
}

fn value() -> impl Strategy<Value = Option<Value>> {
    of(bytes().prop_map(|b| Value::from(b.as_slice())))
}

fn stamp() -> impl Strategy<Value = Stamp> {
    let any_stamp = (any::<u64>(), any::<u8>(), any::<u32>());
    prop_oneof![(0..4u64, 0..2u8, Just(0)), any_stamp].prop_map(|(ts, origin, seq)| Stamp {
        ts: Hlc(ts),
        origin: DcId(origin),
        seq,
    })
}

fn found() -> impl Strategy<Value = Found> {
    (of(stamp()), value()).prop_map(|(stamp, value)| Found::new(stamp, value))
}

fn action() -> impl Strategy<Value = Action> {
    let kind = prop_oneof![Just(ReadKind::Get), Just(ReadKind::Rotx), Just(ReadKind::Snapshot)];
    let read = (key(), found()).prop_map(|(key, found)| Read::new(key, found));
    prop_oneof![
        (key(), value(), of(stamp()), of(found()))
            .prop_map(|(key, value, version, observed)| Action::Write { key, value, version, observed }),
        (kind, vec(read, 0..4)).prop_map(|(kind, reads)| Action::Read { kind, reads: reads.into() }),
        (session(), small()).prop_map(|(from, events)| Action::Adopt { from, events }),
    ]
}

/// Small numbers collide, so that sessions interleave, adopt each other and read in circles.
fn small() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..5u64, 1 => any::<u64>()]
}

fn session() -> impl Strategy<Value = SessionId> {
    small().prop_map(SessionId)
}

/// Mostly everything: that is what is left out of a file.
fn asked() -> impl Strategy<Value = Guarantees> {
    let some = any::<[bool; 4]>().prop_map(|[a, b, c, d]| Guarantees {
        monotonic_reads: a,
        read_your_writes: b,
        writes_follow_reads: c,
        monotonic_writes: d,
    });
    prop_oneof![2 => Just(Guarantees::ALL), 1 => some]
}

fn event() -> impl Strategy<Value = Event> {
    let fate = prop_oneof![5 => Just(Fate::Ok), 1 => Just(Fate::Skipped), 1 => Just(Fate::Unknown), 1 => Just(Fate::Failed)];
    let times = (of(small()), of(small()));
    (session(), any::<u8>(), fate, of(small()), times, asked(), action()).prop_map(
        |(session, dc, fate, txn, (start_us, end_us), asked, action)| {
            let txn = txn.filter(|_| !matches!(action, Action::Adopt { .. }));
            let asked = if matches!(action, Action::Adopt { .. }) { Guarantees::ALL } else { asked };
            // Of a read, now and then a time.
            let reads = matches!(action, Action::Read { .. });
            let as_of_us = start_us.filter(|us| reads && us % 2 == 0);
            Event { session, dc: DcId(dc), fate, txn, start_us, end_us, asked, as_of_us, action }
        },
    )
}

fn any_history() -> impl Strategy<Value = History> {
    let header = (of(".{0,8}"), of(0..Promise::ALL.len()), of(any::<u32>()), of(any::<u64>()), of(".{0,8}"))
        .prop_map(|(protocol, promise, dcs, seed, about)| Header {
            protocol,
            promise: promise.map(|p| Promise::ALL[p]),
            dcs,
            seed,
            about,
        });
    let last = (any::<u8>(), key(), found()).prop_map(|(dc, key, found)| Final { dc: DcId(dc), key, found });
    let lost = (any::<u8>(), of(".{0,4}"), small(), small(), vec(key(), 0..3))
        .prop_map(|(dc, node, from_us, to_us, keys)| Lost { dc: DcId(dc), node, from_us, to_us, keys });
    (header, vec(event(), 0..16), vec(last, 0..4), vec(lost, 0..3))
        .prop_map(|(header, events, finals, lost)| History { header, events, finals, lost })
}

proptest! {
    #[test]
    fn json_lines_lose_nothing(history in any_history()) {
        prop_assert_eq!(&parse(lines(&history).as_bytes()).unwrap(), &history);
        // And no history, however senseless, stops the checker.
        let properties = Properties::all();
        check_with(&history, Options { limit: 100, ..Options::new(properties) }).to_string();
        check_with(&without_versions(history), Options { limit: 100, ..Options::new(properties) }).to_string();
    }

    #[test]
    fn the_text_form_survives_a_round_trip(ops in vec((any::<bool>(), 0..4u64, 1..9u64, 0..3u64, 0..3u64), 1..30)) {
        let line = |(write, key, value, session, txn): &(bool, u64, u64, u64, u64)| {
            let value = if *write { *value } else { value - 1 };
            format!("{}({key},{value},{session},{txn})\n", if *write { 'w' } else { 'r' })
        };
        let original: String = ops.iter().map(line).collect();
        let history = read_text(original.as_bytes()).unwrap();
        let again = read_text(text(&history).as_bytes()).unwrap();
        prop_assert_eq!(shape(&again), shape(&history));
        check(&history, Promise::CausalSnapshot);
    }

    #[test]
    fn no_input_stops_the_parser(input in vec(any::<u8>(), 0..80)) {
        let _ = parse(&input[..]);
    }
}

/// What nobody wrote, observed by a write of a transaction that another session adopts in its middle: there is no writer
/// to begin the story with. The checker stopped there, in one history of thirteen hundred.
#[test]
fn a_story_without_a_writer_is_told() {
    let event = |session, txn, action| Event {
        session: SessionId(session),
        dc: DcId(0),
        fate: Fate::Ok,
        txn,
        start_us: None,
        end_us: None,
        asked: Guarantees::ALL,
        as_of_us: None,
        action,
    };
    let found = |value: &[u8]| Found::new(None, Some(Value::from(value)));
    let get = |key: &[u8], found| {
        let reads = vec![Read::new(Key(key.to_vec().into()), found)].into();
        Action::Read { kind: ReadKind::Get, reads }
    };
    let put = |key: &[u8], observed| {
        let value = Some(Value::from(b"b".as_slice()));
        Action::Write { key: Key(key.to_vec().into()), value, version: None, observed }
    };
    let events = vec![
        event(3, None, get(b"b", found(b"b"))),
        event(0, None, Action::Adopt { from: SessionId(3), events: 2 }),
        event(0, None, put(b"b", None)),
        event(3, Some(4), get(b"", Found::new(None, None))),
        event(3, Some(4), put(b"", Some(found(b"a")))),
    ];
    let history = History { events, ..History::default() };
    let report = check_with(&history, Options { limit: 100, ..Options::new(Properties::all()) });
    assert!(!report.ok() && report.to_string().contains("had read"), "{report}");
}

/// A history without the numbers of its transactions, but with who belongs together.
fn shape(history: &History) -> Vec<(Event, bool)> {
    let mut last: std::collections::BTreeMap<SessionId, Option<u64>> = Default::default();
    let events = history.events.iter().map(|event| {
        let before = last.insert(event.session, event.txn).flatten();
        let joined = event.txn.is_some() && event.txn == before;
        (Event { txn: event.txn.map(|_| 0), ..event.clone() }, joined)
    });
    events.collect()
}

#[test]
fn a_history_in_the_text_form_is_judged_as_without_versions() {
    let mut convicted = 0;
    for seed in 0..400 {
        let shape = Shape { frills: false, causal: seed % 2 == 0, ops: 60, dcs: 3, ..Shape::SMALL };
        let mut history = without_versions(generate(seed, shape));
        history.finals.clear();
        for event in &mut history.events {
            if let Action::Read { kind: kind @ ReadKind::Snapshot, .. } = &mut event.action {
                *kind = ReadKind::Rotx; // A snapshot of a session of its own carries nothing.
            }
        }
        let there = read_text(text(&history).as_bytes()).unwrap();
        let (one, other) = (check(&history, Promise::CausalSnapshot), check(&there, Promise::CausalSnapshot));
        assert_eq!(one.ok(), other.ok(), "seed {seed}\n{one}\n{other}");
        convicted += u32::from(!one.ok());
    }
    assert!(convicted > 30, "{convicted}");
}

#[test]
fn the_text_form_reads_and_writes_what_others_do() {
    let original = "w(1,10,1,0)\nw(2,20,1,0)\n# a comment\n\nr(2,20,2,1)\nr(1,0,2,1)\nr( 1, 10, 3, 2 )\n";
    let history = parse(original.as_bytes()).unwrap();
    assert_eq!(history.events.len(), 4);
    assert_eq!(history.events[0].txn, Some(0));
    assert!(
        matches!(&history.events[2].action, Action::Read { kind: ReadKind::Rotx, reads } if reads.len() == 2)
    );
    assert!(matches!(&history.events[3].action, Action::Read { kind: ReadKind::Get, .. }));
    let report = check(&history, Promise::CausalSnapshot);
    assert!(!report.ok(), "fractured: {report}");
    assert_eq!(text(&history), "w(1,10,1,1)\nw(2,20,1,1)\nr(2,20,2,2)\nr(1,0,2,2)\nr(1,10,3,3)\n");
}

#[test]
fn what_is_no_number_is_numbered() {
    let story = "c0@A put x a 1\nc0@A ?put y lost\nc0@A ?put y seen\nc1@B get y seen\nc1@B snap x -, y seen";
    let text = text(&history(story));
    assert_eq!(text, "w(0,1,0,1)\nw(1,2,2,2)\nr(1,2,1,3)\nr(0,0,3,4)\nr(1,2,3,4)\n");
    let error = write_text(&history("c0@A del x 1"), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("JSON lines"), "{error}");
}

#[track_caller]
fn fails(input: &[u8], at: &str, with: &str) {
    let error = parse(input).unwrap_err().to_string();
    assert!(error.starts_with(at) && error.contains(with), "{error}");
}

#[test]
fn errors_say_where_and_what_to_do() {
    let head = "{\"type\":\"history\",\"format\":1}\n";
    let put = "{\"type\":\"write\",\"session\":1,\"key\":\"x\",\"value\":\"1\"}\n";
    let after = |line: &str| format!("{head}{put}\n{line}").into_bytes();
    fails(b"", "the history is empty", "format");
    fails(b"\n\nhello", "line 3", "r(key,value,session,txn)");
    fails(put.as_bytes(), "line 1", "header is missing");
    fails(&after(head), "line 4", "a file of its own");
    fails(&after("{\"type\":\"write\",\"session\":1,\"key\":\"x\"}\n"), "line 4", "missing field `value`");
    fails(&after("{\"type\":\"read\",\"session\":1,\"reads\":[{\"key\":\"x\"}]}\n"), "line 4", "`value`");
    fails(&after(&put.replace("value", "valeu")), "line 4", "unknown field `valeu`");
    fails(&after(&put.replace("\"x\"", "\"\\\\q\"")), "line 4", "two hex digits");
    fails(&after("{\"type\":\"wri"), "line 4", "cut off");
    fails(&after("{\"type\":\"walk\"}\n"), "line 4", "walk");
    fails(b"{\"type\":\"history\",\"format\":2}\n", "line 1", "newer");
    fails(b"r(1,0,1,1)\nw(1,x,1,1)\n", "line 2", "integers");
    fails(b"r(1,0,1,1)\nw(1,0,1,1)\n", "line 2", "initial value");
    fails(b"r(1,0,1,1)\nw(1,2,1,1,5)\n", "line 2", "integers");
    fails(b"{\"type\":\"history\",\"format\":1}\n\xff\n", "line 2", "UTF-8");
}

/// The lines of `docs/history-format.md` are read as they stand.
#[test]
fn the_documented_examples_are_a_history() {
    let document = include_str!("../../../../docs/history-format.md");
    let example = document.split("```jsonl\n").nth(1).expect("an example").split("```").next().unwrap();
    let read = read_history(example.as_bytes()).unwrap();
    assert_eq!(lines(&read), example, "written as it stands there");
    assert!(check(&read, Promise::CausalImmediate).ok(), "{}", check(&read, Promise::CausalImmediate));
}
