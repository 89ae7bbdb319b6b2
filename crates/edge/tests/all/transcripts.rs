//! Golden transcripts of the client: events and effects as lines, for clients in other languages to be run against. With
//! `UPDATE_GOLDEN=1` they are written anew; do that only if you understand why they differ.

mod places;
mod retime;

use crate::support::golden;
use crate::support::script::{NOON_US, Script, base, set, string};
use bytes::Bytes;
use std::collections::BTreeMap;
use tidemark_edge::client::Event;
use tidemark_edge::frames::*;

const NONE: (u64, [u8; 8]) = (0, [0; 8]);

fn keep(name: &str, script: &Script) {
    golden(&format!("transcripts/{name}.jsonl"), script.lines());
}

#[test]
fn first_connect_and_commit() {
    let mut script = Script::new(
        "A new client watches, connects, gets its first base, commits, and sees it come back in a tick.",
    );
    ["name", "visits", "tags"].into_iter().for_each(|key| script.watch(key));
    script.event(Event::Start);
    script.connect();
    script.welcome(0, [0; 8], true);
    let members = Value::Set(["blue".into(), "red".into()].into());
    script.tick(base(&[10, 20, 30]), NONE, &[(0, string(5, "41")), (1, Value::Absent), (2, members)]);
    assert_eq!(script.read("visits"), None);
    script.write();
    script.read("visits");
    script.commit(&[("visits", OperationKind::Add(1)), ("tags", OperationKind::SetRemove("red".into()))]);
    script.write();
    script.read("visits");
    script.read("tags");
    script.down(ToClient::Ack { k: 1 });
    script.pass(1_000_000);
    let check = script.check(1);
    let left = Change::Set([].into(), ["red".into()].into());
    script.down(ToClient::Tick(Tick {
        to: base(&[10, 20, 1_000_000]),
        regions: 2,
        in_base: 1,
        check,
        have: 0b101,
        updates: vec![
            Update { reference: 1, change: Change::Whole(string(60, "1")) },
            Update { reference: 2, change: left },
        ],
    }));
    script.write();
    ["name", "visits", "tags"].into_iter().for_each(|key| drop(script.read(key)));
    keep("first_connect", &script);
}

#[test]
fn offline_commits_and_sending_again() {
    let mut script =
        Script::new("Commits without a connection are sent later, as they are; a cut sends all again.");
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, string(5, "0"))]);
    script.disconnect();
    for _ in 0..3 {
        script.commit(&[("a", OperationKind::Add(1)), ("b", set("blind"))]);
    }
    script.write();
    script.read("a");
    script.pass(100_000_000);
    script.connect();
    script.welcome(0, [0; 8], true);
    script.write();
    script.down(ToClient::Ack { k: 2 });
    script.down(ToClient::Missing { k: 2 });
    script.disconnect();
    script.pass(1_000_000);
    script.connect();
    script.welcome(2, script.check(2), true);
    let check = script.check(3);
    script.tick(base(&[110_000_000, 20, 30]), (3, check), &[]);
    script.write();
    keep("offline_commits", &script);
}

#[test]
fn failover_with_an_explicit_dependency() {
    let mut script = Script::new(
        "Another region gets a transaction whose dependency it never sent: the base is spelled out.",
    );
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, string(5, "old"))]);
    script.commit(&[("a", set("at the first base"))]);
    script.write();
    script.tick(base(&[11, 21, 31]), NONE, &[(0, string(15, "other"))]);
    script.write();
    script.commit(&[("a", set("at the second base"))]);
    script.write();
    script.disconnect();
    script.pass(1_000_000);
    assert_eq!(script.connect(), 1, "the next endpoint");
    script.welcome(0, [0; 8], true);
    script.down(ToClient::Ack { k: 2 });
    keep("failover", &script);
}

#[test]
fn a_tick_prunes() {
    let mut script = Script::new(
        "A tick whose base contains one of two transactions: one durable step, one notification.",
    );
    ["a", "b"].into_iter().for_each(|key| script.watch(key));
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Absent), (1, Value::Absent)]);
    script.commit(&[("a", set("mine")), ("b", set("mine"))]);
    script.commit(&[("b", OperationKind::Delete)]);
    script.write();
    let check = script.check(1);
    let (mine, theirs) = (string(31, "mine"), string(2_000_000, "theirs"));
    script.tick(base(&[40, 2_000_001, 30]), (1, check), &[(0, mine), (1, theirs)]);
    script.read("a");
    script.write();
    script.read("a");
    script.read("b");
    keep("tick_prunes", &script);
}

