//! §5.5, D10 and erratum E-11: doing without a data centre that is cut off, and taking it back.

use super::*;
use std::collections::BTreeMap;
use tidemark_contract::core::{DcId, ServerId};
use tidemark_contract::order::Order;
use tidemark_contract::removal::{Exclusion, Standing, Step};
use tidemark_protocols::gentlerain::{ADMITS_IGNORANCE, ALL_HIDE_FIRST, FETCHES, GST_JUMPS, ONE_CUT};

/// The data centre that is cut off.
pub(super) const C: DcId = DcId(2);

type Told = BTreeMap<ServerId, Standing>;

/// The servers of A and B.
pub(super) fn survivors(lab: &Lab<GentleRain>) -> std::vec::IntoIter<ServerId> {
    let partitions = (0..2).filter(|p| lab.exists(server(0, *p)));
    let all: Vec<_> = partitions.flat_map(|p| [server(0, p), server(1, p)]).collect();
    all.into_iter()
}

pub(super) fn order_one(
    lab: &mut Lab<GentleRain>,
    at: ServerId,
    round: u64,
    step: &Step,
) -> Result<Standing, String> {
    lab.order(at, &Order::Exclusion(Exclusion { dc: C, round, step: step.clone() }))
}

pub(super) fn order(lab: &mut Lab<GentleRain>, round: u64, step: &Step) -> Told {
    let all = survivors(lab);
    all.map(|at| (at, order_one(lab, at, round, step).expect("the order fits"))).collect()
}

/// Holds, and tells what to cut by.
pub(super) fn hold(lab: &mut Lab<GentleRain>) -> Step {
    let told = order(lab, 1, &Step::Hold);
    Standing::cut(&told).expect("nothing was forgotten")
}

pub(super) fn exclude(lab: &mut Lab<GentleRain>) {
    let cut = hold(lab);
    order(lab, 1, &cut);
    exchange(lab);
    order(lab, 1, &Step::Exclude);
}

pub(super) fn readmit(lab: &mut Lab<GentleRain>) -> Hlc {
    let from = Standing::from(&order(lab, 2, &Step::Hold));
    order(lab, 2, &Step::Readmit { from });
    from
}

/// What servers of A and B say to each other arrives.
fn exchange(lab: &mut Lab<GentleRain>) {
    for p in 0..2 {
        let (a, b) = (server(0, p), server(1, p));
        while lab.exists(a) && (lab.deliver_message(b, a) || lab.deliver_message(a, b)) {}
    }
    (0..2).for_each(|dc| lab.deliver_within(DcId(dc)));
}

/// Heartbeats and stabilisation in and between A and B alone; messages between them arrive, too.
pub(super) fn stabilise_survivors(lab: &mut Lab<GentleRain>, us: u64) {
    lab.set_clocks(us);
    for timer in HEARTBEAT_AND_STABILISE {
        for _ in 0..2 {
            survivors(lab).rev().for_each(|at| lab.fire(at, timer));
            [(0, 1), (1, 0)].into_iter().for_each(|(from, to)| lab.deliver_between(from, to));
            exchange(lab);
        }
    }
}

/// Reference: 001 §5.5. A and B go on without C; what C writes meanwhile shows when it is back.
#[test]
fn sec_5_5_the_others_go_on_without_a_data_centre_and_take_it_back() {
    let mut lab = rain(3, 2);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    stabilise(&mut lab, 9_000);
    lab.put(c, &x, "before");
    stabilise(&mut lab, 19_000);
    exclude(&mut lab);
    lab.set_clocks(20_000);
    lab.put(c, &x, "meanwhile");
    lab.put(b, &y, "1");
    lab.deliver_between(2, 0); // and then C is cut off
    stabilise_survivors(&mut lab, 29_000);
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 1, 1), gst(&lab, 2, 0)), (at(29_000), at(29_000), at(19_000)));
    assert_eq!((lab.get(a, &y), lab.get(a, &x)), ("1".into(), "before".into()), "C's is hidden");
    assert_eq!(lab.rotx(a, &[&x, &y]), "before 1");
    let from = readmit(&mut lab);
    assert!(from > at(29_000), "{from}");
    stabilise_survivors(&mut lab, 39_000);
    assert!(gst(&lab, 0, 0) < from, "it stops below what C has yet to announce");
    assert_eq!(lab.get(a, &x), "before");
    stabilise(&mut lab, 49_000);
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 2, 0)), (at(49_000), at(49_000)));
    assert_eq!([a, b].map(|s| lab.get(s, &x)), ["meanwhile", "meanwhile"]);
    for us in [500_000, 1_000_000, 1_500_000, 2_000_000] {
        stabilise(&mut lab, us);
    }
    assert!(
        survivors(&lab).all(|at| lab.protocol(at).status().away.is_none()),
        "nobody reads below it any more"
    );
}

