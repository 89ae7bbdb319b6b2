//! What the text leaves open, D3 to D6, D8 and D9.

use super::*;
use tidemark_contract::core::{Condition, Outcome, Update, Write};
use tidemark_contract::{Params as _, Token, Topology};
use tidemark_protocols::accf::STAMPS_SURVIVE;

fn remember(lab: &mut Lab<Accf>, session: usize, past: Tracked) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// D3: the time of a version is not that of its group.
#[test]
fn the_last_writer_wins_by_the_versions_own_time() {
    let mut lab = grouped(SYSTEM, REGION);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    assert_eq!((lab.put(a, &x, "a"), lab.put(b, &x, "b")), (at(1_000), at(1_000)));
    stabilise(&mut lab, 9_000);
    assert_eq!([a, b].map(|s| lab.get(s, &x)), ["b", "b"], "the same time, and the later data centre");
}

/// D4.
#[test]
fn a_clock_that_alone_is_behind_is_moved_and_not_waited_for() {
    let mut lab = grouped(REGION, REGION);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    assert_eq!(value(&mut lab, (0, 0), &x, ds(&[(0, 60_000)]), &[]), "-");
    assert_eq!(lab.put(s, &x, "1"), at(60_000).next());
}

/// D5.
#[test]
fn after_a_restart_stamps_lie_above_what_was_announced() {
    fn stamps() -> (Hlc, Hlc) {
        let mut lab = grouped(REGION, REGION);
        let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
        lab.set_clock(p, 600_000);
        lab.fire(p, Timer::Delta);
        lab.deliver_all();
        lab.set_clock(p, 1_000);
        lab.restart(p);
        (lab.put(s, &x, "1"), at(600_000))
    }
    let (stamp, announced) = stamps();
    assert!(stamp > announced);
    let (stamp, announced) = without(&[STAMPS_SURVIVE], stamps);
    assert!(stamp < announced, "the other data centre believes to have everything up to {announced}");
}

/// D5: what every group had is there again, so nobody finds less than before in a group that is alone.
#[test]
fn after_a_restart_the_stable_vector_is_there_again() {
    for checking in [REGION, SERVER] {
        let mut lab = grouped(REGION, checking);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        for ms in [9, 500, 1_000] {
            stabilise(&mut lab, ms * 1_000);
        }
        lab.restart(server(1, 0));
        assert_eq!(value(&mut lab, (1, 0), &x, ds(&[]), &[]), "1");
    }
}

/// D6: what several groups can back is what their union can.
#[test]
fn several_groups_are_one_and_none_is_the_servers_first() {
    let apart = named(&[("ends", &["A/0", "B/1"]), ("left", &["A/*"]), ("other", &["B/0"])]);
    let mut lab = grouped(SERVER, apart);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    lab.set_clocks(10_000);
    lab.put(a, &x, "1");
    lab.fire(server(0, 0), Timer::Theta);
    lab.fire(server(1, 1), Timer::Theta);
    lab.deliver_all();
    lab.fire(server(0, 0), Timer::Theta); // of "left", A/1 has said nothing yet
    let seen = |lab: &mut Lab<Accf>, groups: &[u64]| value(lab, (0, 0), &x, ds(&[]), groups);
    assert_eq!(seen(&mut lab, &[0]), "1", "A/0 and B/1");
    assert_eq!(seen(&mut lab, &[]), "1", "the first of them");
    assert_eq!(seen(&mut lab, &[1]), "1", "A/1 never hears of A/0, and never holds back what A/0 wrote");
    assert_eq!(seen(&mut lab, &[2]), "1", "not its group: it checks itself alone");
    assert_eq!(seen(&mut lab, &[0, 2]), "1");
}

/// D6: a union is as far as the group that is farthest behind.
#[test]
fn of_several_groups_the_one_that_is_behind_decides() {
    let apart = named(&[("near", &["B/0"]), ("wide", &["B/*"])]);
    let mut lab = grouped(REGION, apart);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.deliver_all();
    lab.fire(server(1, 0), Timer::Theta);
    let seen = [&[0][..], &[1], &[0, 1], &[]].map(|groups| value(&mut lab, (1, 0), &x, ds(&[]), groups));
    assert_eq!(seen, ["1", "-", "-", "1"], "B/1 has told nothing");
}

