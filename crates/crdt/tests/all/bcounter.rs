//! Bounded counters: what each command answers, what becomes of counters that regions change at once, and the bound in every
//! view of random schedules.

use crate::harness::{Desk, Version, show};
use tidemark_core::{Reply, without};
use tidemark_crdt::rule::{GIVEN_RIGHTS_GO, OWN_RIGHTS_LIMIT};

fn said(desk: &mut Desk, line: &str) -> String {
    show(&desk.run(line), 2)
}

fn refused(desk: &mut Desk, line: &str) -> bool {
    let (reply, written) = desk.tell(line);
    matches!(reply, Reply::Error(_)) && written.is_none()
}

#[test]
fn a_counter_moves_between_its_bound_and_what_64_bits_hold() {
    let mut desk = Desk::new(0, false);
    for (line, reply) in [
        ("tide.bcounter|get k", "_"),
        ("tide.bcounter|rights k", "[]"),
        ("tide.bcounter|create k 3 10", "+OK"),
        ("tide.bcounter|create k 3 10", "-BUSYKEY Target key name already exists."),
        ("tide.bcounter|decrby k 7", ":3"),
        ("tide.bcounter|decrby k 1", "-NORIGHTS the counter is 3 and cannot fall by 1: its bound is 3"),
        ("tide.bcounter|incrby k 2", ":5"),
        ("tide.bcounter|rights k", "[\"A\" :2]"),
        ("tide.bcounter|incrby k 9223372036854775807", "-ERR increment or decrement would overflow"),
        ("tide.bcounter|incrby k 9223372036854775802", ":9223372036854775807"),
        ("tide.bcounter|incrby k 0", "-ERR value is out of range, must be at least 1"),
        ("tide.bcounter|decrby k -1", "-ERR value is out of range, must be at least 1"),
        ("tide.bcounter|decrby k x", "-ERR value is not an integer or out of range"),
        ("type k", "+tide-bcounter"),
        ("object|encoding k", "\"raw\""),
        ("tide.bcounter|create other 5 4", "-ERR the counter begins below its bound"),
        ("tide.bcounter|create other -9223372036854775808 9223372036854775807", "+OK"),
        ("tide.bcounter|decrby other 9223372036854775807", ":0"),
        ("tide.bcounter|create low 5", "+OK"),
        ("tide.bcounter|get low", ":5"),
    ] {
        assert_eq!(said(&mut desk, line), reply, "{line}");
    }
    assert!(
        refused(&mut desk, "tide.bcounter|incrby nobody 1")
            && refused(&mut desk, "tide.bcounter|decrby nobody 1")
    );
}

#[test]
fn nothing_else_makes_or_moves_rights() {
    let mut desk = Desk::new(0, false);
    desk.run("tide.bcounter|create k 0 10");
    desk.run("set text v");
    for line in [
        "incr k",
        "incrbyfloat k 1",
        "append k 1",
        "setrange k 0 x",
        "get k",
        "hset k f v",
        "dump k",
        "getset k 1",
    ] {
        assert!(refused(&mut desk, line), "{line}");
    }
    for line in ["tide.bcounter|get text", "tide.bcounter|incrby text 1", "tide.bcounter|decrby text 1"] {
        assert!(refused(&mut desk, line), "{line}");
    }
    assert_eq!(said(&mut desk, "tide.bcounter|create text 1"), "-BUSYKEY Target key name already exists.");
    assert_eq!(said(&mut desk, "tide.bcounter|get k"), ":10");
    assert_eq!(said(&mut desk, "del k"), ":1");
    assert_eq!(said(&mut desk, "exists k"), ":0");
}

/// Regions that have all seen `start`, each once.
fn regions<const N: usize>(start: &[&str]) -> [Desk; N] {
    let mut desks: [Desk; N] = std::array::from_fn(|region| Desk::new(region as u8, false));
    for line in start {
        let version = desks[0].tell(line).1.expect("it writes");
        desks[1..].iter_mut().for_each(|desk| desk.receive("k", &version));
    }
    desks
}

/// What two regions agree on after one command each, in both orders of time.
#[track_caller]
fn at_once(start: &[&str], [a, b]: [&str; 2], question: &str, expected: [&str; 2]) {
    for (times, expected) in [([100_000, 200_000], expected[0]), ([200_000, 100_000], expected[1])] {
        let [mut one, mut other] = regions(start);
        let first = one.at(times[0]).tell(a).1.expect("it writes");
        let second = other.at(times[1]).tell(b).1.expect("it writes");
        one.receive("k", &second);
        other.receive("k", &first);
        assert_eq!(one.inside("k"), other.inside("k"), "{a} || {b}");
        let shown = said(one.at(300_000), question);
        one.settle(250_000);
        assert_eq!((said(&mut one, question), &shown[..]), (shown.clone(), expected), "{a} || {b}");
    }
}

#[test]
fn what_regions_do_at_once_adds_up() {
    let start = ["tide.bcounter|create k 0 10", "tide.bcounter|give k 1"];
    let get = "tide.bcounter|get k";
    at_once(&start, ["tide.bcounter|decrby k 5", "tide.bcounter|decrby k 5"], get, [":0"; 2]);
    at_once(&start, ["tide.bcounter|incrby k 1", "tide.bcounter|decrby k 2"], get, [":9"; 2]);
}

