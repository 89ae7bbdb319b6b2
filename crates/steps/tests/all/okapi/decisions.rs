//! Okapi: what its file decided, D1 to D7.

use super::*;
use tidemark_contract::core::{Command, Reply, Update, Verb};
use tidemark_protocols::okapi::{DS_IS_STABLE, HOME_MUST_BE_STABLE, STABLE_SURVIVES};

/// D1, and erratum E-2.
#[test]
fn d1_usv_is_the_least_that_any_server_of_any_data_centre_has_and_never_falls() {
    let mut lab = okapi(3, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "x");
    lab.set_clocks(2_000);
    lab.put(a, &y, "y");
    for _ in 0..3 {
        lab.round(2_000, &[Timer::Theta]);
    }
    for (dc, p) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
        assert_eq!(usv(&lab, dc, p)[A], at(1_000), "p0 has heard nothing of A after 1000");
    }
    lab.restart(server(1, 0)); // the root of B has forgotten what its peers have
    lab.round(2_000, &[Timer::Theta]);
    assert_eq!(usv(&lab, 1, 1)[A], at(1_000));
}

/// D1: acknowledgements may be lost and overtaken.
#[test]
fn d1_an_old_acknowledgement_takes_nothing_back() {
    let mut lab = okapi(2, 1);
    let (a, b) = (server(0, 0), server(1, 0));
    for us in [5_000, 6_000] {
        lab.set_clocks(us);
        for p in [a, b] {
            lab.fire(p, Timer::Delta);
        }
        while lab.deliver(a, b) || lab.deliver(b, a) {}
        lab.fire(b, Timer::Theta);
    }
    lab.overtake(b, a);
    lab.fire(a, Timer::Theta);
    assert_eq!(usv(&lab, 0, 0), v(&[6_000, 6_000]));
    while lab.deliver_message(b, a) {}
    lab.fire(a, Timer::Theta);
    assert_eq!(usv(&lab, 0, 0), v(&[6_000, 6_000]));
}

