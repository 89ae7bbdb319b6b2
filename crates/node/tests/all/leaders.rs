//! Raft groups: founding, leadership, what its loss does to sessions, members that come with an empty disk.

use crate::harness::{Cluster, layout, set};
use bytes::BytesMut;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use tidemark_core::{DcId, Outcome, PartitionId, ServerId};
use tidemark_node::Order;
use tidemark_node::cuts::{CutOrder, Place};
use tidemark_protocols::Tidemark;
use tidemark_registry::factory_of;

fn group() -> (Cluster, usize) {
    let mut cluster = Cluster::start(factory_of::<Tidemark>(), layout(1, 1, 3));
    cluster.run_for(10_000_000);
    let leader = cluster.leader(0..3).expect("somebody leads");
    (cluster, leader)
}

#[test]
fn three_empty_directories_found_a_group_and_serve() {
    let (mut cluster, leader) = group();
    assert!((0..3).all(|at| cluster.up(at)));
    for at in 0..3 {
        let session = cluster.open(at);
        let value = format!("from {at}");
        assert!(matches!(cluster.set(at, session, "k", &value), Outcome::Written { stamp: Some(_), .. }));
        assert_eq!(cluster.get(at, session, "k"), Some(value), "leader {leader}");
    }
}

#[test]
fn another_member_leads_when_the_leader_dies_and_nothing_is_lost() {
    let (mut cluster, leader) = group();
    let session = cluster.open(leader);
    cluster.set(leader, session, "k", "v");
    cluster.kill(leader);
    cluster.run_for(5_000_000);
    let next = cluster.leader(0..3).expect("another leads");
    let session = cluster.open(next);
    assert_eq!(cluster.get(next, session, "k").as_deref(), Some("v"));
    cluster.boot(leader);
    cluster.run_for(5_000_000);
    let session = cluster.open(leader);
    assert_eq!(cluster.get(leader, session, "k").as_deref(), Some("v"));
}

/// The deposed leader's sessions have read what was never committed: they end, and nothing of it is told.
#[test]
fn sessions_that_know_what_was_not_committed_end_with_leadership() {
    let (mut cluster, leader) = group();
    let (writer, idle) = (cluster.open(leader), cluster.open(leader));
    cluster.set(leader, idle, "k", "v");
    cluster.silent.push(leader);
    cluster.begin(leader, writer, set("k", "lost"));
    cluster.run_for(10_000_000);
    assert_eq!(cluster.processes[leader].outcomes.get(&writer), None, "it was never committed");
    cluster.silent.clear();
    cluster.run_for(10_000_000);
    assert_eq!(cluster.processes[leader].outcomes.get(&writer), None);
    assert_eq!(cluster.processes[leader].ended, [writer], "the idle session goes on");
    assert_eq!(cluster.get(leader, idle, "k").as_deref(), Some("v"));
}

#[test]
fn a_member_with_a_lost_disk_comes_back_under_a_new_name() {
    let (mut cluster, leader) = group();
    let session = cluster.open(leader);
    cluster.set(leader, session, "k", "v");
    let lost = (leader + 1) % 3;
    cluster.kill(lost);
    cluster.lose_disk(lost);
    cluster.boot(lost);
    cluster.run_for(20_000_000);
    let now = tidemark_replica::Now { wall: 1_700_000_040_000_000, mono: cluster.now_us };
    let status = cluster.node(leader).status(now).group.expect("it is in a group");
    assert_eq!(status.voters.len(), 3, "{status:?}");
    let status = cluster.node(lost).status(now).group.expect("it is in a group");
    assert!(status.member > 3, "{status:?}");
    assert_eq!(status.role, "follower");
}

/// Names came of the seconds of the clock, which here show twice the same; and of two names the larger one won.
#[test]
fn a_member_that_loses_its_disk_again_and_again_comes_back_each_time() {
    let (mut cluster, leader) = group();
    let lost = (leader + 1) % 3;
    let mut names = Vec::new();
    for round in 0..6 {
        cluster.processes[lost].ahead_us = -20_000_000 * round;
        cluster.kill(lost);
        cluster.lose_disk(lost);
        cluster.boot(lost);
        cluster.run_for(20_000_000);
        let now = tidemark_replica::Now { wall: 1_700_000_040_000_000, mono: cluster.now_us };
        let status = cluster.node(lost).status(now).group.expect("it is in a group");
        assert_eq!((status.role, status.voters.len()), ("follower", 3), "round {round}: {status:?}");
        assert!(!names.contains(&status.member), "round {round}: {status:?}, as in {names:?}");
        names.push(status.member);
    }
}

