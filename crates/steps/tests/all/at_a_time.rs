//! Reads at a physical time, each rule once for every protocol that has them.

use super::stabilised::OF_READS_AT_A_TIME;
use tidemark_contract::core::{Hlc, Key, Micros, Op, Outcome};
use tidemark_contract::lab::{server, text};
use tidemark_contract::stabilised::{KeepParams, READS_ABOVE_HORIZON, READS_AT_STABLE, Timer as Stable};
use tidemark_contract::{Clock, Lab, Params as _, Protocol, Rule, without};
use tidemark_protocols::*;

/// A protocol that has them.
trait Dated: Protocol {
    /// Timers of a round after which everything that was sent is stable, and what can be collected is.
    const ROUND: &'static [Self::Timer];
    /// Versions are kept for so long.
    fn keeping(keep_us: Micros) -> Self::Params;
}

macro_rules! dated {
    ($($protocol:ident: $params:path, $round:expr;)*) => {$(
        impl Dated for $protocol {
            const ROUND: &'static [Self::Timer] = $round;

            fn keeping(keep_us: Micros) -> Self::Params {
                <$params>::keeping(keep_us)
            }
        }
    )*};
}

/// Parameters that say how long.
trait Keeping: Default {
    fn keeping(keep_us: Micros) -> Self;
}

macro_rules! keeping {
    ($($params:path),*) => {$(
        impl Keeping for $params {
            fn keeping(keep_us: Micros) -> Self {
                let mut params = Self::default();
                params.keep_us = keep_us;
                params
            }
        }
    )*};
}

keeping!(KeepParams, tidemark::Params, gentlerain::Params, nukv::Params);
dated! {
    Tidemark: tidemark::Params, &[Stable::Delta, Stable::Theta, Stable::Theta, Stable::Theta];
    CausalSpartanX: KeepParams, &[Stable::Delta, Stable::Theta, Stable::Theta, Stable::Theta];
    GentleRain: gentlerain::Params, &[Stable::Delta, Stable::Theta, Stable::Theta, Stable::Theta];
    NuKv: nukv::Params, &[nukv::Timer, nukv::Timer];
}

of_each_with_the_rule! {
    t1_a_time_is_waited_for_until_nothing_up_to_it_can_come, READS_AT_STABLE: Tidemark CausalSpartanX GentleRain NuKv;
    t2_what_the_horizon_has_passed_is_refused, READS_ABOVE_HORIZON: Tidemark CausalSpartanX GentleRain NuKv;
}

of_each! {
    a_read_at_a_time_finds_what_was_newest_then_in_every_region: Tidemark CausalSpartanX GentleRain NuKv;
    nothing_is_written_under_a_time_that_was_read_also_after_a_crash: Tidemark CausalSpartanX GentleRain NuKv;
    what_was_written_before_a_start_is_refused_after_it: Tidemark CausalSpartanX GentleRain NuKv;
    what_is_not_kept_or_lies_in_the_future_is_refused: Tidemark CausalSpartanX GentleRain NuKv;
    older_versions_go_once_the_horizon_has_passed: Tidemark CausalSpartanX GentleRain NuKv;
}

/// Clocks of all servers, and then all that keeps a cluster going.
fn settle<P: Dated>(lab: &mut Lab<P>, us: Micros) {
    lab.round(us, P::ROUND);
}

fn a_read_at_a_time_finds_what_was_newest_then_in_every_region<P: Dated>() {
    let mut lab = Lab::<P>::new(2, 2, P::keeping(1_000_000));
    let (x, y, a, b) = (lab.key("x", 0), lab.key("y", 1), lab.client(0), lab.client(1));
    for (us, value) in [(10_000, "1"), (20_000, "2"), (30_000, "3")] {
        settle(&mut lab, us);
        lab.put(a, &x, value);
        lab.deliver_all();
    }
    settle(&mut lab, 40_000);
    lab.put(b, &y, "of B");
    settle(&mut lab, 50_000);
    settle(&mut lab, 60_000);
    for session in [a, b] {
        assert_eq!(lab.as_of(session, 45_000, &[&x, &y]), "3 of B");
        assert_eq!(lab.as_of(session, 39_000, &[&x, &y]), "3 -");
        assert_eq!(lab.as_of(session, 25_000, &[&y, &x, &x]), "- 2 2");
        assert_eq!(lab.as_of(session, 15_000, &[&x]), "1");
        assert_eq!(lab.as_of(session, 5_000, &[&x]), "-");
        assert_eq!(lab.get(session, &x), "3", "a session does not go back for having looked back");
    }
    assert_eq!(lab.as_of(a, 5_000, &[]), "");
}

