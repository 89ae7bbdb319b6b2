//! Orbe (PROTOCOLS §4): the steps of DM and DM-Clock one by one, the deviations of the file, and what each rule is for.

mod lasting;

use crate::at;
use tidemark_contract::core::{DcId, Hlc, Key, Outcome, PartitionId, Stamp, Vector};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Lab, Past, Protocol, Reaches, Token, matrix::Matrix, without};
use tidemark_protocols::Orbe;
use tidemark_protocols::orbe::{
    CHECKS_OTHER_ROWS, CHECKS_OWN_ROW, Clock, IN_ORDER, PUT_ABOVE_DM, Params, READS_ARE_DEPENDENCIES,
    SLICE_LIFTS, SLICE_WAITS_FOR_CLOCK, SLICE_WAITS_FOR_PEERS, ST_COVERS_DT, Timer,
};

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;

fn lab(dcs: usize, partitions: usize) -> Lab<Orbe> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Orbe> {
    lab(dcs, partitions)
}

/// An entry of a matrix: partition, data centre, time.
type Entry = (u16, u8, Hlc);

fn entries(dm: &Matrix) -> Vec<Entry> {
    let mut entries: Vec<Entry> = dm.entries().map(|(p, dc, ts)| (p.0, dc.0, ts)).collect();
    entries.sort();
    entries
}