/// A follower sends requests once what they depend on is in its log. Beside a busy disk that took longer than the leader took to go,
/// and clients were told that nobody knew what had come of their writes, which nobody had been asked for.
#[test]
fn a_write_that_has_not_left_goes_to_the_next_leader() {
    let (mut cluster, leader) = group();
    let at = (leader + 1) % 3;
    let session = cluster.open(at);
    cluster.set(at, session, "k", "before");
    let now = cluster.now(at);
    assert!(cluster.node(at).begin(now, session, set("k", "after")).is_none());
    cluster.kill(leader);
    cluster.end_batch(at);
    cluster.run_for(4_000_000);
    let outcome = cluster.processes[at].outcomes.remove(&session);
    assert!(matches!(outcome, Some(Outcome::Written { .. })), "{outcome:?}");
    assert_eq!(cluster.get(at, session, "k").as_deref(), Some("after"));
}

#[test]
fn a_leader_that_is_to_end_hands_over() {
    let (mut cluster, leader) = group();
    for _ in 0..2_000 {
        let now = tidemark_replica::Now { wall: 1_700_000_040_000_000, mono: cluster.now_us };
        if cluster.node(leader).hand_over(now) {
            break;
        }
        cluster.run_for(1_000);
    }
    assert_ne!(cluster.leader(0..3), Some(leader));
    assert!(cluster.leader(0..3).is_some(), "another leads before this one has ended");
}

/// What a node said before it was elected reached another after that had heard that it leads: it was taken for a leader that is
/// one no more, and what it said of the same epoch later was no news. Nobody asked it for records again.
#[test]
fn a_leader_is_known_again_after_a_handshake_that_came_late() {
    let mut cluster = Cluster::start(factory_of::<Tidemark>(), layout(2, 1, 3));
    cluster.run_for(10_000_000);
    let reader = cluster.leader(3..6).expect("somebody leads");
    (0..3).for_each(|at| cluster.kill(at));
    let late = Rc::new(RefCell::new(Vec::new()));
    let held = late.clone();
    cluster.tap = Box::new(move |end, bytes| {
        // The first frame of who connects names the cluster; the answer does not.
        let hello = end.0 == reader && bytes.windows(8).any(|window| window == b"tidemark");
        if hello {
            held.borrow_mut().push((end, bytes.clone()));
        }
        !hello
    });
    (0..3).for_each(|at| cluster.boot(at));
    cluster.run_for(4_000_000);
    let writer = cluster.leader(0..3).expect("somebody leads");
    cluster.tap = Box::new(|_, _| true);
    let late = late.take();
    assert!(!late.is_empty());
    late.into_iter().for_each(|(end, bytes)| cluster.arrive(end, bytes));
    cluster.run_for(2_000_000);
    let regions = (Place::Region(DcId(0)), Place::Region(DcId(1)));
    cluster.order(reader, 1, Order::Cut(CutOrder::Cut(regions.0, regions.1)));
    cluster.run_for(100_000);
    cluster.order(reader, 2, Order::Cut(CutOrder::HealAll));
    cluster.run_for(5_000_000);
    let session = cluster.open(writer);
    cluster.set(writer, session, "k", "v");
    cluster.run_for(5_000_000);
    let session = cluster.open(reader);
    assert_eq!(cluster.get(reader, session, "k").as_deref(), Some("v"));
}

