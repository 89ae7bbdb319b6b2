//! The end of a torture: everything mended and exchanged, what clients recorded goes to `tidemark check`.

use crate::harness::admin::{Ledger, region_number, settled};
use crate::harness::{Cluster, Scratch, said, tidemark, wait_for};
use crate::shared::{Expected, Log, Shared};
use crate::workload::read_all;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use tidemark_core::history::{Action, Event, Final, Header, History, Lost};
use tidemark_core::{DcId, Found, Key};
use tidemark_patience::Sought;

/// Where each region's nodes listen, by region.
pub(crate) fn addresses(cluster: &dyn Cluster) -> Vec<Vec<SocketAddr>> {
    let regions = cluster.nodes().iter().map(|node| region_number(&node.region) + 1).max().unwrap_or(0);
    let mut addresses = vec![Vec::new(); regions];
    cluster.nodes().iter().for_each(|node| addresses[region_number(&node.region)].push(node.redis));
    addresses
}

/// A history of what clients saw and of what every region returns in the end.
pub(crate) struct Evidence {
    /// For the checker.
    pub(crate) history: History,
    /// The records of all feeds.
    pub(crate) ledger: Ledger,
    /// By key: what each region returns in the end.
    pub(crate) finals: BTreeMap<String, Vec<Found>>,
}

/// Waits until all is exchanged, all regions return the same, and nothing that was acknowledged is missing.
pub(crate) fn gather(cluster: &dyn Cluster, logs: &[Log], shared: &Shared, header: Header) -> Evidence {
    gather_after(cluster, logs, shared, header, Vec::new())
}

/// The same after nodes have lost power: what `losses` may have taken is not missed.
pub(crate) fn gather_after(
    cluster: &dyn Cluster,
    logs: &[Log],
    shared: &Shared,
    header: Header,
    losses: Vec<Lost>,
) -> Evidence {
    let ledger = settled(cluster, false);
    let mut keys = shared.all_keys();
    keys.extend(logs.iter().flat_map(|log| log.unique.keys().cloned()));
    let finals = agreed(logs, shared, &keys, &losses);
    let mut events: Vec<Event> = logs.iter().flat_map(|log| log.events.iter().cloned()).collect();
    events.sort_by_key(|event| event.start_us);
    let last = |key: &String, dc: usize, found: &Found| Final {
        dc: DcId(dc as u8),
        key: Key::from(&**key),
        found: found.clone(),
    };
    let rows = finals
        .iter()
        .flat_map(|(key, found)| found.iter().enumerate().map(move |(dc, found)| last(key, dc, found)));
    let history = History { header, events, finals: rows.collect(), lost: losses };
    Evidence { history, ledger, finals }
}

/// Returns what each region returns of each key, once all return the same, and all that was acknowledged.
fn agreed(logs: &[Log], shared: &Shared, keys: &[String], losses: &[Lost]) -> BTreeMap<String, Vec<Found>> {
    let sought = Sought::new("all regions return the same, and all that was acknowledged");
    wait_for(&sought, || {
        let mut finals: BTreeMap<String, Vec<Found>> = BTreeMap::new();
        for region in &shared.addresses {
            for (key, found) in keys.iter().zip(read_all(region[0], keys)) {
                finals.entry(key.clone()).or_default().push(found);
            }
        }
        let differ = finals.iter().filter(|(_, found)| found.iter().any(|other| *other != found[0]));
        let mut keys: Vec<String> = differ.map(|(key, found)| format!("{key}: {found:?}")).collect();
        keys.extend(missing(logs, &finals, losses));
        sought.found(keys.join("\n"));
        keys.is_empty().then_some(finals)
    })
}

/// Writes the history as one JSON object a line.
pub(crate) fn write(history: &History, scratch: &Scratch) -> PathBuf {
    let path = scratch.join("history.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("the history's file"));
    let mut line = |text: serde_json::Result<String>| {
        writeln!(file, "{}", text.expect("a line of a history")).expect("the history's file");
    };
    line(serde_json::to_string(&history.header));
    history.events.iter().for_each(|event| line(serde_json::to_string(event)));
    history.finals.iter().for_each(|last| line(serde_json::to_string(last)));
    history.lost.iter().for_each(|lost| line(serde_json::to_string(lost)));
    path
}

/// `tidemark check`
pub(crate) fn check(path: &Path, promise: &str) -> Output {
    tidemark(&["check", path.to_str().expect("a path in UTF-8"), "--promise", promise])
}

/// Asserts that the history fulfils the promise.
pub(crate) fn accept(path: &Path, promise: &str) {
    let verdict = check(path, promise);
    assert_eq!(verdict.status.code(), Some(0), "the checker convicts:\n{}", said(&verdict));
}

/// Keys that were written once and are not as they must be: an acknowledged write is lost, something that was deleted is back, or
/// something that was refused is there. What a loss of power may have taken has to be the same in all regions.
fn missing(logs: &[Log], finals: &BTreeMap<String, Vec<Found>>, losses: &[Lost]) -> Vec<String> {
    let taken: BTreeSet<&Key> = logs.iter().flat_map(|log| may_be_lost(log, losses)).collect();
    let mut wrong = Vec::new();
    for (key, expected) in logs.iter().flat_map(|log| &log.unique) {
        let values: Vec<Option<String>> = finals[key].iter().map(words).collect();
        let right = match expected {
            _ if taken.contains(&Key::from(&**key)) => values.iter().all(|found| *found == values[0]),
            Expected::Value(value) => values.iter().all(|found| found.as_deref() == Some(value)),
            Expected::Nothing => values.iter().all(Option::is_none),
            Expected::Unknown(value) => {
                let same = values.iter().all(|found| *found == values[0]);
                same && values[0].as_deref().is_none_or(|found| found == value)
            }
        };
        if !right {
            wrong.push(format!("{key}: {expected:?} is expected, the regions return {values:?}"));
        }
    }
    wrong
}

/// The keys that a client wrote while that might be lost.
fn may_be_lost<'l>(log: &'l Log, losses: &[Lost]) -> impl Iterator<Item = &'l Key> {
    log.events.iter().filter_map(|event| match &event.action {
        Action::Write { key, .. } => {
            let began = event.start_us.unwrap_or(0);
            let ended = event.end_us.unwrap_or(u64::MAX);
            let takes = |lost: &&Lost| lost.dc == event.dc && began <= lost.to_us && lost.from_us <= ended;
            losses.iter().find(takes).map(|_| key)
        }
        _ => None,
    })
}

fn words(found: &Found) -> Option<String> {
    found.value.as_ref().map(|value| String::from_utf8_lossy(value).into_owned())
}

/// What nodes logged that they should never have to: panics and errors.
pub(crate) fn assert_logs_are_calm(cluster: &dyn Cluster) {
    for node in cluster.nodes() {
        let log = std::fs::read_to_string(&node.log).unwrap_or_default();
        let alarming = |line: &&str| line.contains("panicked") || line.contains(" ERROR ");
        let lines: Vec<&str> = log.lines().filter(alarming).collect();
        assert!(lines.is_empty(), "node {} logged:\n{}", node.name, lines.join("\n"));
    }
}
