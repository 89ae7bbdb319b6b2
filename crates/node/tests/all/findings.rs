//! What an operator is told while something stands still, at either end, and that it goes.

use crate::harness::{Cluster, layout};
use bytes::Bytes;
use tidemark_core::{Command, DcId, Key, Op, Update, Verb, Write};
use tidemark_node::cuts::{CutOrder, Place};
use tidemark_node::{Code, Finding, Grade, Order};
use tidemark_protocols::Tidemark;
use tidemark_registry::factory_of;

fn cluster(dcs: usize, replicas: usize) -> Cluster {
    Cluster::start(factory_of::<Tidemark>(), layout(dcs, 1, replicas))
}

impl Cluster {
    fn findings(&mut self, at: usize) -> Vec<Finding> {
        let now = self.now(at);
        self.node(at).status(now).findings
    }

    /// The finding of this code at this place.
    #[track_caller]
    fn finding(&mut self, at: usize, code: Code, place: &str) -> Finding {
        let all = self.findings(at);
        let found = all.iter().find(|finding| finding.code == code && finding.place == place);
        found.unwrap_or_else(|| panic!("no {code} {place} among {all:?}")).clone()
    }

    #[track_caller]
    fn no_findings(&mut self) {
        for at in 0..self.processes.len() {
            assert_eq!(self.findings(at), [], "at node {at}");
        }
    }

    fn cut(&mut self, from: u8, to: u8) {
        let place = |dc| Place::Region(DcId(dc));
        for at in 0..self.processes.len() {
            self.order(at, 1, Order::Cut(CutOrder::Cut(place(from), place(to))));
        }
    }

    fn heal(&mut self) {
        (0..self.processes.len()).for_each(|at| self.order(at, 2, Order::Cut(CutOrder::HealAll)));
    }
}

const SECOND: u64 = 1_000_000;

#[test]
fn nothing_is_found_where_all_is_well() {
    let mut cluster = cluster(3, 1);
    let writer = cluster.open(0);
    for value in 0..30 {
        cluster.set(0, writer, "k", &value.to_string());
        cluster.run_for(SECOND);
    }
    cluster.no_findings();
}

#[test]
fn a_cut_is_told_at_both_ends_of_the_stream_and_its_end_too() {
    let mut cluster = cluster(2, 1);
    let writer = cluster.open(0);
    cluster.cut(0, 1);
    cluster.set(0, writer, "k", "v");
    cluster.run_for(4 * SECOND);
    cluster.no_findings();
    cluster.run_for(4 * SECOND);
    let sender = cluster.finding(0, Code::NoLink, "A/0->B/0");
    assert!(sender.what.contains("1 records of A/0"), "{sender}");
    let receiver = cluster.finding(1, Code::NoLink, "A/0->B/0");
    for finding in [sender, receiver] {
        assert_eq!(finding.grade, Grade::Degraded);
        assert!(finding.waits_for.contains("cut"), "{finding}");
        assert!(finding.remedy.contains("heal"), "{finding}");
    }
    let told = |cluster: &Cluster, word: &str| {
        let notices = &cluster.processes[0].notices;
        notices.iter().filter(|notice| notice.what.contains(word) && notice.what.contains("A/0->B/0")).count()
    };
    assert_eq!((told(&cluster, "finding:"), told(&cluster, "finding ended:")), (1, 0));
    cluster.heal();
    cluster.run_for(4 * SECOND);
    cluster.no_findings();
    assert_eq!((told(&cluster, "finding:"), told(&cluster, "finding ended:")), (1, 1));
}

#[test]
fn a_region_that_is_down_is_named() {
    let mut cluster = cluster(2, 1);
    let writer = cluster.open(0);
    cluster.kill(1);
    cluster.set(0, writer, "k", "v");
    cluster.run_for(8 * SECOND);
    for place in ["A/0->B/0", "B/0->A/0", "B-0"] {
        let finding = cluster.finding(0, Code::NoLink, place);
        assert!(finding.waits_for.contains("node B-0"), "{finding}");
        assert!(finding.remedy.contains("Start node B-0"), "{finding}");
    }
    cluster.boot(1);
    cluster.run_for(5 * SECOND);
    cluster.no_findings();
}

