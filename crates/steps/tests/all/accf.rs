//! ACCF: Algorithms 7.1 and 7.2 step by step, and what each rule is for; groups, and the decisions of the file one by one.

mod changes;
mod decisions;
mod transactions;

use crate::{as_published, at};
use tidemark_contract::core::{Hlc, Key, Op};
use tidemark_contract::grouping::tracked::Tracked;
use tidemark_contract::grouping::{Checking, CheckingGroup, Division, Grouping, Servers, TrackingGroup};
use tidemark_contract::lab::{put, server, text};
use tidemark_contract::{Lab, Protocol, without};
use tidemark_protocols::Accf;
use tidemark_protocols::accf::{
    Ahead, GET_WAITS, LEAST_OF_GROUP, PUT_ABOVE_DS, PUT_KEEPS_DS, Params, READS_ARE_DEPENDENCIES, Request,
    STABLE_IF_COVERED, Timer,
};

const SERVER: Grouping = Grouping::By(Division::Server);
const REGION: Grouping = Grouping::By(Division::Region);
const SYSTEM: Grouping = Grouping::By(Division::System);

/// Two data centres of two partitions.
fn grouped(tracking: Grouping, checking: Grouping) -> Lab<Accf> {
    Lab::new(2, 2, Params { tracking, checking, collect_after_us: 0, ..Params::default() })
}

fn named(groups: &[(&str, &[&str])]) -> Grouping {
    let servers =
        |list: &[&str]| list.iter().map(|text| Servers::try_from(text.to_string()).unwrap()).collect();
    Grouping::Named(groups.iter().map(|(name, list)| (name.to_string(), servers(list))).collect())
}

/// Dependencies: microseconds by tracking group.
fn ds(entries: &[(u16, u64)]) -> Tracked {
    let mut ds = Tracked::default();
    entries.iter().for_each(|(group, us)| ds.raise(TrackingGroup(*group), at(*us)));
    ds
}

fn cgs(groups: &[u64]) -> Checking {
    groups.iter().map(|group| CheckingGroup(*group)).collect()
}

/// What a server answers a GET: the value and the version's ds; none if it waits.
fn get_of(
    lab: &mut Lab<Accf>,
    (dc, partition): (u8, u16),
    key: &Key,
    past: Tracked,
    groups: &[u64],
) -> Option<(String, Tracked)> {
    let reply = lab.ask(server(dc, partition), Request(Op::Get { key: key.clone() }, past, cgs(groups)))?;
    Some((text(&reply.0.0), reply.0.1))
}

fn value(lab: &mut Lab<Accf>, at: (u8, u16), key: &Key, past: Tracked, groups: &[u64]) -> String {
    get_of(lab, at, key, past, groups).map_or("waits".to_string(), |(value, _)| value)
}

/// Heartbeats everywhere at `us`, then θ, twice: up the trees and down.
fn stabilise(lab: &mut Lab<Accf>, us: u64) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta]);
}

/// Lines 2 to 6 and 8 to 11.
#[test]
fn a_session_asks_with_what_it_depends_on_and_learns_what_it_read_and_wrote() {
    fn past() -> (Tracked, Tracked) {
        let mut lab = grouped(SERVER, REGION);
        let (ann, ben) = (lab.client(0), lab.client(0));
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        lab.put(ann, &x, "1");
        lab.set_clocks(2_000);
        lab.put(ann, &y, "2");
        let written = lab.token(ann).past;
        stabilise(&mut lab, 9_000);
        assert_eq!(lab.get(ben, &y), "2");
        (written, lab.token(ben).past)
    }
    let both = ds(&[(0, 1_000), (1, 2_000)]);
    assert_eq!(past(), (both.clone(), both.clone()));
    assert_eq!(without(&[READS_ARE_DEPENDENCIES], past), (both, Tracked::default()));
}

/// Lines 2 and 3: the cause has not arrived where it is looked for.
#[test]
fn get_waits_for_what_the_session_depends_on() {
    fn waits() -> (String, String) {
        let mut lab = grouped(REGION, SERVER);
        let (ann, ben) = (lab.client(0), lab.client(1));
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        lab.put(ann, &x, "cause");
        lab.set_clocks(2_000);
        lab.put(ann, &y, "effect");
        lab.deliver(server(0, 1), server(1, 1));
        assert_eq!(lab.get(ben, &y), "effect");
        lab.begin(ben, Op::Get { key: x.clone() });
        let at_once = lab.outcome(ben).map_or("waits".to_string(), |outcome| text(&outcome));
        if at_once == "waits" {
            lab.deliver(server(0, 0), server(1, 0));
            assert!(lab.outcome(ben).is_none(), "the cause is here, and what A/0 wrote until 2000 is not");
            lab.fire(server(0, 0), Timer::Delta);
            lab.fire(server(0, 0), Timer::Delta);
            lab.deliver_all();
        }
        (at_once, lab.outcome(ben).map_or("-".to_string(), |outcome| text(&outcome)))
    }
    assert_eq!(waits(), ("waits".to_string(), "cause".to_string()));
    assert_eq!(without(&[GET_WAITS], waits).0, "-", "its cause is not there");
}

