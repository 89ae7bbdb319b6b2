//! The rules of the component for stable time, each once for every protocol that rests on it.

use tidemark_contract::core::{DcId, Hlc, Key, Op, Outcome, Update, Vector, Write};
use tidemark_contract::lab::{put, server, text};
use tidemark_contract::stabilised::{
    CLOCK_SURVIVES, OFFERS_WHAT_IS_DURABLE, READS_ABOVE_HORIZON, READS_AT_STABLE, STABLE_SURVIVES,
    StableTime, Timers,
};
use tidemark_contract::{Lab, Protocol, Rule, without};
use tidemark_protocols::*;

of_each_with_the_rule! {
    s1_what_was_persisted_is_stable_after_a_restart, STABLE_SURVIVES:
        CausalSpartanX Tidemark Okapi Pocc Contrarian Cure GentleRain Hybrid;
    s2_a_restart_stamps_above_what_was_announced, CLOCK_SURVIVES:
        CausalSpartanX Okapi Pocc Contrarian GentleRain Orbe Hybrid;
    s3_what_is_offered_for_collection_is_durable, OFFERS_WHAT_IS_DURABLE:
        CausalSpartanX Tidemark Okapi Pocc Contrarian Wren Cure GentleRain Orbe Hybrid;
}

of_each! {
    a_read_whose_slice_is_lost_ends_with_a_restart_or_at_its_deadline:
        CausalSpartanX Tidemark Okapi Pocc Wren Cure GentleRain Orbe Hybrid;
    a_server_that_wrote_nothing_for_delta_sends_its_clock_and_stays_above_it:
        CausalSpartanX Tidemark Okapi Pocc Contrarian Hybrid;
    a_write_too_far_ahead_of_the_clock_is_refused:
        CausalSpartanX Tidemark Okapi Pocc Contrarian Wren Cure GentleRain Orbe Hybrid;
}

/// Rules that a protocol has tests of its own for: what Orbe knows as installed it also recovers from what it had received.
const ELSEWHERE: [(Rule, &str); 1] = [(STABLE_SURVIVES, Orbe::INFO.name)];

/// Rules that protocols without the component rest on, too: their tests are in `at_a_time.rs`.
pub(crate) const OF_READS_AT_A_TIME: [Rule; 2] = [READS_AT_STABLE, READS_ABOVE_HORIZON];

/// Heartbeats everywhere at `us`, twice, so that Δ has passed without a write; then θ, so that all have heard.
fn stabilise<P: StableTime>(lab: &mut Lab<P>, us: u64) {
    let (delta, theta) = (P::Timer::DELTA, P::Timer::THETA);
    lab.round(us, &[delta, delta, theta, theta, theta]);
}

fn s1_what_was_persisted_is_stable_after_a_restart<P: StableTime>() {
    /// What was persisted, and what is stable after a crash.
    fn recovered<P: StableTime>() -> [Vector; 2] {
        let (mut lab, p) = (Lab::<P>::new(2, 1, P::Params::default()), server(0, 0));
        [10_000, 20_000, 500_000].into_iter().for_each(|us| stabilise(&mut lab, us)); // the ceiling is renewed with the last
        let persisted = lab.hard(p).as_ref().stable.clone();
        lab.restart(p);
        let stable = lab.protocol(p).status().stable;
        [persisted.first(stable.entries().len()), stable] // a protocol may persist more than it shows
    }
    let [persisted, stable] = recovered::<P>();
    assert!(persisted.min() >= Hlc::at(10_000) && persisted.le(&stable), "{persisted} {stable}");
    let [persisted, stable] = without(&[STABLE_SURVIVES], recovered::<P>);
    assert!(!persisted.le(&stable), "{persisted} {stable}");
}

fn s2_a_restart_stamps_above_what_was_announced<P: StableTime>() {
    /// The stamp of a write after a crash and with a slow clock, of a server that had announced its clock.
    fn stamp<P: StableTime>() -> Hlc {
        let (mut lab, p) = (Lab::<P>::new(2, 1, P::Params::default()), server(0, 0));
        let (s, x) = (lab.client(0), lab.key("x", 0));
        stabilise(&mut lab, 50_000);
        lab.set_clock(p, 1_000);
        lab.restart(p);
        lab.put(s, &x, "1")
    }
    assert!(stamp::<P>() > Hlc::at(50_000));
    assert!(without(&[CLOCK_SURVIVES], stamp::<P>) <= Hlc::at(50_000));
}

fn s3_what_is_offered_for_collection_is_durable<P: StableTime>() {
    /// What a leaf reports as safe, at a time when it has learnt what is stable and persisted nothing of it.
    fn safe<P: StableTime>() -> String {
        let mut lab = Lab::<P>::new(2, 2, P::Params::default());
        [10_000, 20_000].into_iter().for_each(|us| stabilise(&mut lab, us));
        assert!(lab.protocol(server(0, 1)).status().stable.min() >= Hlc::at(10_000));
        let up = lab.transcript.lines().rev().find(|line| line.starts_with("A/1 -> A/0 Tree(Up("));
        let (_, safe) = up.and_then(|line| line.split_once("safe: [")).expect("a leaf reports");
        safe.trim_end_matches(|end: char| !end.is_numeric()).to_string()
    }
    let nothing = |safe: String| safe.split(' ').all(|entry| entry.is_empty() || entry == "0");
    assert!(nothing(safe::<P>()));
    assert!(!nothing(without(&[OFFERS_WHAT_IS_DURABLE], safe::<P>)));
}

