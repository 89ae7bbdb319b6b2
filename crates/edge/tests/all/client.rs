//! The client, rule by rule: a test of each, named after it.

mod places;
mod retime;
mod rules;

use crate::support::script::{NOON_US, Script, TIMING, base, set, string};
use bytes::Bytes;
use tidemark_edge::client::*;
use tidemark_edge::durable::Row;
use tidemark_edge::frames::*;

const NONE: (u64, [u8; 8]) = (0, [0; 8]);

/// A client that watches `a` and `b`, and is connected.
fn opened() -> Script {
    let mut script = Script::new("");
    ["a", "b"].into_iter().for_each(|key| script.watch(key));
    script.open(base(&[10, 20, 30]), NONE, &[(0, string(5, "old")), (1, Value::Absent)]);
    script
}

#[test]
fn rule_1_a_read_is_the_base_and_the_log_and_the_transaction() {
    let mut script = opened();
    assert_eq!(script.read("a"), Some(string(5, "old")));
    assert_eq!(script.read("c"), None, "it is not watched");
    let mut transaction = script.client.begin();
    transaction.push("a", set("mine"));
    assert!(matches!(transaction.read(b"a"), Some(Value::String(written)) if written.bytes == "mine"));
    assert_eq!(script.read("a"), Some(string(5, "old")), "it is not committed");
    let before = script.client.begin();
    script.commit(&[("a", set("new"))]);
    script.write();
    assert!(matches!(script.read("a"), Some(Value::String(written)) if written.bytes == "new"));
    assert_eq!(before.read(b"a"), Some(string(5, "old")), "a transaction reads one point of the past");
    script.tick(base(&[40, 40, 40]), NONE, &[(0, string(39, "theirs"))]);
    script.write();
    assert_eq!(before.read(b"a"), Some(string(5, "old")));
}

#[test]
fn rule_2_a_commit_is_later_than_all_it_saw_and_durable_before_it_is_visible() {
    let mut script = opened();
    script.commit(&[("a", set("new"))]);
    script.commit(&[("a", set("newer"))]);
    assert_eq!(script.read("a"), Some(string(5, "old")));
    assert!(script.told.is_empty() && script.transfers().is_empty());
    script.write();
    assert_eq!(script.told[0], Effect::Committed { id: 1, k: 1 });
    let h_us: Vec<u64> = script.disk.log.values().map(|body| body.h_us).collect();
    assert!(h_us[0] > NOON_US + 30 && h_us[1] > h_us[0]);
    assert!(script.disk.log.values().all(|body| body.dep == base(&[10, 20, 30])));
    script.told.clear();
    script.commit(&[("a", set("no room"))]);
    script.fail_write();
    assert!(matches!(script.told[..], [Effect::CommitFailed { id: 3, .. }]));
    script.commit(&[("a", set("room"))]);
    script.write();
    assert!(script.told.contains(&Effect::Committed { id: 4, k: 3 }), "numbers have no gaps");
    script.commit(&[]);
    assert!(script.told.contains(&Effect::Committed { id: 5, k: 0 }), "it only read");
    script.commit(&[("", set("no key"))]);
    assert!(matches!(script.told.last(), Some(Effect::CommitFailed { id: 6, .. })));
}

#[test]
fn rule_3_a_transaction_is_sent_as_soon_as_it_is_durable() {
    let mut script = opened();
    script.commit(&[("a", set("new"))]);
    assert!(script.transfers().is_empty());
    assert!(matches!(&script.writes[0].1[..], [Row::Entry(_)]));
    script.write_one();
    assert_eq!(script.transfers(), [(1, false)]);
    assert!(script.writes.is_empty(), "one write to the disk is enough");
}

#[test]
fn rule_3_a_time_of_long_ago_is_sent_as_it_is() {
    let mut script = opened();
    script.disconnect();
    script.commit(&[("a", set("offline"))]);
    script.commit(&[("b", set("offline"))]);
    script.write();
    let before = script.disk.log[&1].clone();
    script.now_us += 3_600_000_000;
    script.event(Event::Timer);
    script.connect();
    script.welcome(0, [0; 8], true);
    script.tick(base(&[script.now_us; 3]), NONE, &[]);
    script.write();
    assert_eq!(script.disk.log[&1], before, "a copy of the disk may send it, too");
    script.away(3_600_000_000);
    assert_eq!(script.transfers(), [(1, false), (2, false), (1, true), (2, true)]);
}