/// D13.
#[test]
fn an_answer_tells_how_long_it_waited() {
    let mut lab = grouped(REGION, SERVER);
    let x = lab.key("x", 0);
    let get = |past| Request(Op::Get { key: x.clone() }, past, cgs(&[]));
    lab.set_clocks(2_000);
    assert!(lab.ask(server(1, 0), get(ds(&[(0, 2_000)]))).is_none());
    lab.set_clocks(7_500);
    lab.fire(server(0, 0), Timer::Delta);
    lab.deliver_all();
    let mut waited = || {
        let reply = lab.ask(server(1, 0), get(ds(&[]))).expect("one at least");
        Accf::EXTENSIONS.waited(&reply)
    };
    assert_eq!(
        (waited(), waited()),
        (5_500, 0),
        "the first, which has been answered meanwhile, and one that has not waited"
    );
}

#[test]
fn get_that_waits_too_long_fails_and_says_why() {
    let mut lab = grouped(REGION, REGION);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.adopt(s, tidemark_contract::Token { home: Default::default(), past: ds(&[(1, 5_000)]) });
    lab.finish(s);
    lab.begin(s, Op::Get { key: x });
    assert!(lab.outcome(s).is_none());
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 1);
    lab.set_clocks(3_000_000);
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(s)), "unavailable");
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 0);
}

/// Lines 4 and 5: the newest that the group has all causes of.
#[test]
fn get_finds_the_newest_version_that_the_checking_group_can_back() {
    let mut lab = grouped(REGION, REGION);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "old");
    stabilise(&mut lab, 9_000);
    lab.put(a, &y, "cause");
    lab.set_clocks(10_000);
    lab.put(a, &x, "new");
    lab.deliver(server(0, 0), server(1, 0));
    assert_eq!(value(&mut lab, (1, 0), &x, ds(&[]), &[]), "old", "B/1 has not told of the cause");
    stabilise(&mut lab, 20_000);
    assert_eq!(value(&mut lab, (1, 0), &x, ds(&[]), &[]), "new");
}

/// Lines 6 and 7: whoever depends on more than its group can back gets the newest that is there.
#[test]
fn get_beyond_what_the_group_can_back_finds_whatever_is_here() {
    let mut lab = grouped(REGION, REGION);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    lab.set_clocks(10_000);
    lab.put(a, &x, "mine");
    assert_eq!(value(&mut lab, (0, 0), &x, ds(&[]), &[]), "-");
    assert_eq!(value(&mut lab, (0, 0), &x, ds(&[(0, 10_000)]), &[]), "mine");
}

/// Erratum E-7a, its trace: with line 4 as printed, a session does not see its own write.
#[test]
fn get_with_the_line_as_printed_misses_the_sessions_own_write() {
    fn read() -> String {
        let mut lab = grouped(REGION, REGION);
        let (c, x) = (lab.client(0), lab.key("x", 0));
        lab.put(c, &x, "0");
        lab.get(c, &x)
    }
    assert_eq!((read().as_str(), without(&[STABLE_IF_COVERED], read).as_str()), ("0", "-"));
    assert_eq!(as_published("accf-published", read), "-");
}

/// Lines 10 and 11.
#[test]
fn put_stamps_above_all_that_the_session_depends_on() {
    fn write() -> Hlc {
        let mut lab = grouped(REGION, REGION);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.adopt(a, tidemark_contract::Token { home: Default::default(), past: ds(&[(1, 70_000)]) });
        lab.finish(a);
        lab.put(a, &x, "1")
    }
    assert_eq!((write(), without(&[PUT_ABOVE_DS], write)), (at(70_000).next(), at(1_000)));
}