/// B has written and A has not heard of it, while A's clock has passed.
fn t1_a_time_is_waited_for_until_nothing_up_to_it_can_come<P: Dated>() {
    /// What A answers at once, and in the end.
    fn answers<P: Dated>() -> [Option<String>; 2] {
        let mut lab = Lab::<P>::new(2, 1, P::keeping(1_000_000));
        let (x, a, b) = (lab.key("x", 0), lab.client(0), lab.client(1));
        settle(&mut lab, 10_000);
        settle(&mut lab, 20_000);
        lab.set_clocks(30_000);
        lab.put(b, &x, "of B");
        lab.set_clocks(40_000);
        lab.begin(a, at(&[&x], 35_000));
        let first = lab.outcome(a);
        settle(&mut lab, 50_000);
        settle(&mut lab, 60_000);
        [first, lab.outcome(a)].map(|outcome| outcome.map(|outcome| text(&outcome)))
    }
    assert_eq!(answers::<P>(), [None, Some("of B".to_string())]);
    assert_eq!(without(&[READS_AT_STABLE], answers::<P>), [Some("-".to_string()), None]);
}

fn at(keys: &[&Key], time: Micros) -> Op {
    Op::At { keys: keys.iter().map(|key| (*key).clone()).collect(), time }
}

fn nothing_is_written_under_a_time_that_was_read_also_after_a_crash<P: Dated>() {
    let mut lab = Lab::<P>::new(1, 1, P::keeping(1_000_000));
    let (x, s, p) = (lab.key("x", 0), lab.client(0), server(0, 0));
    settle(&mut lab, 40_000);
    assert_eq!(lab.as_of(s, 40_000, &[&x]), "-");
    lab.set_clock(p, 30_000);
    assert!(lab.put(s, &x, "1") > Hlc::at(40_000));
    lab.restart(p);
    let again = lab.client(0);
    lab.set_clock(p, 30_000);
    if P::INFO.clock == Clock::Any {
        assert!(lab.put(again, &x, "2") > Hlc::at(40_000));
    }
}

fn t2_what_the_horizon_has_passed_is_refused<P: Dated>() {
    /// What a read of the second version says long after.
    fn late<P: Dated>() -> String {
        let mut lab = Lab::<P>::new(1, 1, P::keeping(100_000));
        let (x, s) = (lab.key("x", 0), lab.client(0));
        for (us, value) in [(10_000, "1"), (20_000, "2"), (30_000, "3")] {
            settle(&mut lab, us);
            lab.put(s, &x, value);
        }
        settle(&mut lab, 110_000);
        assert_eq!(lab.as_of(s, 25_000, &[&x]), "2");
        for us in [500_000, 1_000_000, 1_500_000] {
            settle(&mut lab, us);
        }
        lab.as_of(s, 25_000, &[&x])
    }
    let refused = late::<P>();
    assert!(refused.contains("refused: that time is before what is kept here"), "{refused}");
    assert!(refused.contains("1.4") && refused.contains("now 0.1 s"), "{refused}");
    assert_eq!(without(&[READS_ABOVE_HORIZON], late::<P>), "-", "it was collected");
}

