//! D21: a data centre that is lost, and excluded for good by the others.

use super::edge::{Client, accept, base_of, command, new, read_base, set, taken, value};
use super::transactions::put_all;
use super::*;
use std::collections::BTreeMap;
use tidemark_contract::bases::GONE_IS_NOT_COUNTED;
use tidemark_contract::core::{Acceptance, Failure, ServerId, Verb};
use tidemark_contract::order::Order;
use tidemark_contract::removal::{Exclusion, Standing, Step};
use tidemark_protocols::tidemark::{
    CUT_IS_STABLE, DOUBTS_ARE_REFUSED, EXCLUSION_SURVIVES, LOST_IS_HIDDEN, MOVERS_ARE_REFUSED,
    RECORDS_ARE_EQUAL, RECORDS_END,
};

/// The data centre that is lost.
pub(super) const C: DcId = DcId(2);

type Told = BTreeMap<ServerId, Standing>;

/// The servers of A and B.
fn survivors() -> [ServerId; 4] {
    [server(0, 0), server(0, 1), server(1, 0), server(1, 1)]
}

pub(super) fn order_one(
    lab: &mut Lab<Tidemark>,
    at: ServerId,
    round: u64,
    step: &Step,
) -> Result<Standing, String> {
    lab.order(at, &Order::Exclusion(Exclusion { dc: C, round, step: step.clone() }))
}

fn order(lab: &mut Lab<Tidemark>, round: u64, step: &Step) -> Result<Told, String> {
    survivors().into_iter().map(|at| Ok((at, order_one(lab, at, round, step)?))).collect()
}

/// What of C a survivor has goes to the other one, as far as it is taken.
fn relay(lab: &mut Lab<Tidemark>) {
    lab.deliver_between(2, 0);
    lab.deliver_between(2, 1);
}

/// Holds and cuts.
fn cut(lab: &mut Lab<Tidemark>, round: u64) -> Result<Told, String> {
    let told = order(lab, round, &Step::Hold)?;
    order(lab, round, &Standing::cut(&told).expect("nothing was forgotten"))
}

fn exclude(lab: &mut Lab<Tidemark>) {
    cut(lab, 1).expect("they can");
    relay(lab);
    order(lab, 1, &Step::Exclude).expect("all have the same");
}

/// Heartbeats and stabilisation in and between A and B alone.
fn stabilise_survivors(lab: &mut Lab<Tidemark>, us: u64) {
    for us in [us, us + 200_000, us + 400_000, us + 600_000] {
        lab.set_clocks(us);
        for timer in [Timer::Delta, Timer::Theta] {
            survivors().into_iter().rev().for_each(|at| lab.fire(at, timer));
            [(0, 1), (1, 0)].into_iter().for_each(|(from, to)| lab.deliver_between(from, to));
            (0..2).for_each(|dc| lab.deliver_within(DcId(dc)));
        }
    }
}

/// C writes y, which only A gets. Somebody reads it there, and writes x.
fn poisoned() -> (Lab<Tidemark>, [Key; 2]) {
    let mut lab = sound(3, 2);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    let (a, c) = (lab.client(0), lab.client(2));
    stabilise(&mut lab, 9_000);
    lab.set_clocks(10_000);
    lab.put(c, &y, "cause");
    assert!(lab.deliver(server(2, 1), server(0, 1)));
    assert_eq!(lab.get(a, &y), "cause");
    lab.put(a, &x, "effect");
    stabilise_survivors(&mut lab, 20_000);
    (lab, [x, y])
}

/// Reference: EDGE §16. Without an exclusion what depends on something of C that half arrived shows in its own data centre only, for ever.
#[test]
fn d21_what_depends_on_what_half_arrived_shows_everywhere_once_its_origin_is_excluded() {
    let (mut lab, [x, y]) = poisoned();
    let b = lab.client(1);
    assert_eq!(lab.get(b, &x), "-", "B waits for C, which is lost");
    exclude(&mut lab);
    stabilise_survivors(&mut lab, 2_000_000);
    assert_eq!((lab.get(b, &x), lab.get(b, &y)), ("effect".into(), "cause".into()));
    assert_eq!(lab.rotx(b, &[&x, &y]), "effect cause");
    assert!(dsv(&lab, 1, 0)[C] > at(2_000_000), "nobody waits for C");
}

#[test]
fn d21_a_region_is_excluded_once_all_survivors_have_the_same_of_it() {
    let seen = || {
        let (mut lab, [x, y]) = poisoned();
        cut(&mut lab, 1).expect("they can");
        let refused = order(&mut lab, 1, &Step::Exclude);
        stabilise_survivors(&mut lab, 2_000_000);
        let b = lab.client(1);
        (refused.err(), lab.get(b, &x), lab.get(b, &y))
    };
    let (refused, x, _) = seen();
    assert!(refused.is_some_and(|why| why.contains("it has 0 of the 1 records of region C")));
    assert_eq!(x, "-");
    let (refused, x, y) = without(&[RECORDS_ARE_EQUAL], seen);
    assert_eq!((refused, x.as_str(), y.as_str()), (None, "effect", "-"), "an effect without its cause");
}

