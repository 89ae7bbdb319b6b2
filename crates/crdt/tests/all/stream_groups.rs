//! Consumer groups of streams answer as those of Redis 7.0.15, and merge: rows X4 and X5 of docs/types.md, and random commands of three regions.

use crate::typed::{Region, command, render, words};
use tidemark_core::{DcId, Hlc, Stamp};
use tidemark_crdt::{Effect, Moment, State, evaluate};

type Version = (Stamp, Effect);

/// XREAD and XREADGROUP stand there as the gateway passes them on.
#[test]
fn commands_of_groups_answer_as_redis_does() {
    Region::replay(include_str!("../transcripts/stream_groups.txt"));
}

/// A region among others.
struct Place {
    state: State,
    origin: u8,
    time: u64,
}

impl Place {
    fn new(origin: u8) -> Self {
        Self { state: State::default(), origin, time: 1_700_000_000_000_000 }
    }

    /// Runs a command a millisecond later.
    fn run(&mut self, line: &str) -> (String, Version) {
        self.time += 1_000;
        let (time, origin) = (Hlc::at(self.time), DcId(self.origin));
        let moment = Moment {
            time,
            origin,
            floor: Hlc::ZERO,
            expiring: false,
            alone: false,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let prepared = evaluate(&command(&words(line)).1, &self.state, moment);
        let effect = Effect { floor: Hlc::ZERO, changes: prepared.changes };
        let version = (Stamp::new(time, origin), Effect::decode(&effect.encode()).expect("just encoded"));
        self.hear(&version);
        (render(&prepared.reply), version)
    }

    fn hear(&mut self, (stamp, effect): &Version) {
        self.time = self.time.max(stamp.ts.micros());
        self.state.apply(*stamp, effect, None);
    }

    fn ask(&mut self, line: &str) -> String {
        self.run(line).0
    }
}

const BEFORE: [&str; 4] = ["XADD k 1-1 f 1", "XADD k 2-1 f 2", "XADD k 3-1 f 3", "XGROUP CREATE k g 0"];

/// Two regions after `before`, each with its commands, that then hear of each other's. B is later.
fn meet(before: &[&str], of_a: &[&str], of_b: &[&str]) -> Place {
    let (mut a, mut b) = (Place::new(0), Place::new(1));
    before.iter().for_each(|line| b.hear(&a.run(line).1));
    let from_a: Vec<Version> = of_a.iter().map(|line| a.run(line).1).collect();
    b.time += 100_000;
    let from_b: Vec<Version> = of_b.iter().map(|line| b.run(line).1).collect();
    from_a.iter().for_each(|version| b.hear(version));
    from_b.iter().for_each(|version| a.hear(version));
    assert_eq!(a.state.elements(), b.state.elements(), "{of_a:?} and {of_b:?}");
    let before = shown(&a.state);
    a.state.settle(Hlc::at(a.time), usize::MAX);
    assert!(a.state.is_settled());
    assert_eq!(shown(&a.state), before, "settled");
    a
}

/// What is shown of every element.
fn shown(state: &State) -> Vec<String> {
    let all = state.elements().into_iter();
    all.filter_map(|(element, cell)| Some(format!("{:?} {:?}", element.name, cell.show(element.kind)?)))
        .collect()
}

/// The last delivered ids, and what is pending: id, consumer and count.
fn told(place: &mut Place) -> String {
    let groups = place.ask("XINFO GROUPS k");
    let lasts = groups.split("\"last-delivered-id\" \"").skip(1).filter_map(|rest| rest.split('"').next());
    let lasts: Vec<&str> = lasts.collect();
    let full = place.ask("XINFO STREAM k FULL COUNT 0");
    let pending: Vec<String> = full
        .split("\"pending\" [[\"")
        .skip(1)
        .step_by(2)
        .take(1)
        .flat_map(|rest| rest.split("]]").next().expect("there is an end").split("] [").map(str::to_string))
        .map(|one| {
            let words: Vec<&str> = one.split(['"', ' ']).filter(|word| !word.is_empty()).collect();
            format!("{}:{}:{}", words[0], words[1], words[3])
        })
        .collect();
    format!("{} {}", lasts.join(","), pending.join(" ")).trim().to_string()
}

const READ_A: &str = "XREADGROUP k g a > 1 0 0";
const READ_B: &str = "XREADGROUP k g b > 2 0 0";

/// Before, A, B, and what [`told`] says afterwards.
type Row<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], &'a str);