/// A suspended process keeps its connections.
#[test]
fn a_peer_that_confirms_nothing_is_named() {
    let mut cluster = cluster(2, 1);
    let writer = cluster.open(0);
    cluster.silent.push(1);
    cluster.set(0, writer, "k", "v");
    cluster.run_for(8 * SECOND);
    let finding = cluster.finding(0, Code::FeedHeld, "A/0->B/0");
    assert!(finding.waits_for.contains("B-0, which does not say why"), "{finding}");
}

#[test]
fn records_of_the_future_are_told_at_both_ends() {
    let mut cluster = cluster(2, 1);
    let writer = cluster.open(0);
    cluster.processes[0].ahead_us = 30_000_000;
    cluster.set(0, writer, "k", "v");
    cluster.processes[0].ahead_us = 0;
    cluster.run_for(8 * SECOND);
    for at in 0..2 {
        let finding = cluster.finding(at, Code::FeedHeld, "A/0->B/0");
        assert!(finding.what.contains("ahead of this server's clock"), "{finding}");
        assert!(finding.waits_for.contains("the clock of node B-0"), "{finding}");
        assert_eq!(finding.grade, Grade::Degraded);
    }
    cluster.run_for(30 * SECOND);
    cluster.no_findings();
}

#[test]
fn records_that_come_over_a_third_region_are_a_note() {
    let mut cluster = cluster(3, 1);
    let writer = cluster.open(0);
    cluster.cut(0, 1);
    cluster.set(0, writer, "k", "v");
    cluster.run_for(12 * SECOND);
    let finding = cluster.finding(1, Code::Relayed, "A/0->B/0");
    assert_eq!(finding.grade, Grade::Note);
    assert!(finding.what.contains("over node C-0"), "{finding}");
    cluster.finding(0, Code::NoLink, "A/0->B/0");
    cluster.heal();
    cluster.run_for(4 * SECOND);
    cluster.no_findings();
}

#[test]
fn a_raft_group_without_a_quorum_says_who_is_missing() {
    let mut cluster = cluster(1, 3);
    let leader = cluster.leader(0..3).expect("a leader");
    let others: Vec<usize> = (0..3).filter(|at| *at != leader).collect();
    others.iter().for_each(|at| cluster.kill(*at));
    cluster.run_for(12 * SECOND);
    let finding = cluster.finding(leader, Code::QuorumLost, &format!("A-{leader}"));
    assert_eq!(finding.grade, Grade::Stuck);
    for other in &others {
        assert!(finding.waits_for.contains(&format!("A-{other}")), "{finding}");
        cluster.finding(leader, Code::NoLink, &format!("A-{other}"));
    }
    cluster.finding(leader, Code::ReadsRefused, "A-0, A-1, A-2");
    let now = cluster.now(leader);
    assert!(cluster.node(leader).status(now).unready.is_some());
    cluster.boot(others[0]);
    cluster.run_for(5 * SECOND);
    let all = cluster.findings(leader);
    let codes: Vec<Code> = all.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::NoLink], "{all:?}");
    cluster.boot(others[1]);
    cluster.run_for(5 * SECOND);
    cluster.no_findings();
}

#[test]
fn a_floor_that_stands_names_the_region_that_holds_it() {
    let mut cluster = cluster(2, 1);
    let writer = cluster.open(0);
    for n in 0..4 {
        let add = Command::new(Verb::SAdd, vec![Bytes::from(format!("element {n}"))]);
        let update = Update { command: Some(Box::new(add)), ..Update::put(Write::Remove) };
        cluster.call(0, writer, Op::Put { key: Key::from("set"), update });
        cluster.run_for(50 * SECOND);
    }
    cluster.no_findings();
    cluster.cut(0, 1);
    cluster.cut(1, 0);
    cluster.run_for(70 * SECOND);
    let finding = cluster.finding(0, Code::FloorStands, "A/0");
    assert_eq!(finding.grade, Grade::Note);
    assert!(finding.waits_for.contains("B/0"), "{finding}");
    cluster.heal();
    cluster.run_for(10 * SECOND);
    cluster.no_findings();
}

/// Each code, the names of grades, and nothing else.
#[test]
fn the_document_lists_every_code() {
    let document = include_str!("../../../../docs/monitoring.md");
    let (_, codes) = document.split_once("## The codes").expect("a section");
    let (codes, _) = codes.split_once("\n## ").expect("another one");
    let listed =
        codes.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name);
    let named: Vec<&str> = Code::ALL.iter().map(|(_, name)| *name).collect();
    assert_eq!(listed.collect::<Vec<_>>(), named);
}