#[test]
fn of_counters_created_at_once_the_later_counts_as_a_whole() {
    let [a, b] = ["tide.bcounter|create k 0 10", "tide.bcounter|create k 5 7"];
    at_once(&[], [a, b], "tide.bcounter|get k", [":7", ":10"]);
    at_once(&[], [a, b], "tide.bcounter|rights k", ["[\"B\" :2]", "[\"A\" :10]"]);
}

#[test]
fn a_deletion_takes_what_another_region_does_to_the_counter_at_once() {
    let start = ["tide.bcounter|create k 0 10", "tide.bcounter|give k 1"];
    at_once(&start, ["del k", "tide.bcounter|decrby k 2"], "exists k", [":0"; 2]);
    at_once(&start, ["set k v", "tide.bcounter|incrby k 2"], "type k", ["+string"; 2]);
}

#[test]
fn a_counter_that_is_created_anew_does_not_know_the_old_one() {
    let [mut one, mut other] = regions(&["tide.bcounter|create k 0 10", "tide.bcounter|give k 1"]);
    let old = other.at(100_000).tell("tide.bcounter|decrby k 5").1.expect("it writes");
    for line in ["del k", "tide.bcounter|create k 0 3"] {
        let version = one.at(100_000).tell(line).1.expect("it writes");
        other.receive("k", &version);
    }
    one.receive("k", &old);
    assert_eq!(
        [said(&mut one, "tide.bcounter|get k"), said(&mut other, "tide.bcounter|get k")],
        [":3", ":3"]
    );
    assert_eq!(one.inside("k"), other.inside("k"));
}

#[test]
fn a_deadline_takes_the_whole_counter() {
    let mut desk = Desk::new(0, false);
    desk.run("tide.bcounter|create k 0 10");
    assert_eq!(said(&mut desk, "pexpire k 5"), ":1");
    desk.at(50_000);
    assert_eq!(said(&mut desk, "tide.bcounter|get k"), "_");
    assert!(refused(&mut desk, "tide.bcounter|decrby k 1"));
    assert_eq!(said(&mut desk, "tide.bcounter|create k 0 2"), "+OK");
    assert_eq!(said(&mut desk, "tide.bcounter|rights k"), "[\"A\" :2]");
}

