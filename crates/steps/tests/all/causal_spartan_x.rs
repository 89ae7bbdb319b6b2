//! CausalSpartanX (000 ch. 5): Algorithms 5.1 to 5.4 line by line, the deviations of the file, and the errata.

use crate::{as_published, at};
use tidemark_contract::core::{DcId, Hlc, Key, Op, Outcome, Stamp, Vector};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::request::Request;
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::CausalSpartanX;
use tidemark_protocols::causal_spartan_x::{
    PUT_ABOVE_DSV, PUT_MERGES_DS, Params, Past, SLICE_LIFTS, STABLE_STAYS_HOME, STABLE_SURVIVES, Timer,
};

fn lab(dcs: usize, partitions: usize) -> Lab<CausalSpartanX> {
    Lab::new(dcs, partitions, Params::default())
}

fn spartan(dcs: usize, partitions: usize) -> Lab<CausalSpartanX> {
    lab(dcs, partitions)
}

fn v(micros: &[u64]) -> Vector {
    Vector::from_entries(micros.iter().map(|us| at(*us)))
}

fn dsv(lab: &Lab<CausalSpartanX>, dc: u8, partition: u16) -> Vector {
    lab.protocol(server(dc, partition)).status().stable
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<CausalSpartanX>, session: usize, past: Past) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// Heartbeats everywhere at `us`, twice, so that Δ has passed without a write; then θ.
fn stabilise(lab: &mut Lab<CausalSpartanX>, us: u64) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta]);
}

/// Lets data centre A hear heartbeats from everywhere, and its root, but not its leaf, stabilise.
fn stabilise_root_of_a(lab: &mut Lab<CausalSpartanX>, us: u64) {
    lab.set_clocks(us);
    for p in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
        lab.fire(p, Timer::Delta);
        lab.fire(p, Timer::Delta);
    }
    lab.deliver_between(1, 0);
    lab.fire(server(0, 1), Timer::Theta);
    lab.report(server(0, 1), server(0, 0));
}

/// Reference: 000 Algorithm 5.1 lines 2, 4 and 5.
#[test]
fn alg_5_1_lines_2_to_5_a_get_brings_dsv_and_adds_what_it_saw() {
    let mut lab = spartan(2, 2);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 1));
    remember(&mut lab, s, Past { ds: v(&[500]), dsv: v(&[0, 700]) });
    lab.put(s, &x, "1");
    remember(&mut lab, t, Past { ds: v(&[0, 40]), dsv: v(&[0, 600]) });
    lab.get(t, &x);
    assert_eq!(lab.token(t).past, Past { ds: v(&[1_000, 40]), dsv: v(&[500, 600]) });
    assert_eq!(dsv(&lab, 0, 1), v(&[500, 600]));
}

/// Reference: 000 Algorithm 5.1 lines 8 to 10.
#[test]
fn alg_5_1_lines_8_to_10_a_put_brings_ds_and_takes_the_new_version() {
    let mut lab = spartan(2, 1);
    let (s, x) = (lab.client(1), lab.key("x", 0));
    remember(&mut lab, s, Past { ds: v(&[700]), dsv: v(&[800]) });
    lab.put(s, &x, "1");
    assert_eq!(lab.token(s).past, Past { ds: v(&[700, 1_000]), dsv: v(&[800]) });
    assert_eq!(lab.store(server(1, 0)).chain(&x).next().unwrap().meta, v(&[700]));
}

/// Reference: 000 Algorithm 5.1 lines 11 to 18.
#[test]
fn alg_5_1_lines_11_to_18_max_ds_keeps_the_larger_entry_of_each_data_centre() {
    let mut lab = spartan(3, 1);
    let s = lab.client(0);
    remember(&mut lab, s, Past { ds: v(&[0, 5, 9]), dsv: v(&[]) });
    remember(&mut lab, s, Past { ds: v(&[3, 7, 8]), dsv: v(&[]) });
    assert_eq!(lab.token(s).past.ds, v(&[3, 7, 9]));
}