/// T3: with another number, more may have been collected.
fn what_was_written_before_a_start_is_refused_after_it<P: Dated>() {
    let mut lab = Lab::<P>::new(1, 1, P::keeping(1_000_000));
    let (x, s, p) = (lab.key("x", 0), lab.client(0), server(0, 0));
    settle(&mut lab, 10_000);
    lab.put(s, &x, "1");
    settle(&mut lab, 20_000);
    lab.restart(p);
    let s = lab.client(0);
    assert!(lab.as_of(s, 15_000, &[&x]).contains("refused"));
    settle(&mut lab, 600_000);
    assert!(lab.as_of(s, 15_000, &[&x]).contains("refused"));
    assert_eq!(lab.as_of(s, 590_000, &[&x]), "1");
}

fn what_is_not_kept_or_lies_in_the_future_is_refused<P: Dated>() {
    let params = P::Params::default();
    assert_eq!(params.keep_us(), 0, "the default costs nothing");
    let mut lab = Lab::<P>::new(1, 1, params);
    let (x, s) = (lab.key("x", 0), lab.client(0));
    settle(&mut lab, 50_000);
    assert!(lab.as_of(s, 49_000, &[&x]).contains("in [protocol]"));
    let mut lab = Lab::<P>::new(1, 1, P::keeping(1_000_000));
    let (x, s, p) = (lab.key("x", 0), lab.client(0), server(0, 0));
    settle(&mut lab, 50_000);
    assert_eq!(lab.as_of(s, 60_000_000, &[&x]), "refused: that time lies in the future");
    lab.begin(s, at(&[&x], 90_000));
    assert_eq!(lab.outcome(s), None, "it has almost come");
    settle(&mut lab, 100_000);
    assert!(matches!(lab.outcome(s), Some(Outcome::FoundAll(_))));
    let mut lab = Lab::<P>::new(2, 1, P::keeping(1_000_000));
    let (x, s) = (lab.key("x", 0), lab.client(0));
    lab.set_clocks(50_000);
    lab.begin(s, at(&[&x], 50_000));
    lab.set_clocks(3_000_000);
    P::ROUND.iter().for_each(|timer| lab.fire(p, *timer));
    assert_eq!(text(&lab.finish(s)), "unavailable", "B is silent");
}

fn older_versions_go_once_the_horizon_has_passed<P: Dated>() {
    let mut lab = Lab::<P>::new(2, 1, P::keeping(100_000));
    let (x, s) = (lab.key("x", 0), lab.client(0));
    for (us, value) in [(10_000, "1"), (20_000, "2"), (30_000, "3")] {
        settle(&mut lab, us);
        lab.put(s, &x, value);
        lab.deliver_all();
    }
    let versions = |lab: &Lab<P>| [0, 1].map(|dc| lab.store(server(dc, 0)).totals().versions);
    settle(&mut lab, 60_000);
    assert_eq!(versions(&lab), [3, 3]);
    for us in [500_000, 1_000_000, 1_500_000] {
        settle(&mut lab, us);
    }
    assert_eq!(versions(&lab), [1, 1]);
}

#[test]
fn every_protocol_that_can_is_tested_and_no_other_answers() {
    for name in NAMES {
        let info = with_protocol!(name, P => Some(P::INFO), otherwise None);
        let (can, rules) = info.map_or((false, &[][..]), |info| (info.reads_at_a_time, info.rules));
        for (rule, tested) in TESTED {
            assert!(OF_READS_AT_A_TIME.contains(rule));
            assert_eq!([can, rules.contains(rule)], [tested.contains(name); 2], "{name} without {rule}");
        }
    }
    let mut lab = Lab::<Okapi>::new(1, 1, Default::default());
    let (x, s) = (lab.key("x", 0), lab.client(0));
    assert_eq!(lab.as_of(s, 500, &[&x]), "refused: okapi cannot read at a time");
    let mut lab = Lab::<NuKvPhysical>::new(1, 1, nukv::Params::keeping(1_000_000));
    let (x, s) = (lab.key("x", 0), lab.client(0));
    assert_eq!(lab.as_of(s, 500, &[&x]), "refused: nukv-physical cannot read at a time");
    for value in ["1", "2"] {
        lab.put(s, &x, value);
        lab.set_clocks(5_000);
    }
    assert_eq!(lab.store(server(0, 0)).totals().versions, 1);
}
