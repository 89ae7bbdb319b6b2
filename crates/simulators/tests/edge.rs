//! Edge clients over whole nodes: their disks, connections and processes fail, too, and regions are cut off, crash and lose power meanwhile.

mod playing;

use playing::{cleared, search};
use std::ops::Range;
use tidemark_contract::Rule;
use tidemark_contract::bases::{ONE_CHOICE_FOR_ALL, OWN_REGION_COVERS};
use tidemark_edge::rule::*;
use tidemark_protocols::tidemark::*;
use tidemark_sim::{Campaign, Options};

/// Three regions of two partitions.
fn three() -> Options {
    Options { partitions: 2, sessions: 6, ops: 60, edge: 3, ..Options::default() }
}

/// Two regions, and less that happens.
fn two() -> Options {
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 24, edge: 3, ..Options::default() }
}

/// All that clients see is causal with what sessions see, each transaction is there as a whole and once, and in the end clients show what regions
/// say.
#[test]
fn edge_clients_see_causes_and_whole_transactions_and_lose_nothing() {
    cleared("tidemark", three(), 0..200);
    cleared("tidemark", two(), 0..200);
    cleared("tidemark", Options { partitions: 3, ..two() }, 0..100);
}

/// Rules of clients and of regions that schedules show to be needed, with the seeds among which one violates something. One seed: a search
/// found it; when schedules are drawn in another way, search again.
fn mutants() -> Vec<(Rule, Options, Range<u64>)> {
    let soon = [
        COMMITS_ARE_DURABLE,
        TIMES_RISE,
        HIDDEN_STAYS_HIDDEN,
        ACKS_PRUNE_NOTHING,
        TICKS_ARE_WHOLE,
        EDGE_IS_KEPT_APART,
        CHANGES_ARE_KNOWN,
        BASES_ARE_KEPT,
        OWN_REGION_COVERS,
        GIVEN_UP_BY_ALL,
    ];
    let at = [
        (SENT_IS_DURABLE, 3013),
        (BASE_BEFORE_PRUNING, 1671),
        (FLOORS_LAG, 1829),
        (TIMES_ARE_NEW, 469),
        (BASES_ARE_CLOSED, 1554),
        (BASES_ARE_HERE, 1671),
        (ONE_CHOICE_FOR_ALL, 880),
    ];
    let soon = soon.into_iter().map(|rule| (rule, three(), 0..1_000));
    soon.chain(at.into_iter().map(|(rule, seed)| (rule, two(), seed..seed + 1))).collect()
}

#[test]
fn what_is_done_without_a_rule_is_noticed() {
    let mut survive = Vec::new();
    for (rule, options, seeds) in mutants() {
        let options = Options { without: vec![rule], ..options };
        let what = Campaign { jobs: 2, explain: 0, ..Campaign::new(options, seeds) };
        let summary = search("tidemark", &what);
        println!("without {rule}: {:?} {:?}", summary.violating_seeds.first(), summary.by_verdict);
        if summary.violations == 0 {
            survive.push(rule.name);
        }
    }
    assert!(survive.is_empty(), "no violation without {survive:?}");
}
