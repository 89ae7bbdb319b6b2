//! Tidemark (PROTOCOLS §19): its steps one by one, and what each fence is for.

mod bases;
mod commands;
mod edge;
mod exclusion;
mod lasting;
mod proposals;
mod transactions;

use crate::at;
use tidemark_contract::core::{DcId, Hlc, Key, Outcome, Update, Vector, Write};
use tidemark_contract::lab::{rotx, server, text};
use tidemark_contract::request::Request as Of;
use tidemark_contract::{Lab, Protocol, Rule, Token, without};
use tidemark_protocols::Tidemark;
use tidemark_protocols::tidemark::{
    FENCE_SURVIVES, GET_FENCES, Meta, Need, PUT_ABOVE_FENCE, PUT_TAKES_FENCE, Params, Past, Request,
    SLICE_FENCES, SLICE_LIFTS, Timer,
};

/// Requires that a search finds something wrong without each of the rules, in these schedules first.
fn each_is_missed<T: std::fmt::Debug>(
    rules: &[(Rule, u64)],
    search: impl Fn(std::ops::Range<u64>) -> Option<T>,
) {
    let look = |rule, first| without(&[rule], || search(tidemark_patience::known(first, 4_000)));
    let found = rules.iter().map(|(rule, first)| (rule, look(*rule, *first)));
    let found: Vec<_> = found.inspect(|(rule, found)| println!("without {rule}: {found:?}")).collect();
    let innocent: Vec<_> = found.iter().filter(|(_, found)| found.is_none()).map(|(rule, _)| rule).collect();
    assert!(innocent.is_empty(), "nothing is wrong without these: {innocent:?}");
}

fn lab(dcs: usize, partitions: usize) -> Lab<Tidemark> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Tidemark> {
    lab(dcs, partitions)
}

fn v(micros: &[u64]) -> Vector {
    Vector::from_entries(micros.iter().map(|us| at(*us)))
}

fn past(ds: &[u64], dsv: &[u64]) -> Past {
    Past { ds: v(ds), dsv: v(dsv), l: Hlc::ZERO }
}

/// What a version needs here, and nothing of transactions.
fn needs(stable: &[u64]) -> Option<Box<Need>> {
    Some(Box::new(Need { stable: v(stable), ..Need::default() }))
}

/// A GET of a session that brings this, and knows of no transaction.
fn get(key: Key, dsv: Vector) -> Request {
    Request::Of(Of::Get(key, (dsv, Hlc::ZERO)))
}

fn dsv(lab: &Lab<Tidemark>, dc: u8, partition: u16) -> Vector {
    lab.protocol(server(dc, partition)).status().stable
}

/// What is stored beside the newest version of `key`.
fn meta(lab: &Lab<Tidemark>, dc: u8, partition: u16, key: &Key) -> Meta {
    lab.store(server(dc, partition)).chain(key).next().expect("there is a version").meta.clone()
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<Tidemark>, session: usize, past: Past) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// Heartbeats everywhere at `us`, twice, so that Δ has passed without a write; then θ.
fn stabilise(lab: &mut Lab<Tidemark>, us: u64) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta]);
}

/// Lets data centre A hear heartbeats from everywhere, and its root, but not its leaf, stabilise.
fn stabilise_root_of_a(lab: &mut Lab<Tidemark>, us: u64) {
    lab.set_clocks(us);
    for p in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
        lab.fire(p, Timer::Delta);
        lab.fire(p, Timer::Delta);
    }
    lab.deliver_between(1, 0);
    lab.fire(server(0, 1), Timer::Theta);
    lab.report(server(0, 1), server(0, 0));
}

#[test]
fn step_1_a_get_raises_dsv_fence_included_and_never_lowers_it() {
    let mut lab = sound(2, 1);
    for (carried, after) in [(v(&[0, 5]), v(&[0, 5])), (v(&[4, 3]), v(&[4, 5]))] {
        lab.ask(server(0, 0), get(Key::from("x"), carried));
        assert_eq!(dsv(&lab, 0, 0), after);
    }
}

