//! SORT where its key lives.

use crate::harness::{self, transcript};
use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Key, Reply, Stamp, Verb};
use tidemark_crdt::{Effect, Moment, State, evaluate, evaluate_many};

#[test]
fn sort_without_patterns_of_keys_replies_as_redis() {
    transcript("sort");
}

/// Keys in one partition.
struct Store {
    states: [State; 2],
    time: u64,
}

const KEYS: [&[u8]; 2] = [b"from", b"to"];

impl Store {
    fn moment(&mut self) -> Moment {
        self.time += 1;
        let time = Hlc::at(1_700_000_000_000_000 + self.time);
        Moment {
            time,
            origin: DcId(0),
            floor: Hlc::ZERO,
            expiring: true,
            alone: true,
            past: None,
            longest: tidemark_core::Limit::VALUE_BYTES,
        }
    }

    fn apply(&mut self, key: usize, moment: Moment, changes: Vec<tidemark_crdt::effect::Change>) {
        let effect = Effect { floor: Hlc::ZERO, changes };
        self.states[key].apply(Stamp::new(moment.time, DcId(0)), &effect, None);
    }

    /// A command on one key.
    fn run(&mut self, key: usize, verb: Verb, args: &str) -> Reply {
        let moment = self.moment();
        let args = args.split_whitespace().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        let prepared = evaluate(&Command::new(verb, args), &self.states[key], moment);
        self.apply(key, moment, prepared.changes);
        prepared.reply
    }

    /// SORT of the first key into `to`.
    fn sort(&mut self, to: usize, args: &str) -> Reply {
        let moment = self.moment();
        let args = args.split_whitespace().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        let names = [KEYS[0], KEYS[to]].map(|name| Key(Bytes::from_static(name)));
        let command = Command { keys: vec![names[1].clone()], ..Command::new(Verb::Sort, args) };
        let (reply, changes) =
            evaluate_many(&command, &[&names[0], &names[1]], &[&self.states[0], &self.states[to]], moment);
        let last = if to == 0 { 0 } else { 1 };
        for (key, changes) in [0, to].into_iter().zip(changes).take(1 + last) {
            self.apply(key, moment, changes);
        }
        reply
    }

    fn list(&mut self, key: usize) -> String {
        harness::show(&self.run(key, Verb::LRange, "0 -1"), 2)
    }
}

#[test]
fn store_replaces_what_was_there() {
    let mut store = Store { states: Default::default(), time: 0 };
    store.run(0, Verb::RPush, "3 1 2 10");
    store.run(1, Verb::SetEx, "100 v");
    assert_eq!(store.sort(1, "STORE to"), Reply::Int(4));
    assert_eq!(store.list(1), r#"["1" "2" "3" "10"]"#);
    assert_eq!(store.run(1, Verb::Ttl, ""), Reply::Int(-1));
    assert_eq!(store.sort(1, "LIMIT 0 2 GET # GET nothing STORE to"), Reply::Int(4));
    assert_eq!(store.list(1), r#"["1" "" "2" ""]"#);
    assert_eq!(store.sort(0, "DESC STORE from"), Reply::Int(4));
    assert_eq!(store.list(0), r#"["10" "3" "2" "1"]"#);
    store.run(0, Verb::Del, "");
    assert_eq!(store.sort(1, "STORE to"), Reply::Int(0));
    assert_eq!(store.run(1, Verb::Exists, ""), Reply::Int(0));
    store.run(0, Verb::SAdd, "10 9 b a");
    assert_eq!(store.sort(1, "BY nosort STORE to"), Reply::Int(4));
    assert_eq!(store.list(1), r#"["10" "9" "a" "b"]"#, "members of a set are stored in order");
    assert!(matches!(store.sort(1, "STORE to"), Reply::Error(_)));
    assert_eq!(store.run(1, Verb::LLen, ""), Reply::Int(4), "an error changes nothing");
}
