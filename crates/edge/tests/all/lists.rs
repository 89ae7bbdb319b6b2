//! Lists: clients give elements their positions, which other clients compute the same way.

use crate::support::golden;
use crate::support::json::{hex, number};
use crate::support::script::{NOON_US, Script, base, string};
use bytes::Bytes;
use fastrand::Rng;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tidemark_edge::client::{Client, Config, NoElement, Timing};
use tidemark_edge::durable::Durable;
use tidemark_edge::frames::*;
use tidemark_edge::position::{Hand, born_us};

const NONE: (u64, [u8; 8]) = (0, [0; 8]);

/// `positions.jsonl`: what several authors put into one list, each line with the neighbours that it was put between.
#[test]
fn positions_are_those_of_the_fixture() {
    let (mut all, mut text) = (Vec::<Vec<u8>>::new(), String::new());
    let mut rng = Rng::with_seed(11);
    let mut time_us = NOON_US;
    for nth in 0..400 {
        time_us += [1, 40, 3_000, 90_000_000][rng.usize(..4)];
        let hand = Hand {
            author: [255, 300, 0xdead_beef, u32::MAX][rng.usize(..4)],
            time_us,
            nth: [0, 0, 7, 63, 64, 70_000][rng.usize(..6)],
        };
        // At an end, anywhere, or where the last ones went.
        let len = all.len();
        let index = [0, len, rng.usize(..=len), len / 2 + nth % 2][rng.usize(..4)].min(len);
        let (left, right) = (index.checked_sub(1).map(|left| &all[left]), all.get(index));
        let position = hand.between(left.map(Vec::as_slice), right.map(Vec::as_slice));
        assert!(left.is_none_or(|left| *left < position) && right.is_none_or(|right| position < *right));
        let line = json!({
            "left": left.map(|left| hex(left)), "right": right.map(|right| hex(right)), "author": hand.author,
            "time": number(time_us), "nth": hand.nth, "position": hex(&position),
            "birth": number(born_us(&position)),
        });
        writeln!(text, "{line}").expect("a string takes all");
        all.insert(index, position);
        if rng.u8(..5) == 0 {
            all.remove(rng.usize(..all.len()));
        }
    }
    golden("positions.jsonl", &text);
}

fn list(elements: &[(&[u8], &str)]) -> Value {
    let element = |(position, text): &(&[u8], &str)| {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        (Bytes::copy_from_slice(position), Written { at_us: NOON_US + 5, bytes })
    };
    Value::List(elements.iter().map(element).collect())
}

/// What stands in a list, and where.
fn elements(value: Option<Value>) -> BTreeMap<Bytes, String> {
    match value {
        Some(Value::List(elements)) => elements
            .into_iter()
            .map(|(position, written)| (position, String::from_utf8_lossy(&written.bytes).into_owned()))
            .collect(),
        Some(Value::Absent) => BTreeMap::new(),
        other => panic!("{other:?}"),
    }
}

fn texts(value: Option<Value>) -> String {
    elements(value).into_values().collect::<Vec<_>>().join(" ")
}

fn theirs(author: u32, time_us: u64, left: Option<&[u8]>) -> Vec<u8> {
    Hand { author, time_us: NOON_US + time_us, nth: 0 }.between(left, None)
}

/// A client that watches a list of two elements, and a string.
fn opened() -> Script {
    let mut script = Script::new("");
    ["l", "s", "new"].into_iter().for_each(|key| script.watch(key));
    let first = theirs(300, 1, None);
    let second = theirs(301, 2, Some(&first));
    let values = [(0, list(&[(&first, "a"), (&second, "b")])), (1, Value::Absent), (2, string(5, "text"))];
    script.open(base(&[10, 20, 30]), NONE, &values);
    script
}

#[test]
fn elements_are_put_where_they_are_seen() {
    let script = opened();
    let mut transaction = script.client.begin();
    transaction.push_back("l", "c");
    transaction.insert("l", 0, "x").unwrap();
    transaction.insert("l", 2, "between").unwrap();
    transaction.insert("l", 5, "last").unwrap();
    assert_eq!(texts(transaction.read(b"l")), "x a between b c last");
    transaction.set_at("l", 1, "A").unwrap();
    transaction.remove_at("l", 0).unwrap();
    assert_eq!(texts(transaction.read(b"l")), "A between b c last");
    transaction.push_back("new", "only");
    assert_eq!(texts(transaction.read(b"new")), "only");
    assert_eq!(transaction.insert("l", 6, "y"), Err(NoElement::Beyond));
    assert_eq!(transaction.set_at("l", 5, "y"), Err(NoElement::Beyond));
    assert_eq!(transaction.remove_at("new", 1), Err(NoElement::Beyond));
    assert_eq!(transaction.insert("s", 0, "y"), Err(NoElement::WrongType));
    assert_eq!(transaction.remove_at("unknown", 0), Err(NoElement::NotCached));
    transaction.push_back("unknown", "z"); // behind whatever is there
}