/// The trace of erratum E-11: C's x and y reach B and not A; B's z depends on x. What A shows of z's cause.
fn e_11() -> [String; 2] {
    let mut lab = rain(3, 2);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
    let (x, y, z) = (lab.key("x", 0), lab.key("y", 1), lab.key("z", 1));
    lab.put(c, &x, "cause");
    lab.set_clocks(2_000);
    lab.put(c, &y, "later");
    lab.set_clocks(9_000);
    for dc in 0..3 {
        (0..2).for_each(|p| lab.fire(server(dc, p), Timer::Delta));
    }
    lab.deliver_between(2, 1);
    lab.deliver_between(0, 1);
    [1, 0].into_iter().for_each(|p| lab.fire(server(1, p), Timer::Theta));
    lab.deliver_within(DcId(1));
    assert_eq!(lab.get(b, &x), "cause", "stable in B");
    lab.set_clocks(10_000);
    lab.put(b, &z, "effect");
    exclude(&mut lab);
    for us in [20_000, 30_000] {
        stabilise_survivors(&mut lab, us);
    }
    [lab.get(a, &z), lab.get(a, &x)]
}

/// Reference: PROTOCOLS E-11.
#[test]
fn e_11_survivors_have_one_cut_and_what_is_below_it() {
    assert_eq!(e_11(), ["effect", "cause"]);
    assert_eq!(without(&[ONE_CUT], e_11), ["effect", "-"], "an effect without its cause");
    assert_eq!(without(&[FETCHES], e_11), ["effect", "-"]);
}

/// D10: a server that has been told to hold, or to cut, lets its data centre go no further, and C is left alone.
#[test]
fn d10_a_stable_time_stands_until_every_server_of_the_data_centre_excludes() {
    let mut lab = rain(3, 2);
    stabilise(&mut lab, 9_000);
    let cut = hold(&mut lab);
    stabilise(&mut lab, 19_000);
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 2, 0)), (at(9_000), at(19_000)));
    order(&mut lab, 1, &cut);
    order_one(&mut lab, server(0, 0), 1, &Step::Exclude).unwrap();
    stabilise(&mut lab, 29_000);
    assert_eq!(gst(&lab, 0, 0), at(9_000), "the other server waits");
    order_one(&mut lab, server(0, 1), 1, &Step::Exclude).unwrap();
    stabilise(&mut lab, 39_000);
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 1, 0)), (at(39_000), at(9_000)), "each data centre for itself");
    assert!(order_one(&mut lab, server(2, 0), 1, &cut).unwrap_err().contains("itself"));
}

/// C's y depends on its x; y has reached one server of A, and x nobody. One server of A is told to cut, the other is not
/// yet: whether it shows y.
fn half_cut() -> [String; 2] {
    let mut lab = rain(3, 2);
    let (a, c) = (lab.client(0), lab.client(2));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    stabilise(&mut lab, 9_000);
    lab.set_clocks(10_000);
    lab.put(c, &x, "cause");
    lab.set_clocks(10_001);
    lab.put(c, &y, "effect");
    lab.deliver(server(2, 1), server(0, 1));
    let cut = hold(&mut lab);
    order_one(&mut lab, server(0, 0), 1, &cut).unwrap();
    stabilise_survivors(&mut lab, 20_000);
    [lab.get(a, &y), lab.get(a, &x)]
}

/// Reference: PROTOCOLS E-11: all hide what is above the cut before anyone goes past it.
#[test]
fn d10_nobody_excludes_before_all_hide() {
    assert_eq!(half_cut(), ["-", "-"]);
    assert_eq!(without(&[ALL_HIDE_FIRST], half_cut), ["effect", "-"]);
}

/// C overwrites x, and in between writes y, which depends on the first x. B has everything, and has collected the first x;
/// A has y. What a reader in A sees, while one of its servers has been told to exclude C and the other has not.
fn between() -> [String; 2] {
    let mut lab = rain(3, 2);
    let (a, c) = (lab.client(0), lab.client(2));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    stabilise(&mut lab, 9_000);
    for (us, key, value) in [(500_000, &x, "1"), (500_001, &y, "after 1"), (500_002, &x, "2")] {
        lab.set_clocks(us);
        lab.put(c, key, value);
    }
    lab.deliver(server(2, 1), server(0, 1));
    for us in [510_000, 1_000_000, 1_010_000] {
        lab.set_clocks(us);
        (0..3).for_each(|dc| (0..2).for_each(|p| lab.fire(server(dc, p), Timer::Delta)));
        [0, 2].into_iter().for_each(|dc| lab.deliver_between(dc, 1));
        for p in [1, 0, 1, 0] {
            lab.fire(server(1, p), Timer::Theta);
            lab.deliver_within(DcId(1));
        }
    }
    assert_eq!(lab.store(server(1, 0)).chain(&x).count(), 1, "B has collected what it has no reader for");
    let cut = hold(&mut lab);
    order(&mut lab, 1, &cut);
    exchange(&mut lab);
    order_one(&mut lab, server(0, 0), 1, &Step::Exclude).unwrap();
    stabilise_survivors(&mut lab, 1_020_000);
    [lab.get(a, &y), lab.get(a, &x)]
}

