//! Reading a point: every name in it is used, or it is a mistake.

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;
use tidemark_adapt::Settings as Adapt;
use tidemark_contract::placement::{Keys, Placement};
use tidemark_core::{DcId, Regions};
use tidemark_experiments::{Point, Row};
use tidemark_server::config::wan::Preset;
use tidemark_workload::Workload;

/// A point, and which of its names were asked for.
pub(super) struct Settings<'a> {
    point: &'a Row,
    labels: &'a [String],
    used: RefCell<BTreeSet<String>>,
}

impl<'a> Settings<'a> {
    pub(super) fn new(point: &Point<'a>) -> Self {
        Self { point: point.values, labels: point.labels, used: RefCell::new(BTreeSet::new()) }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.used.borrow_mut().insert(name.to_string());
        self.point.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn word(&self, name: &str) -> anyhow::Result<Option<&'a str>> {
        let word =
            |value: &'a Value| value.as_str().with_context(|| format!("{name} is a word, not {value}"));
        self.get(name).map(word).transpose()
    }

    pub(super) fn number(&self, name: &str) -> anyhow::Result<Option<f64>> {
        let number = |value: &Value| {
            let number = value.as_f64().filter(|number| *number >= 0.0);
            number.with_context(|| format!("{name} is a number, 0 or more, not {value}"))
        };
        self.get(name).map(number).transpose()
    }

    pub(super) fn whole(&self, name: &str, otherwise: usize) -> anyhow::Result<usize> {
        let Some(number) = self.number(name)? else { return Ok(otherwise) };
        ensure!(number.fract() == 0.0, "{name} is a whole number, not {number}");
        Ok(number as usize)
    }

    /// True or false; if nothing is said, false.
    pub(super) fn flag(&self, name: &str) -> anyhow::Result<bool> {
        let flag =
            |value: &Value| value.as_bool().with_context(|| format!("{name} is true or false, not {value}"));
        self.get(name).map_or(Ok(false), flag)
    }

    /// Milliseconds, as microseconds.
    pub(super) fn ms(&self, name: &str, otherwise_ms: f64) -> anyhow::Result<u64> {
        Ok((self.number(name)?.unwrap_or(otherwise_ms) * 1_000.0).round() as u64)
    }

