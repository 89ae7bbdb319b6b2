//! GentleRain (001): Algorithms 1 to 4 line by line, §5.3, the deviations of the file, and the errata.

mod conflicts;
mod fallback;
mod lasting;
mod parameters;
mod readmission;
mod removal;
mod waiting;

use crate::{as_published, at};
use tidemark_contract::core::{Hlc, Key, Op, Outcome, Stamp, Update, Vector, Write};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::GentleRain;
use tidemark_protocols::gentlerain::{
    Clock, GST_NEVER_FALLS, PUT_WAITS, Params, Past, ROTX_WAITS, Request, Resolver, Stamps, Timer,
};

fn rain(dcs: usize, partitions: usize) -> Lab<GentleRain> {
    resolving(dcs, partitions, Resolver::default())
}

fn resolving(dcs: usize, partitions: usize, resolver: Resolver) -> Lab<GentleRain> {
    Lab::new(dcs, partitions, Params { resolver, ..Params::default() })
}

fn gst(lab: &Lab<GentleRain>, dc: u8, partition: u16) -> Hlc {
    lab.protocol(server(dc, partition)).status().stable.min()
}

const HEARTBEAT_AND_STABILISE: [Timer; 2] = [Timer::Delta, Timer::Theta];

/// Raises the stable time of both data centres to `us` by heartbeats, wherever nothing newer was written.
fn stabilise(lab: &mut Lab<GentleRain>, us: u64) {
    lab.round(us, &HEARTBEAT_AND_STABILISE);
}

fn update(value: &str) -> Update {
    Update::put(Write::Assign(value.as_bytes().into()))
}

/// Reference: 001 Algorithm 1 line 2, Algorithm 2 line 2.
#[test]
fn alg_1_line_2_a_get_brings_the_sessions_gst_to_the_server() {
    let mut lab = rain(2, 2);
    let (s, x) = (lab.client(0), lab.key("x", 1));
    let home = lab.token(s).home;
    lab.adopt(s, Token { home, past: Past { dt: at(1), gst: at(2) } });
    lab.get(s, &x);
    assert_eq!(gst(&lab, 0, 1), at(2));
}

/// Reference: 001 Algorithm 1 lines 4 and 5.
#[test]
fn alg_1_lines_4_and_5_a_get_adds_what_it_saw_to_the_sessions_past() {
    let mut lab = rain(2, 1);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    let ut = lab.put(s, &x, "1");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.get(t, &x), "1");
    assert_eq!(lab.token(t).past, Past { dt: ut, gst: at(9_000) });
    lab.get(t, &Key::from("nothing"));
    assert_eq!(lab.token(t).past, Past { dt: ut, gst: at(9_000) }, "both are maxima");
}