#[test]
fn rule_4_a_connection_sends_the_whole_log_in_windows() {
    let mut script = opened();
    script.disconnect();
    (0..70).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    script.pass(1_000_000);
    script.connect();
    script.welcome(0, [0; 8], true);
    script.write();
    assert_eq!(script.transfers().len() as u64, WINDOW);
    assert_eq!(script.client.unsent(), 70);
    script.down(ToClient::Ack { k: 6 });
    script.write();
    assert_eq!(script.transfers().iter().map(|(k, _)| *k).collect::<Vec<_>>(), (65..=70).collect::<Vec<_>>());
    assert_eq!(script.client.unsent(), 64);
    script.away(1_000_000);
    assert_eq!(script.transfers()[0], (1, true), "what another region has acknowledged, too");
}

#[test]
fn rule_5_an_ack_prunes_nothing() {
    let mut script = opened();
    script.commit(&[("a", set("new"))]);
    script.write();
    script.down(ToClient::Ack { k: 1 });
    assert_eq!((script.client.pending(), script.client.unsent()), (1, 0));
    assert!(script.disk.log.contains_key(&1) && script.writes.is_empty());
}

#[test]
fn rule_6_missing_says_from_where_to_send_again() {
    let mut script = opened();
    (0..3).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    assert_eq!(script.transfers().len(), 3);
    script.down(ToClient::Missing { k: 1 });
    script.down(ToClient::Missing { k: 1 });
    assert_eq!(
        script.transfers(),
        [(2, false), (3, false)],
        "the second is about a frame that was under way"
    );
    script.pass(TIMING.retry_ms * 1000);
    assert_eq!(script.transfers(), [(2, false), (3, false)], "or it was not");
    let check = script.check(2);
    script.tick(base(&[40, 40, 40]), (2, check), &[]);
    script.write();
    script.told.clear();
    script.down(ToClient::Missing { k: 0 });
    assert!(script.told.contains(&Effect::Report(Report::Lost { k: 0 })));
}

/// With K = 1 the base that a client has seen was that of one region, which is lost. Without this rule it would go round the others for ever.
#[test]
fn rule_6_the_log_goes_on_without_what_was_in_the_base_and_was_lost() {
    let mut script = opened();
    (0..2).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    let check = script.check(2);
    script.tick(base(&[40, 40, 40]), (2, check), &[]);
    script.write();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.disconnect();
    script.pass(1_000_000);
    script.connect();
    script.told.clear();
    script.transfers();
    script.welcome(0, [0; 8], false);
    for newest in [50, 60] {
        script.tick(base(&[newest; 3]), NONE, &[]);
        script.write();
    }
    let lost = Effect::Report(Report::Lost { k: 0 });
    assert_eq!(script.told.iter().filter(|told| **told == lost).count(), 1, "once a connection");
    assert_eq!((script.transfers(), script.client.status()), (vec![(3, true)], Status::Live));
    script.down(ToClient::Ack { k: 3 });
    // Of the chain up to 2 the region has only what Hello said.
    let check = Chain::resumed(check).then(&script.disk.log[&3].encode()).check();
    script.tick(base(&[70; 3]), (3, check), &[]);
    script.write();
    assert_eq!((script.client.pending(), script.client.status()), (0, Status::Live), "it is no fork");
}