    /// Numbers in one word, between spaces.
    pub(super) fn numbers(&self, name: &str) -> anyhow::Result<Vec<f64>> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        if let Some(number) = value.as_f64() {
            return Ok(vec![number]);
        }
        let words = value
            .as_str()
            .with_context(|| format!("{name} must be numbers separated by spaces, not {value}"))?;
        let number = |word: &str| word.parse::<f64>().map_err(|_| anyhow!("{name}: {word:?} is no number"));
        words.split_whitespace().map(number).collect()
    }

    /// The names that begin with `prefix`, without it.
    pub(super) fn with_prefix(&self, prefix: &str) -> Vec<(String, Value)> {
        let named = self.point.iter().filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, value)));
        named
            .map(|(name, value)| {
                self.used.borrow_mut().insert(format!("{prefix}{name}"));
                (name.to_string(), value.clone())
            })
            .collect()
    }

    /// The workload that the point names, with whatever of its settings the point has: `value_bytes` for `value-bytes`.
    pub(super) fn workload(&self) -> anyhow::Result<Workload> {
        let name = self.word("workload")?.context("a point names its workload")?;
        let base = Workload::named(name)?;
        let settings = base.settings();
        let chosen = settings.keys().filter_map(|setting| {
            let value = self.get(&setting.replace('-', "_"))?;
            Some((setting.clone(), value.clone()))
        });
        Ok(base.with(chosen)?)
    }

    /// Other clients, so many of them, with the settings of their workload in names that begin with `beside_`.
    pub(super) fn beside(&self) -> anyhow::Result<Option<(Workload, usize)>> {
        let Some(name) = self.word("beside")? else { return Ok(None) };
        let clients = self.whole("beside_clients", 1)?;
        let own = self.with_prefix("beside_").into_iter().filter(|(name, _)| name != "clients");
        let own = own.map(|(name, value)| (name.replace('_', "-"), value));
        Ok(Some((Workload::named(name)?.with(own)?, clients)))
    }

    /// Round-trip times: those of a preset (`wan`), of each pair (`rtt_ms`, in the order A-B, A-C, …, B-C, …), or the same
    /// for every pair (`rtt_ms` with one number).
    pub(super) fn rtt_us(&self, dcs: usize) -> anyhow::Result<Vec<Vec<u64>>> {
        let mut rtt = vec![vec![0; dcs]; dcs];
        let pairs: Vec<(usize, usize)> = (0..dcs).flat_map(|a| (a + 1..dcs).map(move |b| (a, b))).collect();
        let given = self.numbers("rtt_ms")?;
        let ms: Vec<f64> = match (self.word("wan")?, given.len()) {
            (Some(_), 1..) => bail!("wan and rtt_ms say the same thing twice"),
            (Some(name), _) => {
                let preset =
                    Preset::find(name).with_context(|| format!("wan: no preset is called {name:?}"))?;
                ensure!(dcs <= preset.sites.len(), "wan: {name} has {} sites, not {dcs}", preset.sites.len());
                let sites = preset.sites;
                pairs.iter().map(|(a, b)| preset.rtt_ms(sites[*a], sites[*b]) as f64).collect()
            }
            (None, 0) if dcs == 1 => Vec::new(),
            (None, 0) => bail!("with several data centres, say how far apart they are: wan or rtt_ms"),
            (None, 1) => vec![given[0]; pairs.len()],
            (None, n) => {
                ensure!(n == pairs.len(), "rtt_ms: {dcs} data centres have {} pairs, not {n}", pairs.len());
                given
            }
        };
        for ((a, b), ms) in pairs.into_iter().zip(ms) {
            rtt[a][b] = (ms * 1_000.0) as u64;
            rtt[b][a] = rtt[a][b];
        }
        Ok(rtt)
    }

    /// Numbers of the protocol; a word that is a JSON object or list is what it stands for.
    pub(super) fn params(&self) -> anyhow::Result<Vec<(String, Value)>> {
        let read = |(name, value): (String, Value)| match value.as_str() {
            Some(text) if text.starts_with(['{', '[']) => {
                let table = serde_json::from_str(text);
                Ok((name.clone(), table.with_context(|| format!("param_{name}: {text} is no JSON"))?))
            }
            _ => Ok((name, value)),
        };
        self.with_prefix("param_").into_iter().map(read).collect()
    }

    /// Which data centres hold which keys: what `tidemark up --place` takes, between spaces.
    pub(super) fn places(&self) -> anyhow::Result<Vec<&'a str>> {
        Ok(self.word("place")?.map(|places| places.split_whitespace().collect()).unwrap_or_default())
    }

    /// The same as a placement, where data centres are called A, B, C, …, and turn to the nearest.
    pub(super) fn placement(&self, rtt_us: &[Vec<u64>]) -> anyhow::Result<Placement> {
        let rules = self.places()?.into_iter().map(|place| rule(place, rtt_us.len()));
        let rules = rules.collect::<anyhow::Result<Vec<_>>>()?;
        let all = || (0..rtt_us.len() as u8).map(DcId);
        let near = all().map(|home| {
            let mut others: Vec<DcId> = all().filter(|dc| *dc != home).collect();
            others.sort_by_key(|dc| rtt_us[home.index()][dc.index()]);
            others
        });
        Ok(Placement { rules, near: near.collect(), refuses: false })
    }

    /// Whether checking groups follow what clients do: how often somebody looks, in microseconds, and what it goes by.
    pub(super) fn adapt(&self) -> anyhow::Result<Option<(u64, Adapt)>> {
        let Some(every) = self.number("adapt_every_ms")? else { return Ok(None) };
        let Adapt { budget, freshness, least_us } = Adapt::default();
        let settings = Adapt {
            budget: self.whole("adapt_budget", budget)?,
            freshness: self.number("adapt_freshness")?.unwrap_or(freshness),
            least_us,
        };
        settings.check().map_err(anyhow::Error::msg)?;
        Ok(Some(((every * 1_000.0) as u64, settings)))
    }

    pub(super) fn duration(&self, name: &str, otherwise_ms: f64) -> anyhow::Result<Duration> {
        Ok(Duration::from_micros(self.ms(name, otherwise_ms)?))
    }

    /// Nothing is left over but labels: names of tables, and what is called so.
    pub(super) fn end(self) -> anyhow::Result<()> {
        let used = self.used.into_inner();
        let label = |name: &str| name.starts_with("label_") || self.labels.iter().any(|label| label == name);
        let over: Vec<&str> = self
            .point
            .keys()
            .map(String::as_str)
            .filter(|name| !used.contains(*name) && !label(name))
            .collect();
        let known: Vec<&str> = used.iter().map(String::as_str).collect();
        ensure!(over.is_empty(), "unknown name {}; the names here are {}", over.join(", "), known.join(", "));
        Ok(())
    }
}