/// Reference: 001 Algorithm 1 lines 8 to 10.
#[test]
fn alg_1_lines_8_to_10_a_put_brings_dt_and_takes_the_new_time() {
    let mut lab = rain(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    assert_eq!(lab.put(s, &x, "1"), at(1_000));
    assert_eq!(lab.token(s).past.dt, at(1_000));
    lab.set_clock(server(0, 1), 1_001);
    assert_eq!(lab.put(s, &y, "2"), at(1_001));
    assert!(lab.transcript.contains("Put(y, Update { write: \"2\"") && lab.transcript.contains("dt: 1000"));
}

/// Reference: 001 Algorithm 2 line 2.
#[test]
fn alg_2_line_2_a_get_raises_gst_and_never_lowers_it() {
    let mut lab = rain(2, 1);
    let p = server(0, 0);
    for (carried, after) in [(at(5), at(5)), (at(3), at(5)), (at(7), at(7))] {
        lab.ask(p, Request::Get(Key::from("x"), carried));
        assert_eq!(gst(&lab, 0, 0), after);
    }
}

/// Reference: 001 Algorithm 2 line 3.
#[test]
fn alg_2_line_3_local_versions_are_read_at_once_and_remote_ones_up_to_gst() {
    let mut lab = rain(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "old");
    lab.set_clocks(2_000);
    let ut = lab.put(a, &x, "new");
    assert_eq!(lab.get(a, &x), "new");
    lab.deliver_all();
    assert_eq!(lab.get(b, &x), "-", "received, and not stable");
    for (gst, seen) in [(Hlc(ut.0 - 1), "old"), (ut, "new")] {
        let reply = lab.ask(server(1, 0), Request::Get(x.clone(), gst)).expect("a GET does not wait");
        assert_eq!(text(&reply.0), seen, "at {gst}");
    }
}

/// Reference: 001 Algorithm 2 line 3 ("latest"): the last writer wins, data centres break ties.
#[test]
fn alg_2_line_3_latest_is_the_largest_update_time_then_the_data_centre() {
    let mut lab = rain(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    assert_eq!((lab.put(a, &x, "a"), lab.put(b, &x, "b")), (at(1_000), at(1_000)));
    lab.deliver_all();
    stabilise(&mut lab, 9_000);
    assert_eq!([a, b].map(|s| lab.get(s, &x)), ["b", "b"]);
}

/// Reference: 001 Algorithm 2 line 4.
#[test]
fn alg_2_line_4_the_reply_tells_value_time_and_gst() {
    let mut lab = rain(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    let ut = lab.put(s, &x, "1");
    let reply = lab.ask(server(0, 0), Request::Get(x, at(7))).unwrap();
    assert_eq!((text(&reply.0).as_str(), reply.1), ("1", Past { dt: ut, gst: at(7) }));
}

/// Reference: 001 Algorithm 2 lines 5 and 6.
#[test]
fn alg_2_line_6_a_put_waits_until_the_clock_has_passed_dt() {
    let mut lab = rain(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    let slow = server(0, 1);
    lab.set_clock(server(0, 0), 3_000);
    lab.put(s, &x, "1");
    lab.begin(s, put(&y, "2"));
    assert_eq!((lab.outcome(s), lab.due(slow, Timer::Own(Clock))), (None, Some(3_001)));
    assert_eq!(lab.protocol(slow).status().blocked, 1);
    lab.set_clock(slow, 3_000);
    lab.fire(slow, Timer::Own(Clock));
    assert_eq!((lab.outcome(s), lab.due(slow, Timer::Own(Clock))), (None, Some(3_001)), "strict");
    lab.set_clock(slow, 3_001);
    lab.fire(slow, Timer::Own(Clock));
    assert_eq!(text(&lab.outcome(s).unwrap()), "3001@A");
    assert_eq!((lab.protocol(slow).status().blocked, lab.due(slow, Timer::Own(Clock))), (0, None));
}

/// Reference: 000 §5.5.4: GentleRain on hybrid logical clocks.
#[test]
fn on_a_hybrid_clock_a_put_does_not_wait() {
    let mut lab = Lab::<GentleRain>::new(1, 2, Params { clock: Stamps::Hlc, ..Params::default() });
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 3_000);
    let cause = lab.put(s, &x, "1");
    assert_eq!(lab.put(s, &y, "2"), cause.next());
}

/// Reference: 001 Algorithm 2 lines 7 to 14.
#[test]
fn alg_2_lines_7_to_14_a_version_has_the_servers_time_and_place() {
    let mut lab = rain(2, 1);
    let (s, x) = (lab.client(1), lab.key("x", 0));
    let outcome = lab.run(s, put(&x, "1"));
    assert_eq!(text(&outcome), "1000@B");
    let chain: Vec<_> = lab.store(server(1, 0)).chain(&x).map(|d| (d.stamp, d.write.clone())).collect();
    assert_eq!(chain, [(Stamp::new(at(1_000), tidemark_contract::core::DcId(1)), update("1").write)]);
}

/// Reference: 001 Algorithm 2 lines 15 to 20.
#[test]
fn alg_2_lines_15_to_20_a_version_goes_to_every_peer_which_stores_it_and_notes_its_time() {
    let mut lab = rain(3, 2);
    let (s, x) = (lab.client(0), lab.key("x", 1));
    lab.put(s, &x, "1");
    for dc in 1..3 {
        assert!(lab.deliver(server(0, 1), server(dc, 1)) && !lab.deliver(server(0, 0), server(dc, 0)));
        assert_eq!(lab.store(server(dc, 1)).chain(&x).count(), 1);
    }
    lab.round(9_000, &[Timer::Theta]);
    assert_eq!(gst(&lab, 1, 1), Hlc::ZERO, "nothing was heard from the third data centre");
}

/// Reference: 001 Algorithm 2 lines 21 to 26.
#[test]
fn alg_2_lines_21_to_26_a_server_that_wrote_nothing_for_delta_sends_its_clock() {
    let mut lab = rain(2, 1);
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    lab.set_clock(p, 3_000);
    lab.put(s, &x, "1");
    lab.deliver_all();
    lab.set_clock(p, 7_999);
    lab.fire(p, Timer::Delta);
    assert!(!lab.deliver(p, server(1, 0)), "Δ has not passed since the write");
    assert_eq!(lab.due(p, Timer::Delta), Some(8_199)); // not 8,000: once in 200 µs at most
    lab.set_clock(p, 8_000);
    lab.fire(p, Timer::Delta);
    assert!(lab.deliver(p, server(1, 0)));
    assert!(lab.transcript.ends_with("B/0 <- A/0 heartbeat 8000\n"));
    assert_eq!(lab.put(s, &x, "2"), at(8_000).next(), "what follows a heartbeat lies above it");
}

/// Reference: 001 Algorithm 2 lines 27 to 31.
#[test]
fn alg_2_lines_27_to_31_gst_is_the_least_entry_of_all_version_vectors() {
    let mut lab = rain(2, 3);
    stabilise(&mut lab, 6_000);
    assert_eq!(gst(&lab, 0, 2), at(6_000));
    lab.set_clocks(12_000);
    for p in 0..3 {
        lab.fire(server(0, p), Timer::Delta);
        lab.fire(server(1, p), Timer::Delta);
    }
    assert!(lab.deliver(server(1, 0), server(0, 0)) && lab.deliver(server(1, 1), server(0, 1)));
    let mut round = |heard: bool| {
        if heard {
            lab.deliver(server(1, 2), server(0, 2));
        }
        (0..3).rev().for_each(|p| lab.fire(server(0, p), Timer::Theta));
        lab.deliver_within(server(0, 0).dc);
        [0, 1, 2].map(|p| gst(&lab, 0, p))
    };
    assert_eq!(round(false), [at(6_000); 3], "one partition that lags holds back the data centre");
    assert_eq!(round(true), [at(12_000); 3]);
}

/// Reference: 001 Algorithm 3 lines 3 and 9 to 12.
#[test]
fn alg_3_lines_10_to_12_the_snapshot_is_taken_at_gst_after_merging_the_sessions() {
    let mut lab = rain(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &x, "old");
    stabilise(&mut lab, 9_000);
    lab.put(s, &x, "new");
    assert_eq!(lab.snapshot(s, &[&x, &y]), "old -", "a snapshot may miss the session's own writes");
    assert!(lab.transcript.contains("at: Past { dt: 0, gst: 9000 }"));
    lab.ask(server(0, 0), Request::Snapshot(vec![x], at(9_500)));
    assert!(lab.transcript.contains("at: Past { dt: 0, gst: 9500 }"));
}

/// Reference: 001 Algorithm 3 lines 13 to 19.
#[test]
fn alg_3_lines_13_to_19_every_partition_is_asked_once_and_the_maxima_are_returned() {
    let mut lab = rain(1, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys: Vec<Key> = [("a", 0), ("b", 1), ("c", 2), ("d", 1)].map(|(k, p)| lab.key(k, p)).into();
    for (i, key) in keys.iter().enumerate() {
        lab.set_clocks(2_000 + 10 * i as u64);
        lab.put(s, key, &i.to_string());
    }
    stabilise(&mut lab, 9_000);
    let asked: Vec<&Key> = [3, 2, 1, 0, 3].into_iter().map(|i| &keys[i]).collect();
    assert_eq!(lab.snapshot(t, &asked), "3 2 1 0 3");
    assert_eq!(lab.transcript.matches("-> A/1 SliceReq").count(), 1);
    assert_eq!(lab.token(t).past, Past { dt: at(2_030), gst: at(9_000) });
    assert_eq!(lab.snapshot(t, &[]), "");
}

/// Reference: 001 Algorithm 3 lines 20 to 24.
#[test]
fn alg_3_lines_22_to_24_a_slice_raises_gst_and_reads_up_to_the_snapshot_local_versions_included() {
    let mut lab = rain(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &y, "old");
    lab.round(6_000, &[Timer::Delta]);
    let home = lab.token(t).home;
    lab.adopt(t, Token { home, past: Past { dt: Hlc::ZERO, gst: at(6_000) } }); // as from a sibling that knows
    assert_eq!(lab.finish(t), Outcome::Adopted);
    lab.begin(t, Op::Snapshot { keys: vec![x, y.clone()] });
    lab.put(s, &y, "new");
    assert_eq!(text(&lab.finish(t)), "- old");
    assert_eq!(gst(&lab, 0, 1), at(6_000));
}

/// Reference: 001 Algorithm 4 lines 3 and 9 to 12.
#[test]
fn alg_4_line_11_a_rotx_waits_until_gst_is_above_dt() {
    let mut lab = rain(1, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    let dt = lab.put(s, &x, "1");
    lab.begin(s, rotx(&[&x]));
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!((gst(&lab, 0, 0), lab.outcome(s)), (dt, None), "dt < GST is strict");
    let late = lab.client(0);
    lab.adopt(late, lab.token(s));
    assert_eq!(lab.finish(late), Outcome::Adopted);
    lab.begin(late, rotx(&[&x]));
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 2, "for one that comes now, too");
    stabilise(&mut lab, 9_000);
    assert_eq!(text(&lab.finish(late)), "1");
    assert_eq!(text(&lab.finish(s)), "1");
    assert_eq!(lab.rotx(s, &[&x, &x]), "1 1", "no wait once GST has passed");
}

/// Reference: 001 Algorithm 4 line 11, by what goes wrong without it.
#[test]
fn alg_4_line_11_without_the_wait_a_transaction_misses_the_sessions_own_write() {
    fn own_write() -> String {
        let mut lab = rain(2, 1);
        let (s, x) = (lab.client(0), lab.key("x", 0));
        lab.put(s, &x, "1");
        lab.begin(s, rotx(&[&x]));
        stabilise(&mut lab, 9_000);
        text(&lab.finish(s))
    }
    assert_eq!((own_write(), without(&[ROTX_WAITS], own_write)), ("1".into(), "-".into()));
}

/// D7.
#[test]
fn d7_a_rotx_that_waits_too_long_is_told_that_a_region_lags() {
    let mut lab = rain(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.put(s, &x, "1");
    lab.begin(s, rotx(&[&x]));
    for (now, outcome) in [(2_000_999, None), (2_001_000, Some("unavailable".to_string()))] {
        lab.set_clocks(now); // nothing comes from the other data centre
        lab.fire(server(0, 0), Timer::Theta);
        assert_eq!(lab.outcome(s).map(|outcome| text(&outcome)), outcome);
    }
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 0);
}

/// Reference: 001 §5.3.
#[test]
fn sec_5_3_only_the_latest_version_at_or_below_the_safe_time_is_kept_and_all_above_it() {
    let mut lab = rain(2, 1);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 0));
    for (now, value) in [(1_000, "1"), (2_000, "2"), (500_000, "3"), (600_000, "4")] {
        lab.set_clocks(now);
        lab.put(s, &x, value);
    }
    lab.remove(s, &y);
    let values = |lab: &Lab<GentleRain>| lab.store(server(0, 0)).chain(&x).count();
    [700_000, 710_000, 720_000].into_iter().for_each(|us| stabilise(&mut lab, us));
    assert_eq!(values(&lab), 4, "D4: no stable time is durable yet");
    stabilise(&mut lab, 1_200_000); // renews the ceiling, with the stable time 700,000
    stabilise(&mut lab, 1_300_000);
    stabilise(&mut lab, 1_400_000);
    assert_eq!(values(&lab), 1);
    assert_eq!(lab.store(server(0, 0)).totals().keys, 1, "the tombstone went");
    assert_eq!(lab.get(s, &x), "4");
}

/// Reference: 001 §5.3: "the oldest active snapshot read".
#[test]
fn sec_5_3_a_running_snapshot_holds_collection_back() {
    let mut lab = rain(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &y, "old");
    stabilise(&mut lab, 9_000);
    lab.begin(t, Op::Snapshot { keys: vec![x, y.clone()] });
    let (root, leaf) = (server(0, 0), server(0, 1));
    // The slice is slow: everything else overtakes it.
    for now in [500_000, 1_000_000, 1_500_000, 1_500_001] {
        lab.set_clocks(now);
        for timer in HEARTBEAT_AND_STABILISE {
            lab.fire(leaf, timer);
            lab.fire(root, timer);
            lab.report(leaf, root);
        }
        lab.overtake(root, leaf);
        lab.put(s, &y, "new");
    }
    lab.fire(leaf, Timer::Theta);
    assert_eq!((gst(&lab, 0, 1), lab.store(leaf).chain(&y).count()), (at(1_500_000), 5));
    assert_eq!(text(&lab.finish(t)), "- old");
}

/// The trace of erratum E-1, up to what the last reader finds; partitions are exchanged, because the root of the tree learns
/// first. `late` lets an older report of it arrive before the last reader comes.
fn e_1(late: bool, then: impl FnOnce(&mut Lab<GentleRain>)) -> String {
    let mut lab = rain(2, 2);
    let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
    let (x, y, z) = (lab.key("x", 1), lab.key("y", 0), lab.key("z", 1));
    let (root, leaf) = (server(0, 0), server(0, 1));
    for (now, key) in [(2_000, &z), (2_001, &y), (2_002, &x)] {
        lab.set_clocks(now); // 1
        lab.put(c1, key, "remote");
    }
    lab.deliver_all();
    if late {
        lab.fire(leaf, Timer::Theta);
        lab.fire(root, Timer::Theta);
        lab.report(leaf, root); // a report on its way to the leaf, with the stable time 0
    }
    lab.set_clocks(9_000);
    for p in [root, leaf, server(1, 0), server(1, 1)] {
        lab.fire(p, Timer::Delta); // 2
    }
    lab.deliver_between(1, 0);
    lab.fire(leaf, Timer::Theta); // 3
    lab.report(leaf, root);
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 0, 1)), (at(9_000), Hlc::ZERO));
    assert_eq!(lab.get(c0, &y), "remote"); // 4
    lab.set_clocks(9_001);
    lab.put(c0, &x, "local"); // 5
    if late {
        lab.deliver_message(root, leaf);
    }
    then(&mut lab);
    assert_eq!(lab.get(c2, &x), "local"); // 6
    lab.get(c2, &z) // 7
}