#[test]
fn forked() {
    let mut script = Script::new(
        "A restored disk: the gateway has another transaction 1. What was not sent goes on under a new secret.",
    );
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Absent)]);
    script.commit(&[("a", set("sent"))]);
    script.write();
    script.down(ToClient::Later { wait_ms: 5000 });
    script.commit(&[("a", set("not sent"))]);
    script.write();
    script.down(ToClient::Forked { k: 1 });
    script.secret();
    script.write();
    script.read("a");
    script.pass(1_000_000);
    script.connect();
    script.welcome(0, [0; 8], true);
    script.write();
    script.down(ToClient::Ack { k: 1 });
    keep("forked", &script);
}

#[test]
fn forked_by_a_tick() {
    let mut script =
        Script::new("The base contains a transaction 1 that is not the client's: the tick is not applied.");
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Absent)]);
    script.commit(&[("a", set("sent"))]);
    script.write();
    script.tick(base(&[40, 50, 60]), (1, [9; 8]), &[(0, string(31, "of the other copy"))]);
    script.secret();
    script.write();
    script.read("a");
    keep("forked_by_a_tick", &script);
}

#[test]
fn a_base_without_what_was_in_an_earlier_one() {
    let mut script = Script::new(
        "Transactions 1 and 2 were in a base, and are not in a later one: they are lost. The third goes on without them.",
    );
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Absent)]);
    (0..2).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    let check = script.check(2);
    script.tick(base(&[40, 50, 60]), (2, check), &[(0, string(55, "2"))]);
    script.write();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.disconnect();
    script.pass(1_000_000);
    script.connect();
    script.welcome(0, [0; 8], false);
    script.tick(base(&[70, 70, 70]), NONE, &[(0, Value::Absent)]);
    script.write();
    script.read("a");
    script.down(ToClient::Ack { k: 3 });
    let check = script.check(3);
    script.tick(base(&[80, 80, 80]), (3, check), &[(0, string(75, "1"))]);
    script.write();
    script.read("a");
    keep("lost", &script);
}

#[test]
fn missing_and_lost() {
    let mut script = Script::new(
        "Missing sends again, once for the same number within a second; one below the log is a loss.",
    );
    script.open(base(&[10, 20, 30]), NONE, &[]);
    (0..3).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    script.down(ToClient::Missing { k: 0 });
    script.down(ToClient::Missing { k: 0 });
    script.pass(1_000_000);
    script.down(ToClient::Ack { k: 3 });
    let check = script.check(2);
    script.tick(base(&[40, 50, 60]), (2, check), &[]);
    script.write();
    script.down(ToClient::Missing { k: 0 });
    keep("missing", &script);
}

#[test]
fn refused() {
    let mut script = Script::new("A refusal is reported once, however often it is said.");
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Other("list".into()))]);
    script.commit(&[("a", OperationKind::SetAdd("x".into())), ("b", set("y"))]);
    script.write();
    script.read("a");
    for _ in 0..2 {
        let (code, text) = (Bytes::from_static(b"WRONGTYPE"), Bytes::from_static(b"the key holds a list"));
        script.down(ToClient::Refused { k: 1, operation: 0, code, text });
    }
    let check = script.check(1);
    script.tick(base(&[40, 50, 60]), (1, check), &[]);
    script.write();
    script.down(ToClient::Error { code: "GOING".into(), text: "the node stops".into() });
    keep("refused", &script);
}

#[test]
fn own_removals() {
    let mut script = Script::new(
        "What a client has put into a key and removed again does not come back when a base brings the first of both.",
    );
    ["m", "s"].into_iter().for_each(|key| script.watch(key));
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Absent), (1, Value::Absent)]);
    script.commit(&[
        ("m", OperationKind::MapSet("f".into(), "v".into())),
        ("s", OperationKind::SetAdd("x".into())),
    ]);
    script
        .commit(&[("m", OperationKind::MapDelete("f".into())), ("s", OperationKind::SetRemove("x".into()))]);
    script.write();
    let field = Written { at_us: NOON_US, bytes: "v".into() };
    let values = [(0, Value::Map([("f".into(), field)].into())), (1, Value::Set(["x".into()].into()))];
    script.tick(base(&[10, 20, 1_000_000]), (1, script.check(1)), &values);
    script.write();
    ["m", "s"].into_iter().for_each(|key| assert_eq!(script.read(key), Some(Value::Absent)));
    keep("own-removals", &script);
}

