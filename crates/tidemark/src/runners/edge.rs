//! Points with edge clients in virtual time: the evaluation of SwiftCloud.

use super::settings::Settings;
use anyhow::{anyhow, bail};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::time::Duration;
use tidemark_experiments::{Point, Row, Runner};
use tidemark_sim::{Calibration, Crowd, Down, Mode, Watched, Work};
use tidemark_simulators::simulator;

/// What clients see, and what passes: a row a point.
pub(crate) struct Edge;

/// The same, with what a processor works for it: a row a point, one at a time.
pub(crate) struct EdgeCapacity {
    pub(crate) calibration: Calibration,
}

/// How long transactions take, as distributions: rows of times and shares.
pub(crate) struct EdgeLatency;

/// What a data centre stores, whenever clients were replaced: a row for each moment.
pub(crate) struct EdgeStorage;

/// Single transactions of some clients: a row for each.
pub(crate) struct EdgeResponses;

/// About as many points a curve has: more are not seen.
const CURVE_POINTS: f64 = 500.0;

impl Runner for Edge {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        Ok(vec![watched(point, 0)?.row])
    }

    fn parallel(&self) -> bool {
        true
    }
}

impl Runner for EdgeCapacity {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        // A socket of a client is read and written to as those between servers are.
        let costs = self.calibration.costs;
        let work = Work { clock: worked, read_ns: costs.arrival_ns, write_ns: costs.link_ns };
        Ok(vec![played(point, 0, Some(work))?.row])
    }

    fn parallel(&self) -> bool {
        false
    }
}

impl Runner for EdgeLatency {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let watched = watched(point, 0)?;
        let mut rows = Vec::new();
        for (operation, curve) in &watched.curves {
            let mut drawn = 0.0;
            for at in curve {
                if at.share < drawn && at.share < 1.0 {
                    continue;
                }
                drawn = at.share + 1.0 / CURVE_POINTS;
                rows.push(row([
                    ("operation", (*operation).into()),
                    ("us", at.us.into()),
                    ("share", at.share.into()),
                ]));
            }
        }
        Ok(rows)
    }

    fn parallel(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(["operation", "us", "share"].map(String::from).into())
    }
}

impl Runner for EdgeStorage {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        Ok(watched(point, 0)?.samples.iter().map(|sample| sample.row()).collect())
    }

    fn parallel(&self) -> bool {
        true
    }
}

impl Runner for EdgeResponses {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let watched = watched(point, 1)?;
        let rows = watched.answered.iter().map(|one| {
            row([
                ("client", one.client.into()),
                ("at_s", (one.at_us as f64 / 1e6).into()),
                ("took_ms", (one.took_us as f64 / 1e3).into()),
                ("kind", one.kind.into()),
                ("hit", u64::from(one.hit).into()),
                ("dc", one.dc.into()),
            ])
        });
        Ok(rows.collect())
    }

    fn parallel(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(["client", "at_s", "took_ms", "kind", "hit", "dc"].map(String::from).into())
    }
}

/// How long the processor has worked for this thread: others may run beside it.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn row<const N: usize>(columns: [(&str, Value); N]) -> Row {
    columns.map(|(name, value)| (name.to_string(), value)).into()
}

/// Plays a point; `told`: of so many clients each transaction is told, unless the point says otherwise.
fn watched(point: &Point<'_>, told: usize) -> anyhow::Result<Watched> {
    played(point, told, None)
}

fn played(point: &Point<'_>, told: usize, work: Option<Work>) -> anyhow::Result<Watched> {
    let settings = Settings::new(point);
    let crowd = Crowd { work, ..crowd(&settings, told)? };
    let protocol = settings.word("protocol")?.unwrap_or("tidemark");
    settings.end()?;
    let simulator = simulator(protocol).ok_or_else(|| anyhow!("no protocol is called {protocol}"))?;
    simulator.crowd(&crowd).map_err(|error| anyhow!(error))
}

fn crowd(settings: &Settings<'_>, told: usize) -> anyhow::Result<Crowd> {
    let rtt_us = settings.rtt_us(settings.whole("dcs", 1)?)?;
    let mode = match settings.word("mode")?.unwrap_or("cached") {
        "cached" => Mode::Cached,
        "server-only" => Mode::ServerOnly,
        other => bail!("mode is cached or server-only, not {other:?}"),
    };
    let near = match settings.numbers("client_rtt_ms")?[..] {
        [] => (60.0, 80.0),
        [one] => (one, one),
        [least, most] => (least, most),
        _ => bail!("client_rtt_ms is one number, or the least and the greatest"),
    };
    let us = |ms: f64| (ms * 1_000.0) as u64;
    let down = match settings.number("down_dc")? {
        Some(dc) => {
            let (dc, from_us) = (dc as usize, settings.ms("down_from_ms", 33_000.0)?);
            let until_us = settings.ms("down_until_ms", 64_000.0)?;
            let back_us = settings.ms("down_back_ms", until_us as f64 / 1e3)?;
            Some(Down { dc, from_us, until_us, back_us })
        }
        None => None,
    };
    Ok(Crowd {
        partitions: settings.whole("partitions", 1)?,
        regions: settings.whole("k", rtt_us.len().min(2))? as u64,
        rtt_us,
        client_rtt_us: (us(near.0), us(near.1)),
        wan_jitter_percent: settings.whole("wan_jitter_percent", 2)? as u64,
        lan_us: settings.ms("lan_ms", 0.1)?,
        lan_jitter_us: settings.ms("lan_jitter_ms", 0.05)?,
        clock_skew_us: settings.ms("clock_skew_ms", 0.5)?,
        params: settings.params()?.into_iter().collect(),
        workload: settings.workload()?,
        mode,
        clients: settings.whole("clients", 1)?,
        idle_dcs: settings.numbers("idle_dcs")?.into_iter().map(|dc| dc as usize).collect(),
        cache: settings.whole("cache", 256)?,
        period_us: settings.ms("period_ms", 1_000.0)?,
        rate: settings.number("rate")?.unwrap_or(1_000.0),
        warm: settings.flag("warm")?,
        warm_up_us: settings.ms("warm_up_ms", 10_000.0)?,
        measure_us: settings.ms("measure_ms", 30_000.0)?,
        compare: settings.whole("compare_every", 0)?,
        weigh: settings.whole("weigh_every", 10)?,
        churn_us: settings.number("churn_ms")?.map(us),
        down,
        work: None,
        told: settings.whole("told", told)?,
        seed: settings.whole("seed", 1)? as u64,
    })
}