/// Reference: 000 Algorithm 5.2 line 2.
#[test]
fn alg_5_2_line_2_a_get_raises_dsv_and_never_lowers_it() {
    let mut lab = spartan(2, 1);
    for (carried, after) in [(v(&[0, 5]), v(&[0, 5])), (v(&[4, 3]), v(&[4, 5]))] {
        lab.ask(server(0, 0), Request::Get(Key::from("x"), carried));
        assert_eq!(dsv(&lab, 0, 0), after);
    }
}

/// Reference: 000 Algorithm 5.2 line 3.
#[test]
fn alg_5_2_line_3_local_versions_are_read_at_once_and_remote_ones_when_their_ds_is_stable() {
    let mut lab = spartan(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, a, Past { ds: v(&[900, 400]), dsv: v(&[]) });
    lab.put(a, &x, "1");
    assert_eq!(lab.get(a, &x), "1");
    lab.deliver_all();
    let stable = [(v(&[1_000, 399]), "-"), (v(&[999, 400]), "-"), (v(&[1_000, 400]), "1")];
    for (dsv, seen) in stable {
        let reply = lab.ask(server(1, 0), Request::Get(x.clone(), dsv)).expect("a GET does not wait");
        assert_eq!(text(&reply.0), seen);
        // DSV only rises: start again for the next.
        lab.restart(server(1, 0));
    }
}

