//! Dependency checks, by hand.

use super::*;

const A: u8 = 0;
const B: u8 = 1;

fn stamp(ts: u64, origin: u8) -> Stamp {
    Stamp::new(Hlc(ts), DcId(origin))
}

fn server(dc: u8, partition: u16) -> ServerId {
    ServerId::new(DcId(dc), PartitionId(partition))
}

fn deps(list: &[(u16, u64)]) -> Deps {
    let mut deps = Deps::default();
    list.iter().for_each(|(p, ts)| deps.include(PartitionId(*p), stamp(*ts, A)));
    deps
}

/// The checks of B/`partition`, which has received A's updates up to `received`.
fn checks(partition: u16, life: u64, received: u64) -> Checks<char> {
    Checks::new(server(B, partition), life, Vector::from_entries([Hlc(received), Hlc::ZERO]))
}

fn ready(checks: &mut Checks<char>) -> String {
    std::iter::from_fn(|| checks.ready()).collect()
}

/// Delivers what `from` says to `to`; returns how much that was.
fn deliver(from: &mut Checks<char>, to: &mut Checks<char>) -> usize {
    let (out, me) = (std::mem::take(&mut from.out), to.me);
    let mut said = 0;
    for (_, message) in out.into_iter().filter(|(server, _)| *server == me) {
        said += 1;
        to.on_message(from.me, message);
    }
    said
}

#[test]
fn work_waits_for_updates_of_its_own_partition_until_they_are_received_and_applied() {
    let mut checks = checks(0, 1, 3);
    checks.open(&deps(&[(0, 3)]), 'a');
    assert_eq!(ready(&mut checks), "a", "what was received and does not wait is applied");
    checks.open(&deps(&[(0, 5), (0, 7)]), 'b');
    checks.open(&deps(&[(0, 5)]), 'c');
    checks.arrived(stamp(5, A));
    assert_eq!(ready(&mut checks), "");
    checks.apply(stamp(5, A));
    assert_eq!(ready(&mut checks), "c");
    checks.arrived(stamp(7, A));
    checks.apply(stamp(7, A));
    assert_eq!((ready(&mut checks), checks.is_empty()), ("b".into(), true));
}

#[test]
fn what_was_written_in_this_data_centre_is_applied() {
    let mut checks = checks(0, 1, 0);
    let mut mine = Deps::one(PartitionId(0), stamp(9, B));
    mine.include(PartitionId(1), stamp(9, B));
    checks.open(&mine, 'a');
    assert_eq!((ready(&mut checks), checks.out.len()), ("a".into(), 0));
}

#[test]
fn siblings_can_be_asked_after_what_was_written_here_for_what_else_they_say() {
    let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 0));
    asks.open_all(&Deps::one(PartitionId(1), stamp(9, B)), 'a');
    assert_eq!((ready(&mut asks), deliver(&mut asks, &mut holds)), ("".into(), 1));
    deliver(&mut holds, &mut asks);
    assert_eq!(ready(&mut asks), "a");
}

#[test]
fn who_applies_late_is_told_which_updates_somebody_waits_for() {
    let mut checks = checks(0, 1, 0);
    [3, 5, 6].into_iter().for_each(|ts| checks.arrived(stamp(ts, A)));
    assert_eq!(checks.wanted(), None);
    checks.open(&deps(&[(0, 5), (0, 7)]), 'a');
    assert_eq!(checks.wanted(), None, "it waits for the last first, which is not here");
    checks.arrived(stamp(7, A));
    assert_eq!((checks.wanted(), checks.wanted()), (Some(stamp(7, A)), None));
    checks.apply(stamp(7, A));
    assert_eq!(checks.wanted(), Some(stamp(5, A)));
    checks
        .on_message(server(B, 1), Check::Ask(GatherId::new(1, 1), deps(&[(0, 3)]).iter().cloned().collect()));
    checks.apply(stamp(3, A));
    checks.apply(stamp(5, A));
    assert_eq!((checks.wanted(), ready(&mut checks)), (None, "a".into()));
}

#[test]
fn siblings_answer_when_all_that_they_were_asked_for_is_applied() {
    let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 4));
    asks.open(&deps(&[(1, 4)]), 'a');
    asks.open(&deps(&[(1, 4), (1, 6)]), 'b');
    assert_eq!(deliver(&mut asks, &mut holds), 2);
    deliver(&mut holds, &mut asks);
    assert_eq!((ready(&mut asks), holds.len()), ("a".into(), 1));
    holds.arrived(stamp(6, A));
    assert_eq!(deliver(&mut holds, &mut asks), 0, "it is received, and waits itself");
    holds.apply(stamp(6, A));
    assert_eq!(deliver(&mut holds, &mut asks), 1);
    assert_eq!((ready(&mut asks), holds.is_empty()), ("b".into(), true));
}

#[test]
fn a_question_or_an_answer_that_is_lost_is_made_good() {
    let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 0));
    asks.open(&deps(&[(1, 4)]), 'a');
    asks.out.clear();
    asks.ask_again();
    assert_eq!(deliver(&mut asks, &mut holds), 1);
    asks.ask_again();
    deliver(&mut asks, &mut holds);
    holds.arrived(stamp(4, A));
    holds.apply(stamp(4, A));
    assert_eq!(holds.out.len(), 1, "asked twice, answered once");
    holds.out.clear();
    asks.ask_again();
    deliver(&mut asks, &mut holds);
    deliver(&mut holds, &mut asks);
    assert_eq!(ready(&mut asks), "a");
}

