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

    fn repeatable(&self) -> bool {
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

    fn repeatable(&self) -> bool {
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

    fn repeatable(&self) -> bool {
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
                ("answered_by", if one.hit { "cache" } else { "region" }.into()),
                ("dc", one.dc.into()),
            ])
        });
        Ok(rows.collect())
    }

    fn parallel(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(["client", "at_s", "took_ms", "kind", "hit", "answered_by", "dc"].map(String::from).into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::calibrate::kept;
    use serde_json::json;

    fn rows(runner: &dyn Runner, more: Value) -> anyhow::Result<Vec<Row>> {
        let mut values = json!({
            "dcs": 2, "rtt_ms": 80, "workload": "locality", "keys": 200, "locality_keys": 10, "clients": 6, "cache": 20,
            "rate": 60, "client_rtt_ms": 70, "warm": true, "warm_up_ms": 3000, "measure_ms": 5000,
        });
        values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let values: Row = serde_json::from_value(values).unwrap();
        runner.run(&Point { values: &values, labels: &[] }, &|_| {})
    }

    #[test]
    fn a_distribution_and_single_transactions_are_those_of_the_row() {
        let row = rows(&Edge, json!({})).unwrap().remove(0);
        let number = |column: &str| row[column].as_f64().unwrap();
        assert!(number("transactions") > 200.0 && number("hit_share") > 0.5);
        let curve = rows(&EdgeLatency, json!({})).unwrap();
        let last = curve.iter().rfind(|row| row["operation"] == "miss").unwrap();
        assert_eq!(last["share"], 1.0);
        assert!(last["us"].as_f64().unwrap() >= number("miss_p99_us"));
        let told = rows(&EdgeResponses, json!({"told": 6, "warm_up_ms": 0, "measure_ms": 8000})).unwrap();
        let hits = told.iter().filter(|one| one["hit"] == 1);
        assert!(hits.clone().count() > 100 && hits.clone().all(|one| one["took_ms"] == 0.0));
        assert!(told.iter().all(|one| one["client"].as_u64() < Some(6) && one["dc"].as_u64() < Some(2)));
    }

    #[test]
    fn storage_is_told_whenever_clients_are_replaced() {
        let all = rows(&EdgeStorage, json!({"churn_ms": 3000})).unwrap();
        let gone: Vec<u64> = all.iter().map(|row| row["gone"].as_u64().unwrap()).collect();
        assert_eq!(gone, [0, 6, 12]);
        let bytes = |row: &Row| row["database_bytes"].as_u64().unwrap();
        assert!(bytes(&all[0]) > 200 * 1000, "two hundred records of a thousand bytes: {}", bytes(&all[0]));
    }

    #[test]
    fn what_a_processor_works_is_more_with_more_to_do() {
        let capacity = EdgeCapacity { calibration: kept() };
        let cost = |update: f64| {
            let row = rows(&capacity, json!({"update": update, "read": 1.0 - update})).unwrap().remove(0);
            row["cpu_us"].as_f64().unwrap()
        };
        let (few, many) = (cost(0.05), cost(0.95));
        assert!(0.0 < few && few < many, "{few} and {many}");
        assert!(!capacity.parallel());
    }

    #[test]
    fn what_cannot_be_is_refused_and_so_is_what_nobody_knows() {
        let refused = |more: Value| rows(&Edge, more).unwrap_err().to_string();
        assert!(refused(json!({"mode": "none"})).contains("server-only"));
        assert!(refused(json!({"client_rtt_ms": "1 2 3"})).contains("client_rtt_ms"));
        assert!(refused(json!({"caches": 3})).contains("unknown name caches"));
        assert!(refused(json!({"k": 3})).contains("K is 1 to 2"));
    }
}
