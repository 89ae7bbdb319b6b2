//! What is done to a cluster while clients use it: processes killed, links cut and slowed, everything mended again.

use crate::harness::Cluster;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The one who does it, and what must be true of processes between.
pub(crate) struct Chaos<'c> {
    cluster: &'c dyn Cluster,
    rng: Rng,
    /// The process that each node must have.
    pids: Vec<u32>,
    /// How often each thing was done.
    pub(crate) done: BTreeMap<&'static str, u64>,
    /// Which nodes were killed, and when they had ended.
    pub(crate) killed: Vec<(usize, Instant)>,
}

impl<'c> Chaos<'c> {
    /// Nothing has been done yet.
    pub(crate) fn new(cluster: &'c dyn Cluster, seed: u64) -> Self {
        let (rng, done) = (Rng::with_seed(seed), BTreeMap::new());
        let mut chaos = Self { cluster, rng, pids: Vec::new(), done, killed: Vec::new() };
        chaos.pids = chaos.running();
        chaos
    }

    /// One round: something breaks for a while, and is mended.
    pub(crate) fn round(&mut self) {
        match self.rng.u8(0..12) {
            0..3 => self.crash(1),
            3 => self.crash(2),
            4 => self.crash(self.cluster.nodes().len()),
            5..7 => self.cut_regions(),
            7..9 => self.cut_partition(),
            9 => self.slow(),
            _ => self.crash_while_cut(),
        }
        self.pause(50, 400);
        assert_eq!(self.running(), self.pids, "a process died by itself, or was started by nobody");
    }

    fn count(&mut self, what: &'static str, times: u64) {
        *self.done.entry(what).or_default() += times;
    }

    /// How long a fault lasts.
    fn pause(&mut self, from_ms: u64, to_ms: u64) {
        std::thread::sleep(Duration::from_millis(self.rng.u64(from_ms..to_ms)));
    }

    /// The processes of all nodes: all of them must run.
    fn running(&self) -> Vec<u32> {
        let processes = self.cluster.processes().into_iter();
        processes
            .map(|process| process.expect("no process dies by itself").expect("every node runs"))
            .collect()
    }

    fn crash(&mut self, count: usize) {
        let all: Vec<usize> = (0..self.cluster.nodes().len()).collect();
        let victims = self.rng.choose_multiple(all, count);
        for node in &victims {
            self.cluster.kill(*node);
            self.killed.push((*node, Instant::now()));
        }
        self.count("kills", victims.len() as u64);
        self.pause(20, 900);
        victims.iter().for_each(|node| self.cluster.restart(*node));
        self.pids = self.running();
    }

    /// Two different regions.
    fn two_regions(&mut self) -> (String, String) {
        let nodes = self.cluster.nodes();
        let from = nodes[self.rng.usize(0..nodes.len())].region.clone();
        let others: Vec<&String> =
            nodes.iter().map(|node| &node.region).filter(|region| **region != from).collect();
        let to = others[self.rng.usize(0..others.len())].clone();
        (from, to)
    }

    fn cut_regions(&mut self) {
        let ((from, to), one_way) = (self.two_regions(), self.rng.bool());
        self.cluster.cut(&from, &to, one_way);
        self.count(if one_way { "one-way cuts" } else { "cuts" }, 1);
        self.pause(200, 1_500);
        self.cluster.heal();
    }

    /// Only one partition's link: the others go on, which is where effects overtake their causes.
    fn cut_partition(&mut self) {
        let ((from, to), one_way) = (self.two_regions(), self.rng.bool());
        let partition = self.rng.usize(0..self.cluster.partitions());
        let [from, to] = [from, to].map(|region| format!("{region}/{partition}"));
        self.cluster.cut(&from, &to, one_way);
        self.count("cuts of one partition", 1);
        self.pause(200, 1_500);
        self.cluster.heal();
    }

    fn slow(&mut self) {
        let (from, to) = self.two_regions();
        self.cluster.slow(&from, &to, self.rng.u64(20..250));
        self.count("slow links", 1);
        self.pause(300, 1_500);
        self.cluster.heal();
    }

    fn crash_while_cut(&mut self) {
        let (from, to) = self.two_regions();
        self.cluster.cut(&from, &to, false);
        self.count("cuts", 1);
        self.pause(100, 600);
        self.crash(1);
        self.pause(50, 400);
        self.cluster.heal();
    }
}