#[test]
fn later_and_behind() {
    let mut script =
        Script::new("Later and Behind wait; the third Behind in a row goes to the next endpoint.");
    script.open(base(&[10, 20, 30]), NONE, &[]);
    script.commit(&[("a", set("x"))]);
    script.commit(&[("a", set("y"))]);
    script.write();
    script.down(ToClient::Later { wait_ms: 250 });
    script.down(ToClient::Later { wait_ms: 250 });
    script.pass(250_000);
    for _ in 0..3 {
        script.down(ToClient::Behind { wait_ms: 300 });
        script.pass(300_000);
    }
    script.pass(1_000_000);
    keep("later_and_behind", &script);
}

#[test]
fn opening_after_a_crash_and_with_hashes() {
    let mut script = Script::new(
        "A reconnect says the hashes of what is cached and unwritten; after a crash nothing is cached.",
    );
    ["a", "b", "c"].into_iter().for_each(|key| script.watch(key));
    let fields = BTreeMap::from([(
        Bytes::from_static(b"f"),
        Written { at_us: NOON_US, bytes: Bytes::from_static(b"v") },
    )]);
    script.open(
        base(&[10, 20, 30]),
        NONE,
        &[(0, string(5, "same")), (1, Value::Map(fields)), (2, Value::Absent)],
    );
    script.commit(&[("b", OperationKind::MapSet("g".into(), "w".into()))]);
    script.write();
    script.disconnect();
    script.pass(1_000_000);
    script.connect();
    script.welcome(1, script.check(1), true);
    script.watch("d");
    script.tick(base(&[15, 25, 35]), NONE, &[(1, Value::Absent), (3, Value::Absent)]);
    script.write();
    ["a", "b", "c", "d"].into_iter().for_each(|key| drop(script.read(key)));
    script.crash();
    ["b", "a"].into_iter().for_each(|key| script.watch(key));
    script.event(Event::Start);
    script.connect();
    script.welcome(1, script.check(1), false);
    script.read("a");
    let check = script.check(1);
    script.tick(base(&[16, 26, 36]), (1, check), &[(0, string(5, "same")), (1, Value::Absent)]);
    script.write();
    script.read("a");
    keep("opening", &script);
}

#[test]
fn a_full_disk_and_regions() {
    let mut script = Script::new(
        "Writes fail: of a commit, of a new time, of a base. K changes. A key is watched and unwatched.",
    );
    script.open(base(&[10, 20, 30]), NONE, &[]);
    script.commit(&[("a", set("x"))]);
    script.fail_write();
    script.commit(&[("a", set("y"))]);
    script.write();
    script.down(ToClient::Retime { k: 1 });
    script.fail_write();
    script.pass(1_000_000);
    script.write();
    script.event(Event::SetRegions { regions: 2 });
    script.write();
    script.watch("a");
    script.down(ToClient::Value { reference: 0, value: string(3, "before") });
    script.read("a");
    script.event(Event::Unwatch { key: "a".into() });
    script.tick(base(&[40, 50, 60]), NONE, &[(0, string(35, "under way"))]);
    script.fail_write();
    script.pass(10_000_000);
    script.connect();
    script.event(Event::Stop);
    keep("full_disk", &script);
}

#[test]
fn a_key_that_was_given_up_while_the_log_writes_it() {
    let mut script = Script::new(
        "A key is given up before its write is delivered: the client knows that it was overwritten when it gives a new time, also after a crash.",
    );
    script.watch("a");
    script.open(base(&[10, 20, 30]), NONE, &[(0, string(5, "old"))]);
    script.commit(&[("a", set("mine")), ("b", set("blind"))]);
    script.write();
    script.tick(base(&[40, 1_000_000, 60]), NONE, &[(0, string(900_000, "theirs"))]);
    script.write();
    script.event(Event::Unwatch { key: "a".into() });
    script.pass(100_000_000);
    script.down(ToClient::Retime { k: 1 });
    script.write();
    script.read("a");
    let check = script.check(1);
    script.tick(base(&[100_000_000, 1_000_000, 60]), (1, check), &[]);
    script.write();
    script.read("a");
    script.commit(&[("a", set("again"))]);
    script.write_one();
    script.crash();
    script.pass(300_000_000);
    script.event(Event::Start);
    script.connect();
    script.welcome(1, check, true);
    script.tick(base(&[200_000_000, 200_000_000, 60]), (1, check), &[(0, string(199_000_000, "theirs"))]);
    script.write();
    script.crash();
    script.watch("a");
    script.event(Event::Start);
    script.connect();
    keep("given-up", &script);
}