/// DM_c.
fn remembers(lab: &Lab<Orbe>, session: usize) -> Vec<Entry> {
    entries(&lab.token(session).past)
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<Orbe>, session: usize, dm: &[Entry]) {
    let (home, mut past) = (lab.token(session).home, Matrix::default());
    for (partition, dc, ts) in dm {
        let mut seen = Vector::default();
        seen.raise(DcId(*dc), *ts);
        past.merge(&Matrix::row(PartitionId(*partition), &seen));
    }
    lab.adopt(session, Token { home, past });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// The matrix that is stored beside the newest version of `key`, if it was not dropped.
fn stored(lab: &Lab<Orbe>, dc: u8, partition: u16, key: &Key) -> Option<Vec<Entry>> {
    let version = lab.store(server(dc, partition)).chain(key).next().expect("there is a version");
    version.meta.as_deref().map(entries)
}

/// Up to where what `origin` wrote is installed.
fn installed(lab: &Lab<Orbe>, dc: u8, partition: u16, origin: u8) -> Hlc {
    lab.protocol(server(dc, partition)).status().stable[DcId(origin)]
}

/// All clocks show `us`, and everybody hears a heartbeat.
fn heartbeats(lab: &mut Lab<Orbe>, us: u64) {
    lab.round(us, &[Timer::Delta]);
}

#[test]
fn step_1_a_get_raises_the_entry_of_the_server_that_wrote_the_version() {
    let mut lab = sound(2, 2);
    let (a, a2, b, b2) = (lab.client(A), lab.client(A), lab.client(B), lab.client(B));
    let (x, x2, y) = (lab.key("x", 0), lab.key("other", 0), lab.key("y", 1));
    lab.get(a, &x);
    assert_eq!(remembers(&lab, a), [], "nothing was found");
    let first = lab.put(b, &x, "1");
    lab.set_clocks(2_000);
    let (second, third) = (lab.put(b2, &x2, "2"), lab.put(a2, &y, "3"));
    lab.deliver_all();
    lab.get(a, &x2);
    lab.get(a, &x);
    assert!(first < second);
    assert_eq!(remembers(&lab, a), [(0, B, second)], "the later one stands for the earlier");
    lab.get(a, &y);
    assert_eq!(remembers(&lab, a), [(0, B, second), (1, A, third)]);
}

#[test]
fn step_1_what_was_read_is_a_dependency() {
    fn comment() -> [String; 2] {
        let mut lab = lab(2, 2);
        let (ann, bob, cid) = (lab.client(A), lab.client(A), lab.client(B));
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        lab.put(ann, &x, "photo");
        lab.get(bob, &x);
        lab.set_clocks(2_000);
        lab.put(bob, &y, "comment");
        lab.deliver(server(A, 1), server(B, 1));
        [lab.get(cid, &y), lab.get(cid, &x)]
    }
    assert_eq!(comment(), ["-", "-"]);
    assert_eq!(without(&[READS_ARE_DEPENDENCIES], comment), ["comment", "-"]);
}

#[test]
fn step_2_a_put_carries_the_matrix_and_leaves_only_itself_in_it() {
    let mut lab = sound(2, 2);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    let past = [(0, B, at(300)), (1, A, at(200)), (1, B, at(100))];
    remember(&mut lab, s, &past);
    let ut = lab.put(s, &x, "1");
    assert_eq!(remembers(&lab, s), [(0, A, ut)]);
    lab.deliver(server(A, 0), server(B, 0));
    assert_eq!(stored(&lab, B, 0, &x), Some(past.to_vec()), "it waits at B for A/1's");
}

#[test]
fn step_2_stamps_of_a_server_increase_though_the_clock_stands_still() {
    let mut lab = sound(1, 1);
    let (s, t, x) = (lab.client(A), lab.client(A), lab.key("x", 0));
    let stamps = [lab.put(s, &x, "1"), lab.put(t, &x, "2")];
    lab.jump_clock(server(A, 0), 500);
    assert_eq!(
        [stamps[0], stamps[1], lab.put(s, &x, "3")],
        [at(1_000), at(1_000).next(), at(1_000).next().next()]
    );
}

/// DM-Clock: a PUT waits until the clock is above everything that the session depends on.
#[test]
fn step_2_a_put_waits_for_a_clock_that_is_behind_its_session() {
    let mut lab = sound(1, 2);
    let (s, x, y) = (lab.client(A), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(A, 0), 3_000);
    lab.put(s, &x, "1");
    lab.begin(s, put(&y, "2"));
    assert_eq!(lab.outcome(s), None);
    assert_eq!(lab.due(server(A, 1), Timer::Own(Clock)), Some(3_001));
    lab.set_clock(server(A, 1), 3_000);
    lab.fire(server(A, 1), Timer::Own(Clock));
    assert_eq!(lab.outcome(s), None, "not above");
    lab.set_clock(server(A, 1), 3_001);
    lab.fire(server(A, 1), Timer::Own(Clock));
    let stamp = Some(Stamp::new(at(3_001), DcId(A)));
    assert_eq!(lab.finish(s), Outcome::Written { stamp, previous: None });
}

#[test]
fn step_2_a_put_is_stamped_above_what_its_session_depends_on() {
    fn ut() -> Hlc {
        let mut lab = lab(2, 1);
        let (s, x) = (lab.client(A), lab.key("x", 0));
        remember(&mut lab, s, &[(0, B, at(900))]);
        lab.jump_clock(server(A, 0), 500);
        lab.begin(s, put(&x, "1"));
        lab.jump_clock(server(A, 0), 901);
        lab.fire(server(A, 0), Timer::Own(Clock));
        match lab.finish(s) {
            Outcome::Written { stamp: Some(stamp), .. } => stamp.ts,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!([ut(), without(&[PUT_ABOVE_DM], ut)], [at(901), at(500)]);
}

#[test]
fn step_2_a_put_that_would_wait_too_long_is_refused() {
    let mut lab = sound(1, 1);
    lab.set_max_skew(1_000);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    remember(&mut lab, s, &[(0, A, at(2_001))]);
    assert_eq!(text(&lab.run(s, put(&x, "1"))), "clock skew");
}

/// A/1 writes y, which depends on x of A/0; only y reaches B.
fn effect_first() -> (Lab<Orbe>, usize, Key, Key) {
    let mut lab = lab(2, 2);
    let (ann, ben) = (lab.client(A), lab.client(B));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    lab.put(ann, &x, "cause");
    lab.set_clocks(2_000);
    lab.put(ann, &y, "effect");
    lab.deliver(server(A, 1), server(B, 1));
    (lab, ben, x, y)
}

#[test]
fn step_3_a_version_waits_until_the_sibling_has_installed_its_row() {
    let (mut lab, ben, x, y) = effect_first();
    lab.deliver_within(DcId(B));
    assert_eq!([lab.get(ben, &y), lab.get(ben, &x)], ["-", "-"]);
    lab.deliver(server(A, 0), server(B, 0));
    assert_eq!([lab.get(ben, &y), lab.get(ben, &x)], ["-", "cause"], "the sibling's answer is on its way");
    lab.deliver_within(DcId(B));
    assert_eq!(lab.get(ben, &y), "effect");
    let _without = tidemark_contract::rule::Without::new(&[CHECKS_OTHER_ROWS]);
    let (mut lab, ben, x, y) = effect_first();
    assert_eq!([lab.get(ben, &y), lab.get(ben, &x)], ["effect", "-"]);
}

#[test]
fn step_3_a_version_waits_for_the_row_of_its_own_partition() {
    fn trace() -> [String; 3] {
        let mut lab = lab(3, 1);
        let (a, b, c) = (lab.client(A), lab.client(B), lab.client(C));
        let (x, y) = (lab.key("x", 0), lab.key("y", 0));
        lab.put(c, &x, "cause");
        lab.deliver(server(C, 0), server(A, 0));
        lab.get(a, &x);
        lab.set_clocks(2_000);
        lab.put(a, &y, "effect");
        lab.deliver(server(A, 0), server(B, 0));
        let early = [lab.get(b, &y), lab.get(b, &x)];
        lab.deliver(server(C, 0), server(B, 0));
        let [y0, x0] = early;
        [y0, x0, lab.get(b, &y)]
    }
    assert_eq!(trace(), ["-", "-", "effect"]);
    assert_eq!(without(&[CHECKS_OWN_ROW], trace), ["effect", "-", "effect"]);
}

/// The head of the line: z, written after y at the same server, depends on nothing.
#[test]
fn step_3_updates_of_a_server_are_installed_in_the_order_in_which_it_wrote_them() {
    fn trace() -> [String; 3] {
        let (mut lab, ben, x, y) = effect_first();
        let (dan, z) = (lab.client(A), lab.key("z", 1));
        lab.set_clocks(3_000);
        lab.put(dan, &z, "later");
        lab.deliver(server(A, 1), server(B, 1));
        [lab.get(ben, &z), lab.get(ben, &y), lab.get(ben, &x)]
    }
    assert_eq!(trace(), ["-", "-", "-"]);
    assert_eq!(without(&[IN_ORDER], trace), ["later", "effect", "-"], "VV lies about y");
}

/// D2: what stands behind the head of the line is checked meanwhile, and then all of it is installed at once.
#[test]
fn d2_what_waits_in_line_is_checked_meanwhile() {
    let (mut lab, ben, _, y) = effect_first();
    let (dan, x2, z) = (lab.client(A), lab.key("other", 0), lab.key("z", 1));
    lab.put(dan, &x2, "cause");
    lab.set_clocks(3_000);
    lab.put(dan, &z, "later");
    lab.deliver(server(A, 1), server(B, 1));
    assert!(
        lab.deliver_message(server(B, 1), server(B, 0)) && lab.deliver_message(server(B, 1), server(B, 0))
    );
    lab.deliver_between(A, B);
    lab.deliver_within(DcId(B));
    assert_eq!([lab.get(ben, &y), lab.get(ben, &z)], ["effect", "later"]);
}

#[test]
fn step_3_a_sibling_answers_only_for_what_it_has_installed_itself() {
    let mut lab = sound(2, 3);
    let (ann, ben) = (lab.client(A), lab.client(B));
    let keys = [0, 1, 2].map(|p| lab.key("x", p));
    for (us, key) in (1_000..).step_by(1_000).zip(&keys) {
        lab.set_clocks(us);
        lab.put(ann, key, "value");
    }
    lab.deliver(server(A, 2), server(B, 2));
    lab.deliver(server(A, 1), server(B, 1));
    lab.deliver_within(DcId(B));
    assert_eq!([2, 1].map(|p| lab.get(ben, &keys[p])), ["-", "-"], "B/1 has received it, and waits itself");
    lab.deliver(server(A, 0), server(B, 0));
    lab.deliver_within(DcId(B));
    assert_eq!([2, 1].map(|p| lab.get(ben, &keys[p])), ["value", "value"]);
}

#[test]
fn step_3_a_heartbeat_does_not_overtake_what_waits() {
    let (mut lab, ..) = effect_first();
    lab.set_clocks(9_000);
    lab.fire(server(A, 1), Timer::Delta);
    lab.deliver(server(A, 1), server(B, 1));
    assert!(installed(&lab, B, 1, A) < at(2_000));
    lab.deliver_all();
    assert_eq!(installed(&lab, B, 1, A), at(9_000));
}

#[test]
fn step_3_a_check_whose_question_or_answer_is_lost_is_asked_again() {
    let (mut lab, ben, _, y) = effect_first();
    let (asks, holds) = (server(B, 1), server(B, 0));
    lab.lose_messages(asks, holds);
    lab.deliver(server(A, 0), holds);
    lab.fire(asks, Timer::Theta);
    lab.deliver_message(asks, holds);
    lab.lose_messages(holds, asks);
    lab.fire(asks, Timer::Theta);
    lab.deliver_within(DcId(B));
    assert_eq!(lab.get(ben, &y), "effect");
}

/// DM-Clock: everything that a transaction could have read is below the clock of its coordinator.
#[test]
fn rotx_begins_at_the_clock_or_where_its_session_is() {
    fn read(age: u64) -> [String; 2] {
        let params = Params { snapshot_age_us: age, ..Params::default() };
        let mut lab = Lab::<Orbe>::new(1, 2, params);
        let (s, t, x, y) = (lab.client(A), lab.client(A), lab.key("x", 0), lab.key("y", 1));
        lab.set_clocks(2_000);
        lab.put(s, &y, "mine");
        lab.set_clocks(2_500);
        [lab.rotx(t, &[&x, &y]), lab.rotx(s, &[&x, &y])]
    }
    assert_eq!(read(0), ["- mine", "- mine"]);
    assert_eq!(read(1_000), ["- -", "- mine"]);
    assert_eq!(without(&[ST_COVERS_DT], || read(1_000)), ["- -", "- -"]);
}

/// (a)
#[test]
fn rotx_a_slice_waits_for_a_clock_that_is_behind() {
    fn torn() -> String {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(A), lab.client(A), lab.key("x", 0), lab.key("y", 1));
        let (ahead, behind) = (server(A, 0), server(A, 1));
        lab.set_clock(ahead, 3_000);
        lab.begin(s, rotx(&[&x, &y]));
        lab.deliver_message(ahead, behind);
        lab.put(t, &y, "cause");
        lab.put(t, &x, "effect");
        lab.set_clock(behind, 3_001);
        lab.fire(behind, Timer::Own(Clock));
        text(&lab.finish(s))
    }
    assert_eq!(torn(), "effect cause");
    assert_eq!(without(&[SLICE_WAITS_FOR_CLOCK], torn), "effect -");
}

/// (a) What is written after a slice lies above it, though the clock jumped back, or the server crashed.
#[test]
fn rotx_what_is_written_after_a_slice_lies_above_it() {
    fn later(crash: bool) -> Hlc {
        let mut lab = lab(1, 1);
        let (s, t, x) = (lab.client(A), lab.client(A), lab.key("x", 0));
        lab.set_clocks(900_000);
        lab.rotx(s, &[&x]);
        lab.jump_clock(server(A, 0), 5_000);
        if crash {
            lab.restart(server(A, 0));
        }
        lab.put(t, &x, "later")
    }
    assert!([false, true].into_iter().all(|crash| later(crash) > at(900_000)));
    assert_eq!(without(&[SLICE_LIFTS], || later(false)), at(5_000));
}

/// (b)
#[test]
fn rotx_a_slice_waits_until_everything_that_others_write_up_to_it_is_installed() {
    fn read() -> Option<String> {
        let mut lab = lab(2, 2);
        let (ann, ben) = (lab.client(A), lab.client(B));
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        lab.put(ann, &x, "cause");
        lab.set_clocks(2_000);
        lab.put(ann, &y, "effect");
        lab.set_clocks(3_000);
        lab.begin(ben, rotx(&[&x, &y]));
        let (has_x, has_y) = (server(B, 0), server(B, 1));
        lab.deliver_message(has_x, has_x);
        lab.deliver(server(A, 1), has_y);
        lab.deliver(server(A, 0), has_x);
        lab.deliver_message(has_y, has_x);
        lab.overtake(has_x, has_y);
        lab.deliver_within(DcId(B));
        let early = lab.outcome(ben).map(|outcome| text(&outcome));
        lab.set_clocks(8_000);
        [server(A, 0), server(A, 1)].into_iter().for_each(|p| lab.fire(p, Timer::Delta));
        lab.deliver_all();
        early.or_else(|| Some(text(&lab.outcome(ben)?)))
    }
    assert_eq!(read().as_deref(), Some("cause effect"));
    assert_eq!(without(&[SLICE_WAITS_FOR_PEERS], read).as_deref(), Some("- effect"));
}

#[test]
fn rotx_a_slice_that_waits_in_vain_is_given_up() {
    let mut lab = sound(2, 1);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    lab.begin(s, rotx(&[&x]));
    lab.deliver_within(DcId(A));
    assert_eq!(lab.protocol(server(A, 0)).status().blocked, 1);
    lab.set_clocks(1_000 + Params::default().wait_limit_us);
    lab.fire(server(A, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(s)), "unavailable");
    assert_eq!(lab.protocol(server(A, 0)).status().blocked, 0);
}

/// D9: slices move the clock, and their peers wait for heartbeats all the same.
#[test]
fn d9_heartbeats_come_though_slices_move_the_clock() {
    let mut lab = sound(2, 1);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    heartbeats(&mut lab, 10_000);
    lab.set_clocks(14_000);
    lab.begin(s, rotx(&[&x]));
    lab.deliver_within(DcId(A));
    heartbeats(&mut lab, 15_000);
    assert_eq!([installed(&lab, B, 0, A), installed(&lab, A, 0, B)], [at(15_000); 2]);
}
