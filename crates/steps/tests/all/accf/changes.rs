//! Groups that change while the system runs: D10 and D11, by hand.

use super::*;
use tidemark_contract::Topology;
use tidemark_contract::core::DcId;
use tidemark_contract::grouping::{GroupStage, Regrouping};
use tidemark_contract::lab::rotx;
use tidemark_contract::order::Order;
use tidemark_contract::removal::{Exclusion, Step};
use tidemark_protocols::accf::{FLOOR_HOLDS, FORMING_GROUP_IS_SILENT, TRACKING_IS_MARKED};

fn some(servers: &[&str]) -> Vec<Servers> {
    servers.iter().map(|text| Servers::try_from(text.to_string()).unwrap()).collect()
}

fn add(name: &str, servers: &[&str]) -> Regrouping {
    Regrouping::Add { name: name.to_string(), servers: some(servers) }
}

fn remove(name: &str) -> Regrouping {
    Regrouping::Remove { name: name.to_string() }
}

fn order(lab: &mut Lab<Accf>, at: (u8, u16), order: Regrouping) -> Result<(), String> {
    lab.order(server(at.0, at.1), &Order::Regrouping(order)).map(drop)
}

/// Two data centres of two partitions, each server alone.
fn alone(tracking: Grouping) -> Lab<Accf> {
    let drain_us = 1_000_000;
    Lab::new(2, 2, Params { tracking, checking: SERVER, collect_after_us: 0, drain_us, ..Params::default() })
}

/// What a server believes of a group: how it stands, and how often it was asked for.
fn standing(lab: &Lab<Accf>, at: (u8, u16), name: &str) -> Option<(GroupStage, u64)> {
    let params = Params { checking: SERVER, ..Params::default() };
    let checking = Accf::EXTENSIONS.checking.expect("it has groups");
    let all = (checking.standing)(lab.protocol(server(at.0, at.1)), &params, &Topology::new(2, 2));
    all.checking.into_iter().find(|group| group.name == name).map(|group| (group.stage, group.asked))
}

fn id(lab: &Lab<Accf>, at: (u8, u16), name: &str) -> Option<u64> {
    let (params, topology) = (Params { checking: SERVER, ..Params::default() }, Topology::new(2, 2));
    let known = Accf::EXTENSIONS.checking_groups(&params, &topology, lab.hard(server(at.0, at.1)));
    known.into_iter().find(|(_, known)| known.name == name).map(|(id, _)| id.0)
}

/// Some rounds, 60 ms apart: in each a server tells another what has changed.
fn rounds(lab: &mut Lab<Accf>, from_us: u64, count: u64) {
    (0..count).for_each(|round| stabilise(lab, from_us + round * 60_000));
}

/// D10: an order is for one server; a group answers once all in it have told what they have.
#[test]
fn a_checking_group_comes() {
    fn seen() -> (String, String) {
        let mut lab = alone(REGION);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        stabilise(&mut lab, 9_000);
        order(&mut lab, (1, 0), add("both", &["B/*"])).unwrap();
        let both = id(&lab, (1, 0), "both").unwrap();
        assert_eq!(standing(&lab, (1, 0), "both"), Some((GroupStage::Forming, 0)));
        assert_eq!(standing(&lab, (1, 1), "both"), None, "nobody else has heard of it");
        let at_first = value(&mut lab, (1, 0), &x, ds(&[]), &[both]);
        rounds(&mut lab, 20_000, 8);
        for at in [(1, 0), (1, 1)] {
            assert_eq!(
                (id(&lab, at, "both"), standing(&lab, at, "both").unwrap().0),
                (Some(both), GroupStage::Active)
            );
        }
        assert_eq!(standing(&lab, (0, 0), "both"), Some((GroupStage::Elsewhere, 0)), "all know it");
        lab.put(a, &x, "2");
        lab.deliver_all();
        (at_first, value(&mut lab, (1, 0), &x, ds(&[]), &[both]))
    }
    let once = "1".to_string();
    assert_eq!(seen(), (once.clone(), once.clone()), "its own group, and then the new one");
    assert_eq!(without(&[FORMING_GROUP_IS_SILENT], seen), ("-".to_string(), once));
}

