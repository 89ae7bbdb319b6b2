//! Points that play schedules with faults, as `tidemark sim` does, and count those that violate a promise.

use super::settings::Settings;
use anyhow::{Context, anyhow};
use tidemark_experiments::{Point, Row, Runner};
use tidemark_sim::{Campaign, Options};
use tidemark_simulators::simulator;

/// How many schedules violate a promise: a row a point.
pub(crate) struct Schedules;

const COLUMNS: [&str; 6] = ["schedules", "violations", "ops", "crashes", "elections", "follower_reads"];

impl Runner for Schedules {
    fn run(&self, point: &Point<'_>, _say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let settings = Settings::new(point);
        let protocol = settings.word("protocol")?.context("a point names its protocol")?;
        let usual = Options::default();
        let options = Options {
            dcs: settings.whole("dcs", usual.dcs)?,
            partitions: settings.whole("partitions", usual.partitions)?,
            replicas: settings.whole("replicas", usual.replicas)?,
            sessions: settings.whole("sessions", usual.sessions)?,
            ops: settings.whole("ops", usual.ops)?,
            faults: settings
                .word("faults")?
                .unwrap_or("all")
                .parse()
                .map_err(|error| anyhow!("faults: {error}"))?,
            promise: settings.word("promise")?.map(str::parse).transpose()?,
            params: settings.params()?.into_iter().collect(),
            ..usual
        };
        let schedules = settings.whole("schedules", 1000)? as u64;
        settings.end()?;
        let simulator = simulator(protocol).with_context(|| format!("no protocol is called {protocol}"))?;
        simulator.validate(&options).map_err(|error| anyhow!(error))?;
        let what = Campaign { keep_going: true, explain: 0, ..Campaign::new(options, 0..schedules) };
        let found = simulator.campaign(&what, &mut |_| {});
        let stats = &found.stats;
        let (violations, followers) = (found.violations, stats.follower_reads);
        let counts = [found.schedules, violations, stats.ops, stats.crashes, stats.elections, followers];
        Ok(vec![
            COLUMNS.into_iter().zip(counts).map(|(name, count)| (name.to_string(), count.into())).collect(),
        ])
    }

    fn parallel(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Vec<String>> {
        Some(COLUMNS.map(String::from).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(values: Value) -> anyhow::Result<Row> {
        let values: Row = serde_json::from_value(values)?;
        Schedules.run(&Point { values: &values, labels: &[] }, &|_| {}).map(|mut rows| rows.remove(0))
    }

    /// 200 schedules of one partition in two data centres.
    fn played(protocol: &str, promise: &str, replicas: u64) -> Row {
        let mut point = json!({"dcs": 2, "partitions": 1, "sessions": 4, "ops": 40, "schedules": 200, "replicas": replicas});
        point["protocol"] = protocol.into();
        point["promise"] = promise.into();
        let row = row(point).unwrap();
        assert_eq!(row["schedules"], json!(200));
        row
    }

    #[test]
    fn what_is_violated_depends_on_the_promise() {
        assert_eq!(played("eventual", "eventual", 1)["violations"], json!(0));
        assert!(played("eventual", "sequential", 1)["violations"].as_u64().unwrap() > 10);
        let point = json!({"protocol": "nukv", "promise": "sequential", "partitions": 2});
        let refused = row(point).unwrap_err().to_string();
        assert!(refused.contains("--partitions 1"), "{refused}");
    }

    /// 003, section 5.1.
    #[test]
    fn nukv_is_sequentially_consistent_within_a_data_centre() {
        let row = played("nukv", "sequential", 3);
        assert_eq!(row["violations"], json!(0));
        assert!(
            row["follower_reads"].as_u64().unwrap() > 100 && row["elections"].as_u64().unwrap() > 400,
            "{row:?}"
        );
    }
}