#[test]
fn d21_what_comes_late_is_not_taken() {
    let shown = || {
        let (mut lab, _) = poisoned();
        let (z, c, a, b) = (lab.key("z", 0), lab.client(2), lab.client(0), lab.client(1));
        lab.put(c, &z, "late");
        order(&mut lab, 1, &Step::Hold).expect("they hold");
        lab.deliver_between(2, 0);
        [a, b].map(|s| lab.get(s, &z))
    };
    assert_eq!(shown(), ["-", "-"]);
    assert_eq!(without(&[RECORDS_END], shown), ["late", "-"], "B will never get it");
}

/// C writes y, which nobody gets, and then z, which A gets. It writes two keys at once, and A gets one.
fn torn() -> (Lab<Tidemark>, [Key; 4]) {
    let mut lab = sound(3, 2);
    let (y, z) = (lab.key("y", 1), lab.key("z", 0));
    let (t, u) = (lab.key("t", 0), lab.key("u", 1));
    let c = lab.client(2);
    stabilise(&mut lab, 9_000);
    lab.set_clocks(10_000);
    lab.put(c, &y, "lost");
    lab.put(c, &z, "depends on it");
    let other = lab.client(2);
    lab.run(other, put_all(&[&t, &u], "half"));
    while lab.deliver(server(2, 0), server(0, 0)) {}
    (lab, [y, z, t, u])
}

#[test]
fn d21_what_may_depend_on_something_that_was_lost_shows_to_nobody() {
    let shown = || {
        let (mut lab, keys) = torn();
        exclude(&mut lab);
        stabilise_survivors(&mut lab, 2_000_000);
        let (a, b) = (lab.client(0), lab.client(1));
        let gets = [a, b].map(|s| [0, 1, 2, 3].map(|n| lab.get(s, &keys[n])));
        let all = keys.iter().collect::<Vec<_>>();
        (gets, [a, b].map(|s| lab.rotx(s, &all)))
    };
    let nothing = || [[(); 4]; 2].map(|all| all.map(|()| "-".to_string()));
    assert_eq!(shown(), (nothing(), ["- - - -".into(), "- - - -".into()]));
    let (gets, _) = without(&[LOST_IS_HIDDEN], shown);
    assert_eq!(gets[0], ["-", "depends on it", "half", "-"]);
}

/// The exclusion outlives a restart, at whatever stage.
#[test]
fn d21_an_exclusion_survives_restarts() {
    let shown = || {
        let (mut lab, [_, z, ..]) = torn();
        let restart = |lab: &mut Lab<Tidemark>| survivors().into_iter().for_each(|at| lab.restart(at));
        let told = order(&mut lab, 1, &Step::Hold).expect("they hold");
        restart(&mut lab);
        let cut = Standing::cut(&told).expect("nothing was forgotten");
        assert_eq!(order(&mut lab, 1, &Step::Hold).ok(), Some(told), "it says again what it said");
        order(&mut lab, 1, &cut).expect("it fits");
        restart(&mut lab);
        relay(&mut lab);
        restart(&mut lab);
        order(&mut lab, 1, &Step::Exclude).expect("all have the same");
        stabilise_survivors(&mut lab, 2_000_000);
        restart(&mut lab);
        let a = lab.client(0);
        lab.get(a, &z)
    };
    assert_eq!(shown(), "-");
    let survives = std::panic::catch_unwind(|| without(&[EXCLUSION_SURVIVES], shown));
    assert!(survives.is_err(), "it does not remember what it said");
}

/// C's x depends on y, both of partition 1; partition 0 has heard heartbeats of C alone. All servers of A but its root forget them, which has
/// told its leaf what is stable, and forgets it, too.
fn forgetful(deliver_first: bool) -> (Lab<Tidemark>, usize, Key) {
    let mut lab = sound(3, 2);
    let (x, y) = (lab.key("x", 1), lab.key("y", 1));
    let (a, c) = (lab.client(0), lab.client(2));
    lab.set_clocks(10_000);
    lab.put(c, &y, "1");
    lab.put(c, &x, "2");
    lab.set_clocks(12_000);
    for at in [server(2, 0), server(2, 1), server(1, 0), server(1, 1), server(0, 0), server(0, 1)] {
        lab.fire(at, Timer::Delta);
        lab.fire(at, Timer::Delta);
    }
    [2, 1].into_iter().for_each(|from| lab.deliver_between(from, 0));
    lab.fire(server(0, 1), Timer::Theta);
    lab.report(server(0, 1), server(0, 0));
    lab.fire(server(0, 0), Timer::Theta);
    if deliver_first {
        lab.deliver_within(DcId(0));
        assert_eq!(lab.get(a, &x), "2");
    }
    [0, 1].into_iter().for_each(|p| lab.restart(server(0, p)));
    (lab, a, x)
}

