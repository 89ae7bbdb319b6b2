//! What lasts, and what goes: crashes, matrices, collection, sessions that move; and what depends on what decided.

use super::*;
use tidemark_contract::core::{Update, Write};
use tidemark_protocols::orbe::{ARRIVAL_WAITS, COLLECTS_AT_SAFE, RECEIVED_WAITS_AGAIN};

/// D3 (E-12): what B shows is durable as installed, and so shown after a restart.
#[test]
fn d3_what_was_installed_is_installed_after_a_restart() {
    let (mut lab, ben, _, y) = effect_first();
    let durable = |lab: &Lab<Orbe>| lab.hard(server(B, 1)).stable[DcId(A)];
    lab.deliver_within(DcId(B));
    assert_eq!(durable(&lab), Hlc::ZERO);
    lab.deliver_all();
    assert_eq!((lab.get(ben, &y), durable(&lab)), ("effect".into(), at(2_000)));
    lab.restart(server(B, 1));
    assert_eq!((lab.get(ben, &y), installed(&lab, B, 1, A)), ("effect".into(), at(2_000)));
}

/// D3: and what it had received only is not.
#[test]
fn d3_what_was_received_waits_again_after_a_restart() {
    fn trace() -> [String; 2] {
        let (mut lab, ben, x, y) = effect_first();
        lab.restart(server(B, 1));
        [lab.get(ben, &y), lab.get(ben, &x)]
    }
    assert_eq!(trace(), ["-", "-"]);
    assert_eq!(without(&[RECEIVED_WAITS_AGAIN], trace), ["effect", "-"]);
    let (mut lab, ben, _, y) = effect_first();
    lab.restart(server(B, 1));
    lab.deliver_all();
    assert_eq!(lab.get(ben, &y), "effect", "the sibling is asked again");
}

/// D3: the answers of a sibling stay true when it restarts, and who asked it asks again.
#[test]
fn d3_a_sibling_that_restarts_is_asked_again() {
    let (mut lab, ben, _, y) = effect_first();
    lab.deliver_within(DcId(B));
    lab.restart(server(B, 0));
    lab.deliver_all();
    assert_eq!(lab.get(ben, &y), "effect");
}

/// D3: in order also after a restart: what is behind the head of the line is not installed before it.
#[test]
fn d3_the_line_is_in_order_after_a_restart() {
    let (mut lab, ben, _, y) = effect_first();
    let (dan, z) = (lab.client(A), lab.key("z", 1));
    lab.set_clocks(3_000);
    lab.put(dan, &z, "later");
    lab.deliver(server(A, 1), server(B, 1));
    lab.restart(server(B, 1));
    assert_eq!(lab.get(ben, &z), "-");
    lab.deliver_all();
    assert_eq!([lab.get(ben, &y), lab.get(ben, &z)], ["effect", "later"]);
}

#[test]
fn a_restart_stamps_above_everything_announced_and_says_so() {
    let mut lab = sound(2, 1);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    heartbeats(&mut lab, 9_000);
    let ceiling = lab.hard(server(A, 0)).ceiling;
    lab.set_clock(server(A, 0), 1_000);
    lab.restart(server(A, 0));
    lab.deliver(server(A, 0), server(B, 0));
    assert_eq!((lab.put(s, &x, "1"), installed(&lab, B, 0, A)), (ceiling.next(), ceiling));
}

/// D4
#[test]
fn d4_a_matrix_is_kept_until_its_version_is_installed_and_not_where_it_was_written() {
    let (mut lab, _, x, y) = effect_first();
    assert_eq!(stored(&lab, A, 1, &y), None);
    assert_eq!(stored(&lab, B, 1, &y), Some(vec![(0, A, at(1_000))]));
    lab.deliver_all();
    assert_eq!([stored(&lab, B, 1, &y), stored(&lab, B, 0, &x)], [None, None]);
}

