//! Commands of sorted sets, against what Redis replies.

use crate::harness::{self, Desk, compare, show, transcript};
use bytes::Bytes;
use std::collections::BTreeSet;
use tidemark_core::{Command, DcId, Hlc, Key, Stamp, Verb};
use tidemark_crdt::{Effect, Moment, State, evaluate, evaluate_many};

#[test]
fn adding_replies_as_redis() {
    transcript("zset_add");
}

#[test]
fn ranges_reply_as_redis() {
    transcript("zset_range");
}

#[test]
fn the_other_commands_reply_as_redis() {
    transcript("zset_other");
}

/// Redis replies so since 7.2.
#[test]
fn rank_with_score() {
    let mut desk = Desk::new(1, false);
    desk.run("zadd k 1 a 2.5 b");
    let mut shown = |command: &str| {
        let reply = desk.run(command);
        (show(&reply, 2), show(&reply, 3))
    };
    let both = |two: &str, three: &str| (two.to_string(), three.to_string());
    assert_eq!(shown("zrank k b withscore"), both("[:1 \"2.5\"]", "[:1 ,2.5]"));
    assert_eq!(shown("zrevrank k b WITHSCORE"), both("[:0 \"2.5\"]", "[:0 ,2.5]"));
    assert_eq!(shown("zrank k x withscore"), both("*_", "_"));
    assert_eq!(shown("zrevrank none x withscore"), both("*_", "_"));
    let syntax = "-ERR syntax error";
    assert_eq!(shown("zrank k b withscores"), both(syntax, syntax));
    let arity = "-ERR wrong number of arguments for 'zrank' command";
    assert_eq!(shown("zrank k b withscore x"), both(arity, arity));
}

/// Scores that no short text tells exactly keep their value; a zero loses its sign.
#[test]
fn scores_are_exact() {
    let mut desk = Desk::new(1, true);
    desk.run("zadd k 0.1 a -0.0 b 1.7976931348623157e308 c 5e-324 d");
    let shown = show(&desk.run("zmscore k a b c d"), 3);
    assert_eq!(shown, "[,0.1 ,0 ,1.7976931348623157e+308 ,5e-324]");
    desk.run("zincrby k 0.2 a");
    assert_eq!(show(&desk.run("zscore k a"), 3), ",0.30000000000000004");
}

#[test]
fn random_members_are_those_that_are_there() {
    let mut desk = Desk::new(1, false);
    for len in [1_usize, 5, 50, 500] {
        let key = format!("k{len}");
        for member in 0..len {
            desk.run(&format!("zadd {key} {member} m{member}"));
        }
        for count in [1, len / 5, len / 2, len, len + 3] {
            let shown = show(&desk.run(&format!("zrandmember {key} {count}")), 2);
            let drawn: BTreeSet<&str> = shown.trim_matches(['[', ']']).split(' ').collect();
            let expected = count.min(len);
            assert!(drawn.len() == expected || count == 0, "{count} of {len}: {shown}");
        }
        let shown = show(&desk.run(&format!("zrandmember {key} -40 withscores")), 2);
        let words: Vec<&str> = shown.trim_matches(['[', ']']).split(' ').collect();
        assert_eq!(words.len(), 80);
        assert!(words.chunks(2).all(|pair| pair[0].replace('m', "") == pair[1]), "{shown}");
    }
}

#[test]
fn scanning_finds_every_member_of_a_large_set() {
    let mut desk = Desk::new(1, false);
    for member in 0..1000 {
        desk.run(&format!("zadd k {member} m{member}"));
    }
    let (mut cursor, mut found) = ("0".to_string(), BTreeSet::new());
    loop {
        let shown = show(&desk.run(&format!("zscan k {cursor} count 50")), 2);
        let words: Vec<&str> = shown.trim_matches(['[', ']']).split(' ').collect();
        cursor = words[0].trim_matches('"').to_string();
        for pair in words[1..].chunks_exact(2) {
            let [member, score] = [0, 1].map(|at| pair[at].trim_matches(['[', ']', '"']));
            assert_eq!(member, format!("m{score}"));
            found.insert(member.to_string());
        }
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found.len(), 1000);
}

fn score(random: &mut fastrand::Rng) -> String {
    match random.u8(0..12) {
        0 => "inf".to_string(),
        1 => "-inf".to_string(),
        _ => format!("{}", f64::from(random.i32(-40..40)) / 4.0),
    }
}

fn end(random: &mut fastrand::Rng) -> String {
    let open = if random.u8(0..3) == 0 { "(" } else { "" };
    format!("{open}{}", score(random))
}

fn name_end(random: &mut fastrand::Rng) -> String {
    match random.u8(0..8) {
        0 => "-".to_string(),
        1 => "+".to_string(),
        _ => format!("{}m{}", random.choice(["(", "["]).expect("two"), random.u32(0..400)),
    }
}

fn options(random: &mut fastrand::Rng) -> String {
    let limit = format!(" limit {} {}", random.i32(-1..9), random.i32(-2..9));
    let rev = if random.bool() { " rev" } else { "" };
    format!("{rev}{}", if random.bool() { &limit } else { "" })
}