/// D10: it goes when nobody asks for it any more; who still does is answered all the same.
#[test]
fn a_checking_group_goes_when_nobody_asks_for_it() {
    let mut lab = alone(REGION);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.put(a, &x, "1");
    order(&mut lab, (1, 0), add("both", &["B/*"])).unwrap();
    let both = id(&lab, (1, 0), "both").unwrap();
    rounds(&mut lab, 10_000, 8);
    assert_eq!(order(&mut lab, (0, 0), remove("BOTH")), Ok(()));
    rounds(&mut lab, 600_000, 8);
    assert_eq!(standing(&lab, (1, 1), "both").unwrap().0, GroupStage::Retiring);
    assert_eq!(id(&lab, (1, 1), "both"), None, "nobody new is to ask for it");
    for us in [1_100_000, 1_600_000, 2_100_000] {
        assert_eq!(value(&mut lab, (1, 0), &x, ds(&[]), &[both]), "1");
        rounds(&mut lab, us, 8);
    }
    assert_eq!(
        standing(&lab, (1, 0), "both"),
        Some((GroupStage::Retiring, 3)),
        "it was asked for half a second ago"
    );
    rounds(&mut lab, 3_700_000, 16);
    assert_eq!([(0, 0), (0, 1), (1, 0), (1, 1)].map(|at| standing(&lab, at, "both")), [None; 4]);
    assert_eq!(value(&mut lab, (1, 0), &x, ds(&[]), &[both]), "1", "by another group");
    order(&mut lab, (0, 1), add("both", &["B/0"])).unwrap();
    assert_ne!(id(&lab, (0, 1), "both"), Some(both), "another of the same name");
    rounds(&mut lab, 5_000_000, 8);
    assert_eq!(standing(&lab, (1, 0), "both").unwrap().0, GroupStage::Active);
}

/// Orders of two operators who know nothing of each other are all carried out, and messages that get lost are repeated.
#[test]
fn all_servers_come_to_know_the_same() {
    let mut lab = alone(REGION);
    order(&mut lab, (0, 0), add("one", &["*/0"])).unwrap();
    order(&mut lab, (1, 1), add("two", &["*/1"])).unwrap();
    // Each tells all others, and nobody hears it.
    for round in 0..6 {
        lab.set_clocks(50_000 + round * 60_000);
        for at in [server(0, 0), server(1, 1)] {
            lab.fire(at, Timer::Theta);
            Topology::new(2, 2).servers().for_each(|to| lab.lose_messages(at, to));
        }
    }
    assert_eq!(id(&lab, (0, 1), "one"), None);
    rounds(&mut lab, 500_000, 12);
    for at in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert!(id(&lab, at, "one").is_some() && id(&lab, at, "two").is_some(), "{at:?}");
    }
    lab.restart(server(1, 0));
    assert!(id(&lab, (1, 0), "one").is_some(), "it was persisted");
    rounds(&mut lab, 3_000_000, 4);
    assert_eq!(standing(&lab, (1, 0), "one").unwrap().0, GroupStage::Active, "it forms again");
}

#[test]
fn orders_that_do_not_fit_are_refused_in_words() {
    let mut lab = alone(REGION);
    let mut refused = |it: Regrouping| order(&mut lab, (0, 0), it).unwrap_err();
    assert_eq!(refused(add("a/0", &["*"])), "there is a checking group a/0 already: remove it first");
    assert_eq!(refused(remove("A/0")), "A/0 is of the cluster file: only what was added can be removed");
    assert_eq!(refused(remove("shop")), "no checking group is called shop");
    assert_eq!(refused(add("shop", &[])), "group shop names no server");
    assert!(refused(add("shop", &["C/0"])).contains("names C/0, and there are 2 regions"));
    assert!(refused(add("a shop", &["*"])).contains("no name for a group"));
    let twice = Regrouping::Track { tracking: named(&[("l", &["A/*"]), ("r", &["*/0"])]) };
    assert_eq!(refused(twice), "A/0 belongs to l and to r: choose one");
    let exclusion = Exclusion { dc: DcId(1), round: 1, step: Step::Hold };
    let why = lab.order(server(0, 0), &Order::Exclusion(exclusion)).unwrap_err();
    assert_eq!(why, "accf cannot do without a region");
}

