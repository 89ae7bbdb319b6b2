//! COPS (PROTOCOLS §2): its steps, the trace of erratum E-4, the deviations of the file, and what each rule is for.

use crate::as_published;
use tidemark_contract::core::{DcId, Failure, Hlc, Key, Micros, Outcome, PartitionId, Stamp};
use tidemark_contract::lab::{put, server};
use tidemark_contract::{Dep, Deps, Lab, Protocol, Scope, without};
use tidemark_protocols::Cops;
use tidemark_protocols::cops::{
    FORGETS, FORGETS_ONLY_EVERYWHERE, LISTS_ARE_LONG, LOSERS_WAIT, Meta, PUT_ABOVE_CONTEXT, PUT_IS_NEAR,
    Params, READS_ARE_NEAR, SPARES_WAITING, Timer, most_deps,
};

fn lab(dcs: usize, partitions: usize) -> Lab<Cops> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Cops> {
    lab(dcs, partitions)
}

fn near(list: &[(u16, Hlc, u8)]) -> Deps {
    let mut deps = Deps::default();
    list.iter().for_each(|(p, ts, dc)| deps.include(PartitionId(*p), Stamp::new(*ts, DcId(*dc))));
    deps
}

fn context(lab: &Lab<Cops>, session: usize) -> Deps {
    lab.token(session).past.near
}

/// How much waits at partition `p` of B.
fn blocked(lab: &Lab<Cops>, p: u16) -> usize {
    lab.protocol(server(1, p)).status().blocked
}

/// What partition `p` of A wrote reaches B, all of it.
fn ship(lab: &mut Lab<Cops>, p: u16) {
    while lab.deliver(server(0, p), server(1, p)) {}
}

/// θ everywhere, and everything arrives; twice, for what is told of what was told.
fn tell(lab: &mut Lab<Cops>, us: Micros) {
    lab.round(us, &[Timer::Theta]);
    lab.round(us + 1_000, &[Timer::Theta]);
}

/// Messages within B.
fn talk(lab: &mut Lab<Cops>) {
    lab.deliver_within(DcId(1));
}

/// Reference: PROTOCOLS §2, step 1.
#[test]
fn step_1_what_a_get_returns_enters_the_context() {
    let mut lab = sound(2, 2);
    let (a, b, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    let (first, second) = (lab.put(a, &x, "1"), lab.put(a, &y, "2"));
    lab.get(b, &x);
    lab.get(b, &y);
    lab.get(b, &lab.key("absent", 1));
    assert_eq!(context(&lab, b), near(&[(0, first, 0), (1, second, 0)]));
}

/// Reference: PROTOCOLS §2, step 2: `put_after` brings the context, and is all of it from then on.
#[test]
fn step_2_a_put_carries_the_context_and_takes_its_place() {
    fn shown() -> (String, String) {
        let mut lab = lab(2, 2);
        let (a, b, c) = (lab.client(0), lab.client(0), lab.client(1));
        let (x, y, z) = (lab.key("x", 0), lab.key("y", 1), lab.key("z", 1));
        lab.put(a, &x, "1");
        lab.get(b, &x);
        lab.put(b, &y, "read x");
        let last = lab.put(b, &z, "wrote y");
        assert!(context(&lab, b).is_empty() || context(&lab, b) == near(&[(1, last, 0)]));
        ship(&mut lab, 1);
        talk(&mut lab);
        (lab.get(c, &y), lab.get(c, &z))
    }
    let shown = [shown(), without(&[READS_ARE_NEAR], shown), without(&[PUT_IS_NEAR], shown)];
    assert_eq!(shown[0], ("-".into(), "-".into()), "x is not there yet");
    assert_eq!(shown[1], ("read x".into(), "wrote y".into()));
    assert_eq!(shown[2], ("-".into(), "wrote y".into()));
}

/// Reference: PROTOCOLS §2, step 3.
#[test]
fn step_3_a_put_waits_for_nothing_and_is_stamped_above_the_context() {
    fn put_elsewhere() -> (Hlc, Hlc, bool) {
        let mut lab = lab(2, 2);
        let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 50_000);
        let x = lab.put(a, &x, "1");
        let before = lab.transcript.len();
        let y = lab.put(a, &y, "2");
        (x, y, lab.transcript[before..].contains("Check"))
    }
    let (x, y, asked) = put_elsewhere();
    assert!(y > x && !asked, "{y} {x}");
    let (x, y, _) = without(&[PUT_ABOVE_CONTEXT], put_elsewhere);
    assert!(y < x);
}

