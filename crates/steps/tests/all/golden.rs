//! Golden transcripts: one scripted run a protocol, every event and effect a line.
//!
//! They are compared word for word with `tests/golden/<protocol>.txt`. A difference is a change of behaviour, or
//! of what is written down: read it before you write it over.

use std::env;
use std::fs;
use std::path::Path;
use tidemark_contract::Lab;
use tidemark_contract::core::{Key, Op, Write};
use tidemark_contract::info::Transactions;
use tidemark_contract::lab::{rotx, server};
use tidemark_protocols::*;

/// Two data centres of two partitions: writes, replication, stabilisation, a remote read, transactions, a
/// heartbeat, a restart.
fn script<P: Protocol>(timers: &[P::Timer], params: P::Params) -> String {
    let mut lab = Lab::<P>::new(2, 2, params);
    let (ann, ben) = (lab.client(0), lab.client(1));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    lab.say("Ann writes x, and then y, which depends on it.");
    lab.put(ann, &x, "photo");
    lab.set_clocks(2_000);
    lab.put(ann, &y, "comment");
    lab.say("Only y reaches B, where Ben looks for both.");
    lab.deliver(server(0, 1), server(1, 1));
    lab.get(ben, &y);
    lab.begin(ben, Op::Get { key: x.clone() }); // and may have to wait
    lab.say("Everything arrives; heartbeats; the data centres stabilise.");
    lab.deliver_all();
    lab.round(10_000, timers);
    lab.round(20_000, timers);
    assert!(lab.outcome(ben).is_some());
    lab.say("Ben reads y, and answers. Then he reads both at once.");
    lab.get(ben, &y);
    lab.set_clocks(21_000);
    lab.put(ben, &x, "answer");
    lab.begin(ben, rotx(&[&x, &y]));
    lab.deliver_all();
    lab.round(30_000, timers);
    lab.round(40_000, timers);
    if P::INFO.transactions >= Transactions::Writes {
        lab.say("Ben writes both in one transaction.");
        let write = |key: &Key| (key.clone(), Write::Assign((*b"both").into()));
        lab.begin(ben, Op::PutAll { writes: vec![write(&x), write(&y)] });
        lab.deliver_all();
        while [0, 1].iter().any(|dc| lab.protocol(server(*dc, 1)).status().blocked > 0) {
            lab.deliver_all(); // masters in both data centres have to agree
        }
    }
    lab.say("A/1 restarts with a slow clock. Ann reads there, and writes once more.");
    lab.set_clock(server(0, 1), 1_000);
    lab.restart(server(0, 1));
    lab.get(ann, &y);
    lab.put(ann, &y, "comment 2");
    lab.transcript
}

fn golden<P: Protocol>(timers: &[P::Timer]) {
    golden_with::<P>(timers, P::Params::default());
}

fn golden_with<P: Protocol>(timers: &[P::Timer], params: P::Params) {
    let actual = script::<P>(timers, params);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{}.txt", P::INFO.name));
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &actual).expect("the transcript can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let mut lines = actual.lines().zip(expected.lines()).enumerate();
    let differs = lines.find(|(_, (actual, expected))| actual != expected);
    let (line, (actual_line, expected_line)) = match differs {
        Some((line, pair)) => (line + 1, pair),
        None if actual == expected => return,
        None => (actual.lines().count().min(expected.lines().count()) + 1, ("one ends", "the other goes on")),
    };
    panic!(
        "{}, line {line}:\n  expected {expected_line}\n  but was  {actual_line}\n\
         Only if you understand why: UPDATE_GOLDEN=1 cargo test -p tidemark-steps golden, and read the diff.",
        path.display()
    );
}

#[test]
fn golden_eventual() {
    golden::<Eventual>(&[]);
}

#[test]
fn golden_gentlerain() {
    golden::<GentleRain>(&[gentlerain::Timer::Delta, gentlerain::Timer::Theta]);
}

#[test]
fn golden_contrarian() {
    golden::<Contrarian>(&[causal_spartan_x::Timer::Delta, causal_spartan_x::Timer::Theta]);
}

#[test]
fn golden_cops() {
    golden::<Cops>(&[cops::Timer::Theta, cops::Timer::Retry]);
}

#[test]
fn golden_cops_gt() {
    golden::<CopsGt>(&[cops::Timer::Theta, cops::Timer::Retry]);
}

#[test]
fn golden_eiger() {
    golden::<Eiger>(&[cops::Timer::Theta, cops::Timer::Retry]);
}

#[test]
fn golden_cc_lo() {
    golden::<CcLo>(&[cc_lo::Timer::Delta]);
}

#[test]
fn golden_cure() {
    golden::<Cure>(&[gentlerain::Timer::Delta, gentlerain::Timer::Theta]);
}

#[test]
fn golden_wren() {
    golden::<Wren>(&[causal_spartan_x::Timer::Delta, causal_spartan_x::Timer::Theta]);
}

#[test]
fn golden_causal_spartan_x() {
    golden::<CausalSpartanX>(&[causal_spartan_x::Timer::Delta, causal_spartan_x::Timer::Theta]);
}

#[test]
fn golden_okapi() {
    golden::<Okapi>(&[okapi::Timer::Delta, okapi::Timer::Theta]);
}

#[test]
fn golden_pocc() {
    golden::<Pocc>(&[pocc::Timer::Delta, pocc::Timer::Theta]);
}

#[test]
fn golden_nukv() {
    golden::<NuKv>(&[]);
}

/// Ann's y lies at its master, B: what is to reach B there alone is there already.
#[test]
fn golden_occult() {
    golden::<Occult>(&[]);
}

#[test]
fn golden_orbe() {
    golden::<Orbe>(&[orbe::Timer::Delta, orbe::Timer::Theta]);
}

/// Its GETs do not wait for causes: here they would wait for nothing but a timer.
#[test]
fn golden_hybrid() {
    let params = hybrid::Params { check_wait_us: 0, ..Default::default() };
    golden_with::<Hybrid>(
        &[hybrid::Timer::Delta, hybrid::Timer::Theta, hybrid::Timer::Own(hybrid::Retry)],
        params,
    );
}

#[test]
fn golden_tidemark() {
    golden::<Tidemark>(&[tidemark::Timer::Delta, tidemark::Timer::Theta]);
}

#[test]
fn golden_accf() {
    golden::<Accf>(&[accf::Timer::Delta, accf::Timer::Theta]);
}
