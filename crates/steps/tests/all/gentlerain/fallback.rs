//! Algorithm 4 line 14 and D7: transactions that do not wait for `gst`, and what each of their rules is for.

use super::*;
use tidemark_protocols::gentlerain::{
    FENCE_SURVIVES, LOCAL_NEEDS_GST, ONE_GST, PUT_TELLS_GST, ROTX_COVERS_DT, SLICE_FENCES,
};

/// `dcs` data centres of `partitions` partitions whose transactions fall back if `gst` is more than `alpha` behind.
fn hasty(dcs: usize, partitions: usize, alpha: u64) -> Lab<GentleRain> {
    Lab::new(dcs, partitions, Params { alpha_us: Some(alpha), clock: Stamps::Hlc, ..Params::default() })
}

/// Reference: 001 Algorithm 4 line 10.
#[test]
fn alg_4_line_10_a_rotx_waits_if_gst_is_behind_by_alpha_at_most() {
    for (alpha, waits) in [(Some(1_000), true), (Some(999), false), (None, true)] {
        let mut lab = Lab::<GentleRain>::new(2, 1, Params { alpha_us: alpha, ..Params::default() });
        let (s, x) = (lab.client(0), lab.key("x", 0));
        assert_eq!(lab.put(s, &x, "1"), at(1_000));
        lab.begin(s, rotx(&[&x]));
        assert_eq!(lab.protocol(server(0, 0)).status().blocked, usize::from(waits), "α {alpha:?}");
        if waits {
            stabilise(&mut lab, 9_000);
        }
        assert_eq!(text(&lab.finish(s)), "1");
    }
}

/// D7: one round, at the `gst` of the coordinator and the `dt` of the session.
#[test]
fn d7_a_transaction_that_does_not_wait_returns_what_is_stable_and_what_its_session_has_seen() {
    fn found() -> (String, Lab<GentleRain>) {
        let mut lab = hasty(2, 2, 0);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        let (b, z) = (lab.client(1), lab.key("z", 1));
        lab.put(b, &z, "stable");
        stabilise(&mut lab, 9_000);
        lab.put(b, &z, "not yet");
        lab.deliver_all();
        lab.put(s, &x, "mine");
        lab.put(s, &y, "mine, too");
        (lab.rotx(s, &[&x, &y, &z]), lab)
    }
    let (values, lab) = found();
    assert_eq!(values, "mine mine, too stable");
    assert!(lab.transcript.contains("at: Past { dt: 9000+2, gst: 9000 }"));
    assert_eq!(without(&[ROTX_COVERS_DT], found).0, "- - stable");
}

/// A slice of a transaction is held; x and then y, which depends on it, are written at servers with slow clocks,
/// x where its slice was already read. `then` happens in between.
fn torn(then: impl FnOnce(&mut Lab<GentleRain>)) -> String {
    let mut lab = hasty(1, 3, 0);
    let (s, t) = (lab.client(0), lab.client(0));
    let (fast, x, y) = (lab.key("fast", 0), lab.key("x", 1), lab.key("y", 2));
    lab.set_clock(server(0, 0), 5_000);
    lab.put(s, &fast, "1");
    lab.begin(s, rotx(&[&fast, &x, &y]));
    lab.deliver_message(server(0, 0), server(0, 1));
    lab.report(server(0, 1), server(0, 0));
    then(&mut lab);
    lab.put(t, &x, "cause");
    lab.put(t, &y, "effect");
    text(&lab.finish(s))
}

/// D7: the fence.
#[test]
fn d7_who_was_asked_for_a_slice_stamps_above_its_snapshot() {
    assert_eq!(torn(|_| ()), "1 - -");
    assert_eq!(without(&[SLICE_FENCES], || torn(|_| ())), "1 - effect", "an effect without its cause");
}

/// D7: the fence lies below the ceiling, and stamps start above that.
#[test]
fn d7_a_fence_survives_a_restart() {
    let restart = |lab: &mut Lab<GentleRain>| lab.restart(server(0, 1));
    assert_eq!(torn(restart), "1 - -");
    assert_eq!(without(&[FENCE_SURVIVES], || torn(|_| ())), "1 - -", "without a restart");
    assert_eq!(without(&[FENCE_SURVIVES], || torn(|lab| lab.restart(server(0, 1)))), "1 - effect");
}

