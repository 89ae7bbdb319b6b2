//! NuKV: its listings step by step, the decisions of the file, the traces of erratum E-6, and what each rule is for.

mod decisions;
mod errata;
mod physical;

use crate::{as_published, at};
use std::collections::BTreeMap;
use tidemark_contract::core::{
    Condition, DcId, Guarantees, Hlc, Key, Op, Outcome, PartitionId, Stamp, Update, Write,
};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Lab, Protocol, Reaches, without};
use tidemark_protocols::nukv::{
    DT_COVERS_READS, DT_COVERS_WRITES, Indexes, NuKv, PAST_MOVES, PUT_ABOVE_DT, Params, Past,
    READS_ANSWER_IDX, READS_WAIT, SV_SURVIVES, Seen, Server, Timer,
};

const P0: PartitionId = PartitionId(0);
const P1: PartitionId = PartitionId(1);
const MR: Guarantees = Guarantees { monotonic_reads: true, ..Guarantees::NONE };
const RYW: Guarantees = Guarantees { read_your_writes: true, ..Guarantees::NONE };
const WFR: Guarantees = Guarantees { writes_follow_reads: true, ..Guarantees::NONE };
const MW: Guarantees = Guarantees { monotonic_writes: true, ..Guarantees::NONE };

fn lab<const HYBRID: bool>(dcs: usize, partitions: usize) -> Lab<Server<HYBRID>> {
    Lab::new(dcs, partitions, Params::default())
}

fn nukv(dcs: usize, partitions: usize) -> Lab<NuKv> {
    lab(dcs, partitions)
}

/// A session of `dc` goes on where `from` was.
fn moved<const HYBRID: bool>(lab: &mut Lab<Server<HYBRID>>, from: usize, dc: u8) -> usize {
    let there = lab.client(dc);
    lab.adopt(there, lab.token(from));
    assert_eq!(lab.outcome(there), Some(Outcome::Adopted), "D8: nobody waits to be let in");
    there
}

/// A session with a past that it could have.
fn with_past<const HYBRID: bool>(lab: &mut Lab<Server<HYBRID>>, dc: u8, past: Past) -> usize {
    let session = lab.client(dc);
    lab.adopt(session, past);
    assert_eq!(lab.outcome(session), Some(Outcome::Adopted));
    session
}

fn column(entries: &[u64]) -> BTreeMap<PartitionId, Indexes> {
    BTreeMap::from([(P0, Indexes(entries.to_vec()))])
}

fn get(key: &Key) -> Op {
    Op::Get { key: key.clone() }
}

fn set_new(key: &Key, value: &str) -> Op {
    let write = Write::Assign(value.as_bytes().into());
    let update = Update { write, condition: Condition::IfAbsent, returns_previous: true, command: None };
    Op::Put { key: key.clone(), update }
}

/// What a read gives now: `None` if it waits, and it is left waiting.
fn try_get<const HYBRID: bool>(lab: &mut Lab<Server<HYBRID>>, session: usize, key: &Key) -> Option<String> {
    lab.begin(session, get(key));
    lab.outcome(session).as_ref().map(text)
}

/// Reference: Alg. 1 lines 1-14, Alg. 2 lines 1-2; PROTOCOLS §14, GET step 1. A session has read x at A and written y
/// there, of one partition: the first has index 1, the second 2.
#[test]
fn get_1_waits_for_what_its_level_asks_for() {
    for (level, waits_for) in
        [(Guarantees::NONE, 0), (MR, 1), (RYW, 2), (Guarantees::ALL, 2), (WFR, 0), (MW, 0)]
    {
        let mut lab = nukv(2, 1);
        let (writer, reader) = (lab.client(0), lab.client(0));
        let (x, y) = (lab.key("x", 0), lab.key("y", 0));
        lab.put(writer, &x, "1");
        lab.get(reader, &x);
        lab.put(reader, &y, "2");
        let away = moved(&mut lab, reader, 1);
        lab.asks(away, level);
        let mut found = try_get(&mut lab, away, &x);
        let mut received = 0;
        while found.is_none() {
            assert!(lab.deliver(server(0, 0), server(1, 0)), "{level}: it waits for what was written");
            received += 1;
            found = lab.outcome(away).as_ref().map(text);
        }
        assert_eq!(received, waits_for, "{level}");
        assert_eq!(found.unwrap(), if received == 0 { "-" } else { "1" });
    }
}

