//! What protocols do with the lists and vectors that they ship, for each byte of them.
//!
//! The simulator runs the handlers of the server. A run in which work takes no virtual time takes real time for each event
//! and for what handlers do with what they are given; eventual consistency, which ships nothing, tells the first.

use std::collections::BTreeMap;
use std::time::Instant;
use tidemark_contract::placement::Placement;
use tidemark_protocols::NAMES;
use tidemark_sim::{Costs, Load, Loaded};
use tidemark_simulators::simulator;
use tidemark_workload::Workload;

/// Shorter messages have no lists: what their handlers take has nothing to do with their bytes.
const LISTS_BYTES: f64 = 64.0;
/// What a byte costs at most if that is to be believed.
const MOST_NS: f64 = 50.0;

/// What a byte of metadata costs, in nanoseconds, at each of its two ends: typically, and in each protocol that ships lists.
pub(super) fn measure(simulated_us: u64) -> (f64, BTreeMap<String, f64>) {
    let event_ns = NAMES
        .first()
        .and_then(|name| run(name, &load(simulated_us)))
        .map_or(0.0, |(ns, loaded)| ns / loaded.events as f64);
    let (mut all, mut lists) = (Vec::new(), BTreeMap::new());
    for name in NAMES.iter().skip(1) {
        let Some((ns, loaded)) = run(name, &load(simulated_us)) else { continue };
        let messages = loaded.messages.values();
        let (count, bytes) =
            messages.fold((0, 0), |(count, bytes), m| (count + m.near + m.far, bytes + m.bytes));
        let byte_ns = (ns - event_ns * loaded.events as f64) / (2 * bytes) as f64;
        let byte_ns = (byte_ns * 10.0).round() / 10.0;
        if (0.0..MOST_NS).contains(&byte_ns) {
            all.push(byte_ns);
            if bytes as f64 / count as f64 > LISTS_BYTES {
                lists.insert(name.to_string(), byte_ns);
            }
        }
    }
    all.sort_by(f64::total_cmp);
    (all.get(all.len() / 2).copied().unwrap_or_default(), lists)
}

/// What a timer costs where nobody asks anything: a mean of GentleRain's timers and of what they say to others.
pub(super) fn timer_ns(simulated_us: u64) -> f64 {
    let idle = Load { clients: 0, measure_us: 50 * simulated_us, ..load(0) };
    run("gentlerain", &idle).map_or(0.0, |(ns, loaded)| ns / loaded.events as f64)
}

/// How long a run took, in nanoseconds, and what it measured; the quicker of two.
fn run(name: &str, what: &Load) -> Option<(f64, Loaded)> {
    let once = || {
        let begin = Instant::now();
        let loaded = simulator(name)?.load(what).ok()?;
        Some((begin.elapsed().as_nanos() as f64, loaded))
    };
    let all = (0..2).filter_map(|_| once());
    all.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn load(measure_us: u64) -> Load {
    Load {
        partitions: 8,
        replicas: 1,
        placement: Placement::default(),
        rtt_us: vec![vec![0, 20_000], vec![20_000, 0]],
        client_rtt_us: None,
        wan_jitter_percent: 2,
        lan_us: 50,
        client_lan_us: None,
        lan_jitter_us: 20,
        clock_skew_us: 500,
        clock_offsets_us: Vec::new(),
        slow: Vec::new(),
        params: BTreeMap::new(),
        without: Vec::new(),
        costs: Costs::NONE,
        workload: Workload::named("transactions").expect("it is listed"),
        clients: 32,
        gateways: false,
        batched: true,
        generator: false,
        beside: None,
        idle_dcs: Vec::new(),
        rate: None,
        filled_keys: 100,
        warm_up_us: 0,
        measure_us,
        probe_every_us: None,
        adapt: None,
        seed: 1,
    }
}
