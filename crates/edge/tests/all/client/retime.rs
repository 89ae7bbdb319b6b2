//! Rule 12: new times.

use super::{NONE, opened};
use crate::support::script::{NOON_US, base, set, string};
use tidemark_edge::client::Status;
use tidemark_edge::frames::*;

#[test]
fn rule_12_retime_gives_new_times_and_sends_again() {
    let mut script = opened();
    (0..3).for_each(|_| script.commit(&[("a", OperationKind::Add(1))]));
    script.write();
    script.transfers();
    script.pass(100_000_000);
    script.down(ToClient::Ack { k: 1 });
    let before = script.disk.log[&1].h_us;
    script.down(ToClient::Retime { k: 2 });
    script.down(ToClient::Retime { k: 3 });
    assert!(script.transfers().is_empty(), "the disk comes first");
    script.write();
    assert_eq!(script.transfers(), [(2, false), (3, false)]);
    let least = NOON_US + script.now_us - 30_000_000;
    let times: Vec<u64> = script.disk.log.values().map(|body| body.h_us).collect();
    assert_eq!(times, [before, least, least + 1]);
    script.told.clear();
    script.down(ToClient::Ack { k: 3 });
    script.down(ToClient::Retime { k: 1 });
    assert_eq!(script.client.status(), Status::Offline, "it is taken");
}

/// What the client has may be a base that no region reads any more: with it another connection would be told the same, and so on without end.
#[test]
fn rule_12_on_a_new_connection_new_times_wait_for_its_first_base() {
    let mut script = opened();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.away(3_600_000_000);
    assert_eq!(script.transfers(), [(1, false), (1, true)]);
    (0..2).for_each(|_| script.down(ToClient::Retime { k: 1 }));
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    assert!(script.transfers().is_empty());
    let now = base(&[script.now_us; 3]);
    script.tick(now.clone(), NONE, &[]);
    script.write();
    assert_eq!(script.disk.log[&1].dep, now);
    assert_eq!(script.transfers(), [(1, false), (2, false)]);
}

/// Of a region that was cut off for long, and is excluded or back, the client may have an old entry beside new ones.
#[test]
fn rule_12_a_base_with_an_old_entry_of_one_region_is_old() {
    let mut script = opened();
    script.pass(100_000_000);
    script.tick(base(&[100_000_000, 50, 100_000_000]), NONE, &[]);
    script.write();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    let newer = base(&[100_000_000; 3]);
    script.tick(newer.clone(), NONE, &[]);
    script.write();
    script.down(ToClient::Retime { k: 1 });
    script.write();
    assert_eq!(script.disk.log[&1].dep, newer);
}

/// Its time rises above that of the write which the client has seen over it: with its write it would win again.
#[test]
fn rule_12_with_a_later_time_a_write_that_was_seen_overwritten_stays_overwritten() {
    let mut script = opened();
    script.commit(&[("a", set("mine")), ("n", OperationKind::Add(1))]);
    script.write();
    script.transfers();
    let own_us = script.disk.log[&1].h_us;
    script.tick(base(&[40, 40, 40]), NONE, &[(0, string(own_us + 1, "theirs"))]);
    script.write();
    assert_eq!(script.read("a"), Some(string(own_us + 1, "theirs")));
    script.pass(100_000_000);
    script.down(ToClient::Retime { k: 1 });
    script.write();
    let body = &script.disk.log[&1];
    assert!(body.h_us > own_us + 1);
    assert_eq!(body.operations.iter().map(|one| &one.key[..]).collect::<Vec<_>>(), [b"n"]);
    assert_eq!(script.read("a"), Some(string(own_us + 1, "theirs")));
    assert_eq!(script.transfers(), [(1, false)]);
}

/// Else a value that it has shown, and that overwrote its own, would be overwritten by it (seed 1013877 of the simulator).
#[test]
fn rule_9_what_the_log_writes_is_watched_though_it_was_given_up() {
    let mut script = opened();
    script.commit(&[("a", set("mine")), ("b", OperationKind::Add(1))]);
    script.write();
    script.tick(base(&[40, 1_000_000, 60]), NONE, &[(0, string(900_000, "theirs"))]);
    script.write();
    script.event(tidemark_edge::client::Event::Unwatch { key: "a".into() });
    assert!(script.client.watched().eq(["b"]), "to the application it is gone");
    script.pass(100_000_000);
    script.down(ToClient::Retime { k: 1 });
    script.write();
    let left: Vec<_> = script.disk.log[&1].operations.iter().map(|one| one.key.clone()).collect();
    assert_eq!(left, ["b"]);
    script.sent.clear();
    let check = script.check(1);
    script.tick(base(&[100_000_000; 3]), (1, check), &[]);
    script.write();
    assert_eq!(script.sent, [ToGateway::Unwatch { reference: 0 }], "the log writes it no more");
    assert_eq!(script.read("a"), None);
}

/// Another copy of the disk may have sent it, also with that time; and the process before may have shown what overwrote it.
#[test]
fn rule_3_what_an_earlier_process_has_committed_counts_as_sent() {
    let mut script = opened();
    script.disconnect();
    script.commit(&[("a", set("mine"))]);
    script.write();
    script.crash();
    script.pass(200_000_000);
    script.event(tidemark_edge::client::Event::Start);
    script.connect();
    script.welcome(0, [0; 8], true);
    let before = script.disk.log[&1].clone();
    script.write();
    assert_eq!((script.transfers(), &script.disk.log[&1]), (vec![(1, true)], &before));
    script.down(ToClient::Retime { k: 1 });
    script.tick(base(&[150_000_000; 3]), NONE, &[(0, string(100_000_000, "theirs"))]);
    script.write();
    assert_eq!(script.transfers(), [(1, false)]);
    assert!(script.disk.log[&1].operations.is_empty());
}

/// One that was on its way to the disk had a time that is not above the new one of the one before, and no region takes that.
#[test]
fn rule_12_what_is_being_committed_is_waited_for() {
    let mut script = opened();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.write();
    script.commit(&[("a", OperationKind::Add(1))]);
    script.down(ToClient::Retime { k: 1 });
    script.commit(&[("a", OperationKind::Add(1))]);
    script.transfers();
    script.write();
    let times: Vec<u64> = script.disk.log.values().map(|body| body.h_us).collect();
    assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
    assert_eq!(script.transfers(), [(1, false), (2, false), (3, false)]);
}
