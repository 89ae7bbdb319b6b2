//! Commands of one kind on one key that stand together answer and do what they would one by one.

use crate::harness::{Desk, show, words};
use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Key, Reply, Stamp, Verb};
use tidemark_crdt::{Effect, Moment, Prepared, State, evaluate, evaluate_many};

/// The kinds, each with how many arguments such a command has.
const KINDS: [(&str, usize); 8] = [
    ("lpush", 1),
    ("rpush", 1),
    ("sadd", 1),
    ("hset", 2),
    ("lpop", 0),
    ("rpop", 0),
    ("zpopmin", 0),
    ("zpopmax", 0),
];

/// What may be there before, some of it of another type, or expired.
const BEFORE: [&str; 12] = [
    "rpush k a b c d",
    "rpush k a",
    "sadd k a b c",
    "hset k a 1 b 2",
    "zadd k 1 a 2 b 2 c 7 d",
    "set k a",
    "incr k",
    "del k",
    "srem k a",
    "hdel k a b",
    "pexpire k 1",
    "pexpire k 100000",
];

/// All that the key shows.
fn shown(desk: &mut Desk) -> String {
    let reads =
        ["type k", "lrange k 0 -1", "smembers k", "hgetall k", "zrange k 0 -1 withscores", "persist k"];
    let sorted = |reply: Reply| match reply {
        Reply::Set(mut all) => {
            all.sort_by_key(|one| format!("{one:?}"));
            show(&Reply::Set(all), 3)
        }
        Reply::Map(mut all) => {
            all.sort_by_key(|one| format!("{one:?}"));
            show(&Reply::Map(all), 3)
        }
        reply => show(&reply, 3),
    };
    reads.map(|read| sorted(desk.run(read))).join(" ")
}

#[test]
fn commands_that_stand_together_do_what_they_do_one_by_one() {
    let mut answered = [0; 2];
    for seed in 0..4_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let settles = random.bool();
        let (mut one_by_one, mut together) = (Desk::new(0, settles), Desk::new(0, settles));
        let mut other = Desk::new(1, false);
        for _ in 0..random.usize(0..4) {
            let line = BEFORE[random.usize(..BEFORE.len())];
            // Another region did it, or this one.
            if random.u8(..4) == 0 {
                if let (_, Some(version)) = other.tell(line) {
                    one_by_one.receive("k", &version);
                    together.receive("k", &version);
                }
            } else {
                assert_eq!(one_by_one.run(line), together.run(line));
            }
        }
        // No deadline passes from here on.
        one_by_one.at(50_000);
        together.at(50_000);
        let (kind, share) = KINDS[random.usize(..KINDS.len())];
        let mut argument = |_| Bytes::from(random.alphanumeric().to_ascii_lowercase().to_string());
        let commands: Vec<Vec<Bytes>> = (0..5).map(|_| (0..share).map(&mut argument).collect()).collect();
        let expected: Vec<Reply> = commands
            .iter()
            .map(|args| one_by_one.tell_words([words(&format!("{kind} k")), args.clone()].concat()).0)
            .collect();
        let mut all = words(&format!("tidemark|together k {kind}"));
        for mut args in commands.clone() {
            args.resize(share.max(1), Bytes::new());
            all.extend(args);
        }
        let expected = match &expected[..] {
            [error @ Reply::Error(_), ..] => {
                assert!(expected.iter().all(|reply| reply == error), "all fail, or none: {expected:?}");
                error.clone()
            }
            _ => Reply::Array(expected),
        };
        let (answer, _) = together.tell_words(all);
        let what = format!("seed {seed}: {kind} {commands:?}");
        assert_eq!(show(&answer, 2), show(&expected, 2), "{what}");
        assert_eq!(show(&answer, 3), show(&expected, 3), "{what}");
        assert_eq!(shown(&mut together), shown(&mut one_by_one), "{what}");
        answered[usize::from(matches!(answer, Reply::Error(_)))] += 1;
    }
    assert!(answered.iter().all(|times| *times > 500), "{answered:?}");
}

