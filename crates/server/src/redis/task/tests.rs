//! What commands ask for and answer, without a server.

use super::*;
use crate::redis::{Scripts, Table, Work, parse};
use bytes::BytesMut;
use tidemark_contract::Topology;
use tidemark_core::{DcId, Hlc, Stamp};
use tidemark_wire::resp::{RequestParser, Version, encode_request};

fn task(words: &[&str]) -> Task {
    let mut wire = Vec::new();
    encode_request(&mut wire, words);
    let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::from(&wire[..]));
    let mut request = parser.parse(&mut buffer).unwrap().unwrap();
    match parse(&mut request).unwrap().work {
        Work::Operations(task) => task,
        Work::Local(_) => panic!("{words:?} needs no operation"),
    }
}

/// The reply after outcomes of which the last one is a failure.
fn reply(words: &[&str], outcomes: Vec<Outcome>) -> String {
    let topology = Topology::new(1, 2);
    let scripts = Scripts::default();
    let keyspace =
        Keyspace { topology: &topology, write_transactions: false, types: true, now: 0, scripts: &scripts };
    let mut written = Vec::new();
    let mut out = Encoder::new(&mut written, Version::Resp2);
    let (_, mut pending) = task(words).begin(&keyspace, &mut out).unwrap();
    for outcome in outcomes {
        match outcome {
            Outcome::Failed(failure) => pending.failed(&failure).write(&mut out),
            outcome => assert!(matches!(pending.step(outcome, &keyspace, &mut out), Ok(Step::Op(_)))),
        }
    }
    String::from_utf8(written).unwrap()
}

/// Found by the torture of real clusters: MSET wrote its first key, could not reach the partition of the second,
/// and answered that nothing had happened.
#[test]
fn a_command_on_many_keys_that_failed_half_way_is_indefinite() {
    let written = |stamp| Outcome::Written { stamp, previous: None };
    let done = || written(Some(Stamp { ts: Hlc(1), origin: DcId(0), seq: 0 }));
    let lost = || Outcome::Failed(Failure::Unavailable("gone".into()));
    let keys = || Outcome::Keys { keys: vec![Key::from("a"), Key::from("b")], cursor: 0 };
    let (mset, del, flush) = (&["MSET", "a", "1", "b", "1"][..], &["DEL", "a", "b"][..], &["FLUSHALL"][..]);
    for (words, outcomes, start) in [
        (mset, vec![lost()], "-UNAVAILABLE gone"),
        (mset, vec![done(), lost()], "-INDEFINITE"),
        (del, vec![lost()], "-UNAVAILABLE gone"),
        (del, vec![written(None), lost()], "-UNAVAILABLE gone"),
        (del, vec![done(), lost()], "-INDEFINITE"),
        (flush, vec![keys(), lost()], "-UNAVAILABLE gone"),
        (flush, vec![keys(), done(), lost()], "-INDEFINITE"),
    ] {
        let reply = reply(words, outcomes);
        assert!(reply.starts_with(start), "{words:?}: {reply}, not {start}");
    }
}

#[test]
fn an_outcome_of_another_kind_is_an_error() {
    let topology = Topology::new(1, 2);
    let scripts = Scripts::default();
    let sha = scripts.load(b"return 1");
    let keyspace =
        Keyspace { topology: &topology, write_transactions: false, types: true, now: 0, scripts: &scripts };
    for spec in
        Table::get().iter().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands.iter().copied()))
    {
        if !matches!(spec.handler, crate::redis::Handler::Operations(_)) {
            continue;
        }
        let mut words: Vec<&str> = spec.name.split('|').collect();
        words.resize(spec.arity.unsigned_abs() as usize, "0");
        match spec.name {
            "tide.at" => words[2] = "get",
            name if name.starts_with("evalsha") => words = vec![name, &sha, "1", "k"],
            name if name.starts_with("eval") => words = vec![name, "return 1", "1", "k"],
            _ => {}
        }
        let mut written = Vec::new();
        let mut out = Encoder::new(&mut written, Version::Resp2);
        let (_, mut pending) = task(&words).begin(&keyspace, &mut out).unwrap();
        // No operation of a command ends so.
        let outcome = Outcome::Failed(Failure::Unavailable(String::new()));
        let error = pending.step(outcome, &keyspace, &mut out).err();
        assert_eq!(error, Some(ErrorReply::UNEXPECTED), "{}", spec.name);
    }
}