/// Lines 12 to 14, 17 and 18.
#[test]
fn put_keeps_what_the_session_depends_on_and_sends_it_to_all_that_hold_the_key() {
    fn stored() -> Tracked {
        let mut lab = Lab::<Accf>::new(3, 2, Params { tracking: SERVER, ..Params::default() });
        let (b, x) = (lab.client(1), lab.key("x", 1));
        lab.adopt(b, tidemark_contract::Token { home: Default::default(), past: ds(&[(0, 30), (3, 20)]) });
        lab.finish(b);
        assert_eq!(text(&lab.run(b, put(&x, "1"))), "1000@B");
        assert!(lab.deliver(server(1, 1), server(0, 1)) && lab.deliver(server(1, 1), server(2, 1)));
        assert!(!lab.deliver(server(1, 1), server(0, 1)) && !lab.deliver(server(1, 0), server(0, 0)));
        let here = lab.store(server(1, 1)).chain(&x).next().expect("stored").meta.clone();
        assert_eq!(lab.store(server(2, 1)).chain(&x).next().expect("received").meta, here);
        here
    }
    assert_eq!(stored(), ds(&[(0, 30), (3, 1_000)]), "B/1 is tracking group 3");
    assert_eq!(without(&[PUT_KEEPS_DS], stored), ds(&[(3, 1_000)]));
}

/// Lines 15 and 16.
#[test]
fn put_answers_its_tracking_group_and_time() {
    let mut lab = grouped(SERVER, REGION);
    let (a, y) = (lab.client(0), lab.key("y", 1));
    let reply =
        lab.ask(server(0, 1), Request(put(&y, "1"), ds(&[(0, 500)]), cgs(&[]))).expect("it never waits");
    assert_eq!((text(&reply.0.0).as_str(), reply.0.1), ("1000@A", ds(&[(1, 1_000)])));
    assert_eq!(lab.token(a).past, ds(&[]));
}

/// Lines 19 to 21, and erratum E-7b, its trace: a tracking group whose other server has not been heard of.
#[test]
fn what_a_group_has_is_the_least_of_what_its_servers_have_sent() {
    fn read() -> String {
        let mut lab = grouped(SYSTEM, SERVER);
        let (c0, c3) = (lab.client(0), lab.client(1));
        let (x, y, u) = (lab.key("x", 0), lab.key("y", 1), lab.key("u", 1));
        lab.put(c3, &y, "0");
        lab.set_clocks(2_000);
        lab.put(c3, &x, "1");
        lab.set_clocks(3_000);
        lab.put(c0, &u, "2");
        lab.deliver(server(1, 0), server(0, 0));
        lab.fire(server(0, 0), Timer::Theta);
        assert_eq!(value(&mut lab, (0, 0), &x, ds(&[]), &[]), "1");
        value(&mut lab, (0, 1), &y, ds(&[(0, 2_000)]), &[])
    }
    assert_eq!((read().as_str(), without(&[LEAST_OF_GROUP], read).as_str()), ("waits", "-"));
}

/// "To keep each other updated, servers send heartbeat messages to each other in case of not sending any replicate message."
#[test]
fn a_server_that_sent_nothing_for_delta_sends_its_clock_and_stays_above_it() {
    let mut lab = grouped(REGION, REGION);
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

/// "Servers inside a checking group periodically share their VVs with each other and compute SVV as the entry-wise minimum."
#[test]
fn a_checking_group_has_the_least_of_what_its_servers_have_and_each_group_its_own() {
    let apart = named(&[("ends", &["A/0", "B/1"]), ("left", &["A/*"])]);
    let mut lab = grouped(SERVER, apart);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    lab.set_clocks(10_000);
    lab.put(a, &x, "1");
    let seen = |lab: &mut Lab<Accf>| [0, 1].map(|group| value(lab, (0, 0), &x, ds(&[]), &[group]));
    assert_eq!(seen(&mut lab), ["-", "-"]);
    // Nobody but A/0 hears of what A/0 writes in either group: A/1 and B/1 hold other keys.
    for (at, group) in [(server(0, 1), "left"), (server(1, 1), "ends")] {
        lab.fire(at, Timer::Theta);
        lab.fire(server(0, 0), Timer::Theta);
        lab.deliver_all();
        lab.fire(server(0, 0), Timer::Theta);
        let now = seen(&mut lab);
        assert_eq!(now[usize::from(group == "left")], "1", "{group}: {now:?}");
    }
}

/// "If there is no key that is hosted by both server i and a server in tracking group t, then VV_i[t] = +∞."
#[test]
fn what_can_never_come_is_not_waited_for() {
    let mut lab = grouped(SERVER, REGION);
    let x = lab.key("x", 0);
    // Groups: A/0, A/1, B/0, B/1. A/0 hears of B/0 and not of the others.
    assert_eq!(value(&mut lab, (0, 0), &x, ds(&[(1, 70_000), (3, 70_000)]), &[]), "-");
    assert_eq!(value(&mut lab, (0, 0), &x, ds(&[(2, 70_000)]), &[]), "waits");
}