#[test]
fn x4_groups_that_regions_create_and_destroy() {
    let stream = &BEFORE[..3];
    let rows: [Row<'_>; 8] = [
        (stream, &["XGROUP CREATE k g 2-1"], &["XGROUP CREATE k g 1-1"], "1-1"),
        (stream, &["XGROUP CREATE k g 1-1"], &["XGROUP CREATE k g $"], "1-1"),
        (stream, &["XGROUP CREATE k g 0", READ_A], &["XGROUP CREATE k g 0", READ_B], "2-1 1-1:b:1 2-1:b:1"),
        (&BEFORE, &["XGROUP DESTROY k g"], &[READ_B], ""),
        (&BEFORE, &["XGROUP DESTROY k g", "XGROUP CREATE k g $"], &["XGROUP DESTROY k g"], "3-1"),
        (&BEFORE, &["XGROUP DESTROY k g"], &["XGROUP DESTROY k g", "XGROUP CREATE k g 2-1"], "2-1"),
        (&BEFORE, &["XGROUP DESTROY k g"], &["XGROUP SETID k g 2-1"], "2-1"),
        (stream, &["XGROUP CREATE k g 0", "XGROUP CREATE k h 1-1"], &["XGROUP CREATE k g 2-1"], "0-0,1-1"),
    ];
    for (before, a, b, expected) in rows {
        assert_eq!(told(&mut meet(before, a, b)), expected, "{a:?} and {b:?}");
    }
}

#[test]
fn x5_deliveries_claims_and_acknowledgements_at_once() {
    let delivered = [&BEFORE[..], &["XREADGROUP k g a > 2 0 0"]].concat();
    let claim = |consumer: &str| format!("XCLAIM k g {consumer} 0 1-1");
    let (claim_b, claim_c) = (claim("b"), claim("c"));
    let rows: [Row<'_>; 11] = [
        (&BEFORE, &[READ_A], &[READ_B], "2-1 1-1:b:1 2-1:b:1"),
        (&BEFORE, &["XREADGROUP k g a > 3 0 0"], &[READ_B], "3-1 1-1:b:1 2-1:b:1 3-1:a:1"),
        (&BEFORE, &["XREADGROUP k g a > 3 1 0"], &[READ_B], "3-1 1-1:b:1 2-1:b:1"),
        (&delivered, &["XACK k g 1-1"], &["XACK k g 1-1 2-1"], "2-1"),
        (&delivered, &["XACK k g 1-1 2-1"], &[&claim_b], "2-1 1-1:b:2"),
        (&delivered, &[&claim_c], &[&claim_b], "2-1 1-1:b:2 2-1:a:1"),
        (&delivered, &["XGROUP SETID k g 0"], &["XREADGROUP k g b > 9 0 0"], "0-0 1-1:a:1 2-1:a:1 3-1:b:1"),
        (&delivered, &["XGROUP SETID k g 1-1"], &["XGROUP SETID k g 3-1"], "3-1 1-1:a:1 2-1:a:1"),
        (&delivered, &["XGROUP DELCONSUMER k g a"], &["XREADGROUP k g a > 9 0 0"], "3-1 3-1:a:1"),
        (&delivered, &["XGROUP DELCONSUMER k g a"], &["XACK k g 2-1"], "2-1"),
        (&delivered, &["XDEL k 1-1", "XAUTOCLAIM k g b 0 0"], &["XACK k g 2-1"], "2-1 2-1:b:2"),
    ];
    for (before, a, b, expected) in rows {
        assert_eq!(told(&mut meet(before, a, b)), expected, "{a:?} and {b:?}");
    }
}

/// A reset counts although another region went on from what was before; what it delivers afterwards goes on from the reset.
#[test]
fn a_reset_is_not_undone_by_deliveries_that_had_not_seen_it() {
    let reset = ["XGROUP SETID k g 1-1", "XREADGROUP k g a > 1 0 0"];
    let mut place = meet(&BEFORE, &reset, &["XREADGROUP k g b > 9 0 0"]);
    assert_eq!(told(&mut place), "2-1 1-1:b:1 2-1:b:1 3-1:b:1");
    assert_eq!(place.ask("XREADGROUP k g c > 9 0 0"), "[[\"3-1\" [\"f\" \"3\"]]]");
    let mut again =
        meet(&BEFORE, &["XGROUP DESTROY k g", "XGROUP CREATE k g 0"], &["XREADGROUP k g b > 9 0 0"]);
    assert_eq!(again.ask("XREADGROUP k g c > 1 0 0"), "[[\"1-1\" [\"f\" \"1\"]]]");
}