#[test]
fn d21_whoever_learns_after_it_held_that_more_is_stable_refuses_the_cut() {
    let cut = || {
        let (mut lab, a, x) = forgetful(false);
        let told = order(&mut lab, 1, &Step::Hold).expect("they hold");
        lab.deliver_message(server(0, 0), server(0, 1)); // what the root said before
        let before = lab.get(a, &x);
        let cut = order(&mut lab, 1, &Standing::cut(&told).expect("nothing was forgotten"));
        if cut.is_err() {
            order(&mut lab, 1, &Step::Release).expect("nobody was told to exclude");
            super::exclusion::cut(&mut lab, 2).expect("all know it now");
        }
        (before, cut.err(), lab.get(a, &x))
    };
    let (before, refused, after) = cut();
    assert!(refused.is_some_and(|why| why.contains("more that is stable of region C")));
    assert_eq!((before.as_str(), after.as_str()), ("2", "2"));
    let (before, refused, after) = without(&[CUT_IS_STABLE, DOUBTS_ARE_REFUSED], cut);
    assert_eq!((before.as_str(), refused, after.as_str()), ("2", None, "-"), "a read goes back");
}

#[test]
fn d21_a_session_that_alone_remembers_what_was_stable_is_refused() {
    let read = || {
        let (mut lab, a, x) = forgetful(true);
        exclude(&mut lab);
        lab.run(a, tidemark_contract::core::Op::Get { key: x })
    };
    let refused = read();
    assert!(matches!(refused, Outcome::Failed(Failure::StaleSession(_))), "{refused:?}");
    assert_eq!(text(&without(&[DOUBTS_ARE_REFUSED], read)), "-", "a read goes back");
}

#[test]
fn d21_a_session_of_what_was_lost_is_refused() {
    let moved = |waits: bool| {
        let (mut lab, [_, z, ..]) = torn();
        let (b, c) = (lab.client(1), lab.client(2));
        assert_eq!(lab.get(c, &z), "depends on it");
        let token = lab.token(c);
        if waits {
            lab.adopt(b, token.clone());
        }
        exclude(&mut lab);
        stabilise_survivors(&mut lab, 2_000_000);
        if !waits {
            lab.adopt(b, token);
        }
        (lab.finish(b), lab.get(b, &z))
    };
    for waits in [false, true] {
        let (adopted, _) = moved(waits);
        assert!(matches!(adopted, Outcome::Failed(Failure::StaleSession(_))), "{adopted:?}");
    }
    let (adopted, z) = without(&[MOVERS_ARE_REFUSED], || moved(false));
    assert_eq!((adopted, z.as_str()), (Outcome::Adopted, "-"), "it does not find what it has read");
}

/// A session that has read what half arrived moves between survivors, once all have it.
#[test]
fn d21_a_session_of_a_survivor_moves() {
    let (mut lab, [x, y]) = poisoned();
    let (a, b) = (lab.client(0), lab.client(1));
    assert_eq!((lab.get(a, &y), lab.get(a, &x)), ("cause".into(), "effect".into()));
    exclude(&mut lab);
    stabilise_survivors(&mut lab, 2_000_000);
    let token = lab.token(a);
    lab.adopt(b, token);
    assert_eq!((lab.finish(b), lab.get(b, &x)), (Outcome::Adopted, "effect".into()));
}

#[test]
fn d21_orders_may_be_late_and_repeated_and_nobody_comes_back() {
    let (mut lab, _) = poisoned();
    let refuses =
        |lab: &mut Lab<Tidemark>, round, step: &Step| order(lab, round, step).expect_err("it does not fit");
    assert!(refuses(&mut lab, 1, &Step::Exclude).contains("hold first"));
    order(&mut lab, 1, &Step::Hold).expect("they hold");
    assert!(refuses(&mut lab, 2, &Step::Hold).contains("round 1 is under way"));
    order(&mut lab, 1, &Step::Release).expect("it was only prepared");
    assert!(refuses(&mut lab, 1, &Step::Hold).contains("is over"));
    cut(&mut lab, 3).expect("they can");
    relay(&mut lab);
    let told = order(&mut lab, 3, &Step::Exclude);
    assert_eq!(order(&mut lab, 3, &Step::Hold), told, "it is done again");
    assert_eq!(order(&mut lab, 3, &Step::Exclude), told);
    for (round, step) in [(4, Step::Hold), (3, Step::Readmit { from: at(1) }), (3, Step::Release)] {
        assert!(refuses(&mut lab, round, &step).contains("excluded for good"), "{step:?}");
    }
    let other = Order::Exclusion(Exclusion { dc: DcId(1), round: 9, step: Step::Hold });
    assert!(lab.order(server(0, 0), &other).is_err_and(|why| why.contains("only one can be")));
}

