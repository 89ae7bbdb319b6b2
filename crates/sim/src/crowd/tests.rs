//! Small crowds.

use super::*;

/// Six clients of three data centres, for a second.
pub(super) fn small() -> Crowd {
    let far = [[0, 60_000, 177_000], [60_000, 0, 80_000], [177_000, 80_000, 0]];
    Crowd {
        partitions: 1,
        rtt_us: far.map(|row| row.to_vec()).to_vec(),
        client_rtt_us: (60_000, 80_000),
        wan_jitter_percent: 2,
        lan_us: 50,
        lan_jitter_us: 20,
        clock_skew_us: 500,
        params: BTreeMap::new(),
        workload: Workload::named("locality")
            .expect("there is one")
            .with([("keys".to_string(), Value::from(100))])
            .expect("it makes sense"),
        mode: Mode::Cached,
        clients: 6,
        idle_dcs: Vec::new(),
        cache: 20,
        regions: 2,
        period_us: 200_000,
        rate: 30.0,
        warm: false,
        warm_up_us: 1_000_000,
        measure_us: 1_000_000,
        compare: 0,
        weigh: 1,
        churn_us: None,
        down: None,
        told: 6,
        work: None,
        seed: 1,
    }
}