#[test]
fn rule_7_later_and_behind_wait_and_three_times_behind_goes_elsewhere() {
    let mut script = opened();
    script.commit(&[("a", set("new"))]);
    script.write();
    script.transfers();
    script.down(ToClient::Later { wait_ms: 100 });
    script.pass(99_999);
    assert!(script.transfers().is_empty());
    script.pass(1);
    assert_eq!(script.transfers(), [(1, false)]);
    for _ in 0..2 {
        script.down(ToClient::Behind { wait_ms: 100 });
        script.down(ToClient::Behind { wait_ms: 100 });
        script.pass(100_000);
        assert_eq!(script.transfers(), [(1, false)], "one of them is about a frame that was under way");
    }
    script.down(ToClient::Behind { wait_ms: 100 });
    assert_eq!(script.client.status(), Status::Offline);
    script.pass(1_000_000);
    assert_eq!(script.connect(), 1);
}

#[test]
fn rule_8_a_base_is_durable_before_it_is_visible_and_prunes_in_one_step() {
    let mut script = opened();
    script.commit(&[("a", set("one"))]);
    script.commit(&[("b", set("two"))]);
    script.write();
    script.told.clear();
    let check = script.check(1);
    script.tick(base(&[40, 40, 40]), (1, check), &[(0, string(39, "theirs")), (1, string(38, "theirs"))]);
    assert_eq!((script.client.base(), script.client.pending()), (&base(&[10, 20, 30]), 2));
    assert!(matches!(&script.writes[0].1[..], [Row::Base(_), Row::Drop(1)]));
    script.write();
    assert_eq!(script.told, [Effect::Changed { keys: vec!["a".into(), "b".into()] }], "once");
    assert_eq!((script.client.base(), script.client.pending()), (&base(&[40, 40, 40]), 1));
    assert_eq!((script.client.in_base(), script.client.base_regions()), (1, 2));
    assert_eq!(script.read("a"), Some(string(39, "theirs")));
    script.tick(base(&[50, 50, 50]), (1, check), &[]);
    script.fail_write();
    assert_eq!((script.client.status(), script.client.base()), (Status::Offline, &base(&[40, 40, 40])));
}

#[test]
fn rule_9_a_value_waits_for_the_base_it_is_of() {
    let mut script = opened();
    script.watch("c");
    script.tick(base(&[40, 40, 40]), NONE, &[]);
    script.down(ToClient::Value { reference: 2, value: string(35, "c") });
    assert_eq!(script.read("c"), None);
    script.write();
    assert_eq!(script.read("c"), Some(string(35, "c")));
    script.event(Event::Unwatch { key: "c".into() });
    assert_eq!(script.read("c"), None);
    script.told.clear();
    script.tick(base(&[50, 40, 40]), NONE, &[(2, string(36, "under way"))]);
    script.write();
    assert_eq!((script.read("c"), script.told.len()), (None, 0), "it is ignored");
}

#[test]
fn rule_10_an_opening_says_what_is_cached() {
    let mut script = opened();
    script.commit(&[("b", set("mine"))]);
    script.write();
    script.disconnect();
    script.pass(1_000_000);
    script.sent.clear();
    script.connect();
    let hash = string(0, "old").hash();
    let watch = |reference, key: &'static str, have| ToGateway::Watch { reference, key: key.into(), have };
    assert!(matches!(&script.sent[0], ToGateway::Hello(hello) if hello.base == base(&[10, 20, 30])));
    let rest = [watch(0, "a", hash), watch(1, "b", NO_HASH), ToGateway::Sync];
    assert_eq!(script.sent[1..], rest, "the log writes b");
    assert_eq!(script.read("a"), Some(string(5, "old")), "the cache stays readable");
    script.welcome(1, script.check(1), false);
    assert_eq!(script.client.status(), Status::Behind);
    script.crash();
    script.watch("a");
    script.event(Event::Start);
    script.sent.clear();
    script.connect();
    assert_eq!(script.sent[1], watch(0, "a", NO_HASH), "the cache is not durable");
}