/// What deliveries of other regions have left of a destroyed group does not come back with a new one.
#[test]
fn a_group_that_is_created_again_starts_anew() {
    let mut place = meet(&BEFORE, &["XGROUP DESTROY k g"], &[READ_B]);
    assert!(place.ask("XPENDING k g").starts_with("!NOGROUP"));
    assert_eq!(place.ask("XGROUP CREATE k g 0"), "OK");
    assert_eq!(place.ask("XPENDING k g"), "[0 nil nil nil]");
    assert_eq!(place.ask("XINFO CONSUMERS k g"), "[]");
    assert_eq!(place.ask("XREADGROUP k g c > 1 0 0"), "[[\"1-1\" [\"f\" \"1\"]]]");
}

/// A random command on few ids, groups and consumers.
fn any(random: &mut fastrand::Rng) -> String {
    let (id, consumer) = (format!("{}-1", random.u8(1..6)), ["a", "b"][random.usize(..2)]);
    let group = ["g", "h"][random.usize(..2)];
    match random.u8(..20) {
        0..4 => "XADD k * f v".into(),
        4 => format!("XADD k {id} f v"),
        5 => format!("XDEL k {id}"),
        6 => "XTRIM k MAXLEN 3".into(),
        7..9 => format!("XGROUP CREATE k {group} {} MKSTREAM", ["0", "$"][random.usize(..2)]),
        9 => format!("XGROUP SETID k {group} {id}"),
        10 => format!("XGROUP {} k {group} {consumer}", ["CREATECONSUMER", "DELCONSUMER"][random.usize(..2)]),
        11 if random.bool() => format!("XGROUP DESTROY k {group}"),
        12..15 => format!("XREADGROUP k {group} {consumer} > 2 {} 0", random.u8(..2)),
        15 => format!("XREADGROUP k {group} {consumer} 0 9 0 0"),
        16 => format!("XACK k {group} {id}"),
        17 => format!("XCLAIM k {group} {consumer} 0 {id} 2-1 FORCE"),
        18 => format!("XAUTOCLAIM k {group} {consumer} 0 0"),
        _ if random.u8(..8) == 0 => "DEL k".into(),
        _ => format!("XACK k {group} 1-1 2-1 3-1"),
    }
}

/// Three regions whose versions arrive behind their causes, and otherwise in any order.
#[test]
fn regions_agree_whatever_the_order() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut places: Vec<Place> = (0..3).map(Place::new).collect();
        // Each version, with how many of each region its writer had seen.
        let mut logs: [Vec<([usize; 3], Version)>; 3] = Default::default();
        let mut seen = [[0; 3]; 3];
        let hear =
            |at: usize, from: usize, seen: &mut [[usize; 3]; 3], logs: &[Vec<_>; 3], places: &mut [Place]| {
                let next: Option<&([usize; 3], Version)> = logs[from].get(seen[at][from]);
                let Some((causes, version)) = next else { return false };
                if causes.iter().zip(&seen[at]).any(|(cause, seen)| cause > seen) {
                    return false;
                }
                places[at].hear(version);
                seen[at][from] += 1;
                true
            };
        for _ in 0..60 {
            let (at, from) = (random.usize(..3), random.usize(..3));
            if at == from {
                let causes = seen[at];
                let (_, version) = places[at].run(&any(&mut random));
                logs[at].push((causes, version));
                seen[at][at] += 1;
            } else {
                hear(at, from, &mut seen, &logs, &mut places);
            }
        }
        while (0..9)
            .any(|link| link / 3 != link % 3 && hear(link / 3, link % 3, &mut seen, &logs, &mut places))
        {
        }
        let all = places[0].state.elements();
        assert!(places.iter().all(|place| place.state.elements() == all), "seed {seed}");
        let clock = places.iter().map(|place| place.time).max().unwrap_or(0);
        let before = shown(&places[0].state);
        places[0].state.settle(Hlc::at(clock), usize::MAX);
        assert_eq!(shown(&places[0].state), before, "seed {seed}");
        assert!(places[0].state.is_settled());
    }
}