/// D6.
#[test]
fn d6_the_snapshot_is_the_clock_here_and_of_others_what_is_universal_or_what_the_session_depends_on() {
    let mut lab = okapi(3, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clocks(9_000);
    remember(&mut lab, s, &[30, 40, 50]);
    lab.begin(s, rotx(&[&x, &y]));
    assert!(lab.transcript.contains("at: [9000 40 50]"));
    assert_eq!(text(&lab.finish(s)), "- -");
    remember(&mut lab, s, &[11_000]);
    lab.begin(s, rotx(&[&x, &y]));
    assert!(lab.transcript.contains("at: [11000 40 50]"), "never below what the session depends on");
}

/// D2: a restarted server with a slow clock writes nothing into a snapshot that was read in its earlier life.
#[test]
fn d2_what_a_slice_promised_survives_a_restart() {
    let mut lab = okapi(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_max_skew(60_000_000);
    lab.set_clock(server(0, 0), 30_000_000);
    lab.rotx(s, &[&x, &y]);
    lab.restart(server(0, 1));
    assert!(lab.put(t, &y, "later") > at(30_000_000));
}

/// D2, and erratum E-12: below what was collected nobody reads again, not even after a restart.
#[test]
fn d2_a_restart_recovers_the_usv_that_collection_used() {
    fn read() -> (String, usize) {
        let mut lab = lab(2, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(a, &x, "old");
        stabilise(&mut lab, 9_000);
        assert_eq!(lab.get(b, &x), "old");
        lab.put(a, &x, "new");
        [500_000, 1_000_000, 1_500_000].into_iter().for_each(|us| stabilise(&mut lab, us));
        let kept = lab.store(server(1, 0)).chain(&x).count();
        lab.restart(server(1, 0));
        (lab.get(b, &x), kept)
    }
    assert_eq!(read(), ("new".into(), 1));
    assert_eq!(without(&[STABLE_SURVIVES], read), ("-".into(), 1), "what it had read is gone");
}

/// D3: the title's "more available".
#[test]
fn d3_what_a_session_read_from_afar_needs_no_wait_in_a_third_data_centre() {
    let mut lab = okapi(3, 2);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
    let (x, y) = (lab.key("x", 1), lab.key("y", 0));
    lab.put(a, &y, "y");
    lab.put(a, &x, "x"); // which depends on y
    // B learns that everybody has them; C has them, and has heard of nobody else that does.
    for timer in [Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta] {
        lab.set_clocks(9_000);
        for p in [server(0, 0), server(0, 1), server(1, 1), server(1, 0), server(2, 0), server(2, 1)] {
            lab.fire(p, timer);
        }
        for from in 0..3 {
            lab.deliver_between(from, 1);
        }
        while lab.deliver(server(0, 0), server(2, 0)) || lab.deliver(server(0, 1), server(2, 1)) {}
        lab.deliver_within(B);
    }
    assert_eq!(lab.get(b, &x), "x");
    assert_eq!((usv(&lab, 2, 0)[A], usv(&lab, 2, 1)[A]), (Hlc::ZERO, Hlc::ZERO));
    let token = lab.token(b);
    assert_eq!(token.home, B);
    lab.adopt(c, token);
    assert_eq!(lab.outcome(c), Some(Outcome::Adopted), "at once, and no server was asked");
    assert_eq!((lab.get(c, &x).as_str(), lab.get(c, &y).as_str()), ("x", "y"));
}

/// D3, and erratum E-13.
#[test]
fn d3_what_was_the_homes_own_has_to_be_everywhere_first() {
    fn moved() -> [String; 2] {
        let mut lab = lab(2, 2);
        let (a, b, reader) = (lab.client(0), lab.client(1), lab.client(1));
        let (x, y) = (lab.key("x", 1), lab.key("y", 0));
        lab.put(a, &x, "cause");
        let token = lab.token(a); // x has not left A
        lab.adopt(b, token);
        if lab.outcome(b).is_none() {
            assert_eq!(lab.protocol(server(1, 0)).status().blocked, 1);
            stabilise(&mut lab, 9_000);
            assert_eq!(lab.finish(b), Outcome::Adopted);
            assert_eq!(lab.token(b).past, v(&[1_000]));
        }
        lab.put(b, &y, "effect");
        [lab.get(reader, &y), lab.get(reader, &x)]
    }
    assert_eq!(moved(), ["effect", "cause"]);
    assert_eq!(without(&[HOME_MUST_BE_STABLE], moved), ["effect", "-"], "an effect without its cause");
}

#[test]
fn d3_a_session_that_waits_in_vain_is_told_that_it_is_stale() {
    let mut lab = okapi(2, 1);
    let (a, b, back) = (lab.client(0), lab.client(1), lab.client(0));
    let x = lab.key("x", 0);
    lab.put(a, &x, "1");
    let token = lab.token(a);
    lab.adopt(back, token.clone());
    assert_eq!(lab.outcome(back), Some(Outcome::Adopted), "what was written here is here");
    lab.adopt(b, token);
    lab.set_clocks(2_001_000);
    lab.fire(server(1, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(b)), "stale session");
    assert_eq!(lab.token(b).past, Vector::default());
}

/// D4.
#[test]
fn d4_collection_stays_below_running_snapshots_and_below_what_a_crash_leaves() {
    let mut lab = okapi(1, 2);
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
            lab.deliver_message(leaf, root);
        }
        lab.overtake(root, leaf);
    }
    lab.fire(leaf, Timer::Theta);
    assert_eq!(text(&lab.finish(t)), "- old");
    assert_eq!(lab.store(leaf).chain(&y).count(), 4, "nothing could go");
    [2_000_000, 2_500_000, 3_000_000].into_iter().for_each(|us| stabilise(&mut lab, us));
    assert_eq!(lab.store(leaf).chain(&y).count(), 1);
}

/// D5.
#[test]
fn d5_a_conditional_update_depends_on_and_wins_over_what_it_saw() {
    let mut lab = okapi(2, 1);
    let (a, b, other, x) = (lab.client(0), lab.client(1), lab.client(0), lab.key("x", 0));
    lab.set_clock(server(1, 0), 8_000);
    lab.put(b, &x, "1");
    lab.remove(b, &x);
    stabilise(&mut lab, 9_000);
    let ut = lab.put_new(a, &x, "2").expect("a tombstone is nothing");
    let meta = lab.store(server(0, 0)).chain(&x).next().expect("stored").meta.clone();
    assert!(ut > at(8_000).next() && meta[B] == at(8_000).next());
    assert_eq!(lab.put_new(other, &x, "3"), None);
    assert_eq!((lab.token(other).past[A], lab.token(other).past[B]), (ut, at(8_000).next()));
}

/// D7.
#[test]
fn d7_a_command_sees_no_element_without_what_it_depends_on() {
    fn call(lab: &mut Lab<Okapi>, client: usize, verb: Verb, args: &[&'static str]) -> Reply {
        let key = lab.key("h", 0);
        let args = args.iter().map(|word| (*word).into()).collect();
        let outcome = lab.run(client, Op::Put { key, update: Update::call(Command::new(verb, args)) });
        let Outcome::Written { previous: Some(found), .. } = outcome else { panic!("{outcome:?}") };
        *found.reply.expect("commands are answered")
    }
    fn seen() -> [Reply; 2] {
        let mut lab = lab(3, 1);
        let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
        call(&mut lab, c, Verb::HSet, &["cause", "1"]);
        remember(&mut lab, b, &[0, 0, 1_000]); // it has read the cause
        lab.set_clocks(2_000);
        call(&mut lab, b, Verb::HSet, &["effect", "2"]);
        lab.deliver_all();
        // A session comes that has seen something of B which is later than the effect, and then one that has seen the effect.
        [&[0, 2_000, 0], &[0, 2_000, 1_000]].map(|ds| {
            remember(&mut lab, a, ds);
            call(&mut lab, a, Verb::HMGet, &["cause", "effect"])
        })
    }
    let reply = |cause, effect| {
        let bulk = |word: Option<&'static str>| word.map_or(Reply::Null, |word| Reply::bulk(word.as_bytes()));
        Reply::Array(vec![bulk(cause), bulk(effect)])
    };
    let both = reply(Some("1"), Some("2"));
    assert_eq!(seen(), [reply(None, None), both.clone()]);
    assert_eq!(without(&[DS_IS_STABLE], seen), [reply(None, Some("2")), both]);
}