/// Reference: PROTOCOLS §2, step 3; the drivers' bound on stamps.
#[test]
fn step_3_a_put_that_would_lie_too_far_ahead_is_refused() {
    let mut lab = sound(1, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 60_000_000);
    lab.put(a, &x, "1");
    assert!(matches!(lab.run(a, put(&y, "2")), Outcome::Failed(Failure::ClockSkew { .. })));
    assert_eq!((lab.get(a, &y).as_str(), context(&lab, a).len()), ("-", 1));
}

/// Reference: PROTOCOLS §2, step 4: own keys are checked here.
#[test]
fn step_4_what_its_own_partition_holds_is_not_asked_for() {
    let mut lab = sound(2, 2);
    let (a, c) = (lab.client(0), lab.client(1));
    let (x, y, z) = (lab.key("x", 0), lab.key("y", 0), lab.key("z", 1));
    lab.put(a, &z, "0");
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    ship(&mut lab, 0);
    assert_eq!((lab.get(c, &y).as_str(), blocked(&lab, 0)), ("-", 2), "y waits for x, which waits for z");
    ship(&mut lab, 1);
    let before = lab.transcript.len();
    talk(&mut lab);
    assert_eq!((lab.get(c, &x).as_str(), lab.get(c, &y).as_str()), ("1", "2"));
    assert_eq!(lab.transcript[before..].matches("Ask").count(), 1, "{}", &lab.transcript[before..]);
}

/// What a session of B sees of y, and then of z, in the trace of erratum E-4: in B a concurrent version of x, newer than
/// the one that y depends on, shows already; z, which that one depends on, is not there.
fn e_4() -> (String, String) {
    let mut lab = lab(2, 2);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(1));
    let (x, y, z) = (lab.key("x", 0), lab.key("y", 0), lab.key("z", 1));
    lab.put(a, &z, "z1");
    lab.put(a, &x, "x3");
    lab.put(a, &y, "y4");
    lab.set_clock(server(1, 0), 5_000);
    lab.put(b, &x, "x2, concurrent and newer");
    ship(&mut lab, 0);
    talk(&mut lab);
    (lab.get(c, &y), lab.get(c, &z))
}

/// Reference: erratum E-4; PROTOCOLS §2, step 5.
#[test]
fn step_5_a_check_is_for_that_very_update() {
    assert_eq!(e_4(), ("-".into(), "-".into()));
    assert_eq!(
        as_published("cops-published", e_4),
        ("y4".into(), "-".into()),
        "the comment without the photo"
    );
}

/// Reference: erratum E-4, where the check goes to a sibling, which has not even received the update.
#[test]
fn step_5_as_published_a_sibling_is_content_with_another_version() {
    fn shown() -> String {
        let mut lab = lab(2, 2);
        let (a, b, c, x, y) = (lab.client(0), lab.client(1), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        lab.put(a, &x, "1");
        lab.put(a, &y, "2");
        lab.set_clock(server(1, 0), 5_000);
        lab.put(b, &x, "newer");
        ship(&mut lab, 1);
        talk(&mut lab);
        lab.get(c, &y)
    }
    assert_eq!((shown().as_str(), as_published("cops-published", shown).as_str()), ("-", "2"));
}

/// Reference: PROTOCOLS §2, step 6: a losing version is recorded as applied, once it was checked.
#[test]
fn step_6_a_version_that_has_lost_is_checked_as_well() {
    assert_eq!(without(&[LOSERS_WAIT], e_4).0, "y4");
    let mut lab = sound(2, 2);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(1));
    let (x, y, z) = (lab.key("x", 0), lab.key("y", 0), lab.key("z", 1));
    lab.put(a, &z, "z1");
    lab.put(a, &x, "loses");
    lab.put(a, &y, "y4");
    lab.set_clock(server(1, 0), 5_000);
    lab.put(b, &x, "wins");
    ship(&mut lab, 0);
    talk(&mut lab);
    assert_eq!(blocked(&lab, 0), 2);
    ship(&mut lab, 1);
    talk(&mut lab);
    let seen = [&x, &y, &z].map(|key| lab.get(c, key));
    assert_eq!((seen, blocked(&lab, 0)), (["wins".into(), "y4".into(), "z1".into()], 0));
}