/// D11: what was written under another tracking counts as everything up to its latest time, wherever it is looked for.
#[test]
fn versions_of_another_tracking_show_once_all_is_there_that_they_may_depend_on() {
    fn seen() -> [String; 3] {
        let mut lab = alone(REGION);
        let (ann, x, y) = (lab.client(0), lab.key("x", 1), lab.key("y", 0));
        lab.put(ann, &x, "cause");
        lab.set_clocks(2_000);
        lab.put(ann, &y, "effect"); // {A: 2000}
        let track = Regrouping::Track { tracking: SERVER };
        order(&mut lab, (1, 0), track.clone()).unwrap();
        order(&mut lab, (1, 1), track).unwrap();
        lab.deliver(server(0, 0), server(1, 0));
        lab.fire(server(1, 0), Timer::Theta);
        let ben = lab.client(1);
        let effect = lab.get(ben, &y);
        lab.begin(ben, Op::Get { key: x.clone() });
        let cause = lab.outcome(ben).map_or("waits".to_string(), |outcome| text(&outcome));
        rounds(&mut lab, 10_000, 8);
        [effect, cause, lab.outcome(ben).map_or("-".to_string(), |outcome| text(&outcome))]
    }
    assert_eq!(seen(), ["effect", "waits", "cause"].map(str::to_string));
    assert_eq!(without(&[TRACKING_IS_MARKED], seen), ["effect", "-", "-"].map(str::to_string));
}

/// D11: the session, the versions and the server that holds them may each know another tracking.
#[test]
fn a_session_goes_on_through_changes_of_tracking_and_restarts() {
    let mut lab = alone(REGION);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    let mut before = lab.token(s).past.tracking();
    for (round, tracking) in [SYSTEM, SERVER, REGION, named(&[("w", &["*/0"])])].into_iter().enumerate() {
        let us = 2_000_000 * (1 + round as u64);
        order(&mut lab, (0, round as u16 % 2), Regrouping::Track { tracking }).unwrap();
        for (n, key) in [&x, &y].into_iter().enumerate() {
            lab.set_clocks(us + n as u64);
            lab.put(s, key, &format!("{round}.{n}"));
        }
        let expected = format!("{round}.0 {round}.1");
        assert_eq!(read_later(&mut lab, s, us + 10_000, &[&x, &y]), expected, "what it wrote itself");
        lab.restart(server(0, 1));
        assert_eq!(read_later(&mut lab, s, us + 700_000, &[&x, &y]), expected);
        let other = lab.client(1);
        assert_eq!(read_later(&mut lab, other, us + 1_400_000, &[&x, &y]), expected, "elsewhere");
        let [mine, theirs] = [s, other].map(|session| lab.token(session).past.tracking());
        assert!(mine == theirs && mine != before, "all speak of the groups of now");
        before = mine;
    }
}

/// What a transaction reads that may have to wait.
fn read_later(lab: &mut Lab<Accf>, session: usize, us: u64, keys: &[&Key]) -> String {
    lab.begin(session, rotx(keys));
    rounds(lab, us, 10);
    lab.outcome(session).map_or("waits".to_string(), |outcome| text(&outcome))
}

/// D11: of a key, versions may be gone that only a new group would show.
#[test]
fn nobody_is_shown_less_because_a_group_is_new() {
    fn seen() -> String {
        let mut lab = alone(REGION);
        let (b, x) = (lab.client(1), lab.key("x", 0));
        let heard = [server(0, 0), server(0, 1), server(1, 0)];
        for us in [1_000, 500_000, 1_000_000, 1_500_000] {
            lab.set_clocks(us);
            if us < 1_000_000 {
                lab.put(b, &x, "v");
            }
            // Of B/1 nobody hears anything, so A/1 does not know what has arrived from B.
            for timer in [Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta] {
                heard.iter().for_each(|at| lab.fire(*at, timer));
                lab.deliver_all();
            }
        }
        assert_eq!(lab.store(server(0, 0)).totals().versions, 1, "alone, it has collected the other");
        order(&mut lab, (0, 0), add("late", &["A/*"])).unwrap();
        let late = id(&lab, (0, 0), "late").unwrap();
        for round in 0..8 {
            lab.set_clocks(1_600_000 + round * 60_000);
            for _ in 0..2 {
                heard.iter().for_each(|at| lab.fire(*at, Timer::Theta));
                lab.deliver_all();
            }
        }
        assert_eq!(standing(&lab, (0, 0), "late").unwrap().0, GroupStage::Active);
        value(&mut lab, (0, 0), &x, ds(&[]), &[late])
    }
    assert_eq!(seen(), "v");
    assert_eq!(without(&[FLOOR_HOLDS], seen), "-");
}