/// D7: on physical clocks a PUT waits until its clock has passed the fence.
#[test]
fn d7_a_put_waits_for_the_fence_as_for_its_dt() {
    let params = Params { alpha_us: Some(0), ..Params::default() };
    let mut lab = Lab::<GentleRain>::new(1, 2, params);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 5_000);
    lab.put(s, &x, "1");
    assert_eq!(lab.rotx(s, &[&x, &y]), "1 -", "no read waits");
    lab.begin(t, put(&y, "2"));
    assert_eq!(lab.due(server(0, 1), Timer::Own(Clock)), Some(5_001));
    lab.set_clock(server(0, 1), 5_001);
    lab.fire(server(0, 1), Timer::Own(Clock));
    assert_eq!(text(&lab.finish(t)), "5001@A");
}

/// The `gst` of data centre A's root is 9,000, that of its leaf 0; z was written in B and is stable. Session 0 has read
/// nothing.
fn uneven() -> (Lab<GentleRain>, Key) {
    let mut lab = hasty(2, 2, 0);
    let (b, z) = (lab.client(1), lab.key("z", 1));
    lab.put(b, &z, "remote");
    lab.deliver_all();
    lab.set_clocks(9_000);
    for p in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
        lab.fire(p, Timer::Delta);
    }
    lab.deliver_between(1, 0);
    lab.fire(server(0, 1), Timer::Theta);
    lab.report(server(0, 1), server(0, 0));
    (lab, z)
}

/// D7: what was written here needs what its writer had seen of elsewhere.
#[test]
fn d7_a_version_written_at_a_higher_gst_is_not_in_the_snapshot() {
    fn effect_and_cause() -> String {
        let (mut lab, z) = uneven();
        let (s, t) = (lab.client(0), lab.client(0));
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        lab.put(t, &x, "effect"); // at the root, whose GST has reached z
        lab.set_clock(server(0, 1), 9_500);
        lab.put(s, &y, "1"); // at the leaf, above it
        lab.rotx(s, &[&y, &x, &z])
    }
    assert_eq!(effect_and_cause(), "1 - -");
    assert_eq!(without(&[LOCAL_NEEDS_GST], effect_and_cause), "1 effect -");
}

/// D7: the snapshot has one `gst` at all servers.
#[test]
fn d7_a_slice_is_read_at_the_gst_of_its_coordinator() {
    fn effect_and_cause() -> String {
        let mut lab = hasty(2, 2, 0);
        let (s, b) = (lab.client(0), lab.client(1));
        let (y, z, mine) = (lab.key("y", 0), lab.key("z", 1), lab.key("mine", 1));
        lab.put(b, &z, "cause");
        lab.set_clocks(1_001);
        lab.put(b, &y, "effect");
        lab.deliver_all();
        lab.set_clocks(9_000);
        for p in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
            lab.fire(p, Timer::Delta);
        }
        lab.deliver_between(1, 0);
        lab.fire(server(0, 1), Timer::Theta);
        lab.report(server(0, 1), server(0, 0)); // the root knows what is stable, the leaf does not
        lab.lose_messages(server(0, 0), server(0, 1));
        lab.put(s, &mine, "1");
        lab.rotx(s, &[&mine, &y, &z])
    }
    assert_eq!(effect_and_cause(), "1 - -");
    assert_eq!(without(&[ONE_GST], effect_and_cause), "1 effect -");
}

/// D7: a session that wrote where `gst` is high brings it to the coordinator of its transaction.
#[test]
fn d7_a_put_tells_the_gst_that_its_version_needs() {
    fn own_write() -> String {
        let (mut lab, _) = uneven();
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.put(s, &x, "mine");
        lab.rotx(s, &[&y, &x])
    }
    assert_eq!(own_write(), "- mine");
    assert_eq!(without(&[PUT_TELLS_GST], own_write), "- -");
}
