//! The torture can convict: a cluster that promises less than causality is found out, and one that keeps it is not.

use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, alone, said, wait_for};
use crate::judge::{self, addresses};
use crate::shared::Shared;
use crate::workload::Worker;
use std::time::{Duration, Instant};
use tidemark_core::history::Header;

/// The whole motif: a cause is written in A, then its effect on another partition, while the cause's partition cannot
/// reach B. Says whether somebody in B saw the effect meanwhile, and what the checker says of the history.
fn an_effect_overtakes_its_cause(protocol: &str) -> (bool, std::process::Output) {
    let _turn = alone();
    let scratch = Scratch::new(&format!("convict-{protocol}"));
    let cluster = Up::start(&scratch, &["--regions", "2", "--partitions", "2", "--protocol", protocol]);
    let shared = Shared::new(addresses(&cluster), cluster.partitions(), false);
    let (cause, effect) = shared.pair(0);
    let [mut writer, mut reader] = [0, 1].map(|number| Worker::new(shared.clone(), number, 1));
    assert!(writer.connect() && reader.connect());
    writer.set(&cause);
    wait_for("B sees what A wrote", Duration::from_secs(30), || reader.get(&cause).value);
    cluster.cut("A/0", "B/0", true);
    writer.set(&cause);
    writer.set(&effect);
    let begun = Instant::now();
    let mut seen = false;
    while !seen && begun.elapsed() < Duration::from_secs(3) {
        seen = reader.get(&effect).value.is_some();
        std::thread::sleep(Duration::from_millis(10));
    }
    reader.get(&cause);
    cluster.heal();
    wait_for("B sees the effect in the end", Duration::from_secs(30), || reader.get(&effect).value);
    reader.get(&cause);
    let header = Header { protocol: Some(protocol.to_string()), ..Header::default() };
    let logs = [writer.into_log(), reader.into_log()];
    let evidence = judge::gather(&cluster, &logs, &shared, header);
    let path = judge::write(&evidence.history, &scratch);
    (seen, judge::check(&path, "causal"))
}

#[test]
fn last_writer_wins_alone_is_convicted() {
    let (seen, verdict) = an_effect_overtakes_its_cause("eventual");
    assert!(seen, "the other partition's link was not cut");
    assert_eq!(verdict.status.code(), Some(1), "{}", said(&verdict));
    println!("the verdict on `eventual`, held to causality:\n{}", said(&verdict));
}

#[test]
fn a_causal_protocol_hides_the_effect_until_its_cause_is_there() {
    let (seen, verdict) = an_effect_overtakes_its_cause("causal");
    assert!(!seen, "an effect was seen without its cause");
    assert_eq!(verdict.status.code(), Some(0), "{}", said(&verdict));
}