/// Reference: PROTOCOLS §2, step 6: `clock = max(clock, ver) + 1`.
#[test]
fn step_6_a_put_wins_over_what_shows_where_it_is_written() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.set_clock(server(0, 0), 90_000);
    let fast = lab.put(a, &x, "fast clock");
    ship(&mut lab, 0);
    assert!(lab.put(b, &x, "slow clock") > fast);
}

/// D4: a session that only reads depends on what is under way, not on all that it ever read.
#[test]
fn d4_a_context_forgets_what_is_applied_everywhere() {
    fn most(partition: u16) -> (usize, usize) {
        let mut lab = lab(2, 2);
        let (writer, reader) = (lab.client(0), lab.client(0));
        let (mut most, keys) = (0, ["a", "b", "c", "d"].map(|name| lab.key(name, 0)));
        for round in 1..=25 {
            lab.set_clocks(round * 10_000);
            for key in &keys {
                lab.put(writer, key, "v");
                lab.get(reader, key);
            }
            most = most.max(context(&lab, reader).len());
            tell(&mut lab, round * 10_000 + 2_000);
        }
        lab.get(reader, &lab.key("absent", partition));
        (most, context(&lab, reader).len())
    }
    assert_eq!(most(0), (4, 0));
    assert_eq!(most(1), (4, 4), "another partition's server does not know");
    let (longest, last) = without(&[FORGETS], || most(0));
    assert!(longest == most_deps() && last > 30, "{longest}, {last}: all that it ever read, in short");
}