#[test]
fn who_restarts_is_asked_again_and_what_it_asked_is_dropped() {
    let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 0));
    asks.open(&deps(&[(1, 4)]), 'a');
    deliver(&mut asks, &mut holds);
    let mut holds = checks(1, 2, 4);
    asks.reset(holds.me);
    deliver(&mut asks, &mut holds);
    let mut again = checks(0, 2, 0);
    assert_eq!(deliver(&mut holds, &mut again), 1);
    assert_eq!(ready(&mut again), "", "an answer to an earlier life finds nothing");
    again.open(&deps(&[(1, 8)]), 'b');
    deliver(&mut again, &mut holds);
    holds.reset(again.me);
    assert!(holds.is_empty());
}

#[test]
fn a_dependency_on_all_up_to_an_update_waits_for_each() {
    let mut checks = checks(0, 1, 0);
    let mut all = deps(&[(0, 2), (0, 6)]);
    all.bound(1);
    (2..=8).step_by(2).for_each(|ts| checks.arrived(stamp(ts, A)));
    checks.heard(DcId(A), Hlc(8));
    checks.open(&all, 'a');
    for (applied, then) in [(6, ""), (2, ""), (8, ""), (4, "a")] {
        checks.apply(stamp(applied, A));
        assert_eq!(ready(&mut checks), then, "after {applied}");
    }
}

#[test]
fn what_comes_before_updates_of_lower_times_is_there_and_says_nothing_of_them() {
    let mut checks = checks(0, 1, 0);
    checks.arrived(stamp(8, A));
    checks.apply(stamp(8, A));
    assert!(checks.is_applied(stamp(8, A)) && !checks.is_applied(stamp(6, A)));
    let mut all = deps(&[(0, 2), (0, 8)]);
    all.bound(1);
    checks.open(&all, 'a');
    checks.heard(DcId(A), Hlc(7));
    assert_eq!((ready(&mut checks), checks.applied(Hlc(9))[DcId(A)]), ("".into(), Hlc(7)));
    checks.heard(DcId(A), Hlc(8));
    assert_eq!((ready(&mut checks), checks.ahead.len()), ("a".into(), 0));
}

/// Two servers may coordinate transactions of one time.
#[test]
fn updates_of_one_time_are_told_apart() {
    let mut checks = checks(0, 1, 0);
    let [one, other] = [1, 2].map(|seq| Stamp { seq, ..stamp(5, A) });
    [one, other].into_iter().for_each(|stamp| checks.arrived(stamp));
    checks.heard(DcId(A), Hlc(5));
    checks.apply(one);
    assert!(checks.is_applied(one) && !checks.is_applied(other));
    assert_eq!(checks.applied(Hlc(9))[DcId(A)], Hlc(4));
}

#[test]
fn a_part_of_a_transaction_is_met_once_it_is_here() {
    let (mut asks, mut holds) = (checks(0, 1, 0), checks(1, 1, 0));
    asks.open(&Dep { partition: PartitionId(1), stamp: stamp(4, A), scope: Scope::Part }.into(), 'a');
    assert_eq!((deliver(&mut asks, &mut holds), deliver(&mut holds, &mut asks)), (1, 0));
    holds.arrived(stamp(4, A));
    assert_eq!((deliver(&mut holds, &mut asks), ready(&mut asks)), (1, "a".into()));
    assert!(!holds.is_applied(stamp(4, A)));
}

#[test]
fn who_waits_for_what_was_never_written_waits_until_it_could_not_be_any_more() {
    let mut checks = checks(0, 1, 0);
    checks.open(&deps(&[(0, 5)]), 'a');
    checks.heard(DcId(A), Hlc(4));
    assert_eq!(ready(&mut checks), "");
    checks.heard(DcId(A), Hlc(6));
    assert_eq!(ready(&mut checks), "a");
}

#[test]
fn applied_is_what_lies_below_the_first_that_waits() {
    let mut checks = checks(0, 1, 3);
    assert_eq!(checks.applied(Hlc(9)), Vector::from_entries([Hlc(3), Hlc(9)]));
    checks.arrived(stamp(5, A));
    checks.arrived(stamp(8, A));
    checks.heard(DcId(A), Hlc(8));
    checks.apply(stamp(8, A));
    assert_eq!(checks.applied(Hlc(9))[DcId(A)], Hlc(4));
    assert!(checks.is_applied(stamp(8, A)) && !checks.is_applied(stamp(5, A)));
    checks.apply(stamp(5, A));
    assert_eq!(checks.applied(Hlc(9))[DcId(A)], Hlc(8));
}

#[test]
fn what_is_given_up_is_not_ready_later() {
    let mut checks = checks(0, 1, 0);
    checks.open(&deps(&[(0, 5)]), 'a');
    assert_eq!(checks.give_up(|work| *work == 'a'), ['a']);
    checks.heard(DcId(A), Hlc(5));
    assert_eq!(ready(&mut checks), "");
}

#[test]
fn everywhere_is_the_least_that_was_told() {
    let mut everywhere = Everywhere::new(2);
    let v = |a, b| Vector::from_entries([Hlc(a), Hlc(b)]);
    everywhere.tell(DcId(0), &v(5, 3));
    assert_eq!(everywhere.get(), &v(0, 0));
    everywhere.tell(DcId(1), &v(4, 7));
    assert_eq!(everywhere.get(), &v(4, 3));
    everywhere.tell(DcId(1), &v(3, 6));
    assert_eq!(everywhere.get(), &v(4, 3), "what was true stays true");
}