/// Commands on a key each; some fail, and the others do not.
#[test]
fn commands_on_a_key_each_do_what_they_do_one_by_one() {
    let mut failed = 0;
    for seed in 0..2_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let region = || Keys { states: vec![State::default(); 4], time: 1_000 };
        let (mut one_by_one, mut together) = (region(), region());
        for _ in 0..random.usize(0..6) {
            let key = random.usize(..4);
            let (verb, args) = match random.usize(..5) {
                0 => (Verb::Set, vec!["7"]),
                1 => (Verb::Set, vec!["text"]),
                2 => (Verb::SAdd, vec!["a"]),
                3 => (Verb::Set, vec!["9223372036854775807"]),
                _ => (Verb::Incr, vec![]),
            };
            for keys in [&mut one_by_one, &mut together] {
                keys.run(verb, &args, &[key]);
            }
        }
        let (kind, has_args) =
            [(Verb::Incr, false), (Verb::Decr, false), (Verb::IncrBy, true), (Verb::DecrBy, true)]
                [random.usize(..4)];
        let arguments: Vec<&str> =
            (0..4).map(|_| ["3", "-4", "no number", "9223372036854775807"][random.usize(..4)]).collect();
        let expected = (0..4).map(|key| {
            let args = if has_args { &arguments[key..=key] } else { &[] };
            one_by_one.run(kind, args, &[key])
        });
        let expected = Reply::Array(expected.collect());
        let given = arguments.iter().map(|argument| if has_args { argument } else { "" });
        let all: Vec<&str> = std::iter::once(kind.name()).chain(given).collect();
        let answer = together.run(Verb::Each, &all, &[0, 1, 2, 3]);
        assert_eq!(answer, expected, "seed {seed}");
        for key in 0..4 {
            let shown = [&mut one_by_one, &mut together].map(|keys| keys.run(Verb::Get, &[], &[key]));
            assert_eq!(shown[0], shown[1], "seed {seed}");
        }
        failed += usize::from(format!("{answer:?}").contains("Error"));
    }
    assert!((500..1_900).contains(&failed), "{failed}");
}

/// Keys of one region that only this one writes.
struct Keys {
    states: Vec<State>,
    time: u64,
}

impl Keys {
    fn run(&mut self, verb: Verb, args: &[&str], keys: &[usize]) -> Reply {
        self.time += 1_000;
        let time = Hlc::at(self.time);
        let moment = Moment {
            time,
            origin: DcId(0),
            floor: Hlc::ZERO,
            expiring: false,
            alone: false,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        };
        let names: Vec<Key> = keys.iter().map(|key| Key::from(&key.to_string()[..])).collect();
        let args = args.iter().map(|argument| Bytes::copy_from_slice(argument.as_bytes())).collect();
        let command = Command { keys: names[1..].to_vec(), ..Command::new(verb, args) };
        let (reply, changes) = if verb.takes_keys() {
            let states: Vec<&State> = keys.iter().map(|key| &self.states[*key]).collect();
            evaluate_many(&command, &names.iter().collect::<Vec<_>>(), &states, moment)
        } else {
            let Prepared { reply, changes } = evaluate(&command, &self.states[keys[0]], moment);
            (reply, vec![changes])
        };
        for (key, changes) in keys.iter().zip(changes) {
            let effect = Effect { floor: Hlc::ZERO, changes };
            self.states[*key].apply(Stamp::new(time, DcId(0)), &effect, None);
        }
        reply
    }
}

#[test]
fn what_is_no_run_of_commands_is_refused() {
    let mut desk = Desk::new(0, false);
    for line in [
        "tidemark|together k",
        "tidemark|together k get a",
        "tidemark|together k hset a 1 b",
        "tidemark|each k",
        "tidemark|each k hset a 1",
        "tidemark|each k incr a b",
    ] {
        assert_eq!(show(&desk.run(line), 2), "-ERR syntax error");
    }
    assert_eq!(show(&desk.run("type k"), 2), "+none");
}
