//! Three members on simulated disks: who leads, what leaves, what survives.

use crate::harness::{ELECTION, Group, P0, TICK};
use tidemark_contract::core::Key;
use tidemark_contract::without;
use tidemark_group::rule::{LEASE, RETRACTION, SILENCE, VOTES};
use tidemark_group::{Change, ChangeRefused, Message, MessageType};
use tidemark_store::disk::SimDisk;

#[test]
fn one_leads_and_answers_once_most_have_what_was_written() {
    let mut group = Group::new();
    assert_eq!(group.leaders(), [0], "who waits least is elected");
    group.put(0, 1);
    let now = group.time();
    group.member(0).commit(now).unwrap();
    assert_eq!(group.answers(0), [], "nobody else has it");
    group.settle();
    assert_eq!(group.answers(0), [(1, None)]);
}

#[test]
fn a_new_leader_has_what_was_acknowledged_and_goes_on_with_the_numbers() {
    let mut group = Group::new();
    (1..=5).for_each(|number| group.put(0, number));
    group.settle();
    assert_eq!(group.answers(0).len(), 5);
    let (life, name) = group.member(0).host().map(|host| (host.life(), host.incarnation())).unwrap();
    group.kill(0);
    group.pass(4 * ELECTION);
    let leader = group.leaders()[0];
    let host = group.member(leader).host().unwrap();
    assert!(host.life() > life);
    assert_eq!((host.incarnation(), host.written(P0)), (name, 5));
    assert_eq!(group.read(leader, 3), [(3, Some("v3".into()))]);
    group.put(leader, 6);
    group.settle();
    assert_eq!(group.stream_after(leader, 2), [3, 4, 5, 6]);
}

#[test]
fn without_most_of_the_group_nothing_is_acknowledged_and_later_all_of_it_is() {
    let mut group = Group::new();
    group.kill(1);
    group.kill(2);
    group.put(0, 1);
    group.settle();
    assert_eq!(group.answers(0), []);
    group.boot(1);
    group.pass(2 * TICK);
    assert_eq!(group.answers(0), [(1, None)], "the leader has not changed meanwhile");
}

/// Who leads no more answers nothing, and what nobody else had is gone from its memory when it comes back. Returns what it
/// streams when it leads again.
fn fed_after_being_replaced() -> Vec<Key> {
    let mut group = Group::new();
    group.put(0, 1);
    group.settle();
    group.answers(0);
    group.apart[0] = true;
    group.put(0, 2);
    group.settle();
    group.pass(6 * ELECTION);
    assert_eq!(group.answers(0), []);
    let leader = group.leaders()[0];
    assert_ne!(leader, 0);
    group.put(leader, 3);
    group.settle();
    assert_eq!(group.answers(leader), [(3, None)]);
    group.apart[0] = false;
    group.pass(4 * ELECTION);
    // Now the first one leads again.
    group.apart = vec![false, leader == 1, leader == 2];
    let other = 3 - leader;
    group.kill(other);
    group.boot(other);
    group.apart[leader] = true;
    group.pass(8 * ELECTION);
    group.apart[leader] = false;
    group.pass(4 * ELECTION);
    let leader = group.leaders()[0];
    assert_eq!(leader, 0, "who waits least");
    assert_eq!(group.read(0, 2), [(2, None)]);
    assert_eq!(group.read(0, 3), [(3, Some("v3".into()))]);
    assert_eq!(group.member(0).store(P0).chain(b"k3").count(), 1);
    group.fed(0, 0).into_iter().map(|(_, key)| key).collect()
}

#[test]
fn a_leader_that_is_replaced_forgets_what_was_not_agreed_on() {
    assert_eq!(fed_after_being_replaced(), ["k1", "k3"].map(Key::from), "two records were agreed on");
    let fed = without(&[RETRACTION], fed_after_being_replaced);
    assert_eq!(fed, ["k1", "k2"].map(Key::from), "it is the retraction that keeps the second back");
}

/// What a leader reads when it cannot know whether it still leads. Returns what leaves.
fn read_apart() -> Vec<(u64, Option<String>)> {
    let mut group = Group::new();
    group.apart[0] = true;
    group.pass(ELECTION - TICK);
    assert_eq!(group.leaders(), [0], "nobody else leads yet, and it thinks it does");
    group.read(0, 1)
}

#[test]
fn a_leader_that_is_apart_lets_nothing_out_when_its_lease_has_ended() {
    assert_eq!(read_apart(), []);
    assert_eq!(without(&[LEASE], read_apart), [(1, None)], "it is the lease that keeps it back");
}

/// A member that has just answered its leader is killed and starts again, while another that has not heard the leader for
/// `ticks` stands for election sooner or later. Whether that one leads while the first still answers.
fn two_lead(ticks: u64) -> bool {
    let mut group = Group::new();
    group.apart[2] = true;
    group.pass(ticks * TICK);
    group.kill(1);
    group.boot(1);
    group.apart = vec![true, false, false];
    for number in 0..10 {
        group.pass(TICK);
        if group.leaders() == [0, 2] && !group.read(0, number).is_empty() {
            return true;
        }
    }
    false
}