/// A node with an empty directory answered before it had a name; the leader heard that after the name, and did not take the node
/// into the group any more.
#[test]
fn a_member_that_joins_is_taken_in_though_an_earlier_answer_of_it_comes_late() {
    let (mut cluster, leader) = group();
    let lost = (leader + 1) % 3;
    let phase = Rc::new(Cell::new(0));
    let known: Rc<RefCell<BTreeSet<_>>> = Rc::default();
    let held = Rc::new(RefCell::new(Vec::new()));
    let (now, seen, late) = (phase.clone(), known.clone(), held.clone());
    cluster.tap = Box::new(move |end, bytes| {
        // The first frame of who connects names the cluster; answers do not.
        let hello = bytes.windows(8).any(|window| window == b"tidemark");
        let stalled = late.borrow().iter().any(|(other, _)| *other == end);
        let holds = match now.get() {
            0 => {
                seen.borrow_mut().insert(end);
                false
            }
            // Nothing that is not a greeting is heard by the node that comes back, nor by the leader on new links.
            1 => !hello && (end.0 == lost || end.0 == leader && !seen.borrow().contains(&end)),
            // The leader still does not hear what it has not heard.
            2 => stalled && end.0 == leader,
            _ => false,
        };
        if holds {
            late.borrow_mut().push((end, bytes.clone()));
        }
        !holds
    });
    cluster.run_for(1_000_000);
    phase.set(1);
    cluster.kill(lost);
    cluster.lose_disk(lost);
    cluster.boot(lost);
    cluster.run_for(300_000);
    phase.set(2);
    let (to_lost, to_leader): (Vec<_>, Vec<_>) = held.take().into_iter().partition(|(end, _)| end.0 == lost);
    assert!(!to_lost.is_empty() && !to_leader.is_empty());
    held.borrow_mut().extend(to_leader);
    to_lost.into_iter().for_each(|(end, bytes)| cluster.arrive(end, bytes));
    cluster.run_for(1_000_000);
    phase.set(3);
    let late = held.take();
    late.into_iter().for_each(|(end, bytes)| cluster.arrive(end, bytes));
    cluster.run_for(20_000_000);
    let now = tidemark_replica::Now { wall: 1_700_000_040_000_000, mono: cluster.now_us };
    let status = cluster.node(leader).status(now).group.expect("it is in a group");
    assert_eq!((status.voters.len(), status.learners.len()), (3, 0), "{status:?}");
    let status = cluster.node(lost).status(now).group.expect("it is in a group");
    assert_eq!(status.role, "follower", "{status:?}");
}

/// A node with an empty directory had introduced itself to all members without a name. One answered, it took a name, and then
/// the leader answered: the leader never heard the name, and never took the node in.
#[test]
fn a_member_that_learns_its_name_between_two_answers_is_taken_in() {
    for leader_answers_last in [false, true] {
        let (mut cluster, leader) = group();
        let lost = (leader + 1) % 3;
        cluster.kill(lost);
        cluster.lose_disk(lost);
        let held: Rc<RefCell<Vec<_>>> = Rc::default();
        let answers = held.clone();
        cluster.tap = Box::new(move |end, bytes| {
            if end.0 == lost {
                answers.borrow_mut().push((end, bytes.clone()));
            }
            end.0 != lost
        });
        cluster.boot(lost);
        cluster.run_for(10_000);
        cluster.tap = Box::new(|_, _| true);
        let mut answers = held.take();
        answers.sort_by_key(|((_, link), _)| {
            (cluster.other_end((lost, *link)) == Some(leader)) == leader_answers_last
        });
        answers.into_iter().for_each(|(end, bytes)| cluster.arrive(end, bytes));
        cluster.run_for(20_000_000);
        let now = tidemark_replica::Now { wall: 1_700_000_040_000_000, mono: cluster.now_us };
        let status = cluster.node(leader).status(now).group.expect("it is in a group");
        assert_eq!((status.voters.len(), status.learners.len()), (3, 0), "{status:?}");
        let status = cluster.node(lost).status(now).group.expect("it is in a group");
        assert_eq!(status.role, "follower", "{status:?}");
    }
}

/// A founder that started again before the others had heard of the group did not know any more with whom it had founded it: they took
/// themselves for members that have lost their disks, and nobody was left to take them in.
#[test]
fn a_founder_that_starts_again_before_the_others_know_has_founded_with_them() {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(1, 1, 3));
    // Answers to all but node 1 are lost. Introductions are longer.
    cluster.tap = Box::new(|(at, _), bytes| at == 1 || bytes.len() > 40);
    (0..3).for_each(|at| cluster.boot(at));
    cluster.run_for(2_000_000);
    let mut name = |at: usize| cluster.node(at).member().map(|member| member.name);
    assert_eq!([0, 1, 2].map(&mut name), [None, Some(2), None]);
    for at in 0..3 {
        cluster.kill(at);
        cluster.boot(at);
    }
    cluster.tap = Box::new(|_, _| true);
    cluster.run_for(10_000_000);
    let mut name = |at: usize| cluster.node(at).member().map(|member| member.name);
    assert_eq!([0, 1].map(&mut name), [Some(1), Some(2)]);
    // The third may hear of the group when that has begun without it.
    let session = cluster.open(2);
    let outcome = cluster.set(2, session, "k", "v");
    assert!(matches!(outcome, Outcome::Written { stamp: Some(_), .. }), "{outcome:?}");
}

