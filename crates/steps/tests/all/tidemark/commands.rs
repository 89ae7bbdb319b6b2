//! Commands on keys of several partitions, and what waits for transactions (PROTOCOLS §19.1: T3 to T5, T11, T12).

use super::transactions::{LEAF, ROOT, decided, put_all, stamp, two};
use super::*;
use tidemark_contract::core::{Command, Op, Reply, Transact, Verb};
use tidemark_protocols::tidemark::{CONDITIONS_WAIT, INTENTIONS_CONTEND, LOOKS_AGAIN, WHO_YIELDS_IS_REFUSED};

/// MSETNX of two keys.
fn set_new(x: &Key, y: &Key, value: &str) -> Op {
    let args = vec![value.to_string().into(), value.to_string().into()];
    let command = Command { keys: vec![y.clone()], ..Command::new(Verb::MSetNx, args) };
    Op::Put { key: x.clone(), update: Update::call(command) }
}

/// What a command answered.
fn reply(outcome: &Outcome) -> Reply {
    match outcome {
        Outcome::Written { previous: Some(found), .. } => *found.reply.clone().expect("it is a command"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn t12_a_command_on_keys_of_several_partitions_writes_all_or_nothing() {
    let (mut lab, x, y) = two();
    let (s, t) = (lab.client(0), lab.client(0));
    let first = lab.run(s, set_new(&x, &y, "1"));
    assert_eq!((reply(&first), stamp(&first).seq), (Reply::Int(1), 1));
    assert_eq!(lab.rotx(t, &[&x, &y]), "1 1");
    let second = lab.run(t, set_new(&x, &y, "2"));
    assert_eq!(reply(&second), Reply::Int(0));
    assert!(matches!(second, Outcome::Written { stamp: None, .. }));
    assert_eq!(lab.rotx(s, &[&x, &y]), "1 1");
    let far = lab.client(1);
    lab.deliver_all();
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.rotx(far, &[&x, &y]), "1 1");
}

#[test]
fn t4_what_is_written_after_the_first_look_makes_it_look_once_more() {
    fn answered() -> (Reply, String) {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        lab.begin(s, set_new(&x, &y, "1"));
        for _ in 0..2 {
            assert!(lab.deliver_message(ROOT, ROOT) && lab.deliver_message(ROOT, LEAF));
            assert!(lab.deliver_message(LEAF, ROOT));
            lab.deliver_message(ROOT, ROOT);
        }
        lab.set_clocks(2_000);
        lab.put(t, &y, "other");
        (reply(&lab.finish(s)), lab.get(t, &y))
    }
    assert_eq!(answered(), (Reply::Int(0), "other".into()));
    assert_ne!(without(&[LOOKS_AGAIN], answered), (Reply::Int(0), "other".into()), "a lost update");
}

#[test]
fn t4_of_two_that_meet_one_goes_first() {
    fn both() -> Vec<Reply> {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        lab.begin(s, set_new(&x, &y, "1"));
        lab.begin(t, set_new(&y, &x, "2"));
        // Step by step, side by side: each has looked before the other one has committed.
        let ways = [(ROOT, ROOT), (LEAF, LEAF), (ROOT, LEAF), (LEAF, ROOT)];
        while ways.map(|(from, to)| lab.deliver_message(from, to)).contains(&true) {}
        let mut replies: Vec<Reply> = [s, t].map(|client| reply(&lab.finish(client))).into();
        replies.sort_by_key(|reply| format!("{reply:?}"));
        replies
    }
    assert_eq!(both(), [Reply::Int(0), Reply::Int(1)]);
    assert_eq!(without(&[INTENTIONS_CONTEND], both), [Reply::Int(1), Reply::Int(1)]);
}

/// Found by seed 895298 of `--interactive 30`: one that looked at another key was passed by, and wrote below.
#[test]
fn t4_nobody_passes_one_that_writes_what_it_looks_at_and_is_not_refused_for_it() {
    fn committed() -> [bool; 2] {
        let (mut lab, x, y) = two();
        let (s, t, z) = (lab.client(0), lab.client(0), lab.key("z", 1));
        let commit = |writes: [&Key; 2], watched: &Key| {
            let write = |key: &Key| (key.clone(), Write::Assign((*b"v").into()));
            let watched = vec![(watched.clone(), Default::default())];
            Op::Transact(Box::new(Transact::Commit { writes: writes.map(write).into(), watched }))
        };
        // It is prepared at both, and then the other one, whose name comes first, is prepared and looks.
        lab.begin(t, commit([&y, &x], &z));
        assert!(lab.deliver_message(LEAF, LEAF) && lab.deliver_message(LEAF, ROOT));
        lab.begin(s, commit([&x, &y], &y));
        for (from, to) in [(ROOT, ROOT), (ROOT, LEAF), (ROOT, LEAF), (ROOT, ROOT), (LEAF, ROOT), (ROOT, LEAF)]
        {
            assert!(lab.deliver_message(from, to));
        }
        [s, t].map(|client| matches!(lab.finish(client), Outcome::Written { stamp: Some(_), .. }))
    }
    assert_eq!(committed(), [false, true]);
    assert_eq!(without(&[WHO_YIELDS_IS_REFUSED], committed), [true, true], "a lost update");
}

#[test]
fn t11_a_conditional_update_waits_for_what_is_about_to_show() {
    fn set_new_while_hidden() -> (bool, bool) {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        decided(&mut lab, s, &x, &y);
        assert!(lab.deliver_message(ROOT, ROOT), "applied at A/0, and hidden");
        let condition = tidemark_contract::core::Condition::IfAbsent;
        let update = Update { condition, ..Update::put(Write::Assign((*b"mine").into())) };
        lab.begin(t, Op::Put { key: x.clone(), update });
        let waits = lab.outcome(t).is_none();
        lab.finish(s);
        (waits, if waits { matches!(lab.finish(t), Outcome::Written { stamp: Some(_), .. }) } else { true })
    }
    assert_eq!(set_new_while_hidden(), (true, false), "it waits, and finds the key taken");
    assert_eq!(without(&[CONDITIONS_WAIT], set_new_while_hidden), (false, true), "a lost update");
}

#[test]
fn a_command_is_given_up_if_a_partition_does_not_answer() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    lab.begin(s, set_new(&x, &y, "1"));
    lab.lose_messages(ROOT, LEAF);
    lab.set_clocks(2_100_000);
    lab.fire(ROOT, Timer::Theta);
    assert_eq!(text(&lab.finish(s)), "unavailable");
    lab.begin(s, put_all(&[&x, &y], "2"));
    assert_eq!(text(&lab.finish(s)), "unavailable", "D10");
}