#[test]
fn rule_11_a_fork_makes_a_new_client_of_what_was_not_sent() {
    let mut script = opened();
    script.commit(&[("a", set("sent"))]);
    script.write();
    let cid = script.client.cid();
    script.down(ToClient::Later { wait_ms: 1000 });
    script.commit(&[("b", set("not sent"))]);
    script.write();
    script.told.clear();
    script.down(ToClient::Forked { k: 1 });
    script.commit(&[("b", set("in between"))]);
    script.secret();
    script.write();
    assert!(script.told.contains(&Effect::Report(Report::Forked { dropped: vec![1] })));
    assert_ne!(script.client.cid(), cid);
    assert_eq!(script.disk.log.keys().copied().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(script.disk, script.client.durable());
    assert_eq!(script.read("a"), Some(string(5, "old")));
    script.sent.clear();
    script.pass(1_000_000);
    script.connect();
    assert!(matches!(&script.sent[0], ToGateway::Hello(hello) if hello.first == 1 && hello.check == [0; 8]));
}

#[test]
fn rule_11_a_restored_client_notices_before_it_drops_anything() {
    let mut script = opened();
    let old = script.disk.clone();
    script.commit(&[("a", set("of the original"))]);
    script.write();
    let check = script.check(1);
    script.disk = old;
    script.crash();
    script.event(Event::Start);
    script.connect();
    script.commit(&[("a", set("of the copy"))]);
    script.write();
    script.welcome(1, check, true);
    script.secret();
    script.write();
    let nothing = Effect::Report(Report::Forked { dropped: Vec::new() });
    assert!(script.told.contains(&nothing), "its own was not sent");
    assert_eq!((script.client.pending(), script.disk.log.len()), (1, 1));
}

#[test]
fn rule_12_a_refusal_is_reported_once() {
    let mut script = opened();
    script.commit(&[("a", OperationKind::SetAdd("x".into()))]);
    script.write();
    script.told.clear();
    for _ in 0..2 {
        let (code, text) = (Bytes::from_static(b"WRONGTYPE"), Bytes::new());
        script.down(ToClient::Refused { k: 1, operation: 0, code, text });
    }
    assert_eq!(script.told.len(), 1);
    assert_eq!(script.client.pending(), 1, "it stays until the base has passed it");
}

#[test]
fn rule_13_the_status_is_one_of_four() {
    let mut script = Script::new("");
    assert_eq!(script.client.status(), Status::Offline);
    script.event(Event::Start);
    assert_eq!(script.client.status(), Status::Connecting);
    script.connect();
    script.welcome(0, [0; 8], false);
    assert_eq!(script.client.status(), Status::Behind);
    script.tick(base(&[1, 1, 1]), NONE, &[]);
    assert_eq!(script.client.status(), Status::Live);
    script.pass(5_000_000);
    assert_eq!(script.client.status(), Status::Behind);
    script.event(Event::Stop);
    assert_eq!(script.client.status(), Status::Offline);
}

#[test]
fn rule_14_failures_go_to_the_next_endpoint_after_longer_and_longer() {
    let mut script = Script::new("");
    script.event(Event::Start);
    let mut endpoints = Vec::new();
    for failure in 0..8 {
        let (endpoint, connection) = script.asked.take().unwrap();
        endpoints.push(endpoint);
        script.event(Event::Disconnected { connection });
        let delay_us = script.wake_at_us.unwrap() - script.now_us;
        let whole_us = (TIMING.backoff_min_ms << failure).min(TIMING.backoff_max_ms) * 1000;
        assert!((whole_us / 2..=whole_us).contains(&delay_us), "{failure}: {delay_us}");
        script.pass(delay_us);
    }
    assert_eq!(endpoints, [0, 1, 2, 0, 1, 2, 0, 1]);
    script.pass(TIMING.welcome_within_ms * 1000);
    assert_eq!(script.client.status(), Status::Offline, "nobody answers");
    script.pass(10_000_000);
    script.connect();
    script.raw(&[130]);
    let malformed =
        |effect: &Effect| matches!(effect, Effect::Report(Report::Error { code, .. }) if code == "MALFORMED");
    assert!(script.told.iter().any(malformed) && script.client.status() == Status::Offline);
}

#[test]
fn rule_15_an_operation_of_the_wrong_type_is_sent() {
    let mut script = opened();
    script.commit(&[("a", OperationKind::SetAdd("x".into()))]);
    script.write();
    assert_eq!(script.read("a"), Some(string(5, "old")), "and has no effect here");
    assert_eq!(script.transfers(), [(1, false)]);
}