/// D10: what was fetched is all there up to the cut, and not in between.
#[test]
fn d10_a_stable_time_jumps_over_what_a_donor_may_have_collected() {
    assert_eq!(between(), ["-", "-"]);
    assert_eq!(without(&[GST_JUMPS], between), ["after 1", "-"], "x = 2 is later, and x = 1 is gone");
}

/// Everybody has seen C's x, and has heard of C's other server by heartbeat only, when the servers of A and B crash.
fn forgotten_heartbeats() -> Result<String, String> {
    let mut lab = rain(3, 2);
    let (a, c, x) = (lab.client(0), lab.client(2), lab.key("x", 0));
    lab.put(c, &x, "seen");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.get(a, &x), "seen");
    survivors(&lab).for_each(|at| lab.restart(at));
    for at in survivors(&lab) {
        order_one(&mut lab, at, 1, &Step::Hold)?;
    }
    exclude(&mut lab);
    stabilise_survivors(&mut lab, 1_000_000);
    Ok(lab.get(a, &x))
}

/// D10: a heartbeat leaves no trace.
#[test]
fn d10_a_server_that_does_not_know_what_it_reported_before_a_crash_does_not_hold() {
    assert!(forgotten_heartbeats().unwrap_err().contains("has not heard"));
    assert_eq!(
        without(&[ADMITS_IGNORANCE], forgotten_heartbeats),
        Ok("-".into()),
        "hidden from who has seen it"
    );
}

/// D10: unless C had been silent for long before the crash, or was heard after it.
#[test]
fn d10_the_last_word_of_who_is_silent_is_durable() {
    let mut lab = rain(3, 2);
    let (a, c, x) = (lab.client(0), lab.client(2), lab.key("x", 0));
    lab.put(c, &x, "seen");
    stabilise(&mut lab, 9_000);
    stabilise_survivors(&mut lab, 500_000);
    survivors(&lab).for_each(|at| lab.restart(at));
    let Step::Cut { least, .. } = hold(&mut lab) else { panic!("it tells what to cut by") };
    assert_eq!(least[DcId(0)], at(9_000));
    exclude(&mut lab);
    stabilise_survivors(&mut lab, 1_000_000);
    assert_eq!(lab.get(a, &x), "seen");
    let mut lab = rain(3, 1);
    stabilise(&mut lab, 9_000);
    stabilise_survivors(&mut lab, 500_000);
    stabilise(&mut lab, 600_000);
    survivors(&lab).for_each(|at| lab.restart(at));
    assert!(order_one(&mut lab, server(0, 0), 1, &Step::Hold).is_err(), "it was not silent any more");
    stabilise(&mut lab, 1_100_000);
    assert!(order_one(&mut lab, server(0, 0), 1, &Step::Hold).is_ok(), "it is heard again");
}

/// D10: a server that restarts in any step is where it was.
#[test]
fn d10_a_restart_forgets_no_step() {
    let mut lab = rain(3, 2);
    let (a, c, x) = (lab.client(0), lab.client(2), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    let restart = |lab: &mut Lab<GentleRain>| survivors(lab).for_each(|at| lab.restart(at));
    let told = order(&mut lab, 1, &Step::Hold);
    restart(&mut lab);
    assert_eq!(order(&mut lab, 1, &Step::Hold), told);
    let cut = hold(&mut lab);
    order(&mut lab, 1, &cut);
    restart(&mut lab);
    order(&mut lab, 1, &Step::Exclude);
    restart(&mut lab);
    lab.set_clocks(600_000);
    lab.put(c, &x, "hidden");
    stabilise(&mut lab, 700_000);
    assert_eq!((gst(&lab, 0, 0), lab.get(a, &x)), (at(700_000), "-".into()));
    readmit(&mut lab);
    restart(&mut lab);
    stabilise_survivors(&mut lab, 800_000);
    assert_eq!(lab.get(a, &x), "-");
    stabilise(&mut lab, 2_000_000);
    assert_eq!(lab.get(a, &x), "hidden");
}