/// Bases of three regions are of the two that are left, and old versions are collected.
#[test]
fn d21_who_is_excluded_is_not_counted() {
    let base = || {
        let mut lab = Lab::new(3, 2, Params { base_regions: 3, tell_us: 1, ..Params::default() });
        let (x, a) = (lab.key("x", 0), lab.client(0));
        stabilise(&mut lab, 9_000);
        exclude(&mut lab);
        for n in 0..20 {
            lab.put(a, &x, &n.to_string());
            stabilise_survivors(&mut lab, 2_000_000 + n * 1_000_000);
        }
        let base = base_of(&mut lab, a, 3).expect("there is one");
        (base.min() > at(20_000_000), lab.store(server(0, 0)).chain(&x).count())
    };
    assert_eq!(base(), (true, 1));
    let (moves, versions) = without(&[GONE_IS_NOT_COUNTED], base);
    assert!(!moves && versions > 10, "{versions}");
}

/// C has taken a transaction of an edge client, or not: nobody knows, so the client waits. Then nobody has, and it is delivered; what the
/// client does next is evaluated without what C has taken, of which a part had arrived.
#[test]
fn d21_what_an_edge_client_waits_for_ends() {
    let params = Params { base_regions: 3, tell_us: 1, edge_retain_us: 400_000, ..Params::default() };
    let mut lab = Lab::new(3, 2, params);
    let (x, n) = (lab.key("x", 0), lab.key("n", 1));
    let (a, c) = (lab.client(0), lab.client(2));
    stabilise(&mut lab, 100_000);
    let mut client = Client::new(1);
    client.base = base_of(&mut lab, a, 1).expect("it is told");
    let one = client.commit(200_000, vec![set(&x, "1"), command(&n, Verb::IncrBy, &["5"])]);
    assert_eq!(accept(&mut lab, c, one.clone()), taken());
    lab.deliver(server(2, 0), server(0, 0)); // the other half is lost
    stabilise_survivors(&mut lab, 1_000_000);
    assert_eq!(accept(&mut lab, a, one.clone()), Ok(Acceptance::Behind), "C may have taken it");
    exclude(&mut lab);
    stabilise_survivors(&mut lab, 2_000_000);
    assert_eq!(accept(&mut lab, a, one), Ok(Acceptance::Retime));
    client.base = base_of(&mut lab, a, 1).expect("it is told");
    client.retime(1, 2_700_000);
    lab.set_clocks(2_700_000);
    assert_eq!(accept(&mut lab, a, new(&client.log[0])), taken());
    let two = client.commit(2_700_000, vec![command(&n, Verb::IncrBy, &["1"])]);
    assert_eq!(accept(&mut lab, a, two), taken());
    stabilise_survivors(&mut lab, 3_000_000);
    for session in [lab.client(0), lab.client(1)] {
        let base = base_of(&mut lab, session, 2).expect("the survivors share one");
        let all = read_base(&mut lab, session, &base, &[x.clone(), n.clone()]).expect("they have it");
        assert_eq!(all.iter().map(value).collect::<Vec<_>>(), [Some("1".into()), Some("6".into())]);
    }
}

/// With K = 1 a client has seen what only C had. What it does on top of that nobody accepts before it has another base.
#[test]
fn d21_what_an_edge_client_did_on_what_was_lost_is_done_again() {
    let answers = || {
        let params = Params { base_regions: 3, tell_us: 1, edge_retain_us: 9_000_000, ..Params::default() };
        let mut lab = Lab::new(3, 2, params);
        let (x, a) = (lab.key("x", 0), lab.client(0));
        stabilise(&mut lab, 100_000);
        let mut client = Client::new(1);
        client.base = base_of(&mut lab, a, 1).expect("it is told").raised(C, at(150_000)); // C's own goes further
        let one = client.commit(200_000, vec![set(&x, "1")]);
        lab.set_clocks(250_000);
        let before = accept(&mut lab, a, one.clone());
        exclude(&mut lab);
        stabilise_survivors(&mut lab, 300_000);
        (before, accept(&mut lab, a, one))
    };
    assert_eq!(answers(), (Ok(Acceptance::Behind), Ok(Acceptance::Retime)));
    assert_eq!(without(&[DOUBTS_ARE_REFUSED], answers).1, taken(), "on top of what nobody has");
}