#[test]
fn a_member_that_starts_keeps_what_it_may_have_promised_before() {
    assert!(!(10..20).any(two_lead));
    assert!(without(&[SILENCE], || (10..20).any(two_lead)), "it is the silence that prevents it");
}

/// How often member 1 votes in one term, if it is killed between two candidates.
fn votes() -> usize {
    let mut group = Group::new();
    group.pass(2 * ELECTION);
    (0..3).for_each(|member| group.kill(member));
    let mut given = 0;
    for candidate in [2, 3] {
        group.boot(0);
        group.now += 3 * ELECTION; // its silence ends
        let mut ask = Message::default();
        ask.set_msg_type(MessageType::MsgRequestVote);
        (ask.from, ask.to, ask.term, ask.index, ask.log_term) = (candidate, 1, 50, 1_000, 49);
        let now = group.time();
        group.member(0).step(now, ask);
        let said = group.end_turn(0);
        given += said.iter().filter(|said| said.to == candidate && !said.reject && said.term == 50).count();
        group.kill(0);
    }
    given
}

#[test]
fn a_vote_outlives_the_member() {
    assert_eq!(votes(), 1);
    assert_eq!(without(&[VOTES], votes), 2);
}

/// Who was away for longer than its leader remembers gets a copy, and could lead with it: even what another data centre has
/// not received yet is in its log.
#[test]
fn who_was_away_for_long_gets_a_copy_and_can_feed_from_it() {
    let mut group = Group::new();
    group.kill(2);
    for number in 1..=60 {
        group.put(0, number);
        group.settle();
    }
    assert_eq!(group.answers(0).len(), 60);
    group.pass(2 * ELECTION); // a snapshot is taken
    group.boot(2);
    group.pass(8 * ELECTION);
    let applied = group.member(0).state().applied;
    assert_eq!(group.member(2).state().applied, applied);
    assert_eq!(group.member(2).store(P0).chain(b"k17").count(), 1);
    // The two others go; the third leads with the one that was killed, which has everything too.
    group.put(0, 61);
    group.settle();
    group.kill(0);
    group.pass(6 * ELECTION);
    if group.leaders() != [2] {
        // The second was elected: it makes room.
        group.boot(0);
        group.pass(3 * ELECTION);
        group.apart = vec![false, true, false];
        group.kill(0);
        group.boot(0);
        group.pass(8 * ELECTION);
        group.apart[1] = false;
    }
    let leader = group.leaders()[0];
    let fed = group.stream_after(leader, 20);
    assert_eq!(fed, (21..=61).collect::<Vec<u64>>(), "led by {leader}");
}

/// The only member that has everything takes a snapshot, of something that is not agreed on yet; the only other one lacks so
/// much that it needs a copy first. Found by the simulator.
#[test]
fn a_snapshot_that_waits_for_the_group_does_not_keep_who_needs_a_copy_waiting() {
    let mut group = Group::new();
    group.kill(2);
    for number in 1..=60 {
        group.put(0, number);
        group.settle();
    }
    group.pass(2 * ELECTION);
    group.put_to(0, 61, &"k".repeat(3_000)); // so much that a snapshot is due
    let said = group.end_turn(0);
    let now = group.time();
    said.into_iter().filter(|said| said.to == 2).for_each(|said| group.member(1).step(now, said));
    group.end_turn(1);
    group.kill(0);
    group.pass(ELECTION);
    group.boot(2);
    group.pass(20 * ELECTION);
    assert_eq!(group.leaders(), [1]);
    let applied = group.member(1).state().applied;
    assert_eq!(group.member(2).state().applied, applied);
    assert_eq!(group.member(2).store(P0).totals().keys, 61);
}

/// Of a protocol that keeps one version of each key, who follows keeps one too, and nothing is said of the others.
#[test]
fn who_follows_keeps_one_version_if_the_protocol_does() {
    let mut group = Group::new();
    for number in 1..=50 {
        group.put_to(0, number, "k");
        group.settle();
    }
    let newest = group.member(0).store(P0).chain(b"k").next().map(|version| version.stamp);
    group.kill(2);
    group.boot(2);
    group.pass(2 * ELECTION);
    for member in 0..3 {
        let chain: Vec<_> = group.member(member).store(P0).chain(b"k").map(|version| version.stamp).collect();
        assert_eq!(chain, newest.into_iter().collect::<Vec<_>>(), "member {member}");
    }
    let entries = group.member(0).last_entry();
    assert!(entries < 60, "{entries} entries: one a write, and few others");
}