/// The requests that a region may send when it lacks rights, by the number of the region that is asked.
fn requests(desk: &mut Desk, by: u64) -> Vec<(i64, Reply)> {
    let Reply::Array(all) = desk.run(&format!("tide.bcounter|lenders k {by}")) else { panic!("a list") };
    let one = |reply: Reply| match reply {
        Reply::Array(parts) => match &parts[..] {
            [Reply::Int(from), Reply::Int(_), request] => (*from, request.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    all.into_iter().map(one).collect()
}

#[test]
fn the_richest_is_asked_first_and_nobody_where_it_would_be_in_vain() {
    let [mut a, mut b, mut c] = regions(&["tide.bcounter|create k 0 10", "tide.bcounter|give k 1"]);
    let given = b.at(200_000).tell("tide.bcounter|give k 2").1.expect("it writes");
    c.receive("k", &given);
    a.receive("k", &given);
    let asked =
        |desk: &mut Desk, by| requests(desk, by).into_iter().map(|(from, _)| from).collect::<Vec<_>>();
    assert_eq!(asked(&mut c, 4), [0, 1], "A has 5, B 2, C 3");
    assert_eq!(asked(&mut b, 10), [0, 2]);
    assert_eq!(asked(&mut c, 3), Vec::<i64>::new(), "its own rights are enough");
    assert_eq!(asked(&mut c, 11), Vec::<i64>::new(), "there are only 10");
    let why = said(&mut c, "tide.bcounter|decrby k 4");
    assert!(why.starts_with("-NORIGHTS this region may take 3 of 10: it is asking another region"), "{why}");
}

#[test]
fn a_request_that_is_repeated_or_late_gives_nothing_twice() {
    let [mut a, mut b] = regions(&["tide.bcounter|create k 0 10"]);
    let (_, Reply::Bulk(request)) = requests(&mut b, 4).remove(0) else { panic!("a request") };
    let give = |desk: &mut Desk, request: &[u8]| {
        // What a gateway sends is no text.
        let words = [b"tide.bcounter|give".to_vec(), b"k".to_vec(), b"1".to_vec(), request.to_vec()];
        desk.tell_words(words.into_iter().map(Into::into).collect())
    };
    let (reply, given) = give(&mut a, &request);
    let given = given.expect("it writes");
    assert_eq!(show(&reply, 2), ":5");
    assert!(give(&mut a, &request).1.is_none(), "it comes twice");
    b.receive("k", &given);
    assert_eq!(said(&mut b, "tide.bcounter|decrby k 5"), ":5");
    let (_, Reply::Bulk(next)) = requests(&mut b, 1).remove(0) else { panic!("a request") };
    assert_eq!(show(&give(&mut a, &next).0, 2), ":3", "half of five, and no less than one");
    assert!(give(&mut a, &request).1.is_none(), "it comes late");
    assert_eq!(said(&mut a, "del k"), ":1");
    a.run("tide.bcounter|create k 0 10");
    assert!(give(&mut a, &next).1.is_none(), "it was of another counter");
    assert_eq!(show(&give(&mut a, b"?").0, 2), "-ERR value is not an integer or out of range");
}

#[test]
fn nobody_gives_to_itself_or_what_it_does_not_have() {
    let [mut a, mut b] = regions(&["tide.bcounter|create k 0 1"]);
    assert!(a.tell("tide.bcounter|give k 0").1.is_none() && b.tell("tide.bcounter|give k 0").1.is_none());
    assert!(a.tell("tide.bcounter|give k 1").1.is_some() && a.tell("tide.bcounter|give k 1").1.is_none());
    assert_eq!(said(&mut b, "tide.bcounter|give nobody 0"), ":0");
}

/// Plays random commands in three regions, which hear of each other's after a while, in the order of causes. Returns what is wrong.
fn play(seed: u64) -> Result<(), String> {
    let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (min, initial) = (random.i64(-5..5), random.i64(0..20));
    let create = format!("tide.bcounter|create k {min} {}", min + initial);
    let mut desks: [Desk; 3] = regions(&[&create]);
    // What each region has seen, of whom how many, and what each has written, with what it had seen then.
    let mut seen = [[0_usize; 3]; 3];
    let mut written: [Vec<(Version, [usize; 3])>; 3] = Default::default();
    let mut all = i128::from(min + initial);
    let mut time = 100_000;
    for step in 0..60 {
        let (at, by) = (random.usize(0..3), random.i64(1..8));
        time += 2_000;
        if random.u32(0..100) < 45 {
            // The next of a region, if what its writer had seen is there.
            let from = random.usize(0..3);
            let next = written[from].get(seen[at][from]).filter(|_| from != at);
            let has = |had: &[usize; 3]| (0..3).all(|of| of == from || seen[at][of] >= had[of]);
            if let Some((version, _)) = next.filter(|(_, had)| has(had)) {
                desks[at].receive("k", version);
                seen[at][from] += 1;
            }
        } else {
            let line = match random.u32(0..10) {
                0..6 => format!("tide.bcounter|decrby k {by}"),
                6..8 => format!("tide.bcounter|incrby k {by}"),
                _ => format!("tide.bcounter|give k {}", random.usize(0..3)),
            };
            if let (reply, Some(version)) = desks[at].at(time).tell(&line) {
                let sign = if line.contains("decrby") { -1 } else { i128::from(line.contains("incrby")) };
                all += sign * i128::from(by);
                assert!(matches!(reply, Reply::Int(_)), "{line}: {reply:?}");
                written[at].push((version, seen[at]));
                seen[at][at] += 1;
            }
        }
        let there = value(&mut desks[at])?;
        if there < min {
            return Err(format!("step {step}: {there} in region {at} is below {min}"));
        }
    }
    for at in 0..3 {
        for from in (0..3).filter(|from| *from != at) {
            let missing = seen[at][from]..written[from].len();
            missing.for_each(|next| desks[at].receive("k", &written[from][next].0));
        }
    }
    judge(&mut desks, all, all - i128::from(min))
}

/// In the end every region says that the counter is `all`, with `rights` in all.
fn judge(desks: &mut [Desk; 3], all: i128, rights: i128) -> Result<(), String> {
    let inside = desks[0].inside("k");
    let sum = |reply: Reply| match reply {
        Reply::Map(all) => {
            let number =
                |one: &(Reply, Reply)| if let Reply::Int(rights) = one.1 { i128::from(rights) } else { 0 };
            all.iter().map(number).sum()
        }
        _ => 0,
    };
    for (at, desk) in desks.iter_mut().enumerate() {
        let found = (i128::from(value(desk)?), sum(desk.run("tide.bcounter|rights k")));
        if found != (all, rights) {
            return Err(format!("region {at} ends with {found:?}, and should with {:?}", (all, rights)));
        }
        if desk.inside("k") != inside {
            return Err(format!("region {at} and the first differ"));
        }
    }
    Ok(())
}

fn value(desk: &mut Desk) -> Result<i64, String> {
    match desk.run("tide.bcounter|get k") {
        Reply::Int(value) => Ok(value),
        other => Err(format!("GET answers {other:?}")),
    }
}

const SEEDS: std::ops::Range<u64> = 0..600;

#[test]
fn the_bound_holds_in_every_view_and_rights_are_neither_made_nor_lost() {
    SEEDS.for_each(|seed| assert_eq!(play(seed), Ok(()), "seed {seed}"));
}

#[test]
fn schedules_find_a_region_that_takes_more_than_its_rights() {
    for rule in [OWN_RIGHTS_LIMIT, GIVEN_RIGHTS_GO] {
        let found = SEEDS.into_iter().find(|seed| without(&[rule], || play(*seed)).is_err());
        assert!(found.is_some(), "nobody misses {rule}");
    }
}
