//! The torture can convict: a cluster that promises less than causality is found out, and one that keeps it is not.

use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, alone, said, wait_for};
use crate::judge::{self, addresses};
use crate::shared::Shared;
use crate::workload::Worker;
use std::time::Duration;
use tidemark_core::history::Header;

/// The number of times that somebody looks for what must not be there: far more often than it takes to see it where it is.
const LOOKS: usize = 300;

/// The whole motif: a cause is written in A, then its effect on another partition, while the cause's partition cannot
/// reach B. Says what the checker says of the history, in which somebody in B saw the effect meanwhile if `overtakes`, and otherwise
/// looked for it in vain.
fn an_effect_overtakes_its_cause(protocol: &str, overtakes: bool) -> std::process::Output {
    let _turn = alone();
    let scratch = Scratch::new(&format!("convict-{protocol}"));
    let cluster = Up::start(&scratch, &["--regions", "2", "--partitions", "2", "--protocol", protocol]);
    let shared = Shared::new(addresses(&cluster), cluster.partitions(), false);
    let (cause, effect) = shared.pair(0);
    let [mut writer, mut reader] = [0, 1].map(|number| Worker::new(shared.clone(), number, 1));
    assert!(writer.connect() && reader.connect());
    writer.set(&cause);
    wait_for("B sees what A wrote", || reader.get(&cause).value);
    cluster.cut("A/0", "B/0", true);
    writer.set(&cause);
    writer.set(&effect);
    if overtakes {
        wait_for("the other partition's link is not cut", || reader.get(&effect).value);
    }
    for _ in 0..if overtakes { 0 } else { LOOKS } {
        assert_eq!(reader.get(&effect).value, None, "an effect was seen without its cause");
        std::thread::sleep(Duration::from_millis(10));
    }
    reader.get(&cause);
    cluster.heal();
    wait_for("B sees the effect in the end", || reader.get(&effect).value);
    reader.get(&cause);
    let header = Header { protocol: Some(protocol.to_string()), ..Header::default() };
    let logs = [writer.into_log(), reader.into_log()];
    let evidence = judge::gather(&cluster, &logs, &shared, header);
    let path = judge::write(&evidence.history, &scratch);
    judge::check(&path, "causal")
}

#[test]
fn last_writer_wins_alone_is_convicted() {
    let verdict = an_effect_overtakes_its_cause("eventual", true);
    assert_eq!(verdict.status.code(), Some(1), "{}", said(&verdict));
    println!("the verdict on `eventual`, held to causality:\n{}", said(&verdict));
}

#[test]
fn a_causal_protocol_hides_the_effect_until_its_cause_is_there() {
    let verdict = an_effect_overtakes_its_cause("causal", false);
    assert_eq!(verdict.status.code(), Some(0), "{}", said(&verdict));
}
