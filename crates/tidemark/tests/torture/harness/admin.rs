//! A node's admin HTTP: how it stands, and faults. And what follows from all nodes' words: whether every record has
//! arrived exactly once.

use super::{Cluster, Node, at, wait_for};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_patience::PATIENCE;

/// Sends an HTTP request, again while the node is busy with something else; the status code and the body, or none if nobody answers.
pub(crate) fn http(address: SocketAddr, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let busy = |(_, body): &(u16, String)| body.contains("the node does not answer");
    wait_for("the node answers", || {
        let answer = http_once(address, method, path, body);
        (!answer.as_ref().is_some_and(busy)).then_some(answer)
    })
}

fn http_once(address: SocketAddr, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let code = head.split_whitespace().nth(1)?.parse().ok()?;
    Some((code, body.to_string()))
}

/// What a node says of itself.
pub(crate) fn status(node: &Node) -> Option<Value> {
    let (code, body) = http(node.admin, "GET", "/status", "")?;
    (code == 200).then(|| serde_json::from_str(&body).expect("the status is JSON"))
}

/// What all nodes say about the records of all feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// By region and partition: how many records were written there.
    pub(crate) written: BTreeMap<(usize, u64), u64>,
    /// By writing region, partition and receiving region: how many the receiver has.
    pub(crate) received: BTreeMap<(usize, u64, usize), u64>,
    /// Likewise: how many the writer knows to be confirmed.
    pub(crate) confirmed: BTreeMap<(usize, u64, usize), u64>,
    /// The lowest entry of any stable vector, in microseconds since 1970.
    pub(crate) stable_us: u64,
}

impl Ledger {
    /// Asks all nodes; none if one does not answer.
    pub(crate) fn read(cluster: &dyn Cluster) -> Option<Self> {
        let mut ledger = Self { stable_us: u64::MAX, ..Self::default() };
        for node in cluster.nodes() {
            let status = status(node)?;
            // Of a group, who leads it knows what its peers have confirmed.
            let group = &status["group"];
            if !group.is_null() && group["role"] != "leader" {
                continue;
            }
            let me = region_number(&node.region);
            for partition in at(&status, &["host", "partitions"]).as_array().expect("a list of partitions") {
                ledger.add(me, partition);
            }
        }
        let groups = cluster.nodes().iter().map(|node| region_number(&node.region)).max()? + 1;
        (ledger.written.len() == groups * cluster.partitions()).then_some(ledger)
    }

    fn add(&mut self, me: usize, partition: &Value) {
        let number =
            |value: &Value, name: &str| value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}"));
        let id = number(partition, "partition");
        self.written.insert((me, id), number(partition, "written"));
        for peer in partition["peers"].as_array().expect("a list of peers") {
            let other = number(peer, "dc") as usize;
            assert_eq!(peer["needs_seeding"], Value::Bool(false), "nobody was away too long");
            self.received.insert((other, id, me), number(peer, "received"));
            self.confirmed.insert((me, id, other), number(peer, "confirmed"));
        }
        for entry in partition["stable"].as_array().expect("a vector") {
            self.stable_us = self.stable_us.min(entry.as_u64().expect("a clock reading") >> 12);
        }
    }

    /// What has not arrived, or arrived too often: nothing, once all is exchanged.
    pub(crate) fn differences(&self) -> Vec<String> {
        let mut differences = Vec::new();
        for ((from, partition), written) in &self.written {
            let feed = |(f, p, _): &(usize, u64, usize)| f == from && p == partition;
            for (side, counts) in [("received", &self.received), ("confirmed", &self.confirmed)] {
                for ((_, _, to), count) in counts.iter().filter(|(key, _)| feed(key)) {
                    if count != written {
                        differences.push(format!(
                            "partition {partition}, region {from} to {to}: {written} written, {count} {side}"
                        ));
                    }
                }
            }
        }
        differences
    }

    /// Records written in all regions.
    pub(crate) fn total(&self) -> u64 {
        self.written.values().sum()
    }
}

/// Waits until every record has arrived everywhere, and until what has arrived is stable.
pub(crate) fn settled(cluster: &dyn Cluster, wait_for_stability: bool) -> Ledger {
    let mut last = None;
    let look = || {
        let now = Ledger::read(cluster)?;
        let differences = now.differences();
        let same = last.replace(now.clone()).is_some_and(|last: Ledger| last.written == now.written);
        (differences.is_empty() && same).then_some(now)
    };
    let ledger = wait_for("all records have arrived everywhere", look);
    if wait_for_stability {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as u64;
        let stable = || Ledger::read(cluster).filter(|ledger| ledger.stable_us >= now);
        wait_for("everything that has arrived is stable", stable);
    }
    ledger
}

/// 0 for `A`.
pub(crate) fn region_number(letter: &str) -> usize {
    (letter.as_bytes()[0].to_ascii_uppercase() - b'A') as usize
}
