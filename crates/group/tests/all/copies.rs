//! Copies of everything, whose way is cut, whose receiver dies, or has heard of something better meanwhile.

use crate::harness::{ELECTION, Group, P0, TICK};
use tidemark_contract::core::DcId;
use tidemark_group::{CopyIn, CopyOut, Message, MessageType};
use tidemark_replica::{CopyRefused, SealDone};
use tidemark_store::disk::{Disk, Fault};

/// A group whose third member was away for so long that it needs a copy, which has just left the leader.
fn one_needs_a_copy() -> (Group, CopyOut) {
    let mut group = Group::new();
    group.put(0, 1);
    group.settle();
    group.kill(2);
    for number in 2..=60 {
        group.put(0, number);
        group.settle();
    }
    group.pass(2 * ELECTION); // a snapshot is taken
    group.boot(2);
    group.keeps_copies = true;
    group.pass(ELECTION);
    let copy = group.kept.pop().expect("a copy leaves");
    (group, copy)
}

/// Hands a copy's pieces to the third member, at most so many.
fn bring(group: &mut Group, copy: &mut CopyOut, pieces: usize) -> CopyIn {
    let number = group.member(2).begin_copy(copy.message.clone()).unwrap();
    for _ in 0..pieces {
        let Some(piece) = copy.next_piece(200).unwrap() else { break };
        group.member(2).copy_piece(number, &piece).unwrap();
        group.end_turn(2);
    }
    number
}

impl Group {
    /// The third member hears that its copy is durable.
    fn copy_sealed(&mut self, copy: CopyIn, sealed: SealDone) -> Result<(), CopyRefused> {
        let now = self.time();
        self.member(2).copy_sealed(now, copy, sealed).unwrap()
    }
}

fn keys(group: &mut Group, member: usize) -> u64 {
    group.member(member).store(P0).totals().keys
}

/// From now on copies arrive.
fn everything_arrives(group: &mut Group, copy: &CopyOut) {
    group.keeps_copies = false;
    group.member(0).copy_ended(copy.to, copy.opened, false);
    group.pass(8 * ELECTION);
    let applied = group.member(0).state().applied;
    assert_eq!(group.member(2).state().applied, applied);
    assert_eq!(keys(group, 2), 60);
}

#[test]
fn a_copy_that_ends_anywhere_leaves_what_was_there() {
    for pieces in 0..100 {
        let (mut group, mut copy) = one_needs_a_copy();
        let number = bring(&mut group, &mut copy, pieces);
        let all = copy.next_piece(200).unwrap().is_none();
        match pieces % 3 {
            0 => {
                group.kill(2);
                group.boot(2);
            }
            1 => {
                group.kill(2);
                group.disks[2].crash(&mut fastrand::Rng::with_seed(pieces as u64));
                group.boot(2);
            }
            _ => group.member(2).give_up_copy(number),
        }
        assert_eq!(keys(&mut group, 2), 1, "after {pieces} pieces");
        everything_arrives(&mut group, &copy);
        if all {
            return assert!(pieces > 10, "{pieces} pieces are few");
        }
    }
    panic!("the copy has no end");
}

#[test]
fn a_copy_that_is_durable_counts_only_when_the_group_wants_it() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, usize::MAX);
    let sealed = group.member(2).seal_copy(number).unwrap().run();
    // The leader has been replaced meanwhile.
    let mut heartbeat = Message::default();
    heartbeat.set_msg_type(MessageType::MsgHeartbeat);
    (heartbeat.from, heartbeat.to, heartbeat.term) = (2, 3, copy.message.term + 1);
    let now = group.time();
    group.member(2).step(now, heartbeat);
    group.end_turn(2);
    group.copy_sealed(number, sealed).unwrap();
    group.end_turn(2);
    assert_eq!(keys(&mut group, 2), 1);
    group.kill(2);
    group.boot(2);
    assert_eq!(keys(&mut group, 2), 1, "nothing of it counts later");
}

