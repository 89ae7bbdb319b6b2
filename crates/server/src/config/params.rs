//! The numbers of a protocol: the `[protocol]` table laid over the paper's defaults.

use super::problem::{Problem, nearest};
use super::units::Span;
use serde_json::Value;
use tidemark_contract::Topology;
use tidemark_node::Factory;
use tidemark_registry::by_name;

/// Numbers at zero of which a protocol would spin or stand still.
const POSITIVE: &[&str] = &["theta_us", "delta_us"];

/// How long a transaction of an edge client can be accepted, unless the file says otherwise.
const EDGE_RETAIN: &str = "60s";

/// What edge clients need of the protocol called `name`, for so many regions, where the table leaves it open.
pub(super) fn for_edge(name: &str, table: &mut toml::Table, regions: usize) -> Result<(), Problem> {
    let Some(protocol) = by_name(name) else { return Ok(()) };
    if !protocol.default_params().contains_key("edge_retain_us") {
        let what = format!("{name} takes no edge clients");
        return Err(Problem::new(
            "cluster.protocol",
            what,
            "remove edge_listen, or take the protocol causal",
        ));
    }
    let mut preset = |keys: [&str; 2], value: toml::Value| {
        if !keys.iter().any(|key| table.contains_key(*key)) {
            table.insert(keys[0].to_string(), value);
        }
    };
    preset(["base_regions", "base_regions"], toml::Value::Integer(regions as i64));
    preset(["edge_retain", "edge_retain_us"], toml::Value::String(EDGE_RETAIN.into()));
    Ok(())
}

/// Checks the `[protocol]` table of the protocol called `name`, which exists.
pub(super) fn check(name: &str, table: &toml::Table) -> Result<Value, Problem> {
    let Some(protocol) = by_name(name) else { return Ok(Value::Null) };
    let value = overlay(protocol, table)?;
    let wrong = |what| Problem::new("protocol", what, known(protocol));
    protocol.check_params(&value, None).map_err(wrong)?;
    Ok(value)
}

/// Whether `params`, which were checked, fit the cluster's regions and partitions.
pub(super) fn fit(name: &str, params: &Value, topology: &Topology) -> Result<(), Problem> {
    let Some(protocol) = by_name(name) else { return Ok(()) };
    let wrong = |what| Problem::new("protocol", what, "regions are called A, B, C in the order of the file");
    protocol.check_params(params, Some(topology)).map_err(wrong)
}

fn known(protocol: &dyn Factory) -> String {
    let (name, fields) = (protocol.name(), protocol.default_params());
    if fields.is_empty() {
        return format!("{name} has no numbers to set: remove the [protocol] table");
    }
    let shown = |(name, value): (&String, &Value)| match value {
        Value::Null => format!("{name} (unset)"),
        value => format!("{name} = {value}"),
    };
    let fields: Vec<String> = fields.iter().map(shown).collect();
    format!("{name} has {}", fields.join(", "))
}

/// `table` over the defaults, as the protocol reads it.
fn overlay(protocol: &dyn Factory, table: &toml::Table) -> Result<Value, Problem> {
    let mut fields = protocol.default_params();
    for (key, value) in table {
        let place = format!("protocol.{key}");
        let wrong = |what: String| Problem::new(place.clone(), what, known(protocol));
        let in_micros = format!("{key}_us");
        let (field, value) = match value {
            toml::Value::String(text) if fields.contains_key(&in_micros) => {
                let span: Span = text.parse().map_err(|error| wrong(format!("{error}")))?;
                (&in_micros, Value::from(span.0.as_micros() as u64))
            }
            value if fields.contains_key(key) => (key, serde_json::to_value(value).unwrap_or_default()),
            _ if fields.contains_key(&in_micros) => {
                return Err(wrong(format!(
                    "{key} is a length of time: write {key} = \"5ms\" or {in_micros} = 5000"
                )));
            }
            _ => {
                let names = fields.keys().map(String::as_str);
                let meant =
                    nearest(key, names).map_or(String::new(), |near| format!("; did you mean {near}?"));
                return Err(wrong(format!("{} has no number called {key}{meant}", protocol.name())));
            }
        };
        if field != key && table.contains_key(field) {
            return Err(wrong(format!("{key} and {field} are the same: keep one")));
        }
        if POSITIVE.contains(&field.as_str()) && value.as_u64() == Some(0) {
            return Err(wrong(format!("{key} must be above zero")));
        }
        fields.insert(field.clone(), value);
    }
    Ok(if fields.is_empty() { Value::Null } else { Value::Object(fields) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(name: &str, toml: &str) -> Result<Value, String> {
        check(name, &toml::from_str(toml).expect("valid"))
            .map_err(|problem| format!("{}: {}; {}", problem.place, problem.what, problem.remedy))
    }

    #[test]
    fn numbers_lie_over_the_defaults() {
        let value = checked("causal", "theta = \"7ms\"\nfan_out = 4").unwrap();
        assert_eq!((value["theta_us"].as_u64(), value["delta_us"].as_u64()), (Some(7_000), Some(5_000)));
        assert_eq!(value["fan_out"].as_u64(), Some(4));
        assert_eq!(checked("eventual", ""), Ok(Value::Null));
        let value = checked("gentlerain", "alpha = \"50ms\"\nfan_out = 3\nclock = \"hlc\"").unwrap();
        assert_eq!(value["alpha_us"].as_u64(), Some(50_000));
        assert!(checked("gentlerain", "").unwrap()["alpha_us"].is_null());
    }

    #[test]
    fn a_wrong_number_is_named_with_those_there_are() {
        let unknown = checked("causal", "theta_ms = 5").unwrap_err();
        assert!(
            unknown.contains("protocol.theta_ms") && unknown.contains("did you mean theta_us"),
            "{unknown}"
        );
        assert!(checked("eventual", "theta_us = 5").unwrap_err().contains("no numbers to set"));
        assert!(checked("causal", "theta = 5").unwrap_err().contains("theta_us = 5000"));
        assert!(checked("causal", "theta = \"soon\"").unwrap_err().contains("no length of time"));
        assert!(checked("causal", "theta = \"0ms\"").unwrap_err().contains("above zero"));
        assert!(checked("causal", "fan_out = \"two\"").unwrap_err().contains("invalid type"));
        assert!(checked("causal", "theta = \"5ms\"\ntheta_us = 4").unwrap_err().contains("keep one"));
    }
}
