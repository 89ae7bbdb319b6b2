//! Streams answer as those of Redis 7.0.15, and merge (rows X1 to X3 of docs/types.md). Consumer groups: `stream_groups.rs`.

use crate::typed::{Region, command, render, words};
use tidemark_core::{DcId, Hlc, Stamp};
use tidemark_crdt::{Effect, Moment, State, evaluate};

#[test]
fn commands_and_errors_of_streams_are_those_of_redis() {
    Region::replay(include_str!("../transcripts/stream.txt"));
}

#[test]
fn random_commands_on_streams_answer_as_redis_does() {
    Region::replay(include_str!("../transcripts/stream_random.txt"));
}

/// How many of 1,010 small entries Redis removes.
const TRIMMED: [(&str, usize); 13] = [
    ("MAXLEN ~ 555", 400),
    ("MAXLEN ~ 1000", 0),
    ("MAXLEN ~ 0", 1010),
    ("MAXLEN ~ 555 LIMIT 0", 400),
    ("MAXLEN ~ 555 LIMIT 99", 0),
    ("MAXLEN ~ 555 LIMIT 300", 300),
    ("MAXLEN ~ 950", 0),
    ("MINID ~ 555", 500),
    ("MINID ~ 501-1", 500),
    ("MINID ~ 501-2", 500),
    ("MINID ~ 100-2", 100),
    ("MINID ~ 2000", 1010),
    ("MINID ~ 555 LIMIT 100", 100),
];

#[test]
fn about_so_many_entries_are_trimmed_as_redis_trims_them() {
    for (options, removed) in TRIMMED {
        let mut region = Region::default();
        for number in 1..=1010 {
            region.run(&format!("XADD k {number}-1 f v"));
        }
        assert_eq!(region.run(&format!("XTRIM k {options}")), removed.to_string(), "{options}");
        assert_eq!(region.run("XLEN k"), (1010 - removed).to_string(), "{options}");
    }
}

/// A region among others, or alone.
struct Place {
    state: State,
    origin: u8,
    time: u64,
    alone: bool,
}

impl Place {
    fn new(origin: u8, alone: bool) -> Self {
        Self { state: State::default(), origin, time: 1_700_000_000_000_000, alone }
    }

