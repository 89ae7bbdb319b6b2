//! A leader whose process is to end: another leads before anybody misses it, and nothing is lost or answered twice.

use crate::harness::{ELECTION, Group, P0, TICK};
use tidemark_contract::without;
use tidemark_group::MessageType;
use tidemark_group::rule::LEASE_ENDS;

impl Group {
    /// The leader is asked to hand over until nothing is left to wait for, for so many ticks at most. Whether that is so.
    fn hand_over(&mut self, leader: usize, ticks: u64) -> bool {
        for _ in 0..ticks {
            let now = self.time();
            if self.member(leader).hand_over(now) {
                return true;
            }
            self.settle();
            self.pass(TICK);
        }
        false
    }
}

#[test]
fn who_ends_well_is_followed_at_once() {
    let mut group = Group::new();
    group.put(0, 1);
    assert!(group.hand_over(0, 8), "before anybody could have missed it");
    assert_eq!(group.answers(0), [], "what it had to say it said before");
    group.kill(0);
    group.pass(TICK);
    let leader = group.leaders()[0];
    assert_eq!(group.read(leader, 1), [(1, Some("v1".into()))]);
}

#[test]
fn what_it_has_taken_is_answered_before_it_goes() {
    let mut group = Group::new();
    group.put(0, 1);
    let mut answers = Vec::new();
    for _ in 0..4 {
        let now = group.time();
        assert!(!group.member(0).hand_over(now));
        assert!(!group.member(0).takes_requests());
        answers.extend(group.answers(0));
        group.settle();
        answers.extend(group.answers(0));
    }
    assert_eq!(answers, [(1, None)]);
}

#[test]
fn a_leader_without_the_others_waits_for_nobody() {
    let mut group = Group::new();
    group.kill(1);
    group.kill(2);
    group.pass(TICK);
    assert!(!group.hand_over(0, 3), "its lease may still hold");
    group.pass(3 * ELECTION);
    assert!(group.hand_over(0, 1));
    let mut group = Group::new();
    assert!(group.hand_over(1, 1), "who follows has nothing to hand over");
}

/// What a leader wrote after its last turn was in its log when it let go, and in no entry: after a restart the next entry took it in, and
/// those who followed applied it. Found by the simulator.
#[test]
fn what_a_leader_writes_while_it_hands_over_is_of_an_entry() {
    let mut group = Group::new();
    let mut number = 0;
    while group.member(0).host().is_some() {
        number += 1;
        group.put(0, number);
        let now = group.time();
        assert!(!group.member(0).hand_over(now));
        group.settle();
    }
    let member = group.members[0].take().expect("it is up");
    member.close().unwrap();
    group.boot(0);
    group.pass(4 * ELECTION);
    let leader = group.leaders()[0];
    group.put(leader, number + 1);
    group.settle();
    for key in 1..=number + 1 {
        let holds = |member: usize| {
            group.members[member]
                .as_ref()
                .map(|member| member.store(P0).chain(format!("k{key}").as_bytes()).count())
        };
        assert_eq!((0..3).map(holds).collect::<Vec<_>>(), [Some(1); 3], "k{key}");
    }
}

/// A leader that hands over, and then hears nobody: what it answers once another has led.
fn answers_after_handing_over() -> Vec<(u64, Option<String>)> {
    let mut group = Group::new();
    group.put(0, 1);
    group.settle();
    group.answers(0);
    for _ in 0..5 {
        let now = group.time();
        group.member(0).hand_over(now);
        let said = group.end_turn(0);
        for message in said {
            let to = message.to as usize - 1;
            let goes = message.msg_type == MessageType::MsgTimeoutNow;
            group.member(to).step(now, message);
            group.apart[0] |= goes;
        }
        if group.apart[0] {
            break;
        }
        group.settle();
    }
    assert!(group.apart[0], "somebody is told to stand for election");
    group.settle();
    let next = (1..3).find(|member| group.leaders().contains(member)).expect("another leads");
    group.put_to(next, 2, "k1");
    group.settle();
    assert_eq!(group.answers(next), [(2, None)]);
    if group.member(0).host_mut().is_none() {
        return Vec::new();
    }
    group.read(0, 1)
}

#[test]
fn who_hands_over_answers_nothing_any_more() {
    assert_eq!(answers_after_handing_over(), []);
    let stale = [(1, Some("v1".into()))];
    assert_eq!(
        without(&[LEASE_ENDS], answers_after_handing_over),
        stale,
        "it is the end of the lease that prevents it"
    );
}