/// D12: its own write has a session ahead of its group, and what it reads then may depend on what the group lacks.
#[test]
fn who_is_ahead_of_its_group_reads_the_newest_or_what_it_can_follow_up_without_waiting() {
    let seen = |ahead| {
        let params = Params { ahead, ..Params::default() };
        let mut lab = Lab::<Accf>::new(2, 2, params);
        let (ann, ben, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        stabilise(&mut lab, 1_000);
        lab.set_clocks(2_000);
        lab.put(ben, &y, "cause");
        lab.put(ben, &x, "effect");
        lab.set_clocks(1_500);
        lab.put(ann, &x, "own");
        lab.deliver(server(1, 0), server(0, 0));
        let first = lab.get(ann, &x);
        lab.begin(ann, Op::Get { key: y.clone() });
        (first, lab.outcome(ann).map_or("waits".to_string(), |outcome| text(&outcome)))
    };
    assert_eq!(seen(Ahead::Newest), ("effect".to_string(), "waits".to_string()));
    assert_eq!(seen(Ahead::Covered), ("own".to_string(), "-".to_string()));
}

/// D8.
#[test]
fn versions_that_nobody_needs_are_collected_some_time_later() {
    let params = Params { collect_after_us: 50_000, ..Params::default() };
    let mut lab = Lab::<Accf>::new(2, 2, params);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    for n in 0..3 {
        lab.set_clocks(1_000 + n * 1_000);
        lab.put(a, &x, "v");
    }
    let versions = |lab: &Lab<Accf>| lab.store(server(1, 0)).totals().versions;
    lab.deliver_all();
    assert_eq!(versions(&lab), 3);
    stabilise(&mut lab, 500_000); // stable, and durable with the next ceiling
    stabilise(&mut lab, 1_000_000);
    assert_eq!(versions(&lab), 3, "what is durable now may be collected next time");
    stabilise(&mut lab, 1_100_000);
    stabilise(&mut lab, 1_200_000);
    assert_eq!(versions(&lab), 1);
}

/// D9.
#[test]
fn a_session_that_moves_does_not_wait_and_its_reads_do() {
    let mut lab = grouped(REGION, REGION);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    let token = lab.token(a);
    lab.adopt(b, token);
    assert_eq!(lab.finish(b), Outcome::Adopted);
    lab.begin(b, Op::Get { key: x });
    assert!(lab.outcome(b).is_none());
    lab.deliver_all();
    assert_eq!(text(&lab.finish(b)), "1");
}

/// D9.
#[test]
fn a_conditional_update_waits_and_depends_on_what_decided_it() {
    let mut lab = grouped(REGION, REGION);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    let token = lab.token(a);
    lab.adopt(b, token);
    lab.finish(b);
    let update = Update {
        write: Write::Assign((*b"2").into()),
        condition: Condition::IfAbsent,
        returns_previous: false,
        command: None,
    };
    lab.begin(b, Op::Put { key: x.clone(), update });
    assert!(lab.outcome(b).is_none(), "it depends on what has not arrived");
    lab.deliver_all();
    assert_eq!(text(&lab.finish(b)), "not written");
    assert_eq!(lab.token(b).past, ds(&[(0, 1_000)]));
}

/// D9.
#[test]
fn a_walk_finds_what_get_finds_and_its_session_depends_on_it() {
    let mut lab = grouped(REGION, REGION);
    let (a, b) = (lab.client(0), lab.client(1));
    for name in ["mine", "theirs"] {
        let key = lab.key(name, 0);
        lab.put(if name == "mine" { a } else { b }, &key, "v");
    }
    let t = lab.client(0);
    assert_eq!(lab.scan(t, 0), " 0");
    stabilise(&mut lab, 9_000);
    assert!(lab.scan(t, 0).ends_with('2'));
    assert_eq!(lab.token(t).past, ds(&[(0, 1_000), (1, 1_000)]));
}

#[test]
fn a_session_that_names_a_group_that_there_is_not_is_refused() {
    let mut lab = grouped(REGION, REGION);
    let x = lab.key("x", 0);
    for op in [put(&x, "1"), Op::Get { key: x.clone() }] {
        let reply = lab.ask(server(0, 0), Request(op, ds(&[(9, 1)]), cgs(&[]))).expect("at once");
        assert_eq!(text(&reply.0.0), "stale session");
    }
    assert_eq!(lab.store(server(0, 0)).totals().versions, 0);
}

#[test]
fn put_too_far_ahead_of_the_clock_is_refused() {
    let mut lab = grouped(REGION, REGION);
    lab.set_max_skew(1_000);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, s, ds(&[(1, 5_000)]));
    assert_eq!(text(&lab.run(s, put(&x, "2"))), "clock skew");
    assert_eq!(lab.store(server(0, 0)).totals().versions, 0);
}

#[test]
fn groupings_that_do_not_fit_are_told() {
    let topology = Topology::new(2, 2);
    let check = |tracking, checking| {
        let params = Params { tracking, checking, ..Params::default() };
        params.check(&topology)
    };
    assert_eq!(check(SERVER, SYSTEM), Ok(()));
    let twice = named(&[("one", &["A/*"]), ("two", &["*/0"])]);
    assert_eq!(check(REGION, twice.clone()), Ok(()));
    assert_eq!(check(twice, REGION).unwrap_err(), "tracking: A/0 belongs to one and to two: choose one");
    assert!(
        check(REGION, named(&[("one", &["C/0"])])).unwrap_err().starts_with("checking: group one names C/0")
    );
    let known = Accf::EXTENSIONS.checking_groups(&Params::default(), &topology, &Default::default());
    let names: Vec<(CheckingGroup, String)> = known.into_iter().map(|(id, group)| (id, group.name)).collect();
    assert_eq!(names, [(CheckingGroup(0), "A".to_string()), (CheckingGroup(1), "B".to_string())]);
}