/// D4: the nearest dependency is enough, over any number of steps and data centres.
#[test]
fn d4_a_put_alone_stands_for_everything_before_it() {
    let mut lab = sound(3, 2);
    let (ann, ben, cid) = (lab.client(A), lab.client(B), lab.client(C));
    let (x, y, z) = (lab.key("x", 0), lab.key("y", 1), lab.key("z", 0));
    lab.put(ann, &x, "1");
    lab.set_clocks(2_000);
    lab.put(ann, &y, "2");
    lab.deliver_between(A, B);
    lab.deliver_within(DcId(B));
    assert_eq!(lab.get(ben, &y), "2");
    lab.set_clocks(3_000);
    lab.put(ben, &z, "3");
    lab.deliver_between(B, C);
    lab.deliver(server(A, 1), server(C, 1));
    lab.deliver_within(DcId(C));
    assert_eq!([lab.get(cid, &z), lab.get(cid, &y)], ["-", "-"], "z needs y, and y needs x");
    lab.deliver(server(A, 0), server(C, 0));
    lab.deliver_within(DcId(C));
    assert_eq!(lab.get(cid, &z), "3");
}

/// D5
#[test]
fn d5_a_conditional_update_depends_on_what_decided_it_and_does_not_wait() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(A), lab.client(B), lab.key("x", 0));
    lab.set_clock(server(B, 0), 7_000);
    let ut = lab.put(b, &x, "b");
    lab.deliver_all();
    assert_eq!(lab.put_new(a, &x, "a"), None);
    assert_eq!(remembers(&lab, a), [(0, B, ut)]);
    let other = lab.client(A);
    let update = Update { returns_previous: true, ..Update::put(Write::Assign((*b"c").into())) };
    let outcome = lab.run(other, tidemark_contract::core::Op::Put { key: x.clone(), update });
    let Outcome::Written { stamp: Some(stamp), previous: Some(previous) } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((stamp.ts, previous.stamp), (ut.next(), Some(Stamp::new(ut, DcId(B)))));
    assert_eq!(remembers(&lab, other), [(0, A, ut.next())]);
}

/// D5
#[test]
fn d5_a_scan_shows_what_is_installed_and_remembers_it() {
    let (mut lab, ben, _, y) = effect_first();
    assert_eq!(lab.scan(ben, 1), " 0");
    assert_eq!(remembers(&lab, ben), []);
    lab.deliver_all();
    assert_eq!(lab.scan(ben, 1), format!("{y} 1"));
    assert_eq!(remembers(&lab, ben), [(1, A, at(2_000))]);
}

/// D6: Ann moves to B, and waits there for what she has written and read.
#[test]
fn d6_a_session_that_moves_waits_until_its_matrix_is_installed() {
    fn moved() -> (Option<Outcome>, String) {
        let mut lab = lab(2, 2);
        let (ann, there, x) = (lab.client(A), lab.client(B), lab.key("x", 1));
        lab.put(ann, &x, "mine");
        let token = lab.token(ann);
        lab.adopt(there, token);
        lab.deliver_within(DcId(B));
        let early = lab.outcome(there);
        lab.deliver_all();
        (early, lab.outcome(there).map(|outcome| text(&outcome)).unwrap_or_default())
    }
    assert_eq!(moved(), (None, "adopted".into()));
    assert_eq!(without(&[ARRIVAL_WAITS], moved).0, Some(Outcome::Adopted));
}

/// D6: what it brought it still depends on, for there are other regions.
#[test]
fn d6_a_session_that_moved_keeps_its_matrix_and_a_token_tells_how_far_it_reaches() {
    let mut lab = sound(3, 2);
    let (ann, there, x) = (lab.client(A), lab.client(C), lab.key("x", 1));
    let ut = lab.put(ann, &x, "mine");
    lab.deliver_all();
    let token = lab.token(ann);
    lab.adopt(there, token);
    assert_eq!(lab.finish(there), Outcome::Adopted);
    assert_eq!(remembers(&lab, there), [(1, A, ut)]);
    let reach = lab.token(there).reach();
    assert_eq!((reach.latest, reach.dcs, reach.partitions), (ut, 3, 2));
}

#[test]
fn d6_a_session_whose_matrix_is_not_installed_in_time_is_turned_away() {
    let mut lab = sound(2, 1);
    let (ann, there, x) = (lab.client(A), lab.client(B), lab.key("x", 0));
    lab.put(ann, &x, "mine");
    let token = lab.token(ann);
    lab.adopt(there, token);
    lab.set_clocks(1_000 + Params::default().wait_limit_us);
    lab.fire(server(B, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(there)), "stale session");
    assert_eq!(lab.protocol(server(B, 0)).status().blocked, 0);
}