    /// Runs a command a microsecond later.
    fn run(&mut self, line: &str) -> (String, (Stamp, Effect)) {
        self.time += 1;
        let (time, origin) = (Hlc::at(self.time), DcId(self.origin));
        let moment = Moment {
            time,
            origin,
            floor: Hlc::ZERO,
            expiring: false,
            alone: self.alone,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let prepared = evaluate(&command(&words(line)).1, &self.state, moment);
        let effect = Effect { floor: Hlc::ZERO, changes: prepared.changes };
        let version = (Stamp::new(time, origin), Effect::decode(&effect.encode()).expect("just encoded"));
        self.hear(&version);
        (render(&prepared.reply), version)
    }

    fn hear(&mut self, (stamp, effect): &(Stamp, Effect)) {
        self.time = self.time.max(stamp.ts.micros());
        self.state.apply(*stamp, effect, None);
    }

    fn ask(&mut self, line: &str) -> String {
        self.run(line).0
    }
}

#[test]
fn a_region_that_is_alone_gives_the_ids_of_redis() {
    let mut place = Place::new(3, true);
    assert_eq!(place.ask("XADD k * a 1"), "\"1700000000000-0\"");
    assert_eq!(place.ask("XADD k * a 1"), "\"1700000000000-1\"");
    place.time += 1000;
    assert_eq!(place.ask("XADD k * a 1"), "\"1700000000001-0\"");
    assert_eq!(
        place.ask("XADD k 1800000000000-18446744073709551615 a 1"),
        "\"1800000000000-18446744073709551615\""
    );
    assert_eq!(place.ask("XADD k * a 1"), "\"1800000000001-0\"");
}

#[test]
fn x1_regions_give_ids_of_their_own() {
    let (mut a, mut b) = (Place::new(0, false), Place::new(1, false));
    assert_eq!(a.ask("XADD k 0-* a 1"), "\"0-256\"");
    let from_a = ["XADD k * a 1", "XADD k * a 2", "XADD k 1800000000000-* a 3"].map(|line| a.run(line));
    let ids = ["\"1700000000000-0\"", "\"1700000000000-256\"", "\"1800000000000-0\""];
    assert_eq!(from_a.each_ref().map(|(reply, _)| &reply[..]), ids);
    let from_b = ["XADD k * b 1", "XADD k * b 2"].map(|line| b.run(line));
    assert_eq!(
        from_b.each_ref().map(|(reply, _)| &reply[..]),
        ["\"1700000000000-1\"", "\"1700000000000-257\""]
    );
    from_a.iter().for_each(|(_, version)| b.hear(version));
    from_b.iter().for_each(|(_, version)| a.hear(version));
    assert_eq!(b.ask("XLEN k"), "5");
    assert_eq!(a.ask("XRANGE k 1 +"), b.ask("XRANGE k 1 +"));
    assert_eq!(b.ask("XADD k * b 3"), "\"1800000000000-257\"");
}

/// Two regions after `before`, each with its commands, that then hear of each other's.
fn meet(before: &[&str], of_a: &[&str], of_b: &[&str]) -> (Place, Place) {
    let (mut a, mut b) = (Place::new(0, false), Place::new(1, false));
    before.iter().for_each(|line| b.hear(&a.run(line).1));
    let from_a: Vec<_> = of_a.iter().map(|line| a.run(line).1).collect();
    let from_b: Vec<_> = of_b.iter().map(|line| b.run(line).1).collect();
    from_a.iter().for_each(|version| b.hear(version));
    from_b.iter().for_each(|version| a.hear(version));
    for line in ["XRANGE k - +", "EXISTS k", "XLEN k"] {
        assert_eq!(a.ask(line), b.ask(line));
    }
    let upto = Hlc::at(a.time.max(b.time));
    a.state.settle(upto, usize::MAX);
    assert!(a.state.is_settled());
    for line in ["XRANGE k - +", "EXISTS k", "XLEN k"] {
        assert_eq!(a.ask(line), b.ask(line), "settled");
    }
    (a, b)
}

#[test]
fn x2_one_id_is_one_entry() {
    let (mut a, _) = meet(&[], &["XADD k 5-1 f a"], &["XADD k 4-1 f a", "XADD k 5-1 f b"]);
    assert_eq!(a.ask("XRANGE k 5 +"), "[[\"5-1\" [\"f\" \"b\"]]]", "the later one");
    assert_eq!(a.ask("XLEN k"), "2");
}

#[test]
fn x3_what_a_removal_has_not_observed_stays() {
    let before = ["XADD k 1-1 f a", "XADD k 2-1 f b"];
    for removal in ["XDEL k 1-1 2-1", "XTRIM k MAXLEN 0", "XTRIM k MINID 9", "DEL k"] {
        let (mut a, mut b) = meet(&before, &[removal], &["XADD k 3-1 f c"]);
        assert_eq!(a.ask("XRANGE k - +"), "[[\"3-1\" [\"f\" \"c\"]]]", "{removal}");
        assert_eq!(
            b.ask("XADD k 3-0 f d"),
            "!ERR The ID specified in XADD is equal or smaller than the target stream top item"
        );
    }
}

#[test]
fn the_last_id_is_the_highest_that_any_region_gave() {
    let empty = ["XADD k 1-1 f a", "XTRIM k MAXLEN 0"];
    let small = "!ERR The ID specified in XADD is equal or smaller than the target stream top item";
    for (of_a, of_b) in [
        ("XSETID k 50", "XSETID k 40"),
        ("XSETID k 40", "XSETID k 50"),
        ("XADD k MAXLEN 0 50 f b", "XSETID k 9"),
    ] {
        let (mut a, mut b) = meet(&empty, &[of_a], &[of_b]);
        assert_eq!([a.ask("XADD k 50 f b"), b.ask("XADD k 50 f b")], [small, small]);
        assert_eq!(a.ask("XLEN k"), "0");
        assert_eq!(a.ask("XADD k 50-* f b"), "\"50-256\"");
    }
}

#[test]
fn a_stream_without_entries_is_still_there_and_knows_its_last_id() {
    let (mut a, mut b) = meet(&["XADD k 3-1 f a"], &["XDEL k 3-1"], &["XDEL k 3-1"]);
    assert_eq!([a.ask("EXISTS k"), a.ask("TYPE k"), a.ask("XLEN k")], ["1", "stream", "0"]);
    assert_eq!(
        b.ask("XADD k 3-1 f b"),
        "!ERR The ID specified in XADD is equal or smaller than the target stream top item"
    );
    let (mut a, _) = meet(&["XADD k 3-1 f a", "XDEL k 3-1"], &["DEL k"], &[]);
    assert_eq!([&a.ask("EXISTS k")[..], &a.ask("XADD k 1-1 f a")], ["0", "\"1-1\""]);
}