/// Reference: PROTOCOLS E-1.
#[test]
fn e_1_a_write_brings_the_stable_time_of_what_it_depends_on() {
    assert_eq!(e_1(false, |_| ()), "remote");
    assert_eq!(
        as_published("gentlerain-published", || e_1(false, |_| ())),
        "-",
        "causally overwritten, as published"
    );
}

/// Reference: PROTOCOLS E-2.
#[test]
fn e_2_a_late_report_does_not_lower_gst() {
    assert_eq!(e_1(true, |_| ()), "remote");
    assert_eq!(without(&[GST_NEVER_FALLS], || e_1(false, |_| ())), "remote", "E-1 alone");
    assert_eq!(without(&[GST_NEVER_FALLS], || e_1(true, |_| ())), "-", "causally overwritten, as published");
}

/// Reference: PROTOCOLS E-9.
#[test]
fn e_9_stamps_increase_strictly_and_so_does_what_follows_a_snapshot() {
    fn ties() -> (String, Vec<String>) {
        let mut lab = rain(2, 1);
        let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
        lab.round(9_000, &HEARTBEAT_AND_STABILISE);
        let before = lab.snapshot(t, &[&x]);
        let stamps = [s, t].map(|s| text(&lab.run(s, put(&x, "tied"))));
        (format!("{before} {}", lab.snapshot(t, &[&x])), stamps.into())
    }
    assert_eq!(ties(), ("- -".into(), vec!["9000+1@A".into(), "9000+2@A".into()]));
    let published = as_published("gentlerain-published", ties);
    assert_eq!(published.1, ["9000@A#1", "9000@A#2"], "equal times, told apart by arrival");
    assert_eq!(published.0, "- tied", "one snapshot time, two snapshots");
}

