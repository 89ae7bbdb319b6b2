//! What protocols do with the lists and vectors that they ship, for each byte of them.
//!
//! The simulator runs the handlers of the server. A run in which work takes no virtual time takes real time for each event
//! and for what handlers do with what they are given; eventual consistency, which ships nothing, tells the first.

use std::collections::BTreeMap;
use std::time::Instant;
use tidemark_protocols::NAMES;
use tidemark_sim::{Costs, Load, Loaded};
use tidemark_simulators::simulator;
use tidemark_workload::Workload;

/// What a byte of metadata costs at each of its two ends in each protocol that ships a good deal of it.
pub(super) fn measure() -> BTreeMap<String, f64> {
    let event_ns =
        NAMES.first().map_or(0.0, |name| run(name).map_or(0.0, |(ns, loaded)| ns / loaded.events as f64));
    let all = NAMES.iter().skip(1).filter_map(|name| {
        let (ns, loaded) = run(name)?;
        let bytes = loaded.messages.values().map(|messages| messages.bytes).sum::<u64>() as f64;
        let ns = (ns - event_ns * loaded.events as f64) / (2.0 * bytes);
        Some((name.to_string(), (ns.clamp(0.5, 50.0) * 10.0).round() / 10.0))
    });
    all.collect()
}

/// How long a run took, in nanoseconds, and what it measured; the quickest of three.
fn run(name: &str) -> Option<(f64, Loaded)> {
    let what = load();
    let once = || {
        let begin = Instant::now();
        let loaded = simulator(name)?.load(&what).ok()?;
        Some((begin.elapsed().as_nanos() as f64, loaded))
    };
    let all = (0..3).filter_map(|_| once());
    all.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn load() -> Load {
    Load {
        partitions: 8,
        rtt_us: vec![vec![0, 20_000], vec![20_000, 0]],
        wan_jitter_percent: 2,
        lan_us: 50,
        lan_jitter_us: 20,
        clock_skew_us: 500,
        clock_offsets_us: Vec::new(),
        slow: Vec::new(),
        params: BTreeMap::new(),
        costs: Costs::NONE,
        workload: Workload::named("transactions").expect("it is listed"),
        clients: 32,
        beside: None,
        idle_dcs: Vec::new(),
        rate: None,
        filled_keys: 100,
        warm_up_us: 0,
        measure_us: 300_000,
        probe_every_us: None,
        seed: 1,
    }
}
