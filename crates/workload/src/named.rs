//! The workloads that have names: YCSB's, and those of the papers.
//!
//! References: "GentleRain" (SoCC 2014), section 5; "Causal Consistency and Latency Optimality" (PVLDB 2018), table 1;
//! the thesis on CausalSpartanX, sections 5.5.2 and 8.5.3 (query amplification); SwiftCloud (Middleware 2015), section 5.1;
//! the dissertation on ACCF, section 7.3 (`turns` is its App1, `alternate` its App2, `apps` both).

use crate::{Choice, Names, Pattern, Think, Workload, WorkloadError};

/// YCSB's constant.
const SKEW: f64 = 0.99;

pub(crate) const NAMES: &[(&str, &str)] = &[
    ("ycsb-a", "half reads, half updates; zipfian"),
    ("ycsb-b", "95% reads, 5% updates; zipfian"),
    ("ycsb-c", "reads only; zipfian"),
    ("ycsb-d", "95% reads of what was inserted last, 5% inserts"),
    ("ycsb-e", "95% scans of 1 to 100 keys, 5% inserts; zipfian"),
    ("ycsb-f", "half reads, half reads that are followed by a write; zipfian"),
    (
        "transactions",
        "transactions that read 4 partitions, 5% of single operations are writes; zipfian in partitions",
    ),
    ("rounds", "read a key of every partition, then update one key"),
    ("round-robin", "updates only, partition after partition"),
    ("ratio", "8 reads of partitions at random, then an update"),
    ("snapshots", "snapshots of 8 keys of partitions at random"),
    ("amplified", "every request is 100 updates, one after the other, partition after partition"),
    ("amplified-insert", "every request inserts 10 keys, one after the other, partition after partition"),
    ("turns", "pairs of clients: each waits until it reads what the other has written, then writes"),
    (
        "alternate",
        "pairs of clients: one reads a key of each partition in turn, the other writes them, last first",
    ),
    ("apps", "both at once: of the pairs, every other one takes turns and the rest alternate"),
    ("locality", "ycsb-a, but 80% of keys are of the session's own set"),
    ("locality-low", "ycsb-a, but 40% of keys are of the session's own set"),
    ("social", "a social network: 80% reads of walls, of which 80% are those of friends"),
];

/// All names, for error messages.
pub(crate) fn known() -> String {
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

pub(crate) fn named(name: &str) -> Result<Workload, WorkloadError> {
    Ok(match name {
        "ycsb-a" => ycsb(name, Choice::Zipfian, mix(0.5, 0.5, 0.0)),
        "ycsb-b" => ycsb(name, Choice::Zipfian, mix(0.95, 0.05, 0.0)),
        "ycsb-c" => ycsb(name, Choice::Zipfian, mix(1.0, 0.0, 0.0)),
        "ycsb-d" => ycsb(name, Choice::Latest, with_inserts(0.95, 0.0)),
        "ycsb-e" => ycsb(name, Choice::Zipfian, with_inserts(0.0, 0.95)),
        "ycsb-f" => ycsb(name, Choice::Zipfian, mix(0.5, 0.0, 0.5)),
        "transactions" => Workload {
            value_bytes: 8,
            choice: Choice::Zipfian,
            skew: SKEW,
            ..partitioned(name, Pattern::Transactions { write_share: 0.05, span: 4 })
        },
        "rounds" => partitioned(name, Pattern::Rounds {}),
        "round-robin" => partitioned(name, Pattern::RoundRobin {}),
        "ratio" => partitioned(name, Pattern::Ratio { reads: 8, writes: 1 }),
        "snapshots" => partitioned(name, Pattern::Snapshots { span: 8 }),
        "amplified" => partitioned(name, Pattern::Amplified { factor: 100, inserts: false }),
        "amplified-insert" => partitioned(name, Pattern::Amplified { factor: 10, inserts: true }),
        "turns" => partitioned(name, Pattern::Turns { partition: 0, poll_us: 1_000 }),
        "alternate" => partitioned(name, Pattern::Alternate { pause_us: 0 }),
        "apps" => {
            let (partition, poll_us, pause_us, swap_after_us) = (0, 1_000, 0, 0);
            partitioned(name, Pattern::Apps { partition, poll_us, pause_us, swap_after_us })
        }
        "locality" => {
            Workload { locality: 0.8, keys: 50_000, ..ycsb(name, Choice::Zipfian, mix(0.5, 0.5, 0.0)) }
        }
        "locality-low" => {
            Workload { locality: 0.4, keys: 50_000, ..ycsb(name, Choice::Zipfian, mix(0.5, 0.5, 0.0)) }
        }
        "social" => {
            let (locality, keys, value_bytes) = (0.8, 400_000, 50);
            Workload { locality, keys, value_bytes, ..ycsb(name, Choice::Uniform, social()) }
        }
        _ => return Err(WorkloadError::UnknownName { name: name.into(), known: known() }),
    })
}

fn ycsb(name: &str, choice: Choice, pattern: Pattern) -> Workload {
    Workload {
        base: name.into(),
        name: name.into(),
        keys: 100_000,
        value_bytes: 1000,
        names: Names::Ycsb,
        choice,
        skew: SKEW,
        locality: 0.0,
        locality_keys: 200,
        remote: 0.0,
        read_guarantee: "both".into(),
        write_guarantee: "both".into(),
        checking: "*".into(),
        think_us: 0,
        think: Think::Fixed,
        pattern,
    }
}

/// A workload that chooses partitions: 64 bytes a value and uniform choices, as in the GentleRain paper.
fn partitioned(name: &str, pattern: Pattern) -> Workload {
    let base = ycsb(name, Choice::Uniform, pattern);
    Workload { value_bytes: 64, names: Names::Tagged, ..base }
}

/// SwiftCloud, table 1. Its authors' benchmark has 25 friends a user.
fn social() -> Pattern {
    let (read_wall, see_friends, message, post_status, add_friend) = (0.8, 0.08, 0.05, 0.05, 0.02);
    Pattern::Social { read_wall, see_friends, message, post_status, add_friend, friends: 25, views: false }
}

/// Without inserts and scans.
fn mix(read: f64, update: f64, read_modify_write: f64) -> Pattern {
    let (insert, scan, expected_inserts) = (0.0, 0.0, 0);
    Pattern::Mix { read, update, insert, scan, read_modify_write, scan_length: 100, expected_inserts }
}

/// 5% inserts.
fn with_inserts(read: f64, scan: f64) -> Pattern {
    let (update, insert, read_modify_write, expected_inserts) = (0.0, 0.05, 0.0, 10_000);
    Pattern::Mix { read, update, insert, scan, read_modify_write, scan_length: 100, expected_inserts }
}
