//! Transactions that get later times.

use super::{NONE, keep};
use crate::support::script::{NOON_US, Script, base, set};
use bytes::Bytes;
use tidemark_edge::client::Effect;
use tidemark_edge::frames::*;

#[test]
fn retime() {
    let mut script = Script::new(
        "A transaction that no region took in time gets a new time, with those after it, and is sent again.",
    );
    script.open(base(&[10, 20, 30]), NONE, &[]);
    (0..3).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    script.down(ToClient::Ack { k: 1 });
    script.pass(100_000_000);
    script.down(ToClient::Retime { k: 2 });
    script.down(ToClient::Missing { k: 1 });
    script.write();
    script.down(ToClient::Ack { k: 3 });
    let check = script.check(3);
    script.tick(base(&[40, 100_000_050, 60]), (3, check), &[]);
    script.write();
    keep("retime", &script);
}

#[test]
fn retime_on_a_new_connection() {
    let mut script = Script::new(
        "A client that was away for long is told to give new times before it has a new base: it waits for that.",
    );
    script.open(base(&[10, 20, 30]), NONE, &[]);
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.away(3_600_000_000);
    script.down(ToClient::Retime { k: 1 });
    script.tick(base(&[3_600_000_000, 3_600_000_000, 60]), NONE, &[]);
    script.write();
    script.down(ToClient::Ack { k: 1 });
    keep("retime-on-a-new-connection", &script);
}

#[test]
fn new_times_for_a_base_with_one_old_entry() {
    let mut script = Script::new(
        "When a transaction gets a new time, one entry of its base is too old, and the others are not: it gets the newer base, too.",
    );
    script.open(base(&[10, 20, 30]), NONE, &[]);
    script.pass(100_000_000);
    script.tick(base(&[100_000_000, 50, 100_000_000]), NONE, &[]);
    script.write();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.tick(base(&[100_000_000; 3]), NONE, &[]);
    script.write();
    script.down(ToClient::Retime { k: 1 });
    script.write();
    keep("one-old-entry", &script);
}

#[test]
fn retime_after_the_time_is_forgotten() {
    let mut script = Script::new(
        "A later write has overwritten that of a client, which is away then. Its values come again without times: the time that the client knows stays, and the transaction gets a later one without that write.",
    );
    ["a", "m"].into_iter().for_each(|key| script.watch(key));
    script.open(base(&[10, 20, 30]), NONE, &[(0, Value::Absent), (1, Value::Absent)]);
    let ours = OperationKind::MapSet("f".into(), "ours".into());
    script.commit(&[
        ("a", set("ours")),
        ("m", ours),
        ("m", OperationKind::MapSet("g".into(), "ours".into())),
    ]);
    script.write();
    let theirs = |at_us| {
        let written = Written { at_us, bytes: "theirs".into() };
        [(0, Value::String(written.clone())), (1, Value::Map([("f".into(), written)].into()))]
    };
    script.tick(base(&[10, 20, 40]), NONE, &theirs(NOON_US + 60_000_000));
    script.write();
    script.away(3_600_000_000);
    script.tick(base(&[3_600_000_000, 3_600_000_000, 60]), NONE, &theirs(0));
    script.write();
    ["a", "m"].into_iter().for_each(|key| drop(script.read(key)));
    script.down(ToClient::Retime { k: 1 });
    script.write();
    ["a", "m"].into_iter().for_each(|key| drop(script.read(key)));
    keep("retime-without-times", &script);
}

#[test]
fn retime_covers_more() {
    let mut script = Script::new(
        "A client deletes a key, and then others add to it: that stays. It was away for so long that its transaction counts as prepared in the base of now: the deletion covers what was added, and the key has changed.",
    );
    script.watch("a");
    let members =
        |members: &[&'static str]| Value::Set(members.iter().map(|one| Bytes::from(*one)).collect());
    script.open(base(&[10, 20, 30]), NONE, &[(0, members(&["x"]))]);
    script.commit(&[("a", OperationKind::Delete)]);
    script.write();
    script.tick(base(&[10, 20, 40]), NONE, &[(0, members(&["x", "y"]))]);
    script.write();
    assert_eq!(script.read("a"), Some(members(&["y"])));
    script.away(3_600_000_000);
    script.tick(base(&[3_600_000_000; 3]), NONE, &[(0, members(&["x", "y"]))]);
    script.write();
    script.down(ToClient::Retime { k: 1 });
    script.told.clear();
    script.write();
    assert!(script.told.contains(&Effect::Changed { keys: vec!["a".into()] }), "{:?}", script.told);
    assert_eq!(script.read("a"), Some(Value::Absent));
    keep("retime-covers-more", &script);
}