/// A random command on `key`, whose members are of a few hundred names.
fn command(random: &mut fastrand::Rng, key: &str, names: u32) -> String {
    let r = random;
    let member = format!("m{}", r.u32(0..names));
    let (a, b) = (r.i32(-15..300), r.i32(-15..300));
    let add =
        r.choice(["", "nx", "xx", "gt", "lt", "ch", "ch gt", "ch lt xx", "incr", "incr gt"]).expect("some");
    let upper = r.choice(["", "rev"]).expect("two");
    match r.u8(0..24) {
        0..5 if add.contains("incr") => format!("zadd {key} {add} {} {member}", score(r)),
        0..5 => format!("zadd {key} {add} {} {member} {} m{}", score(r), score(r), r.u32(0..names)),
        5 => format!("zincrby {key} {} {member}", score(r)),
        6 => format!("zrem {key} {member} m{}", r.u32(0..names)),
        7 => format!("zscore {key} {member}"),
        8 => format!("z{upper}rank {key} {member}"),
        9 => format!("zcount {key} {} {}", end(r), end(r)),
        10 => format!("z{upper}range {key} {a} {b} withscores"),
        11 => format!("zrange {key} {a} {b} rev"),
        12..15 => format!("zrange {key} {} {} byscore withscores{}", end(r), end(r), options(r)),
        15 => format!("z{upper}rangebyscore {key} {} {} limit {a} {b}", end(r), end(r)),
        16 => format!("zremrangebyscore {key} {} {}", end(r), end(r)),
        17 => format!("zremrangebyrank {key} {a} {}", a + r.i32(0..5)),
        18 => format!("zpopm{} {key} {}", r.choice(["in", "ax"]).expect("two"), r.u32(0..4)),
        19 => format!("zpopm{} {key}", r.choice(["in", "ax"]).expect("two")),
        20 => format!("zmscore {key} {member} m{} x", r.u32(0..names)),
        _ => format!("zcard {key}"),
    }
}

#[test]
fn random_commands_reply_alike_with_dots_and_without() {
    let mut random = fastrand::Rng::with_seed(7);
    compare((0..6000).map(|at| match at % 3 {
        0 => command(&mut random, "small", 12),
        1 => command(&mut random, "large", 400),
        // Mostly additions, so that it becomes large.
        _ => format!("zadd large {} m{}", score(&mut random), random.u32(0..400)),
    }));
}

#[test]
fn random_ranges_of_names_reply_alike_with_dots_and_without() {
    let mut random = fastrand::Rng::with_seed(8);
    compare((0..3000).map(|_| {
        let r = &mut random;
        let (key, names) = if r.bool() { ("small", 12) } else { ("large", 400) };
        let (a, b) = (name_end(r), name_end(r));
        match r.u8(0..12) {
            0 => format!("zrem {key} m{}", r.u32(0..names)),
            1 => format!("zlexcount {key} {a} {b}"),
            2 => format!("zrange {key} {a} {b} bylex{}", options(r)),
            3 => format!("zrevrangebylex {key} {a} {b}"),
            4 => format!("zrangebylex {key} {a} {b} limit {} {}", r.i32(-1..9), r.i32(-2..20)),
            5 => format!("zremrangebylex {key} [m{0} (m{0}zz", r.u32(0..names)),
            _ => format!("zadd {key} 0 m{}", r.u32(0..names)),
        }
    }));
}

/// What redis-server 7.0.15 answers. An infinity times 0 is 0 in a union, and in the smallest set of an intersection; in another set it
/// makes the sum 0.
#[test]
fn infinities_are_weighed_as_in_redis() {
    let moment = Moment {
        time: Hlc(1000),
        origin: DcId(0),
        floor: Hlc::ZERO,
        expiring: false,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let held = |members: &str| {
        let mut state = State::default();
        let add = Command::new(Verb::ZAdd, harness::words(members));
        let effect = Effect { floor: Hlc::ZERO, changes: evaluate(&add, &state, moment).changes };
        state.apply(Stamp::new(Hlc(999), DcId(0)), &effect, None);
        state
    };
    let (small, large) = (held("-inf m"), held("-inf m 1 n"));
    let keys = ["a", "b"].map(|key| Key(Bytes::from(key)));
    for (verb, states, weights, scores) in [
        (Verb::ZInter, [&small, &large], "1.5 0", "[[\"m\" ,0]]"),
        (Verb::ZInter, [&small, &large], "0 1", "[[\"m\" ,-inf]]"),
        (Verb::ZInter, [&large, &small], "0 1", "[[\"m\" ,0]]"),
        (Verb::ZInter, [&small, &large], "1.5 0 AGGREGATE MAX", "[[\"m\" ,-inf]]"),
        (Verb::ZUnion, [&small, &large], "1.5 0", "[[\"m\" ,-inf] [\"n\" ,0]]"),
    ] {
        let args = harness::words(&format!("WEIGHTS {weights} WITHSCORES"));
        let (reply, _) = evaluate_many(&Command::new(verb, args), &keys.each_ref(), &states, moment);
        assert_eq!(show(&reply, 3), scores, "{verb:?} {weights}");
    }
}