/// D1, by the one line of Algorithm 5.2 that it changes.
#[test]
fn d1_the_time_of_a_remote_version_itself_has_to_be_stable() {
    fn read() -> String {
        let mut lab = lab(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        lab.deliver_all();
        text(&lab.ask(server(1, 0), Request::Get(x, v(&[999]))).unwrap().0)
    }
    assert_eq!((read().as_str(), as_published("causal-spartan-x-published", read).as_str()), ("-", "1"));
}

/// Reference: 000 Algorithm 5.2 line 3: "lexicographically highest value ⟨ut, sr⟩".
#[test]
fn alg_5_2_line_3_latest_is_the_largest_update_time_then_the_data_centre() {
    let mut lab = spartan(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    assert_eq!((lab.put(a, &x, "a"), lab.put(b, &x, "b")), (at(1_000), at(1_000)));
    stabilise(&mut lab, 9_000);
    assert_eq!([a, b].map(|s| lab.get(s, &x)), ["b", "b"]);
}

/// Reference: 000 Algorithm 5.2 lines 4 and 5.
#[test]
fn alg_5_2_lines_4_and_5_the_reply_tells_the_version_with_its_dependencies_and_dsv() {
    let mut lab = spartan(3, 1);
    let (s, x) = (lab.client(1), lab.key("x", 0));
    remember(&mut lab, s, Past { ds: v(&[30, 20, 10]), dsv: v(&[]) });
    lab.put(s, &x, "1");
    let reply = lab.ask(server(1, 0), Request::Get(x, v(&[50]))).unwrap();
    assert_eq!(reply.1, Past { ds: v(&[30, 1_000, 10]), dsv: v(&[50, 20, 10]) });
}

/// Reference: 000 Algorithm 5.2 line 7.
#[test]
fn alg_5_2_line_7_a_put_merges_its_dependencies_into_dsv() {
    let mut lab = spartan(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, s, Past { ds: v(&[0, 70]), dsv: v(&[]) });
    lab.put(s, &x, "1");
    assert_eq!(dsv(&lab, 0, 0), v(&[0, 70]));
}

/// Reference: 000 Algorithm 5.2 line 8.
#[test]
fn alg_5_2_line_8_a_writes_time_is_above_ds_and_dsv_m() {
    let mut lab = spartan(2, 1);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    remember(&mut lab, s, Past { ds: v(&[0, 3_000]), dsv: v(&[]) });
    assert_eq!(lab.put(s, &x, "1"), at(3_000).next(), "above every dependency, with no wait");
    lab.ask(server(0, 0), Request::Get(x.clone(), v(&[5_000, 9_000])));
    assert_eq!(lab.put(t, &x, "2"), at(5_000).next(), "above the local entry of DSV, and only that");
}

/// Reference: 000 Algorithm 5.2 lines 9 and 23 to 29.
#[test]
fn alg_5_2_lines_23_to_29_the_hybrid_clock_follows_time_and_never_repeats() {
    let mut lab = spartan(1, 1);
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    let mut stamps = Vec::new();
    for now in [1_000, 1_000, 900, 2_000, 2_000] {
        lab.set_clock(p, now);
        stamps.push(lab.put(s, &x, "v"));
    }
    let first = at(1_000);
    assert_eq!(stamps, [first, first.next(), first.next().next(), at(2_000), at(2_000).next()]);
}

/// Reference: 000 Algorithm 5.2 lines 10 to 19.
#[test]
fn alg_5_2_lines_10_to_19_a_version_is_stored_answered_and_sent_to_every_peer() {
    let mut lab = spartan(3, 2);
    let (s, x) = (lab.client(1), lab.key("x", 1));
    assert_eq!(text(&lab.run(s, put(&x, "1"))), "1000@B");
    let stored: Vec<_> = lab.store(server(1, 1)).chain(&x).map(|d| d.stamp).collect();
    assert_eq!(stored, [Stamp::new(at(1_000), DcId(1))]);
    assert!(lab.deliver(server(1, 1), server(0, 1)) && lab.deliver(server(1, 1), server(2, 1)));
    assert!(!lab.deliver(server(1, 1), server(0, 1)) && !lab.deliver(server(1, 0), server(0, 0)));
}

/// Reference: 000 Algorithm 5.2 lines 20 to 22.
#[test]
fn alg_5_2_lines_20_to_22_a_version_that_arrives_is_stored_and_its_time_noted() {
    let mut lab = spartan(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.put(s, &x, "1");
    lab.deliver(server(0, 0), server(1, 0));
    assert_eq!(lab.store(server(1, 0)).chain(&x).count(), 1);
    lab.fire(server(1, 0), Timer::Theta);
    assert_eq!(dsv(&lab, 1, 0), v(&[1_000, 0]));
}

/// Reference: 000 Algorithm 5.3 lines 1 and 2.
#[test]
fn alg_5_3_line_2_dsv_is_the_entry_wise_minimum_and_never_falls() {
    let mut lab = spartan(2, 3);
    let s = lab.client(1);
    for (us, partition) in [(2_000, 0), (3_000, 1), (4_000, 2)] {
        lab.set_clocks(us);
        let key = lab.key("x", partition);
        lab.put(s, &key, "v");
    }
    lab.round(4_000, &[Timer::Theta]);
    lab.round(4_000, &[Timer::Theta]);
    assert_eq!([0, 1, 2].map(|p| dsv(&lab, 0, p)), [(); 3].map(|()| v(&[0, 2_000])));
    lab.restart(server(0, 0)); // the root has forgotten
    lab.round(4_000, &[Timer::Theta]);
    assert_eq!(dsv(&lab, 0, 2), v(&[0, 2_000]));
}

/// Reference: 000 Algorithm 5.3 lines 3 to 7 and 10 to 14.
#[test]
fn alg_5_3_lines_3_to_7_a_server_that_sent_nothing_for_delta_sends_its_clock() {
    let mut lab = spartan(2, 1);
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    lab.put(s, &x, "1");
    lab.deliver_all();
    lab.fire(p, Timer::Delta);
    assert!(!lab.deliver(p, server(1, 0)), "a version was sent in the past Δ");
    lab.set_clock(p, 6_000);
    lab.fire(p, Timer::Delta);
    assert!(lab.deliver(p, server(1, 0)));
    assert!(lab.transcript.ends_with("B/0 <- A/0 heartbeat 6000\n"));
    assert_eq!(lab.put(s, &x, "2"), at(6_000).next(), "what follows lies above");
}

/// Reference: 000 Algorithm 5.3 lines 8 and 9.
#[test]
fn alg_5_3_lines_8_and_9_a_heartbeat_is_noted() {
    let mut lab = spartan(2, 1);
    lab.fire(server(0, 0), Timer::Delta);
    lab.deliver(server(0, 0), server(1, 0));
    lab.fire(server(1, 0), Timer::Theta);
    assert_eq!(dsv(&lab, 1, 0), v(&[1_000, 0]));
}

/// Reference: 000 Algorithm 5.4 lines 3, 10 and 12.
#[test]
fn alg_5_4_lines_10_to_12_the_snapshot_is_dsv_after_merging_the_sessions_dsv_and_ds() {
    let mut lab = spartan(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    remember(&mut lab, s, Past { ds: v(&[30, 40]), dsv: v(&[50, 20]) });
    lab.begin(s, rotx(&[&x, &y]));
    assert!(lab.transcript.contains("at: [50 40]"));
    assert_eq!(dsv(&lab, 0, 0), v(&[50, 40]));
}

/// Reference: 000 Algorithm 5.4 lines 5, 6 and 13 to 18.
#[test]
fn alg_5_4_lines_13_to_18_every_partition_is_asked_once_and_dependencies_are_merged() {
    let mut lab = spartan(1, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys: Vec<Key> = [("a", 0), ("b", 1), ("c", 2), ("d", 1)].map(|(k, p)| lab.key(k, p)).into();
    for (i, key) in keys.iter().enumerate() {
        lab.set_clocks(2_000 + 10 * i as u64);
        lab.put(s, key, &i.to_string());
    }
    stabilise(&mut lab, 9_000);
    let asked: Vec<&Key> = [3, 2, 1, 0, 3].into_iter().map(|i| &keys[i]).collect();
    assert_eq!(lab.rotx(t, &asked), "3 2 1 0 3");
    assert_eq!(lab.transcript.matches("-> A/1 SliceReq").count(), 1);
    assert_eq!(lab.token(t).past.ds, v(&[2_030]));
    assert_eq!(lab.rotx(t, &[]), "");
}

/// Reference: 000 Algorithm 5.4 lines 20 and 21.
#[test]
fn alg_5_4_line_21_a_slice_lifts_the_local_entry_of_dsv_and_no_other() {
    let mut lab = spartan(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    remember(&mut lab, s, Past { ds: v(&[]), dsv: v(&[70, 80]) });
    lab.rotx(s, &[&x, &y]);
    assert_eq!(dsv(&lab, 0, 1), v(&[70, 0]));
}

/// Reference: 000 Algorithm 5.4 lines 22 to 24: local versions of others are not in a snapshot before their
/// time is, and the session's own always are.
#[test]
fn alg_5_4_line_22_a_slice_reads_what_the_snapshot_covers_wherever_it_was_written() {
    let mut lab = spartan(1, 1);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    lab.put(s, &x, "1");
    assert_eq!((lab.rotx(t, &[&x]), lab.rotx(s, &[&x])), ("-".into(), "1".into()));
}

/// Reference: 000 Algorithm 5.4 line 22: every entry of `maxDS(d.ds, {⟨d.sr, d.ut⟩})`.
#[test]
fn alg_5_4_line_22_a_slice_tests_dependencies_and_the_versions_own_time() {
    for (sv, seen) in [(v(&[0, 1_000, 699]), "-"), (v(&[0, 999, 700]), "-"), (v(&[0, 1_000, 700]), "1")] {
        let mut lab = spartan(3, 1);
        let (s, t, x) = (lab.client(1), lab.client(0), lab.key("x", 0));
        remember(&mut lab, s, Past { ds: v(&[0, 0, 700]), dsv: v(&[]) });
        lab.put(s, &x, "1");
        lab.deliver_all();
        remember(&mut lab, t, Past { ds: v(&[]), dsv: sv });
        assert_eq!(lab.rotx(t, &[&x]), seen);
    }
}

/// A transaction reads `k1`, which is written then, and after it `k2`; its slice of `k2` comes last. The clock of
/// the coordinator is ahead, so the snapshot lies ahead of the other servers' clocks.
fn torn(between: impl FnOnce(&mut Lab<CausalSpartanX>)) -> String {
    let mut lab = lab(1, 3);
    let (reader, writer) = (lab.client(0), lab.client(0));
    let (k0, k1, k2) = (lab.key("k", 0), lab.key("k", 1), lab.key("k", 2));
    lab.set_clock(server(0, 0), 5_000);
    lab.put(reader, &k0, "0");
    lab.begin(reader, rotx(&[&k0, &k1, &k2]));
    lab.deliver_message(server(0, 0), server(0, 1));
    between(&mut lab);
    lab.put(writer, &k1, "1");
    lab.put(writer, &k2, "2");
    text(&lab.finish(reader))
}

/// Reference: 000 Algorithm 5.4 line 21, and 5.2 line 8: what they are for.
#[test]
fn alg_5_4_line_21_and_5_2_line_8_keep_later_writes_out_of_a_snapshot() {
    assert_eq!(torn(|_| ()), "0 - -");
    assert_eq!(without(&[SLICE_LIFTS], || torn(|_| ())), "0 - 2", "the effect without its cause");
    assert_eq!(without(&[PUT_ABOVE_DSV], || torn(|_| ())), "0 - 2", "the effect without its cause");
}

/// D2: what a slice promised holds after a restart, too.
#[test]
fn d2_a_restart_between_two_slices_does_not_tear_a_snapshot() {
    let slice_then_restart = |lab: &mut Lab<CausalSpartanX>| {
        lab.report(server(0, 1), server(0, 0));
        lab.restart(server(0, 1));
    };
    assert_eq!(torn(slice_then_restart), "0 - -");
}

/// Reference: PROTOCOLS E-3, event by event.
#[test]
fn e_3_what_a_session_read_says_nothing_about_the_other_partitions() {
    fn trace() -> [String; 3] {
        let mut lab = lab(2, 2);
        let (c0, c3, c1) = (lab.client(0), lab.client(0), lab.client(1));
        let (x, y, z) = (lab.key("x", 0), lab.key("y", 1), lab.key("z", 0));
        lab.put(c3, &y, "cause"); // 2
        lab.set_clocks(1_001);
        lab.put(c0, &z, "z"); // 1
        lab.deliver(server(0, 0), server(1, 0)); // 3
        lab.set_clocks(1_002);
        lab.put(c3, &x, "effect"); // 4
        let seen = lab.get(c1, &z); // 5
        lab.put(c1, &z, "again"); // 6
        lab.deliver(server(0, 0), server(1, 0)); // 7
        [seen, lab.get(c1, &x), lab.get(c1, &y)] // 8, 9
    }
    assert_eq!(trace(), ["-", "-", "-"]);
    assert_eq!(
        as_published("causal-spartan-x-published", trace),
        ["z", "effect", "-"],
        "the effect without its cause, as published"
    );
}

/// A local version that depends on a remote one is read where DSV is behind, and then what it depends on.
fn behind(then: impl FnOnce(&mut Lab<CausalSpartanX>)) -> String {
    let mut lab = lab(2, 2);
    let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
    let (x, y, z) = (lab.key("x", 1), lab.key("y", 0), lab.key("z", 1));
    lab.put(c1, &z, "remote");
    lab.put(c1, &y, "remote");
    lab.deliver_all();
    stabilise_root_of_a(&mut lab, 9_000);
    assert_eq!(lab.get(c0, &y), "remote");
    lab.put(c0, &x, "local");
    then(&mut lab);
    assert_eq!(lab.get(c2, &x), "local");
    lab.get(c2, &z)
}

/// Reference: 000 Algorithm 5.2 line 7: it is what makes E-1 absent here.
#[test]
fn alg_5_2_line_7_is_why_a_reader_of_a_local_version_finds_what_it_depends_on() {
    assert_eq!((behind(|_| ()), without(&[PUT_MERGES_DS], || behind(|_| ()))), ("remote".into(), "-".into()));
}

/// Reference: PROTOCOLS E-12. D2.
#[test]
fn e_12_a_restart_recovers_the_dsv_that_versions_written_here_need() {
    let crash = server(0, 1);
    assert_eq!(behind(|lab| lab.restart(crash)), "remote");
    assert_eq!(without(&[STABLE_SURVIVES], || behind(|_| ())), "remote", "without a restart");
    assert_eq!(without(&[STABLE_SURVIVES], || behind(|lab| lab.restart(crash))), "-");
}

/// Reference: PROTOCOLS E-13.
#[test]
fn e_13_a_token_brings_its_dependencies_elsewhere_and_its_dsv_only_home() {
    /// x depends on y; only x has reached data centre B. A session that saw neither moves from A to B.
    fn moved() -> [String; 2] {
        let mut lab = lab(2, 2);
        let (writer, mover, arrived) = (lab.client(0), lab.client(0), lab.client(1));
        let (x, y, other) = (lab.key("x", 0), lab.key("y", 1), lab.key("other", 0));
        lab.put(writer, &y, "cause");
        lab.put(writer, &x, "effect");
        lab.deliver(server(0, 0), server(1, 0));
        stabilise_root_of_a(&mut lab, 9_000);
        lab.get(mover, &other);
        let token = lab.token(mover);
        assert_eq!((&token.past.ds, token.past.dsv[DcId(0)] >= at(9_000)), (&v(&[]), true));
        lab.adopt(arrived, token);
        assert_eq!(lab.finish(arrived), Outcome::Adopted);
        [lab.get(arrived, &x), lab.get(arrived, &y)]
    }
    assert_eq!(moved(), ["-", "-"]);
    assert_eq!(without(&[STABLE_STAYS_HOME], moved), ["effect", "-"], "an effect without its cause");
}

/// D3.
#[test]
fn d3_a_session_that_moves_waits_until_the_region_covers_it_or_is_told_that_it_is_stale() {
    let mut lab = spartan(2, 2);
    let (s, x) = (lab.client(0), lab.key("x", 1));
    lab.put(s, &x, "1");
    let (patient, unlucky, back) = (lab.client(1), lab.client(1), lab.client(0));
    let home = lab.token(patient).home;
    lab.adopt(back, Token { home, past: Past { ds: v(&[1_000]), dsv: v(&[]) } });
    assert_eq!(lab.finish(back), Outcome::Adopted, "what was written here is here");
    lab.adopt(unlucky, lab.token(s));
    lab.set_clocks(2_001_000);
    lab.fire(server(1, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(unlucky)), "stale session");
    assert_eq!(lab.token(unlucky).past, Past::default());
    lab.adopt(patient, lab.token(s));
    assert_eq!((lab.outcome(patient), lab.protocol(server(1, 0)).status().blocked), (None, 1));
    stabilise(&mut lab, 2_009_000);
    assert_eq!(lab.finish(patient), Outcome::Adopted);
    assert_eq!((lab.token(patient).past.ds, lab.get(patient, &x)), (v(&[1_000]), "1".into()));
}

/// D4.
#[test]
fn d4_collection_stays_below_running_snapshots_and_below_what_a_crash_leaves() {
    let mut lab = spartan(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &y, "old");
    stabilise(&mut lab, 9_000);
    lab.begin(t, Op::Rotx { keys: vec![x, y.clone()] });
    let (root, leaf) = (server(0, 0), server(0, 1));
    // The slice is slow: everything else overtakes it.
    for us in [500_000, 1_000_000, 1_500_000] {
        lab.set_clocks(us);
        lab.put(s, &y, "new");
        for timer in [Timer::Delta, Timer::Delta, Timer::Theta] {
            lab.fire(leaf, timer);
            lab.fire(root, timer);
            lab.report(leaf, root);
        }
        lab.overtake(root, leaf);
    }
    lab.fire(leaf, Timer::Theta);
    assert_eq!(text(&lab.finish(t)), "- old");
    assert_eq!(lab.store(leaf).chain(&y).count(), 4, "nothing could go");
    stabilise(&mut lab, 2_000_000);
    stabilise(&mut lab, 2_500_000);
    stabilise(&mut lab, 3_000_000);
    assert_eq!(lab.store(leaf).chain(&y).count(), 1);
}

/// D4: what is kept is readable in every snapshot that may still be asked for.
#[test]
fn d4_a_version_whose_dependencies_are_not_stable_replaces_nothing() {
    let mut lab = spartan(3, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(b, &x, "old");
    remember(&mut lab, b, Past { ds: v(&[0, 0, 5_000]), dsv: v(&[]) });
    lab.put(b, &x, "new");
    for us in [500_000, 1_000_000, 1_500_000, 2_000_000] {
        lab.set_clocks(us); // and nothing comes from C
        for p in [server(1, 0), server(0, 0)] {
            lab.fire(p, Timer::Delta);
            lab.fire(p, Timer::Delta);
            lab.deliver_between(1, 0);
        }
        lab.fire(server(0, 0), Timer::Theta);
    }
    assert!(lab.hard(server(0, 0)).stable[DcId(1)] > at(5_000));
    assert_eq!(lab.get(a, &x), "old");
}

/// D5: without DSV the session would know the dependencies of what decided, and not find them.
#[test]
fn d5_a_conditional_update_takes_the_servers_dsv_to_its_session() {
    let mut lab = spartan(2, 2);
    let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
    let (lock, y, z) = (lab.key("lock", 0), lab.key("y", 0), lab.key("z", 1));
    lab.put(c1, &z, "remote");
    lab.put(c1, &y, "remote");
    lab.deliver_all();
    stabilise_root_of_a(&mut lab, 9_000);
    lab.get(c0, &y);
    assert!(lab.put_new(c0, &lock, "mine").is_some());
    assert_eq!(lab.put_new(c2, &lock, "mine"), None);
    assert!(lab.token(c2).past.ds[DcId(1)] > Hlc::ZERO);
    assert_eq!(lab.get(c2, &z), "remote");
}

#[test]
fn d5_a_conditional_update_depends_on_and_wins_over_what_it_saw() {
    let mut lab = spartan(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.set_clock(server(1, 0), 8_000);
    lab.put(b, &x, "1");
    lab.remove(b, &x);
    stabilise(&mut lab, 9_000);
    let ut = lab.put_new(a, &x, "2").expect("a tombstone is nothing");
    let meta = lab.store(server(0, 0)).chain(&x).next().unwrap().meta.clone();
    assert!(ut > at(8_000).next() && meta[DcId(1)] == at(8_000).next());
}

#[test]
fn a_walk_finds_what_get_finds_and_its_session_depends_on_it() {
    let mut lab = spartan(2, 1);
    let (a, b) = (lab.client(0), lab.client(1));
    for key in ["mine", "gone", "theirs"] {
        lab.put(if key == "theirs" { b } else { a }, &Key::from(key), "v");
    }
    lab.remove(a, &Key::from("gone"));
    lab.deliver_all();
    let t = lab.client(0);
    assert_eq!(lab.scan(t, 0), "mine 1");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.scan(t, 0), "mine theirs 2");
    assert_eq!(lab.token(t).past.ds[DcId(1)], at(1_000));
}