#[test]
fn an_entry_that_is_logged_puts_an_end_to_a_copy() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, 10);
    // Somebody leads who knows better what this member lacks: the entries after its last one.
    let (last, term) = (group.member(2).last_entry(), group.member(2).state().applied_term);
    let mut append = Message::default();
    append.set_msg_type(MessageType::MsgAppend);
    (append.from, append.to, append.term) = (2, 3, copy.message.term + 1);
    (append.index, append.log_term) = (last, term);
    append.entries =
        vec![raft::eraftpb::Entry { index: last + 1, term: append.term, ..Default::default() }].into();
    let now = group.time();
    group.member(2).step(now, append);
    group.end_turn(2);
    assert_eq!(group.member(2).last_entry(), last + 1);
    let piece = copy.next_piece(200).unwrap().expect("there is more");
    assert!(group.member(2).copy_piece(number, &piece).is_err());
    group.kill(2);
    group.boot(2);
    assert_eq!(group.member(2).last_entry(), last + 1);
}

#[test]
fn only_the_newest_copy_is_taken() {
    let (mut group, mut copy) = one_needs_a_copy();
    let first = bring(&mut group, &mut copy, 5);
    let second = group.member(2).begin_copy(copy.message.clone()).unwrap();
    let piece = copy.next_piece(200).unwrap().expect("there is more");
    assert!(group.member(2).copy_piece(first, &piece).is_err());
    group.member(2).give_up_copy(first);
    group.member(2).copy_piece(second, &piece).unwrap();
    let (mut astray, mut heartbeat) = (copy.message.clone(), copy.message.clone());
    astray.to = 2;
    heartbeat.set_msg_type(MessageType::MsgHeartbeat);
    assert!(group.member(2).begin_copy(astray).is_err());
    assert!(group.member(2).begin_copy(heartbeat).is_err());
    assert!(group.member(0).begin_copy(copy.message.clone()).is_err(), "who leads needs none");
    group.member(2).copy_piece(second, &piece).unwrap();
    everything_arrives(&mut group, &copy);
}

#[test]
fn what_is_no_piece_of_a_copy_is_refused() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, 3);
    let piece = copy.next_piece(200).unwrap().expect("there is more");
    assert!(group.member(2).copy_piece(number, &piece[..piece.len() - 1]).is_err());
    assert!(group.member(2).copy_piece(number, &piece).is_err(), "it was given up");
    assert!(group.member(2).seal_copy(number).is_err());
    everything_arrives(&mut group, &copy);
}

#[test]
fn a_full_disk_refuses_a_copy_and_loses_nothing() {
    let (mut group, mut copy) = one_needs_a_copy();
    group.disks[2].set_capacity(Some(group.disks[2].used() + 100));
    let number = group.member(2).begin_copy(copy.message.clone()).unwrap();
    let refused = std::iter::from_fn(|| copy.next_piece(200).unwrap())
        .find_map(|piece| group.member(2).copy_piece(number, &piece).err())
        .or_else(|| {
            let sealed = group.member(2).seal_copy(number).unwrap().run();
            group.copy_sealed(number, sealed).err()
        });
    assert!(refused.is_some_and(|why| why.to_string().contains("space")));
    group.end_turn(2);
    assert_eq!(keys(&mut group, 2), 1);
    group.disks[2].set_capacity(None);
    everything_arrives(&mut group, &copy);
}

#[test]
fn a_copy_that_cannot_be_synced_is_not_taken() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, usize::MAX);
    let job = group.member(2).seal_copy(number).unwrap();
    group.disks[2].inject(Fault::Sync, 0);
    let sealed = job.run();
    assert!(group.copy_sealed(number, sealed).is_err());
    group.end_turn(2);
    assert_eq!(keys(&mut group, 2), 1);
    everything_arrives(&mut group, &copy);
}