/// D8: a transaction that is held between its slices still finds what was overwritten.
#[test]
fn d8_collection_stays_below_every_transaction() {
    fn held() -> (usize, String) {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(A), lab.client(A), lab.key("x", 0), lab.key("y", 1));
        lab.put(t, &y, "old");
        lab.set_clocks(5_000);
        lab.begin(s, rotx(&[&x, &y]));
        lab.set_clocks(900_000);
        lab.put(t, &y, "new");
        for us in [910_000, 1_400_000, 1_410_000] {
            lab.set_clocks(us);
            [server(A, 1), server(A, 0)].into_iter().for_each(|at| lab.fire(at, Timer::Delta));
            [server(A, 1), server(A, 0)].into_iter().for_each(|at| lab.fire(at, Timer::Theta));
            while lab.deliver_message(server(A, 1), server(A, 0)) {}
            lab.overtake(server(A, 0), server(A, 1));
            lab.fire(server(A, 1), Timer::Theta);
        }
        let versions = lab.store(server(A, 1)).chain(&y).count();
        lab.deliver_within(DcId(A));
        (versions, text(&lab.finish(s)))
    }
    assert_eq!(held(), (2, "- old".into()));
    assert_eq!(without(&[COLLECTS_AT_SAFE], held), (1, "- -".into()));
}

/// D8: and then it goes on, where nothing stands still.
#[test]
fn d8_what_was_overwritten_goes_once_it_is_durable_that_nobody_reads_it() {
    let mut lab = sound(2, 2);
    let (s, y) = (lab.client(A), lab.key("y", 1));
    lab.put(s, &y, "old");
    lab.set_clocks(2_000);
    lab.put(s, &y, "new");
    let versions = |lab: &Lab<_>| [A, B].map(|dc| lab.store(server(dc, 1)).chain(&y).count());
    lab.deliver_all();
    assert_eq!(versions(&lab), [2, 2]);
    for us in (450_000..2_000_000).step_by(450_000) {
        lab.round(us, &[Timer::Delta, Timer::Theta]);
    }
    assert_eq!(versions(&lab), [1, 1]);
}

/// D8: a restarted coordinator begins no transaction below what the data centre has collected.
#[test]
fn d8_a_restart_begins_no_transaction_below_what_it_offered_to_collection() {
    let mut lab = sound(1, 1);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    lab.set_clocks(5_000);
    lab.put(s, &x, "1");
    lab.round(900_000, &[Timer::Theta, Timer::Delta]);
    lab.round(1_800_000, &[Timer::Theta, Timer::Delta]); // what was reached is durable now
    let offered = lab.hard(server(A, 0)).stable[DcId(A)];
    lab.jump_clock(server(A, 0), 1_000);
    lab.restart(server(A, 0));
    let fresh = lab.client(A);
    assert!(offered >= at(5_000));
    assert_eq!(lab.rotx(fresh, &[&x]), "1");
}

/// D8: a tombstone goes once nothing older can come, from elsewhere or from a clock that jumps back here.
#[test]
fn d8_nothing_is_written_below_what_is_offered_to_collection() {
    let mut lab = sound(1, 1);
    let (s, x) = (lab.client(A), lab.key("x", 0));
    lab.set_clocks(900_000);
    lab.fire(server(A, 0), Timer::Theta);
    lab.jump_clock(server(A, 0), 1_000);
    let offered = lab.protocol(server(A, 0)).status().stable[DcId(A)];
    assert_eq!((offered, lab.put(s, &x, "1")), (at(900_000), at(900_000).next()));
}

#[test]
fn metadata_is_bounded_by_one_entry_a_server() {
    let mut lab = sound(2, 2);
    let (a, b) = (lab.client(A), lab.client(B));
    for n in 0..50 {
        for p in [0, 1] {
            lab.set_clocks(2_000 + 2 * n + u64::from(p));
            let key = lab.key(&format!("k{n}-"), p);
            lab.put(b, &key, "v");
            lab.deliver_all();
            lab.get(a, &key);
        }
    }
    assert_eq!(remembers(&lab, a).len(), 2);
    assert!(lab.store(server(A, 0)).versions().all(|d| d.meta.is_none()));
}
