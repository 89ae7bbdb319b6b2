//! Checking groups that follow what clients do, in a cluster of real processes.

use crate::bench::Load;
use crate::harness::{Up, eventually, has, said, tidemark};
use serde_json::Value;

/// Four regions: A and C hold some keys, B and D the others, and what D writes is late at B. Each server is a group of its own.
const FAR: &str = "[rtt]\na = { b = \"10ms\", c = \"40ms\", d = \"40ms\" }\nb = { c = \"40ms\", d = \"200ms\" }\nc = { d = \"1ms\" }\n";
const FOUR: &str = "--protocol accf --param tracking=server --param checking=server --param ahead=covered --param drain=200ms \
     --place slots:0-8191=a,c --place slots:8192-16383=b,d";

pub(crate) fn four(more: &[&str]) -> Up {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), FAR).unwrap();
    let flags: Vec<&str> =
        FOUR.split_whitespace().chain(["--latency", file.path().to_str().unwrap()]).collect();
    Up::start(&[&flags, more].concat())
}

/// A load of a client in A that reads where another in C writes: one partition and then the other, which A has B asked for.
fn alternate(up: &Up) -> Vec<String> {
    let load = "bench --workload alternate --partitions 2 -c 2 --set keys=20".split(' ').map(String::from);
    let region = |region: &str| ["--region".to_string(), format!("{region}=127.0.0.1:{}", up.port(region))];
    load.chain(["a", "c"].into_iter().flat_map(region)).collect()
}

/// The result of such a load.
pub(crate) fn alternated(up: &Up, how: &[&str]) -> Value {
    let args = alternate(up);
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json", "--quiet"]).collect();
    let output = up.tidemark(&[&args, how].concat());
    assert!(output.status.success(), "{}\n{}", said(&output), up.logs());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

pub(crate) fn reads(report: &Value) -> f64 {
    report["summary"]["requests"]["read"]["count"].as_f64().unwrap_or_else(|| panic!("{report}"))
}

pub(crate) fn groups(up: &Up) -> Value {
    serde_json::from_str(&up.order(&["groups", "--json"])).expect("JSON")
}

#[test]
fn groups_follow_clients_and_go_when_nobody_needs_them() {
    let alone = four(&[]);
    assert!(reads(&alternated(&alone, &["-n", "200", "--warm-up", "0s"])) > 0.0);
    assert_eq!(groups(&alone).get("adapts"), None, "it is off unless asked for");
    assert!(alone.node("a")["detail"]["uses"].is_null(), "and nobody watches");
    alone.stop();

    let up = four(&["--adapt", "--adapt-set", "every=500ms"]);
    assert_eq!(groups(&up)["adapts"]["groups"], serde_json::json!([]), "there is nothing to see yet");
    // Where the machine is busy a group may not pay, and go; another one comes, by another name.
    let words = [
        "  A/0 B/1",
        ": A/0 and B/1\n  added because ",
        "reads a second are at A/0 and B/1 alone: they wait ",
        "used by sessions that read at A/0 and B/1: ",
        "s ago: auto-1 comes, with A/0 and B/1: ",
    ];
    while_alternating(&up, || {
        let shown = up.order(&["groups"]);
        let missing = words.iter().find(|word| !shown.contains(**word));
        missing.map_or(Ok(()), |word| Err(format!("{word:?} is not in\n{shown}")))
    });
    eventually(false, || groups(&up)["checking"].to_string().contains("auto-"));
    assert!(groups(&up)["adapts"]["changed"].as_u64() >= Some(2));
    up.stop();
}

/// Looks while such a load is there, until the look finds what it is for.
pub(crate) fn while_alternating(up: &Up, look: impl Fn() -> Result<(), String>) {
    let (args, directory) = (alternate(up), tempfile::tempdir().unwrap());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let load = Load::start(directory.path(), &args);
    eventually(Ok(()), look);
    let (status, told) = load.interrupt();
    assert!(status.success(), "{told}");
}

#[test]
fn a_client_that_names_its_group_is_left_alone() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2", "--protocol", "accf", "--adapt"]);
    up.redis("a", &["TIDE.CHECKING", "A", "GET", "fruit"]);
    assert_eq!(up.node("a")["detail"]["uses"], serde_json::json!([]));
    up.redis("a", &["GET", "fruit"]);
    let uses = up.node("a")["detail"]["uses"].clone();
    assert_eq!(uses[0]["visits"][0]["reads"], 1, "{uses}");
    up.redis("a", &["SET", "fruit", "plum"]);
    assert_eq!(up.node("a")["detail"]["uses"], uses, "writes wait for nobody");
    // Both partitions at once: whoever is asked for them, it was read at both.
    up.redis("a", &["MGET", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"]);
    let uses = up.node("a")["detail"]["uses"].clone();
    assert_eq!(uses[1]["servers"], serde_json::json!(["A/0", "A/1"]), "{uses}");
    up.stop();
}

#[test]
fn what_cannot_follow_clients_is_refused() {
    for (args, why) in [
        (&["--adapt"][..], "has no checking groups that could follow its clients"),
        (&["--protocol", "accf", "--adapt", "--adapt-set", "budget=0"], "1 to 64 checking groups, not 0"),
        (&["--protocol", "accf", "--adapt", "--adapt-set", "every=1ms"], "100ms to a day"),
        (&["--protocol", "accf", "--adapt", "--adapt-set", "pace=1"], "unknown field `pace`"),
        (&["--protocol", "accf", "--adapt-set", "budget=3"], "--adapt"),
    ] {
        let refused = tidemark(&[&["up"], args].concat());
        assert!(!refused.status.success() && said(&refused).contains(why), "{args:?}: {}", said(&refused));
    }
}