#[test]
fn step_2_a_get_tests_no_time_and_of_dependencies_those_elsewhere_by_dsv_and_those_here_by_l() {
    let mut lab = sound(3, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    remember(&mut lab, b, past(&[900, 0, 400], &[]));
    lab.put(b, &x, "1");
    lab.deliver_all();
    for (dsv, l, seen) in
        [(v(&[0, 0, 400]), 899, "-"), (v(&[0, 0, 399]), 900, "-"), (v(&[0, 0, 400]), 900, "1")]
    {
        let get = Request::Of(Of::Get(x.clone(), (dsv, at(l))));
        let reply = lab.ask(server(0, 0), get).expect("a GET does not wait");
        assert_eq!((text(&reply.0), reply.1.l), (seen.into(), if seen == "1" { at(900) } else { Hlc::ZERO }));
        lab.restart(server(0, 0));
    }
    remember(&mut lab, a, past(&[0, 0, 700], &[]));
    lab.set_clocks(2_000);
    lab.put(a, &x, "2");
    let other = lab.client(0);
    assert_eq!(lab.get(other, &x), "2", "what was written here is read at once");
}

#[test]
fn step_3_the_reply_tells_the_version_with_its_dependencies_and_dsv() {
    let mut lab = sound(3, 1);
    let (s, t, x) = (lab.client(1), lab.client(1), lab.key("x", 0));
    remember(&mut lab, s, past(&[30, 20, 10], &[0, 0, 5]));
    lab.put(s, &x, "1");
    remember(&mut lab, t, past(&[], &[50, 60]));
    lab.get(t, &x);
    assert_eq!(lab.token(t).past, past(&[30, 1_000, 10], &[50, 60, 5]));
}

#[test]
fn step_4_a_put_merges_the_sessions_dsv_and_never_its_ds() {
    let mut lab = sound(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, s, past(&[0, 70], &[5, 60]));
    lab.put(s, &x, "1");
    assert_eq!(dsv(&lab, 0, 0), v(&[5, 60]));
}

#[test]
fn step_5_a_writes_time_is_above_its_dependencies_and_above_the_fence() {
    let mut lab = sound(2, 1);
    let [s, t, u] = [(); 3].map(|()| lab.client(0));
    let x = lab.key("x", 0);
    remember(&mut lab, s, past(&[0, 3_000], &[]));
    assert_eq!(lab.put(s, &x, "1"), at(3_000).next(), "above every dependency, with no wait");
    remember(&mut lab, t, past(&[], &[5_000, 9_000]));
    assert_eq!(lab.put(t, &x, "2"), at(5_000).next(), "above the fence that it brings, and only that");
    lab.ask(server(0, 0), get(x.clone(), v(&[7_000])));
    assert_eq!(lab.put(u, &x, "3"), at(7_000).next(), "above the fence that is there");
}

#[test]
fn step_6_a_version_keeps_what_was_stable_of_its_dependencies_where_that_is_less() {
    let mut lab = sound(3, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, s, past(&[0, 70, 80], &[0, 60, 90]));
    lab.put(s, &x, "1");
    assert_eq!(meta(&lab, 0, 0, &x), Meta { ds: v(&[0, 70, 80]), need: needs(&[0, 60, 80]), edge: None });
    remember(&mut lab, s, past(&[], &[0, 70]));
    lab.put(s, &x, "2");
    assert_eq!(
        meta(&lab, 0, 0, &x),
        Meta { ds: v(&[1_000, 70, 80]), need: None, edge: None },
        "no exceptions"
    );
}

#[test]
fn step_7_the_session_learns_what_is_needed_and_peers_do_not() {
    let mut lab = sound(3, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.ask(server(0, 0), get(x.clone(), v(&[0, 65, 100])));
    remember(&mut lab, s, past(&[0, 70, 80], &[0, 60]));
    lab.put(s, &x, "1");
    assert_eq!(lab.token(s).past, past(&[1_000, 70, 80], &[0, 65, 80]));
    lab.deliver_all();
    assert_eq!(meta(&lab, 1, 0, &x), Meta { ds: v(&[0, 70, 80]), need: None, edge: None });
}

/// Puts the clock of A/0 so far back that its snapshots begin at what their sessions bring.
fn slow_coordinator(lab: &mut Lab<Tidemark>) {
    lab.jump_clock(server(0, 0), 0);
}

#[test]
fn step_8_the_snapshot_is_dsv_after_merging_the_sessions_and_covers_its_own_writes() {
    let mut lab = sound(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    slow_coordinator(&mut lab);
    remember(&mut lab, s, past(&[70, 90], &[50, 20]));
    lab.begin(s, rotx(&[&x, &y]));
    assert!(lab.transcript.contains("at: [70 20 0]"));
    assert_eq!(dsv(&lab, 0, 0), v(&[70, 20]));
}

#[test]
fn step_8_a_snapshot_begins_at_the_clock_and_so_has_what_was_acknowledged_before() {
    let mut lab = sound(2, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &y, "1");
    lab.set_clock(server(0, 0), 1_001);
    assert_eq!(lab.rotx(t, &[&x, &y]), "- 1");
    assert_eq!(dsv(&lab, 0, 1), v(&[1_001, 0]));
}

#[test]
fn step_9_a_slice_lifts_the_fence_and_nothing_else() {
    let mut lab = sound(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    slow_coordinator(&mut lab);
    remember(&mut lab, s, past(&[], &[70, 80]));
    lab.rotx(s, &[&x, &y]);
    assert_eq!(dsv(&lab, 0, 1), v(&[70, 0]));
}

#[test]
fn step_9_a_remote_version_is_in_a_snapshot_that_covers_its_dependencies() {
    for (sv, seen) in [(&[499, 0, 700], "-"), (&[500, 0, 699], "-"), (&[500, 0, 700], "1")] {
        let mut lab = sound(3, 1);
        let (s, t, x) = (lab.client(1), lab.client(0), lab.key("x", 0));
        remember(&mut lab, s, past(&[500, 0, 700], &[]));
        lab.put(s, &x, "1");
        lab.deliver_all();
        slow_coordinator(&mut lab);
        remember(&mut lab, t, Past { l: at(sv[0]), ..past(&[], sv) });
        assert_eq!(lab.rotx(t, &[&x]), seen);
    }
}

#[test]
fn step_9_a_a_local_version_is_in_a_snapshot_that_covers_its_dependencies() {
    for (sv, seen) in [(&[499, 700], "- -"), (&[500, 699], "- -"), (&[500, 700], "- 1")] {
        let mut lab = sound(2, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 1), lab.key("y", 0));
        remember(&mut lab, s, past(&[500, 700], &[0, 700]));
        lab.put(s, &x, "1");
        slow_coordinator(&mut lab);
        remember(&mut lab, t, past(&[], sv));
        assert_eq!(lab.rotx(t, &[&y, &x]), seen);
    }
}

#[test]
fn step_9_b_a_local_version_under_the_fence_is_in_a_snapshot_that_covers_its_need() {
    for (sv, seen) in [(&[999, 60], "- -"), (&[1_000, 59], "- -"), (&[1_000, 60], "- 1")] {
        let mut lab = sound(2, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 1), lab.key("y", 0));
        remember(&mut lab, s, past(&[0, 70], &[0, 60]));
        lab.put(s, &x, "1");
        slow_coordinator(&mut lab);
        remember(&mut lab, t, past(&[], sv));
        assert_eq!(lab.rotx(t, &[&y, &x]), seen);
        assert_eq!(lab.rotx(s, &[&y, &x]), "- 1", "a session's own writes always are");
    }
}

#[test]
fn step_10_a_transaction_takes_along_dependencies_snapshot_and_the_largest_fence() {
    let mut lab = sound(2, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys = [("a", 0), ("b", 1), ("c", 2)].map(|(k, p)| lab.key(k, p));
    remember(&mut lab, s, past(&[0, 40], &[0, 40]));
    lab.put(s, &keys[1], "1");
    lab.ask(server(0, 2), get(keys[2].clone(), v(&[900])));
    slow_coordinator(&mut lab);
    remember(&mut lab, t, past(&[], &[500, 50]));
    assert_eq!(lab.rotx(t, &[&keys[0], &keys[1], &keys[2]]), "- 1 -");
    assert_eq!(lab.token(t).past, past(&[1_000, 40], &[900, 50]));
    assert_eq!(lab.rotx(t, &[]), "");
}

/// A transaction reads `k1`, and then something happens, and its slice of `k2` comes last. The clock of the
/// coordinator is ahead, so the snapshot lies ahead of the other servers' clocks.
fn torn(between: impl FnOnce(&mut Lab<Tidemark>, &[Key; 3])) -> String {
    let mut lab = lab(2, 3);
    let reader = lab.client(0);
    let keys = [0, 1, 2].map(|p| lab.key("k", p));
    lab.set_clock(server(0, 0), 5_000);
    lab.put(reader, &keys[0], "0");
    lab.begin(reader, rotx(&[&keys[0], &keys[1], &keys[2]]));
    lab.deliver_message(server(0, 0), server(0, 1));
    lab.report(server(0, 1), server(0, 0));
    between(&mut lab, &keys);
    text(&lab.finish(reader))
}

/// `k1` is written in another data centre, and arrives.
fn arrives(lab: &mut Lab<Tidemark>, k1: &Key) {
    let writer = lab.client(1);
    lab.put(writer, k1, "1");
    lab.deliver(server(1, 1), server(0, 1));
}

fn written_here(lab: &mut Lab<Tidemark>, [_, k1, k2]: &[Key; 3]) {
    let writer = lab.client(0);
    lab.put(writer, k1, "1");
    lab.put(writer, k2, "2");
}

fn read_here(lab: &mut Lab<Tidemark>, [_, k1, k2]: &[Key; 3]) {
    arrives(lab, k1);
    let other = lab.client(0);
    assert_eq!(lab.get(other, k1), "1");
    lab.put(other, k2, "2");
}

fn read_here_after_a_restart(lab: &mut Lab<Tidemark>, keys: &[Key; 3]) {
    lab.restart(server(0, 1));
    read_here(lab, keys);
}

fn read_by_a_transaction(lab: &mut Lab<Tidemark>, [_, k1, k2]: &[Key; 3]) {
    arrives(lab, k1);
    let other = lab.client(0);
    lab.begin(other, rotx(&[k2, k1]));
    for (from, to) in [(2, 2), (2, 2), (2, 1), (1, 2)] {
        assert!(lab.deliver_message(server(0, from), server(0, to)));
    }
    assert_eq!(text(&lab.outcome(other).expect("both slices are in")), "- 1");
    lab.put(other, k2, "2");
}

#[test]
fn steps_5_and_9_keep_what_is_written_later_out_of_a_snapshot() {
    assert_eq!(torn(written_here), "0 - -");
    assert_eq!(without(&[SLICE_LIFTS], || torn(written_here)), "0 - 2", "the effect without its cause");
    assert_eq!(without(&[PUT_ABOVE_FENCE], || torn(written_here)), "0 - 2", "the effect without its cause");
}

#[test]
fn steps_3_and_4_keep_what_depends_on_later_arrivals_out_of_a_snapshot() {
    assert_eq!(torn(read_here), "0 - -");
    assert_eq!(without(&[GET_FENCES], || torn(read_here)), "0 - 2", "the effect without its cause");
    assert_eq!(without(&[PUT_TAKES_FENCE], || torn(read_here)), "0 - 2", "the effect without its cause");
}

#[test]
fn step_10_keeps_what_depends_on_later_arrivals_out_of_a_snapshot() {
    assert_eq!(torn(read_by_a_transaction), "0 - -");
    assert_eq!(
        without(&[SLICE_FENCES], || torn(read_by_a_transaction)),
        "0 - 2",
        "the effect without its cause"
    );
}

/// D1: the fence stands after a crash, too.
#[test]
fn d1_a_restart_between_a_slice_and_a_read_does_not_tear_a_snapshot() {
    assert_eq!(torn(read_here_after_a_restart), "0 - -");
    assert_eq!(
        without(&[FENCE_SURVIVES], || torn(read_here_after_a_restart)),
        "0 - 2",
        "the effect without its cause"
    );
}
