//! A client that keeps values on its disk: its next process reads them before there is a connection, and they are always of the base.

use crate::support::script::{Script, base, set, string};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_edge::client::*;
use tidemark_edge::durable::Row;
use tidemark_edge::frames::*;

const NONE: (u64, [u8; 8]) = (0, [0; 8]);

fn map(fields: &[&'static str]) -> Value {
    let written = |field: &&'static str| (Bytes::from(*field), Written { at_us: 0, bytes: "1".into() });
    Value::Map(fields.iter().map(written).collect())
}

/// A client that watches `a` and `m`, and is connected.
fn opened() -> Script {
    let mut script = Script::new("");
    script.crash_and_keep_values();
    ["a", "m"].into_iter().for_each(|key| script.watch(key));
    script.open(base(&[10, 20, 30]), NONE, &[(0, string(5, "old")), (1, map(&["x", "y"]))]);
    script
}

#[test]
fn the_next_process_reads_what_is_kept_with_the_log_on_top() {
    let mut script = opened();
    script.commit(&[("a", set("mine"))]);
    script.write();
    script.crash_and_keep_values();
    assert!(matches!(script.read("a"), Some(Value::String(written)) if written.bytes == "mine"));
    assert_eq!((script.read("m"), script.read("other")), (Some(map(&["x", "y"])), None));
    assert_eq!(script.client.durable(), script.disk);
    // It watches them, and says which values it has; not of those that its log writes.
    script.sent.clear();
    script.event(Event::Start);
    script.connect();
    let watched =
        |key: &'static str, have| ToGateway::Watch { reference: u64::from(key > "a"), key: key.into(), have };
    assert_eq!(script.sent[1..3], [watched("a", NO_HASH), watched("m", map(&["x", "y"]).hash())]);
}

#[test]
fn changes_are_durable_with_their_base_or_not_at_all() {
    let mut script = opened();
    let change = Change::Fields(
        BTreeMap::from([("z".into(), Written { at_us: 0, bytes: "1".into() })]),
        BTreeSet::from(["x".into()]),
    );
    let updates = vec![Update { reference: 1, change: change.clone() }];
    let to = base(&[40, 40, 40]);
    script.down(ToClient::Tick(Tick {
        to: to.clone(),
        regions: 2,
        in_base: 0,
        check: [0; 8],
        have: 7,
        updates,
    }));
    assert!(
        matches!(&script.writes[0].1[..], [Row::Base(_), Row::Drop(0), Row::Value(key, _)] if key == "m")
    );
    let before = script.disk.clone();
    script.write();
    assert_eq!(script.disk.values[&b"m"[..]], map(&["y", "z"]));
    assert_eq!((&script.disk.base.base, script.client.durable()), (&to, script.disk.clone()));
    script.disk = before; // it was never written
    script.crash_and_keep_values();
    assert_eq!((script.read("m"), script.client.base()), (Some(map(&["x", "y"])), &base(&[10, 20, 30])));
}

#[test]
fn a_value_of_a_key_that_is_watched_later_is_kept_and_of_one_that_is_given_up_is_not() {
    let mut script = opened();
    script.watch("late");
    script.down(ToClient::Value { reference: 2, value: string(7, "late") });
    script.event(Event::Unwatch { key: "a".into() });
    script.write();
    let kept: Vec<&Bytes> = script.disk.values.keys().collect();
    assert_eq!(kept, ["late", "m"]);
}

/// A value that the disk refused must not be taken for one of a later base.
#[test]
fn after_a_refused_value_the_next_base_begins_with_no_values() {
    let mut script = opened();
    script.event(Event::Unwatch { key: "a".into() });
    script.fail_write();
    assert_eq!(script.disk.values[&b"a"[..]], string(5, "old"));
    script.tick(base(&[40, 40, 40]), NONE, &[(1, map(&["z"]))]);
    script.write();
    assert_eq!(script.disk.values, BTreeMap::from([("m".into(), map(&["z"]))]));
    script.tick(base(&[50, 50, 50]), NONE, &[(1, map(&["w"]))]);
    assert!(!script.writes[0].1.contains(&Row::ForgetAll), "once");
}

#[test]
fn a_process_that_keeps_no_values_leaves_none_of_an_old_base() {
    let mut script = opened();
    script.crash();
    assert_eq!(script.read("a"), None);
    script.open(base(&[40, 40, 40]), NONE, &[]);
    assert!(script.disk.values.is_empty());
}

#[test]
fn a_client_with_a_new_name_keeps_its_values() {
    let mut script = opened();
    script.commit(&[("a", set("mine"))]);
    script.write();
    script.down(ToClient::Forked { k: 1 });
    script.secret();
    script.write();
    script.crash_and_keep_values();
    assert_eq!(script.read("m"), Some(map(&["x", "y"])));
}

/// What the application has given up is not kept, though the client still watches it for the log.
#[test]
fn what_is_given_up_is_not_kept_though_the_log_writes_it() {
    let mut script = opened();
    script.commit(&[("a", set("mine"))]);
    script.write();
    script.event(Event::Unwatch { key: "a".into() });
    script.tick(base(&[40, 1_000_000, 60]), NONE, &[(0, string(900_000, "theirs"))]);
    script.write();
    assert_eq!(script.disk.values.keys().collect::<Vec<_>>(), ["m"]);
    assert_eq!(script.client.durable(), script.disk);
    script.watch("a");
    script.write();
    assert_eq!(script.disk.values[&b"a"[..]], string(900_000, "theirs"), "it is wanted again");
    assert_eq!(script.client.durable(), script.disk);
}

/// A log of very many keys does not take the watches that an application may have.
#[test]
fn what_an_application_watches_goes_before_what_the_log_writes() {
    let mut disk = Script::new("").disk;
    let operations = (0..=WATCHED_MAX).map(|n| Operation { key: format!("log:{n}").into(), kind: set("x") });
    let body = Body { k: 1, h_us: 1, dep: Base(Vec::new()), operations: operations.collect() };
    disk.log.insert(1, body);
    let mut client = Client::new(
        disk,
        Config { endpoints: 1, seed: 1, token: Bytes::new(), lowers: false, timing: Timing::DEFAULT },
    );
    client.handle(0, Event::Start);
    let opening = client.handle(0, Event::Connected { connection: 1 });
    let sent = opening.iter().filter(|effect| matches!(effect, Effect::Send { .. })).count();
    assert_eq!(sent, 1 + WATCHED_MAX / 2 + 1, "Hello, watches, Sync");
    client.handle(0, Event::Stop);
    for n in 0..WATCHED_MAX {
        let effects = client.handle(0, Event::Watch { key: format!("app:{n}").into() });
        assert_eq!(effects, [], "{n}");
    }
    assert_eq!(client.watched().count(), WATCHED_MAX);
}
