//! Points in virtual time.

use super::settings::Settings;
use anyhow::{Context, anyhow};
use serde_json::Value;
use tidemark_experiments::{Point, Row, Runner};
use tidemark_sim::{Adapting, Calibration, Load, Loaded, Slow};
use tidemark_simulators::simulator;

/// Runs under load in the simulator: a row a point.
pub(crate) struct Simulated {
    pub(crate) calibration: Calibration,
}

/// When writes become visible elsewhere, in the simulator: a row for each write that was looked for.
pub(crate) struct SimulatedVisibility {
    pub(crate) calibration: Calibration,
}

/// How long operations take, in the simulator, as distributions: rows of times and shares.
pub(crate) struct SimulatedLatency {
    pub(crate) calibration: Calibration,
}

/// About as many points a curve has: more are not seen.
const CURVE_POINTS: f64 = 500.0;

impl Runner for Simulated {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        Ok(vec![loaded(point, &self.calibration)?.row()])
    }

    fn parallel(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

impl Runner for SimulatedVisibility {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let loaded = loaded(point, &self.calibration)?;
        let rows = loaded.visibility.iter().flat_map(|((from, to), seen)| {
            let row = |us: &u64| {
                let columns: [(&str, Value); 3] =
                    [("from_dc", (*from).into()), ("to_dc", (*to).into()), ("visible_us", (*us).into())];
                columns.map(|(name, value)| (name.to_string(), value)).into()
            };
            seen.times_us.iter().map(row).collect::<Vec<Row>>()
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
        Some(["from_dc", "to_dc", "visible_us"].map(String::from).into())
    }
}

impl Runner for SimulatedLatency {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let loaded = loaded(point, &self.calibration)?;
        let mut rows = Vec::new();
        for (operation, curve) in &loaded.latencies {
            let mut drawn = 0.0;
            for at in curve {
                if at.share < drawn && at.share < 1.0 {
                    continue;
                }
                drawn = at.share + 1.0 / CURVE_POINTS;
                let columns: [(&str, Value); 3] = [
                    ("operation", operation.as_str().into()),
                    ("us", at.us.into()),
                    ("share", at.share.into()),
                ];
                rows.push(columns.map(|(name, value)| (name.to_string(), value)).into());
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

fn loaded(point: &Point<'_>, calibration: &Calibration) -> anyhow::Result<Loaded> {
    let settings = Settings::new(point);
    let protocol = settings.word("protocol")?.context("a point names its protocol")?;
    let load = load(&settings, calibration, protocol)?;
    settings.end()?;
    let simulator = simulator(protocol).with_context(|| format!("no protocol is called {protocol}"))?;
    simulator.load(&load).map_err(|error| anyhow!(error))
}

/// Clients of a data centre: so many, or so many for each partition.
fn clients(settings: &Settings<'_>, partitions: usize) -> anyhow::Result<usize> {
    match settings.number("clients_a_partition")? {
        Some(each) => Ok((each * partitions as f64).round() as usize),
        None => settings.whole("clients", 1),
    }
}

fn load(settings: &Settings<'_>, calibration: &Calibration, protocol: &str) -> anyhow::Result<Load> {
    let rtt_us = settings.rtt_us(settings.whole("dcs", 1)?)?;
    let partitions = settings.whole("partitions", 1)?;
    let slow = match settings.number("slow_partition")? {
        Some(partition) => {
            let dc = settings.number("slow_dc")?.map(|dc| dc as usize);
            vec![Slow { dc, partition: partition as usize, lag_us: settings.ms("slow_ms", 0.0)? }]
        }
        None => Vec::new(),
    };
    let offsets = settings.numbers("clock_offsets_ms")?;
    let adapt = settings.adapt()?.map(|(every_us, settings)| Adapting { every_us, settings });
    Ok(Load {
        placement: settings.placement(&rtt_us)?,
        partitions,
        replicas: settings.whole("replicas", 1)?,
        rtt_us,
        client_rtt_us: settings.number("client_rtt_ms")?.map(|ms| (ms * 1_000.0) as u64),
        wan_jitter_percent: settings.whole("wan_jitter_percent", 2)? as u64,
        lan_us: settings.ms("lan_ms", 0.05)?,
        client_lan_us: settings.number("client_lan_ms")?.map(|ms| (ms * 1_000.0) as u64),
        lan_jitter_us: settings.ms("lan_jitter_ms", 0.02)?,
        clock_skew_us: settings.ms("clock_skew_ms", 0.5)?,
        clock_offsets_us: offsets.into_iter().map(|ms| (ms * 1_000.0) as i64).collect(),
        slow,
        params: settings.params()?.into_iter().collect(),
        without: Vec::new(),
        costs: calibration.costs_of(protocol),
        // Servers watch what they are asked as gateways.
        gateways: settings.flag("gateways")? || adapt.is_some(),
        batched: !settings.flag("unbatched")?,
        generator: settings.flag("generator")?,
        workload: settings.workload()?,
        clients: clients(settings, partitions)?,
        beside: settings.beside()?,
        idle_dcs: settings.numbers("idle_dcs")?.into_iter().map(|dc| dc as usize).collect(),
        rate: settings.number("rate")?,
        filled_keys: settings.whole("filled_keys", usize::MAX)?,
        warm_up_us: settings.ms("warm_up_ms", 200.0)?,
        measure_us: settings.ms("measure_ms", 200.0)?,
        probe_every_us: settings.number("probe_every_ms")?.map(|ms| (ms * 1_000.0) as u64),
        adapt,
        seed: settings.whole("seed", 1)? as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::calibrate::kept;
    use serde_json::json;

    #[test]
    fn a_distribution_rises_to_one_through_the_percentiles_of_the_row() {
        let values = json!({
            "protocol": "gentlerain", "partitions": 2, "clients": 4, "workload": "ycsb-a", "keys": 100, "measure_ms": 100,
            "slow_partition": 1, "slow_ms": 5,
        });
        let values: Row = serde_json::from_value(values).unwrap();
        let point = Point { values: &values, labels: &[] };
        let row = Simulated { calibration: kept() }.run(&point, &|_| {}).unwrap().remove(0);
        let curves = SimulatedLatency { calibration: kept() }.run(&point, &|_| {}).unwrap();
        for operation in ["get", "put", "slow_get", "slow_put"] {
            let of = |column: &str| row[&format!("{operation}_{column}_us")].as_f64().unwrap();
            let curve: Vec<(f64, f64)> = curves
                .iter()
                .filter(|row| row["operation"] == operation)
                .map(|row| (row["us"].as_f64().unwrap(), row["share"].as_f64().unwrap()))
                .collect();
            assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{operation}: {curve:?}");
            assert_eq!(curve.last().unwrap(), &(of("max"), 1.0), "{operation}");
            let half = curve.iter().find(|(_, share)| *share >= 0.5).unwrap().0;
            assert!((half / of("p50") - 1.0).abs() < 0.02, "{operation}: {half} and {}", of("p50"));
        }
    }

    #[test]
    fn of_two_applications_turns_and_reads_are_told_apart() {
        let row = |swap_after_us: u64, pause_us: u64| {
            let values = json!({
                "protocol": "accf", "dcs": 2, "partitions": 2, "rtt_ms": 20, "clients": 1, "workload": "apps",
                "keys": 100, "swap_after_us": swap_after_us, "pause_us": pause_us, "measure_ms": 1000,
            });
            let values: Row = serde_json::from_value(values).unwrap();
            let simulated = Simulated { calibration: kept() };
            simulated.run(&Point { values: &values, labels: &[] }, &|_| {}).unwrap().remove(0)
        };
        let number = |row: &Row, column: &str| row.get(column).map_or(0.0, |value| value.as_f64().unwrap());
        let kinds = |row: &Row| ["turn_per_second", "read_per_second"].map(|column| number(row, column));
        // The only pair takes turns, whose looks are operations and no reads; swapped while it warms up, it alternates.
        let (turns, reads) = (row(0, 0), row(100_000, 100_000));
        let ([turn, none], looks) = (kinds(&turns), number(&turns, "get_per_second"));
        assert!(turn > 20.0 && none == 0.0 && looks > 10.0 * turn, "{turn} turns, {looks} looks");
        let ([none, read], gets) = (kinds(&reads), number(&reads, "get_per_second"));
        assert!(none == 0.0 && read > 100.0 && (read - gets).abs() < 2.0, "{read} reads, {gets} gets");
        let writes = number(&reads, "put_per_second");
        assert!((15.0..=20.0).contains(&writes), "{writes} writes a second, with a pause after two");
    }
}