/// A copy is all that a member has of what was agreed on before it; it survives a restart with it.
#[test]
fn a_copy_survives_a_restart() {
    let mut group = Group::new();
    group.kill(2);
    for number in 1..=60 {
        group.put(0, number);
        group.settle();
    }
    group.pass(2 * ELECTION);
    group.boot(2);
    group.pass(8 * ELECTION);
    let before = group.member(2).state().clone();
    group.kill(2);
    group.boot(2);
    let after = group.member(2).state().clone();
    assert!(after.applied > 40 && after.applied <= before.applied, "{after:?} after {before:?}");
    assert_eq!(group.member(2).store(P0).chain(b"k17").count(), 1);
    group.pass(2 * ELECTION);
    let applied = group.member(0).state().applied;
    assert_eq!(group.member(2).state().applied, applied);
}

/// A member loses its disk: the group forgets who it was, and takes it in under another name; it votes once it has everything.
#[test]
fn a_member_that_lost_its_disk_is_replaced() {
    let mut group = Group::new();
    for number in 1..=40 {
        group.put(0, number);
        group.settle();
    }
    group.kill(2);
    (group.disks[2], group.ids[2]) = (SimDisk::new(), 4);
    group.boot(2);
    group.pass(2 * ELECTION);
    assert_eq!(group.member(2).state().applied, 0, "nobody knows it");
    group.member(0).change(Change::Remove(3)).unwrap();
    group.settle();
    assert_eq!(group.member(0).state().voters, [1, 2]);
    group.member(0).change(Change::Add(4)).unwrap();
    group.settle();
    assert_eq!(group.member(0).state().learners, [4]);
    group.pass(10 * ELECTION);
    let state = group.member(0).state().clone();
    let mut voters = state.voters.clone();
    voters.sort_unstable();
    assert_eq!((voters, state.learners), (vec![1, 2, 4], vec![]));
    assert_eq!(group.member(2).state().applied, state.applied);
    // It counts: with it, the group goes on without the second.
    group.kill(1);
    group.answers(0);
    group.put(0, 41);
    group.settle();
    assert_eq!(group.answers(0), [(41, None)]);
}

#[test]
fn a_change_that_makes_no_sense_is_refused_and_says_why() {
    let mut group = Group::new();
    let refused =
        |group: &mut Group, member: usize, change: Change| group.member(member).change(change).unwrap_err();
    assert_eq!(refused(&mut group, 1, Change::Remove(3)), ChangeRefused::NotLeading);
    assert_eq!(refused(&mut group, 0, Change::Remove(1)), ChangeRefused::Leader);
    assert_eq!(refused(&mut group, 0, Change::Add(2)), ChangeRefused::Nothing(vec![1, 2, 3]));
    assert_eq!(refused(&mut group, 0, Change::Remove(9)), ChangeRefused::Nothing(vec![1, 2, 3]));
    assert_eq!(refused(&mut group, 0, Change::Add(0)), ChangeRefused::Nothing(vec![1, 2, 3]));
    group.member(0).change(Change::Remove(3)).unwrap();
    assert_eq!(refused(&mut group, 0, Change::Remove(2)), ChangeRefused::Busy);
}

/// What was said to whom a process was before is not taken for something that it has promised.
#[test]
fn a_member_hears_only_what_is_said_to_it() {
    let mut group = Group::new();
    let mut heartbeat = Message::default();
    heartbeat.set_msg_type(MessageType::MsgHeartbeat);
    (heartbeat.from, heartbeat.to, heartbeat.term) = (1, 3, 90);
    let now = group.time();
    group.member(1).step(now, heartbeat);
    group.settle();
    assert_eq!(group.member(1).state().term, 2);
}

/// What a leader wrote in the turn in which it hears of another goes nowhere: the library would hand it on to that one.
#[test]
fn what_a_replaced_leader_wrote_is_not_handed_on() {
    let mut group = Group::new();
    group.put(0, 1);
    let mut heartbeat = Message::default();
    heartbeat.set_msg_type(MessageType::MsgHeartbeat);
    (heartbeat.from, heartbeat.to, heartbeat.term) = (2, 1, 90);
    let now = group.time();
    group.member(0).step(now, heartbeat);
    let said = group.end_turn(0);
    assert!(said.iter().all(|said| said.msg_type == MessageType::MsgHeartbeatResponse), "{said:?}");
    assert_eq!(group.leaders(), Vec::<usize>::new());
}

/// What nobody says here is not listened to: a proposal, or a question whether somebody leads, from another member.
#[test]
fn a_leader_takes_no_proposals_and_no_questions_from_others() {
    let mut group = Group::new();
    let last = group.member(0).state().applied;
    for kind in [MessageType::MsgPropose, MessageType::MsgReadIndex] {
        let mut message = Message::default();
        message.set_msg_type(kind);
        (message.from, message.to) = (2, 1);
        message.set_entries(vec![Default::default()].into());
        let now = group.time();
        group.member(0).step(now, message);
        assert_eq!(group.end_turn(0), []);
    }
    group.settle();
    assert_eq!(group.member(0).state().applied, last);
}