/// D6: the session learns what the version that decided needs, as if it had read it.
#[test]
fn d6_a_conditional_update_takes_the_servers_gst_to_its_session() {
    let mut lab = rain(2, 2);
    let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
    let (lock, z) = (lab.key("lock", 0), lab.key("z", 1));
    lab.put(c1, &z, "remote");
    lab.deliver_all();
    lab.set_clocks(9_000);
    for p in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
        lab.fire(p, Timer::Delta);
    }
    lab.deliver_between(1, 0);
    lab.fire(server(0, 1), Timer::Theta);
    lab.report(server(0, 1), server(0, 0)); // the root knows, the leaf does not
    let ut = lab.put_new(c0, &lock, "mine").expect("nobody holds the lock");
    assert_eq!(lab.put_new(c2, &lock, "mine"), None);
    assert_eq!(lab.token(c2).past, Past { dt: ut, gst: at(9_000) });
    assert_eq!(lab.get(c2, &z), "remote");
}

/// D6: what decides may lie ahead of the clock; the new version lies above it all the same.
#[test]
fn d6_a_conditional_update_wins_over_what_it_saw() {
    let mut lab = rain(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.set_clock(server(1, 0), 8_000);
    lab.put(b, &x, "1");
    lab.remove(b, &x);
    lab.deliver_all();
    stabilise(&mut lab, 9_000);
    let ut = lab.put_new(a, &x, "2").expect("a tombstone is nothing");
    assert!(ut > at(8_000).next());
    assert_eq!(lab.get(a, &x), "2");
}

#[test]
fn a_write_too_far_ahead_of_the_clock_is_refused() {
    for clock in [Stamps::Physical, Stamps::Hlc] {
        let mut lab = Lab::<GentleRain>::new(1, 2, Params { clock, ..Params::default() });
        lab.set_max_skew(1_000);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 5_000);
        lab.put(s, &x, "1");
        assert_eq!(text(&lab.run(s, put(&y, "2"))), "clock skew");
        assert_eq!(lab.store(server(0, 1)).totals().versions, 0);
    }
}

#[test]
fn a_walk_finds_what_get_finds() {
    let mut lab = rain(2, 1);
    let (a, b) = (lab.client(0), lab.client(1));
    for key in ["mine", "gone", "theirs"] {
        lab.put(if key == "theirs" { b } else { a }, &Key::from(key), "v");
    }
    lab.remove(a, &Key::from("gone"));
    lab.deliver_all();
    assert_eq!(lab.scan(a, 0), "mine 1");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.scan(a, 0), "mine theirs 2");
    assert_eq!(lab.token(a).past.gst, at(9_000));
}