/// Bytes, each with the node to which they were said.
type Said = Rc<RefCell<Vec<(usize, Vec<u8>)>>>;

/// What nodes say first on connections for messages, to whom, from now on.
fn introductions(cluster: &mut Cluster) -> Said {
    let hellos = Said::default();
    let seen = hellos.clone();
    cluster.tap = Box::new(move |(at, _), bytes| {
        // The last byte says what a connection is for: messages.
        if bytes.len() > 40 && bytes.last() == Some(&0) && seen.borrow().len() < 200 {
            seen.borrow_mut().push((at, bytes.clone()));
        }
        true
    });
    hellos
}

/// Introductions arrive at `at` again, each on a connection of its own.
fn again(cluster: &mut Cluster, at: usize, hellos: &Said) {
    let late: Vec<Vec<u8>> =
        hellos.take().into_iter().filter(|(to, _)| *to == at).map(|(_, bytes)| bytes).collect();
    assert!(late.len() >= 2, "others had introduced themselves");
    for bytes in late {
        let link = cluster.stranger(at);
        let _ = cluster.receive(at, link, &mut BytesMut::from(&bytes[..]));
    }
}

/// What a node had said before it was elected came late, on a connection of its own: nobody leads, the receiver believed, for as long as
/// the node led.
#[test]
fn a_late_handshake_of_who_leads_by_now_does_not_hide_it() {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(1, 1, 3));
    let hellos = introductions(&mut cluster);
    (0..3).for_each(|at| cluster.boot(at));
    cluster.run_for(10_000_000);
    let leader = cluster.leader(0..3).expect("somebody leads");
    let other = (leader + 1) % 3;
    again(&mut cluster, other, &hellos);
    cluster.run_for(5_000_000);
    let session = cluster.open(other);
    let outcome = cluster.set(other, session, "k", "v");
    assert!(matches!(outcome, Outcome::Written { stamp: Some(_), .. }), "{outcome:?}");
}

/// A stream between two groups is cut and healed. What one of the two leaders had said before it was elected comes late at the other one: at
/// the sender before it is asked for the stream again, at the receiver before the answer.
fn records_pass_after_doubt(at_sender: bool) {
    let mut cluster = Cluster::stopped(factory_of::<Tidemark>(), layout(2, 1, 3));
    let hellos = introductions(&mut cluster);
    (0..6).for_each(|at| cluster.boot(at));
    cluster.run_for(100_000);
    assert_eq!(cluster.leader(0..6), None, "nobody was elected yet");
    cluster.tap = Box::new(|_, _| true);
    cluster.run_for(10_000_000);
    let (sender, receiver) = (cluster.leader(0..3).unwrap(), cluster.leader(3..6).unwrap());
    let server = |dc| Place::Server(ServerId::new(DcId(dc), PartitionId(0)));
    cluster.order(receiver, 1, Order::Cut(CutOrder::Cut(server(0), server(1))));
    cluster.run_for(1_000);
    if at_sender {
        again(&mut cluster, sender, &hellos);
    }
    cluster.begin_order(receiver, 2, Order::Cut(CutOrder::HealAll));
    if !at_sender {
        again(&mut cluster, receiver, &hellos);
    }
    cluster.run_for(5_000_000);
    let (writer, reader) = (cluster.open(sender), cluster.open(receiver));
    cluster.set(sender, writer, "k", "v");
    cluster.run_for(2_000_000);
    assert_eq!(cluster.get(receiver, reader, "k").as_deref(), Some("v"));
}

/// While the sender believed that nobody led the receiver's group, it was asked for a stream: it did not answer, and was not asked again.
#[test]
fn a_stream_that_was_asked_for_in_a_moment_of_doubt_is_asked_for_again() {
    records_pass_after_doubt(true);
}

/// While the receiver believed that nobody led the sender's group, the stream was opened: the receiver took no notice, and did not ask again.
#[test]
fn a_stream_that_was_opened_in_a_moment_of_doubt_is_asked_for_again() {
    records_pass_after_doubt(false);
}