fn a_read_whose_slice_is_lost_ends_with_a_restart_or_at_its_deadline<P: StableTime>() {
    let mut lab = Lab::<P>::new(1, 2, P::Params::default());
    let (s, x, y, p) = (lab.client(0), lab.key("x", 0), lab.key("y", 1), server(0, 0));
    for restart in [true, false] {
        lab.begin(s, Op::Snapshot { keys: vec![x.clone(), y.clone()] });
        lab.lose_messages(p, server(0, 1));
        if restart {
            lab.restart(server(0, 1));
        } else {
            lab.jump_clock(p, 1);
            lab.fire(p, P::Timer::THETA);
            assert_eq!(lab.outcome(s), None, "a clock that jumps does not move deadlines");
            lab.set_clocks(3_000_000);
            lab.fire(p, P::Timer::THETA);
        }
        assert_eq!(text(&lab.finish(s)), "unavailable");
    }
}

fn a_server_that_wrote_nothing_for_delta_sends_its_clock_and_stays_above_it<P: StableTime>() {
    let mut lab = Lab::<P>::new(2, 1, P::Params::default());
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    lab.put(s, &x, "1");
    lab.deliver_all();
    lab.fire(p, P::Timer::DELTA);
    assert!(!lab.deliver(p, server(1, 0)), "a version was sent in the past Δ");
    lab.set_clock(p, 6_000);
    lab.fire(p, P::Timer::DELTA);
    assert!(lab.deliver(p, server(1, 0)));
    assert!(lab.transcript.ends_with("B/0 <- A/0 heartbeat 6000\n"));
    assert_eq!(lab.put(s, &x, "2"), Hlc::at(6_000).next(), "what follows lies above");
}

fn a_write_too_far_ahead_of_the_clock_is_refused<P: StableTime>() {
    let mut lab = Lab::<P>::new(1, 2, P::Params::default());
    lab.set_max_skew(1_000);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 5_000);
    lab.put(s, &x, "1");
    assert_eq!(text(&lab.run(s, put(&y, "2"))), "clock skew");
    assert_eq!(lab.store(server(0, 1)).totals().versions, 0);
}

/// Deletions of two regions: what A and B find in the end of x, which a transaction of A writes that is prepared for long. B deletes x
/// meanwhile, later, and everybody has heard everything else, and collects. In each round of that, sessions of A perhaps `read`.
pub(crate) fn of_what_was_deleted_beside_a_prepared_transaction<P: StableTime>(read: bool) -> [String; 2] {
    let mut lab = Lab::<P>::new(2, 2, P::Params::default());
    let (s, r, b, x, y) = (lab.client(0), lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
    let (root, leaf) = (server(0, 0), server(0, 1));
    let write = |key: &Key| (key.clone(), Write::Assign((*b"older").into()));
    lab.begin(s, Op::PutAll { writes: vec![write(&x), write(&y)] });
    assert!(lab.deliver_message(root, root) && lab.deliver_message(root, leaf));
    lab.set_clock(server(1, 0), 5_000);
    let deleted = lab.run(b, Op::Put { key: x.clone(), update: Update::put(Write::Remove) });
    assert!(matches!(deleted, Outcome::Written { stamp: Some(_), .. }), "{deleted:?}");
    for us in [10_000, 20_000, 500_000, 900_000, 1_300_000] {
        let all = [root, leaf, server(1, 0), server(1, 1)];
        all.iter().for_each(|at| lab.jump_clock(*at, us)); // no deadline passes
        for timer in [P::Timer::DELTA, P::Timer::DELTA, P::Timer::THETA, P::Timer::THETA, P::Timer::THETA] {
            all.iter().rev().for_each(|at| lab.fire(*at, timer));
            if read {
                lab.begin(r, Op::Rotx { keys: vec![x.clone(), y.clone()] });
            }
            [(0, 1), (1, 0)].iter().for_each(|(from, to)| lab.deliver_between(*from, *to));
            lab.deliver_within(DcId(1));
            for _ in 0..3 {
                lab.overtake(leaf, root); // all but what the leaf proposes
                while [root, leaf].iter().any(|to| lab.deliver_message(root, *to)) {}
            }
        }
    }
    lab.deliver_all();
    stabilise(&mut lab, 1_700_000);
    let (in_a, in_b) = (lab.client(0), lab.client(1));
    [lab.get(in_a, &x), lab.get(in_b, &x)]
}

#[test]
fn every_protocol_that_rests_on_a_rule_is_tested_without_it() {
    for name in NAMES {
        let rules = with_protocol!(name, P => P::INFO.rules, otherwise &[]);
        for (rule, tested) in TESTED {
            let listed = tested.contains(name) || ELSEWHERE.contains(&(*rule, *name));
            assert_eq!(rules.contains(rule), listed, "{name} without {rule}");
        }
    }
}
