//! What a run under load measures, and how it ends.

use super::Cluster;
use crate::load::Loaded;
use std::collections::BTreeMap;
use tidemark_workload::Point;

impl Cluster<'_> {
    /// What counts begins.
    pub(super) fn counts(&mut self) {
        let counted = self.counted();
        if let Some(load) = &mut self.load {
            load.counted_before = counted;
        }
    }

    /// What the servers' protocols have counted, all together.
    fn counted(&mut self) -> BTreeMap<&'static str, u64> {
        let mut all = BTreeMap::new();
        for at in 0..self.servers {
            let Some(status) = self.input(at, |node, now| node.status(now)) else { continue };
            for (name, count) in
                status.host.partitions.iter().flat_map(|partition| &partition.protocol.counted)
            {
                *all.entry(*name).or_default() += count;
            }
        }
        all
    }

    /// What was measured.
    pub(super) fn loaded(mut self) -> Loaded {
        let mut counted = self.counted();
        let mut load = self.load.expect("this is a run under load");
        let cores = self.cores.expect("the clients have begun");
        for (name, count) in &mut counted {
            *count -= load.counted_before.get(name).copied().unwrap_or_default();
        }
        load.recorder.lasted(load.what.measure_us);
        load.slow.lasted(load.what.measure_us);
        let slow = load.slow.curves().into_iter().map(|(name, curve)| (format!("slow_{name}"), curve));
        let named = load.recorder.curves().into_iter().map(|(name, curve)| (name.to_string(), curve));
        let latencies: BTreeMap<String, Vec<Point>> = named.chain(slow).collect();
        let busy = cores.busy_us();
        let busy = busy.iter().map(|busy_us| *busy_us as f64 / load.what.measure_us as f64);
        let (sum, most) = busy.fold((0.0, 0.0), |(sum, most), share| (sum + share, share.max(most)));
        Loaded {
            protocol: self.factory.name(),
            servers: self.servers,
            slow: (!load.what.slow.is_empty()).then(|| load.slow.summary()),
            summary: load.recorder.summary(),
            busy: sum / self.servers as f64,
            busiest: most,
            messages: load.till.sent(),
            fed: load.till.fed(),
            counted,
            latencies,
            visibility: load.visibility,
            adapted: load.adapt.map(|adapt| adapt.account()),
            events: self.stats.events,
        }
    }
}