#[test]
fn get_1_without_the_wait_a_session_that_roams_goes_back() {
    fn reads() -> Option<String> {
        let mut lab = nukv(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        let away = moved(&mut lab, a, 1);
        try_get(&mut lab, away, &x)
    }
    assert_eq!(reads(), None);
    assert_eq!(without(&[READS_WAIT], reads), Some("-".into()));
    assert_eq!(without(&[PAST_MOVES], reads), Some("-".into()), "D8");
}

/// At home nothing waits: what a session has seen there is there.
#[test]
fn get_1_at_home_never_waits_and_a_slow_partition_slows_no_other() {
    let mut lab = nukv(2, 2);
    let (a, b) = (lab.client(0), lab.client(1));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    assert_eq!((lab.get(a, &x).as_str(), lab.get(a, &y).as_str()), ("1", "2"));
    lab.deliver(server(0, 1), server(1, 1));
    let away = moved(&mut lab, a, 1);
    assert_eq!(try_get(&mut lab, away, &y), Some("2".into()), "partition 0 has received nothing");
    assert_eq!(lab.get(b, &x), "-", "who has seen nothing waits for nothing");
    assert_eq!(try_get(&mut lab, away, &x), None);
}

/// Reference: Alg. 2 line 3 as corrected (E-6b): the highest (t, dc_id, idx).
#[test]
fn get_2_returns_the_highest_time_then_data_centre_then_index() {
    let mut lab = nukv(3, 1);
    let x = lab.key("x", 0);
    for dc in [2, 0, 1] {
        let s = lab.client(dc);
        lab.asks(s, Guarantees::NONE);
        lab.put(s, &x, ["a", "b", "c"][dc as usize]);
    }
    lab.deliver_all();
    for dc in 0..3 {
        let s = lab.client(dc);
        assert_eq!(lab.get(s, &x), "c", "the three have one time");
        assert_eq!(lab.store(server(dc, 0)).chain(&x).count(), 1, "I3");
    }
    let a = lab.client(0);
    lab.set_clocks(2_000);
    lab.put(a, &x, "later");
    lab.deliver_all();
    let s = lab.client(2);
    assert_eq!(lab.get(s, &x), "later");
}

/// Reference: Alg. 2 line 4 as corrected (D4). Printed is `sv[dc_id]`: E-6d, safe, and who roams waits for more than it
/// has seen.
#[test]
fn get_3_answers_the_index_of_the_version_that_it_returns() {
    fn roams() -> (u64, Option<String>) {
        let mut lab = nukv(2, 1);
        let (writer, reader) = (lab.client(0), lab.client(0));
        let (x, y) = (lab.key("x", 0), lab.key("y", 0));
        lab.put(writer, &x, "1");
        lab.put(writer, &y, "2");
        lab.get(reader, &x);
        lab.deliver(server(0, 0), server(1, 0)); // x, and not y
        let away = moved(&mut lab, reader, 1);
        (lab.token(reader).hrm[&P0].get(DcId(0)), try_get(&mut lab, away, &x))
    }
    assert_eq!(roams(), (1, Some("1".into())));
    assert_eq!(without(&[READS_ANSWER_IDX], roams), (2, None));
}

/// Reference: Alg. 1 lines 15-17.
#[test]
fn get_4_raises_hrm_and_dt_r_and_never_lowers_them() {
    let mut lab = nukv(2, 1);
    let (a, b) = (lab.client(0), lab.client(1));
    let (x, y) = (lab.key("x", 0), lab.key("y", 0));
    lab.put(b, &y, "old");
    lab.set_clocks(2_000);
    lab.put(b, &x, "new");
    lab.deliver_all();
    assert_eq!(lab.token(a), Past::default());
    lab.get(a, &x);
    let after = lab.token(a);
    assert_eq!(after, Past { hrm: column(&[0, 2]), dt_r: at(2_000), ..Past::default() });
    lab.get(a, &y);
    assert_eq!(lab.token(a), after);
    let missing = lab.key("z", 0);
    assert_eq!(lab.get(a, &missing), "-");
    assert_eq!(lab.token(a), after, "an absence adds nothing");
}

/// Reference: Alg. 1 lines 19-29.
#[test]
fn put_sends_the_time_that_its_level_asks_for() {
    fn written(level: Guarantees) -> Hlc {
        let mut lab = nukv(1, 1);
        let past = Past { dt_r: at(9_000), dt_w: at(5_000), ..Past::default() };
        let s = with_past(&mut lab, 0, past);
        lab.asks(s, level);
        let x = lab.key("x", 0);
        lab.put(s, &x, "1")
    }
    let (r, w) = (at(9_000).next(), at(5_000).next());
    let levels = [(Guarantees::NONE, at(1_000)), (WFR, r), (MW, w), (Guarantees::ALL, r), (RYW, at(1_000))];
    for (level, t) in levels {
        assert_eq!(written(level), t, "{level}");
    }
    assert_eq!(without(&[DT_COVERS_READS], || written(WFR)), at(1_000));
    assert_eq!(without(&[DT_COVERS_READS], || written(Guarantees::ALL)), w);
    assert_eq!(without(&[DT_COVERS_WRITES], || written(MW)), at(1_000));
    assert_eq!(without(&[PUT_ABOVE_DT], || written(Guarantees::ALL)), at(1_000));
}

/// Reference: Alg. 2 lines 5-12, 14-21.
#[test]
fn put_1_moves_the_clock_above_dt_and_never_waits() {
    let mut lab = nukv(2, 1);
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    let mut times = Vec::new();
    for now in [1_000, 1_000, 900, 2_000] {
        lab.set_clock(p, now);
        times.push(lab.put(s, &x, "v"));
    }
    assert_eq!(times, [at(1_000), at(1_000).next(), at(1_000).next().next(), at(2_000)]);
    let away = moved(&mut lab, s, 1); // where the clock is at 1,000, and nothing has arrived
    assert_eq!(lab.put(away, &x, "there"), at(2_000).next());
    assert_eq!(lab.protocol(server(1, 0)).status().blocked, 0);
    lab.set_max_skew(500);
    assert_eq!(text(&lab.run(away, put(&x, "far ahead"))), "clock skew");
}

/// Reference: Alg. 2 line 13 and Alg. 1 lines 30-32, as corrected: the write's own index and time.
#[test]
fn put_2_answers_its_own_index() {
    let mut lab = nukv(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.put(s, &x, "1");
    lab.set_clocks(2_000);
    lab.put(s, &x, "2");
    let past = Past { hwm: column(&[2]), dt_w: at(2_000), ..Past::default() };
    assert_eq!(lab.token(s), past);
    assert_eq!(lab.protocol(server(0, 0)).sv(), &Indexes(vec![2, 0]));
    let stored = lab.store(server(0, 0)).chain(&x).next().expect("it was written");
    assert_eq!((stored.meta, stored.stamp), (2, Stamp { ts: at(2_000), origin: DcId(0), seq: 2 }));
}

/// Reference: Alg. 2 lines 25-29: each version goes to every other data centre once, with its index.
#[test]
fn replicate_carries_the_index_of_the_origin() {
    let mut lab = nukv(3, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    let b = lab.client(1);
    lab.put(b, &x, "of B");
    lab.put(a, &x, "1");
    lab.put(a, &x, "2");
    lab.deliver_all();
    for dc in 0..3 {
        assert_eq!(lab.protocol(server(dc, 0)).sv(), &Indexes(vec![2, 1, 0]), "at {dc}");
        let newest = lab.store(server(dc, 0)).chain(&x).next().expect("it arrived");
        assert_eq!((newest.stamp.origin, newest.meta), (DcId(0), 2));
    }
}

/// Reference: §14, new leader. What it applied and what it numbered is in the log, and its clock is above that.
#[test]
fn a_restart_goes_on_from_the_records_of_the_log() {
    fn after() -> (Indexes, Hlc, Past) {
        let mut lab = nukv(2, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.set_clock(server(1, 0), 5_000);
        lab.put(b, &x, "of B");
        lab.put(a, &x, "1");
        lab.put(a, &x, "2");
        lab.deliver_all();
        lab.set_clock(server(0, 0), 500);
        lab.restart(server(0, 0));
        let sv = lab.protocol(server(0, 0)).sv().clone();
        let s = lab.client(0);
        (sv, lab.put(s, &x, "3"), lab.token(s))
    }
    let (sv, t, past) = after();
    assert_eq!((sv, t), (Indexes(vec![2, 1]), at(5_000).next()));
    assert_eq!(past.hwm, column(&[3]));
    let (sv, _, past) = without(&[SV_SURVIVES], after);
    assert_eq!((sv, past.hwm), (Indexes::default(), column(&[1])), "a number that was given before");
}

/// What an operation saw and wrote counts for later ones, whatever it asked for itself.
#[test]
fn what_asked_for_less_counts_for_what_asks_for_more() {
    let mut lab = nukv(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.asks(a, Guarantees::NONE);
    lab.put(a, &x, "1");
    lab.get(a, &x);
    let past = Past { hrm: column(&[1]), hwm: column(&[1]), dt_r: at(1_000), dt_w: at(1_000) };
    assert_eq!(lab.token(a), past);
    let away = moved(&mut lab, a, 1);
    assert_eq!(try_get(&mut lab, away, &x), None);
}

/// Two answers say more than one: entry by entry the larger one.
#[test]
fn i2_what_a_session_remembers_covers_every_answer() {
    let seen = |x: &[u64], t| Seen { x: Indexes(x.to_vec()), t: at(t) };
    let mut lab = nukv(2, 1);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 0));
    let b = lab.client(1);
    lab.put(b, &x, "1");
    lab.set_clocks(2_000);
    lab.put(a, &y, "2");
    lab.deliver_all();
    let s = lab.client(0);
    lab.rotx(s, &[&x, &y]);
    assert_eq!(lab.token(s), Past { hrm: column(&[1, 1]), dt_r: at(2_000), ..Past::default() });
    let answer = format!("{:?}", seen(&[1, 1], 2_000));
    assert!(lab.transcript.contains(&answer), "one answer for both\n{}", lab.transcript);
}