/// D4: one that has not arrived somewhere is not forgotten.
#[test]
fn d4_a_context_keeps_what_is_applied_only_here() {
    fn shown() -> String {
        let mut lab = lab(2, 2);
        let (a, c, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        lab.put(a, &x, "1");
        lab.set_clocks(5_000);
        lab.fire(server(0, 0), Timer::Theta);
        lab.get(a, &x);
        lab.put(a, &y, "2");
        ship(&mut lab, 1);
        talk(&mut lab);
        lab.get(c, &y)
    }
    assert_eq!((shown().as_str(), without(&[FORGETS_ONLY_EVERYWHERE], shown).as_str()), ("-", "2"));
}

/// D4: however long another region is away, a context has a bound, and still implies all that was read.
#[test]
fn d4_a_context_has_a_bound_while_another_region_is_cut_off() {
    let mut lab = sound(2, 2);
    let (writer, reader, c) = (lab.client(0), lab.client(0), lab.client(1));
    let keys: Vec<Key> = (0..100).map(|n| lab.key(&format!("k{n}-"), n % 2)).collect();
    for key in &keys {
        lab.put(writer, key, "v");
        lab.get(reader, key);
        assert!(context(&lab, reader).len() <= most_deps());
    }
    let scopes: Vec<Scope> = context(&lab, reader).iter().map(|dep: &Dep| dep.scope.clone()).collect();
    assert!(scopes.contains(&Scope::UpTo), "{scopes:?}");
    let last = lab.key("last", 0);
    lab.put(reader, &last, "v");
    for n in (0..100).rev() {
        assert_eq!(lab.get(c, &last), "-", "{n} to come");
        lab.deliver(server(0, n % 2), server(1, n % 2));
        talk(&mut lab);
    }
    ship(&mut lab, 0);
    talk(&mut lab);
    assert_eq!(lab.get(c, &last), "v");
}

/// D4: dependencies on all up to a time cannot wait for each other, for stamps rise along them.
#[test]
fn d4_bounded_dependencies_do_not_wait_for_each_other() {
    let _without = tidemark_contract::rule::Without::new(&[LISTS_ARE_LONG]);
    let mut lab = lab(2, 2);
    let (a, c) = (lab.client(0), lab.client(1));
    let keys: Vec<Key> = (0..12).map(|n| lab.key(&format!("k{n}-"), n % 2)).collect();
    for (n, key) in keys.iter().enumerate() {
        lab.set_clock(server(0, n as u16 % 2), 90_000 / (n as u64 + 1));
        keys.iter().for_each(|key| drop(lab.get(a, key)));
        lab.put(a, key, "v");
    }
    lab.deliver_all();
    assert_eq!((blocked(&lab, 0), blocked(&lab, 1)), (0, 0));
    assert!(keys.iter().all(|key| lab.get(c, key) == "v"));
}

/// D4: nobody asks for the dependencies of a version again once it was applied.
#[test]
fn d4_an_applied_version_carries_no_dependencies() {
    let mut lab = sound(2, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    lab.deliver_all();
    for dc in 0..2 {
        assert!(lab.store(server(dc, 1)).versions().all(|d| d.meta == Meta::default()));
    }
}

/// D5: what decides a conditional update becomes a dependency of the version and of the session.
#[test]
fn d5_a_conditional_update_depends_on_what_decided_it() {
    let mut lab = sound(2, 2);
    let (a, b, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    let first = lab.put(a, &x, "1");
    assert_eq!(lab.put_new(b, &x, "2"), None);
    assert_eq!(context(&lab, b), near(&[(0, first, 0)]));
    lab.remove(b, &x);
    let (c, y) = (lab.client(0), lab.key("y", 1));
    assert!(lab.put_new(c, &x, "3").is_some(), "a tombstone decided it");
    lab.put(c, &y, "4");
    ship(&mut lab, 1);
    talk(&mut lab);
    let d = lab.client(1);
    assert_eq!(lab.get(d, &y), "-");
}

/// D5: MGET asks each partition once; what it returns enters the context.
#[test]
fn d5_several_keys_are_read_at_once_and_in_order() {
    let mut lab = sound(2, 3);
    let (a, b) = (lab.client(0), lab.client(0));
    let keys = [lab.key("x", 0), lab.key("y", 1), lab.key("z", 2)];
    for key in &keys {
        lab.put(a, key, &key.to_string()[..1]);
    }
    assert_eq!(lab.rotx(b, &[&keys[2], &keys[0], &keys[1], &keys[0]]), "z x y x");
    assert_eq!(lab.rotx(b, &[]), "");
    assert_eq!((context(&lab, b).len(), lab.scan(b, 1)), (3, format!("{} 1", keys[1])));
    let c = lab.client(0);
    lab.scan(c, 1);
    assert_eq!(context(&lab, c).len(), 1, "a scan depends on what it found");
}

/// D5: a tombstone goes once it is applied everywhere and nothing older can come.
#[test]
fn d5_tombstones_go() {
    let mut lab = sound(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.remove(a, &x);
    assert_eq!(lab.store(server(0, 0)).totals().versions, 1, "one version is kept");
    lab.deliver_all();
    for us in [10_000, 20_000, 30_000] {
        tell(&mut lab, us);
    }
    assert_eq!([0, 1].map(|dc| lab.store(server(dc, 0)).totals().keys), [0, 0]);
}

/// I3: while a version of a key waits, nothing of the key is dropped: not what shows, and not what waits.
#[test]
fn i3_a_version_that_waits_is_not_dropped_and_drops_nothing() {
    fn shown() -> String {
        let mut lab = lab(2, 2);
        let (a, b, c, x, z) = (lab.client(0), lab.client(1), lab.client(1), lab.key("x", 0), lab.key("z", 1));
        lab.put(b, &x, "old");
        lab.set_clocks(5_000);
        lab.put(a, &z, "z1");
        lab.put(a, &x, "new");
        ship(&mut lab, 0);
        lab.put(b, &x, "meanwhile");
        lab.get(c, &x)
    }
    assert_eq!(shown(), "meanwhile");
    assert_eq!(without(&[SPARES_WAITING], shown), "-");
}