/// `slots:0-8191=a,c` or `prefix=a,c`.
fn rule(place: &str, dcs: usize) -> anyhow::Result<(Keys, Regions)> {
    let wrong = || format!("place: {place:?} is not like slots:0-8191=a,c or eu:=b");
    let (keys, names) = place.rsplit_once('=').with_context(wrong)?;
    let keys = match keys.strip_prefix("slots:") {
        None => Keys::Prefix(keys.as_bytes().to_vec()),
        Some(slots) => {
            let (first, last) = slots.split_once('-').with_context(wrong)?;
            Keys::Slots(first.parse().with_context(wrong)?, last.parse().with_context(wrong)?)
        }
    };
    let dc = |name: &str| (0..dcs as u8).map(DcId).find(|dc| dc.to_string().eq_ignore_ascii_case(name));
    let regions = names.split(',').try_fold(Regions::NONE, |all, name| Some(all.with(dc(name)?)));
    Ok((keys, regions.with_context(wrong)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(value: Value) -> Row {
        serde_json::from_value(value).expect("a row")
    }

    fn settings<'a>(values: &'a Row, labels: &'a [String]) -> Settings<'a> {
        Settings::new(&Point { values, labels })
    }

    #[test]
    fn what_nobody_asks_for_is_a_mistake_unless_it_is_a_label() {
        let point = row(json!({"clients": 3, "third": "Oregon", "label_of": "both", "param_theta_us": 7}));
        let labels = ["third".to_string()];
        let all = settings(&point, &labels);
        assert_eq!(all.whole("clients", 1).unwrap(), 3);
        assert_eq!(all.with_prefix("param_"), [("theta_us".to_string(), json!(7))]);
        all.end().unwrap();
        let few = settings(&point, &[]);
        few.whole("clients", 1).unwrap();
        let said = few.end().unwrap_err().to_string();
        assert!(
            said.contains("param_theta_us, third") && said.contains("the names here are clients"),
            "{said}"
        );
        let half = row(json!({"clients": 1.5}));
        assert!(settings(&half, &[]).whole("clients", 1).unwrap_err().to_string().contains("whole"));
    }

    #[test]
    fn distances_are_a_preset_one_number_or_one_for_each_pair() {
        let rtt = |point: Value, dcs| {
            let point = row(point);
            settings(&point, &[]).rtt_us(dcs).map_err(|error| error.to_string())
        };
        assert_eq!(rtt(json!({}), 1).unwrap(), [[0]]);
        assert_eq!(rtt(json!({"rtt_ms": 20}), 2).unwrap(), [[0, 20_000], [20_000, 0]]);
        let pairs = rtt(json!({"rtt_ms": "0.3 22 21"}), 3).unwrap();
        assert_eq!((pairs[0][1], pairs[0][2], pairs[1][2], pairs[2][1]), (300, 22_000, 21_000, 21_000));
        assert_eq!(rtt(json!({"wan": "gentlerain"}), 3).unwrap()[1][2], 166_000);
        assert!(rtt(json!({}), 2).unwrap_err().contains("how far apart"));
        assert!(rtt(json!({"rtt_ms": "1 2"}), 3).unwrap_err().contains("3 pairs, not 2"));
        assert!(rtt(json!({"wan": "gentlerain"}), 4).unwrap_err().contains("3 sites"));
        assert!(rtt(json!({"wan": "gentlerain", "rtt_ms": 3}), 2).unwrap_err().contains("twice"));
    }

    #[test]
    fn places_are_as_on_the_command_line_and_regions_turn_to_the_nearest() {
        let placement = |place: &str| {
            let (point, rtt) =
                (row(json!({"place": place})), vec![vec![0, 9, 3], vec![9, 0, 5], vec![3, 5, 0]]);
            settings(&point, &[]).placement(&rtt).map_err(|error| format!("{error:#}"))
        };
        let two = placement("eu:=b slots:0-8191=a,C").unwrap();
        assert_eq!(two.in_words(), "\"eu:\" in B, slots 0-8191 in AC");
        assert_eq!(two.near, [[2, 1], [2, 0], [0, 1]].map(|near| near.map(DcId).to_vec()));
        for wrong in ["a", "slots:7=a", "slots:a-b=a", "eu:=d"] {
            assert!(placement(wrong).unwrap_err().contains("slots:0-8191=a,c"), "{wrong}");
        }
    }

    #[test]
    fn a_number_of_the_protocol_may_be_a_table() {
        let point = row(json!({"param_checking": "{\"left\": [\"A/0\"]}", "param_tracking": "server"}));
        let params = settings(&point, &[]).params().unwrap();
        let expected = [("checking", json!({"left": ["A/0"]})), ("tracking", json!("server"))];
        assert_eq!(params, expected.map(|(name, value)| (name.to_string(), value)));
        let point = row(json!({"param_checking": "{left}"}));
        assert!(settings(&point, &[]).params().unwrap_err().to_string().contains("no JSON"));
    }

    #[test]
    fn settings_of_the_workload_are_names_of_the_point() {
        let point = row(json!({"workload": "transactions", "write_share": 0.25, "span": 3}));
        let settings = settings(&point, &[]);
        let workload = settings.workload().unwrap();
        assert_eq!(workload.settings()["write-share"], 0.25);
        settings.end().unwrap();
    }
}