/// What a copy is made from stays readable while the leader goes on, takes snapshots, and drops its log.
#[test]
fn a_copy_is_of_one_moment_however_long_it_takes() {
    let (mut group, mut copy) = one_needs_a_copy();
    group.member(0).host_mut().unwrap().confirm(P0, DcId(1), 60);
    let number = bring(&mut group, &mut copy, 2);
    let files = group.disks[0].list().unwrap();
    for number in 61..=160 {
        group.put(0, number);
        group.settle();
        group.pass(ELECTION / 10);
    }
    let now_there = group.disks[0].list().unwrap();
    assert!(files.iter().filter(|name| name.ends_with(".snapshot")).all(|name| !now_there.contains(name)));
    while let Some(piece) = copy.next_piece(200).unwrap() {
        group.member(2).copy_piece(number, &piece).unwrap();
    }
    let sealed = group.member(2).seal_copy(number).unwrap().run();
    group.copy_sealed(number, sealed).unwrap();
    group.end_turn(2);
    let of_then = keys(&mut group, 2);
    assert!((40..=60).contains(&of_then), "{of_then}");
    group.member(0).copy_ended(copy.to, copy.opened, true);
    group.pass(2 * ELECTION);
    assert_eq!(keys(&mut group, 2), 160, "the rest comes as entries");
    assert!(group.kept.is_empty(), "no other copy is needed");
}

/// The leader hears that its copy has arrived, and sends what follows before the member has installed it.
#[test]
fn entries_that_come_before_a_copy_is_installed_are_neither_lost_nor_confirmed() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, usize::MAX);
    (61..=65).for_each(|number| group.put(0, number));
    group.settle();
    // A heartbeat is answered, and the answer is on its way.
    let mut heartbeat = Message::default();
    heartbeat.set_msg_type(MessageType::MsgHeartbeat);
    (heartbeat.from, heartbeat.to, heartbeat.term) = (1, 3, copy.message.term);
    let now = group.time();
    group.member(2).step(now, heartbeat);
    let answers = group.end_turn(2);
    assert_eq!(answers.len(), 1);
    let sealed = group.member(2).seal_copy(number).unwrap().run();
    group.copy_sealed(number, sealed).unwrap();
    group.member(0).copy_ended(copy.to, copy.opened, true);
    answers.into_iter().for_each(|answer| group.member(0).step(now, answer));
    let said = group.end_turn(0);
    let appends: Vec<Message> =
        said.into_iter().filter(|said| said.to == 3 && said.msg_type == MessageType::MsgAppend).collect();
    assert!(appends.iter().any(|append| !append.entries.is_empty()));
    appends.into_iter().for_each(|append| group.member(2).step(now, append));
    let said = group.end_turn(2);
    let has = group.member(2).last_entry();
    assert!(said.iter().all(|said| said.reject || said.index <= has), "{said:?} with {has} entries");
    said.into_iter().filter(|said| said.to == 1).for_each(|said| group.member(0).step(now, said));
    group.pass(2 * ELECTION);
    assert!(group.kept.is_empty(), "no other copy is needed");
    assert_eq!(keys(&mut group, 2), 65);
}

/// What a member holds before its copy is installed would count as the newer of the two, if it were written down then.
#[test]
fn a_member_takes_no_snapshot_while_a_copy_comes() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, usize::MAX);
    for _ in 0..20 {
        group.pass(TICK);
    }
    let sealed = group.member(2).seal_copy(number).unwrap().run();
    group.copy_sealed(number, sealed).unwrap();
    group.kill(2);
    group.boot(2);
    assert_eq!(keys(&mut group, 2), 60);
}

/// A copy is installed, and the leader does not hear of it: it sends another, which is of no use, and has to hear that. Found by the
/// simulator.
#[test]
fn who_is_sent_what_it_has_says_so() {
    let (mut group, mut copy) = one_needs_a_copy();
    let number = bring(&mut group, &mut copy, usize::MAX);
    let sealed = group.member(2).seal_copy(number).unwrap().run();
    group.copy_sealed(number, sealed).unwrap();
    group.kill(2);
    group.boot(2);
    assert_eq!(keys(&mut group, 2), 60);
    everything_arrives(&mut group, &copy);
    group.put(0, 61);
    group.settle();
    group.pass(ELECTION);
    assert_eq!(keys(&mut group, 2), 61);
}
