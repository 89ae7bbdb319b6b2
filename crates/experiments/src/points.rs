//! The points of a sweep: every combination of what is varied.

use crate::Row;
use crate::file::Run;
use serde_json::Value;

/// The points of a run, the last name varying fastest; names are in alphabetical order.
pub fn points(run: &Run, full: bool) -> Vec<Row> {
    let mut base = run.point.clone();
    let mut vary = run.vary.clone();
    if !full {
        base.extend(run.quick.point.clone());
        vary.extend(run.quick.vary.clone());
    }
    let mut points = vec![base];
    for (name, values) in &vary {
        let with = |point: &Row| values.iter().map(|value| set(point, name, value)).collect::<Vec<_>>();
        points = points.iter().flat_map(with).collect();
    }
    points
}

/// The point with one name set: to a scalar, or to the name of a table whose other entries are set beside it.
fn set(point: &Row, name: &str, value: &Value) -> Row {
    let mut point = point.clone();
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let key = if key == "name" { name } else { key };
                point.insert(key.to_string(), value.clone());
            }
        }
        scalar => {
            point.insert(name.to_string(), scalar.clone());
        }
    }
    point
}

/// The columns that points of a run have.
pub(crate) fn columns(run: &Run) -> Vec<String> {
    let tables = run.vary.values().chain(run.quick.vary.values()).flatten();
    let within = tables.filter_map(Value::as_object).flat_map(|table| table.keys().cloned());
    let mut columns: Vec<String> = run.point.keys().chain(run.vary.keys()).cloned().collect();
    columns.extend(within.filter(|key| key != "name"));
    columns.sort();
    columns.dedup();
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Quick;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn run() -> Run {
        let row = |value: Value| serde_json::from_value::<Row>(value).expect("a row");
        let vary = |value: Value| serde_json::from_value::<BTreeMap<_, _>>(value).expect("lists");
        Run {
            name: "simulated".into(),
            runner: "sim".into(),
            point: row(json!({"seconds": 10, "dcs": 3})),
            vary: vary(json!({
                "clients": [1, 10, 100],
                "protocol": ["cops", {"name": "GentleRain, θ 1 ms", "theta_us": 1000}],
            })),
            smaller: None,
            quick: Quick { point: row(json!({"seconds": 1})), vary: vary(json!({"clients": [1]})) },
        }
    }

    #[test]
    fn every_combination_is_a_point_and_a_table_sets_several_values() {
        let full = points(&run(), true);
        assert_eq!(full.len(), 6);
        assert_eq!(json!(full[0]), json!({"clients": 1, "dcs": 3, "protocol": "cops", "seconds": 10}));
        let named = json!({"clients": 1, "dcs": 3, "protocol": "GentleRain, θ 1 ms", "seconds": 10, "theta_us": 1000});
        assert_eq!(json!(full[1]), named);
        assert_eq!(columns(&run()), ["clients", "dcs", "protocol", "seconds", "theta_us"]);
    }

    #[test]
    fn a_quick_run_replaces_what_it_names_and_nothing_else() {
        let quick = points(&run(), false);
        assert_eq!(quick.len(), 2);
        assert!(
            quick.iter().all(|point| point["seconds"] == 1 && point["dcs"] == 3 && point["clients"] == 1)
        );
    }
}