/// A transaction reads a list once, and goes on from what its own edits make of that.
#[test]
fn a_transaction_sees_its_edits_whatever_else_it_does_to_the_key() {
    let script = opened();
    for seed in 0..50 {
        let mut rng = Rng::with_seed(seed);
        let mut transaction = script.client.begin();
        let mut expected: Vec<String> = ["a", "b"].map(Into::into).to_vec();
        for nth in 0..60 {
            let text = nth.to_string();
            let index = rng.usize(..=expected.len());
            let is_there = index < expected.len();
            match rng.u8(..12) {
                0..4 => {
                    transaction.push_back("l", text.clone());
                    expected.push(text);
                }
                4..7 => {
                    transaction.insert("l", index, text.clone()).unwrap();
                    expected.insert(index, text);
                }
                7..9 => {
                    assert_eq!(transaction.set_at("l", index, text.clone()).is_ok(), is_there);
                    expected.iter_mut().skip(index).take(1).for_each(|one| *one = text.clone());
                }
                9..11 => {
                    assert_eq!(transaction.remove_at("l", index).is_ok(), is_there);
                    expected = [&expected[..index], expected.get(index + 1..).unwrap_or_default()].concat();
                }
                _ => {
                    transaction.push("l", OperationKind::Delete);
                    expected.clear();
                }
            }
            assert_eq!(texts(transaction.read(b"l")), expected.join(" "), "seed {seed}, step {nth}");
        }
        transaction.push("l", OperationKind::Delete);
        transaction.push("l", OperationKind::MapSet("f".into(), "v".into()));
        assert_eq!(transaction.insert("l", 0, "x"), Err(NoElement::WrongType));
    }
}

#[test]
fn what_is_pushed_stands_behind_what_its_client_saw() {
    let mut script = opened();
    for (nth, text) in ["one", "two", "three"].into_iter().enumerate() {
        let mut transaction = script.client.begin();
        transaction.push_back("l", text);
        script.commit_begun(transaction);
        script.write();
        if nth == 0 {
            // Another client has pushed behind what it saw at the base before.
            let before = elements(script.read("l"));
            let last = before.keys().nth(1).expect("b is there").clone();
            let other = theirs(400, 35, Some(&last));
            let all = [(&before.keys().next().unwrap()[..], "a"), (&last[..], "b"), (&other[..], "other")];
            script.tick(base(&[40, 40, 40]), NONE, &[(0, list(&all))]);
            script.write();
        }
    }
    assert_eq!(texts(script.read("l")), "a b one other two three");
}

/// Else another one could not put anything behind it: what is behind is younger.
#[test]
fn no_element_is_younger_than_what_has_put_it_there() {
    let mut script = Script::new("");
    script.watch("l");
    for _ in 0..100 {
        script.client.begin(); // nobody has told the client the time: it counts
    }
    let mut transaction = script.client.begin();
    transaction.push_back("l", "x");
    script.commit_begun(transaction);
    script.write();
    let body = &script.disk.log[&1];
    let OperationKind::ListSet(position, _) = &body.operations[0].kind else { panic!("it puts one") };
    assert!((100..=body.h_us).contains(&born_us(position)), "{} at {}", born_us(position), body.h_us);
}

#[test]
fn transactions_that_run_side_by_side_put_elements_at_positions_of_their_own() {
    let mut script = opened();
    let (mut one, mut other) = (script.client.begin(), script.client.begin());
    other.push_back("l", "other");
    one.push_back("l", "one");
    script.commit_begun(one);
    script.commit_begun(other);
    script.write();
    assert_eq!(texts(script.read("l")), "a b one other");
}

/// The next process of a client is another author.
#[test]
fn processes_put_elements_at_positions_of_their_own() {
    let placed = [1, 2].map(|seed| {
        let timing = Timing::DEFAULT;
        let config = Config { endpoints: 1, seed, token: Bytes::new(), lowers: false, timing };
        let mut transaction = Client::new(Durable::new(Secret([1; 32])), config).begin();
        transaction.push_back("l", "x");
        transaction.operations().to_vec()
    });
    assert_ne!(placed[0], placed[1]);
}
