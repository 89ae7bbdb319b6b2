//! What protocols cost, as measured: facts that must hold.

use crate::harness::{said, tidemark};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is measured of each protocol.
pub(crate) struct Table(BTreeMap<String, Value>);

impl Table {
    pub(crate) fn measure(arguments: &[&str]) -> Self {
        let output = tidemark(&[&["protocols", "--table", "--json"], arguments].concat());
        assert!(output.status.success(), "{}", said(&output));
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = json["protocols"].as_array().expect("a list").iter();
        Self(rows.map(|row| (row["protocol"].as_str().expect("a name").to_string(), row.clone())).collect())
    }

    /// A number of a protocol, such as `get.rounds`.
    #[track_caller]
    pub(crate) fn of(&self, protocol: &str, number: &str) -> f64 {
        let row = self.0.get(protocol).unwrap_or_else(|| panic!("{protocol} was not measured"));
        let value = number.split('.').fold(row, |value, name| &value[name]);
        value.as_f64().unwrap_or_else(|| panic!("{number} of {protocol} is {value}"))
    }
}

#[test]
fn what_protocols_cost_is_what_their_papers_say() {
    let table = Table::measure(&["--ops", "4000"]);
    let is = |protocol: &str, numbers: &[(&str, f64)]| {
        for (number, wanted) in numbers {
            assert_eq!(table.of(protocol, number), *wanted, "{number} of {protocol}");
        }
    };
    for protocol in table.0.keys() {
        is(protocol, &[("failed", 0.0)]);
        let wrong = protocol.ends_with("-published");
        assert!(wrong || table.0[protocol]["kept"] == true, "{protocol} has broken its promise");
        let (own, eventual) =
            (table.of(protocol, "updates.metadata_bytes"), table.of("eventual", "updates.metadata_bytes"));
        assert!(own >= eventual, "{protocol} ships {own} bytes with a version, eventual {eventual}");
    }
    // Two rounds; or one, and one between servers of the data centre. Nobody waits, and one version is enough.
    let rounds = |client: f64, hops: f64| {
        let (most, hops) = (("transaction.rounds_max", client), ("transaction.hops_max", hops));
        [("transaction.rounds", client), most, hops, ("transaction.versions", 1.0)]
    };
    is("contrarian", &rounds(2.0, 0.0));
    is("causal-spartan-x", &rounds(1.0, 2.0));
    is("tidemark", &rounds(1.0, 2.0));
    for protocol in ["eventual", "contrarian", "causal-spartan-x", "tidemark"] {
        let never = ["get.waited_share", "put.waited_share", "transaction.waited_share"];
        is(protocol, &never.map(|number| (number, 0.0)));
        is(protocol, &[("put.far_messages", 2.0), ("put.client_messages", 2.0)]);
    }
    // GentleRain's transactions wait for what they depend on to become stable, and its writes for clocks.
    assert!(table.of("gentlerain", "transaction.waited_share") > 0.3);
    assert!(table.of("gentlerain", "transaction.waited_us") > 10_000.0);
    is("gentlerain", &[("get.waited_share", 0.0), ("transaction.rounds", 1.0)]);
    assert!(table.of("gentlerain", "put.waited_share") > 0.0);
    // Ours reads fresher than what it comes from, which reads fresher than GentleRain.
    for stale in ["get.stale_share", "transaction.stale_share"] {
        assert!(table.of("tidemark", stale) < table.of("causal-spartan-x", stale) / 2.0, "{stale}");
        assert!(table.of("causal-spartan-x", stale) < table.of("gentlerain", stale), "{stale}");
    }
    let visible = |protocol| table.of(protocol, "updates.visible_us_p50");
    assert!(visible("tidemark") < visible("causal-spartan-x"));
    assert!(visible("causal-spartan-x") < visible("gentlerain"));
}

#[test]
fn a_scalar_does_not_grow_with_the_number_of_data_centres_and_a_vector_does() {
    let names = ["eventual", "gentlerain", "causal-spartan-x"];
    let [three, five] =
        ["3", "5"].map(|dcs| Table::measure(&[&["--ops", "1000", "--dcs", dcs], &names[..]].concat()));
    assert_eq!(three.0.len(), 3, "only what was asked for is measured");
    let version = |table: &Table, protocol| table.of(protocol, "updates.metadata_bytes");
    for table in [&three, &five] {
        assert!(version(table, "eventual") <= version(table, "gentlerain"));
        assert!(version(table, "gentlerain") + 10.0 < version(table, "causal-spartan-x"));
    }
    assert!((version(&five, "gentlerain") - version(&three, "gentlerain")).abs() < 1.0);
    assert!(version(&five, "causal-spartan-x") > version(&three, "causal-spartan-x") + 5.0);
}

#[test]
fn the_table_fits_a_terminal_and_is_the_same_every_time() {
    let print = || {
        let args = ["protocols", "--table", "--ops", "400", "--seed", "3", "contrarian", "gentlerain"];
        said(&tidemark(&args))
    };
    let text = print();
    assert_eq!(text, print());
    assert!(text.lines().all(|line| line.chars().count() <= 150), "{text}");
    assert!(text.contains("contrarian") && !text.contains("tidemark  "), "{text}");
    let wrong = tidemark(&["protocols", "--table", "--dcs", "1"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
    assert!(said(&wrong).contains("--dcs is 2 to 6"), "{}", said(&wrong));
    let lonely = tidemark(&["protocols", "--dcs", "2"]);
    assert_eq!(lonely.status.code(), Some(2), "numbers of a run without a run: {}", said(&lonely));
}
