//! Which crate may use which: the table of ARCHITECTURE.md.

use super::Finding;
use crate::run::{command, output};
use anyhow::{Context, Result};
use serde_json::Value;

/// A crate, and those of ours that it may use; whether its tests may use more is their own affair.
const MAY_USE: &[(&str, &[&str])] = &[
    ("tidemark-core", &[]),
    ("tidemark-crdt", &["core"]),
    ("tidemark-store", &["core", "crdt"]),
    ("tidemark-contract", &["core", "crdt", "store"]),
    ("tidemark-adapt", &["core", "contract"]),
    ("tidemark-protocols", &["core", "contract"]),
    ("tidemark-replica", &["core", "store", "contract"]),
    ("tidemark-check", &["core"]),
    ("tidemark-group", &["core", "store", "contract", "replica"]),
    ("tidemark-node", &["core", "store", "contract", "replica", "group", "adapt"]),
    (
        "tidemark-sim",
        &[
            "core",
            "store",
            "contract",
            "protocols",
            "replica",
            "group",
            "node",
            "check",
            "edge",
            "workload",
            "adapt",
        ],
    ),
    ("tidemark-simulators", &["node", "protocols", "registry", "sim"]),
    ("tidemark-wire", &[]),
    ("tidemark-edge", &["core", "crdt"]),
    ("tidemark-edge-client", &["core", "edge", "workload"]),
    ("tidemark-workload", &["core", "contract"]),
    ("tidemark-registry", &["node", "protocols"]),
    ("tidemark-script", &["core"]),
    ("tidemark-steps", &[]),
    (
        "tidemark-server",
        &["core", "store", "contract", "replica", "node", "registry", "wire", "edge", "adapt", "script"],
    ),
    ("tidemark-experiments", &[]),
    ("tidemark-bench", &["core", "wire", "workload"]),
    ("tidemark-differential", &["wire", "patience"]),
    (
        "tidemark",
        &[
            "core",
            "store",
            "contract",
            "protocols",
            "replica",
            "check",
            "sim",
            "simulators",
            "wire",
            "edge",
            "edge-client",
            "server",
            "workload",
            "bench",
            "experiments",
            "adapt",
        ],
    ),
    ("tidemark-patience", &[]),
    ("xtask", &["patience"]),
];

/// Crates that decide on their input alone, or do no input and output.
const PURE: &[&str] = &[
    "tidemark-core",
    "tidemark-crdt",
    "tidemark-store",
    "tidemark-contract",
    "tidemark-protocols",
    "tidemark-replica",
    "tidemark-group",
    "tidemark-node",
    "tidemark-check",
    "tidemark-sim",
    "tidemark-wire",
    "tidemark-edge",
    "tidemark-workload",
    "tidemark-adapt",
];

/// What pure crates must not depend on, directly.
const IMPURE: &[&str] =
    &["tokio", "mio", "socket2", "axum", "rand", "getrandom", "chrono", "time", "rayon", "crossbeam"];

/// Crates that a build without the feature `lab` must not compile: each takes the compiler long, or brings something that does.
const LAB: &[&str] =
    &["tidemark-bench", "tidemark-check", "tidemark-experiments", "tidemark-sim", "tidemark-simulators"];

pub(super) fn check() -> Result<Vec<Finding>> {
    let metadata = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata: Value = serde_json::from_str(&output(&mut command(env!("CARGO"), &metadata))?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    Ok(packages.iter().flat_map(package).collect())
}

fn package(package: &Value) -> Vec<Finding> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        return vec![format!(
            "{name}: a new crate has to say what it may use, in xtask/src/tidy/crates.rs and ARCHITECTURE.md"
        )];
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    // "kind" is null for ordinary dependencies, else "dev" or "build".
    let used = dependencies.filter(|dependency| dependency["kind"].is_null());
    let used = used.filter_map(|dependency| Some((dependency["name"].as_str()?, &dependency["optional"])));
    let mut findings = Vec::new();
    for (used, optional) in used {
        let ours = used.strip_prefix("tidemark-").is_some_and(|short| !allowed.contains(&short));
        if ours || used == "tidemark" {
            findings.push(format!(
                "{name} must not use {used}: see \"What each crate must not use\" in ARCHITECTURE.md"
            ));
        }
        if name == "tidemark" && LAB.contains(&used) && *optional != true {
            findings.push(format!("{name} must use {used} with the feature `lab` only: make it optional"));
        }
        if PURE.contains(&name) && IMPURE.contains(&used) {
            findings
                .push(format!("{name} must not use {used}: it takes time, chance and input as arguments"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_in_the_table_is_found() {
        let found = |name: &str, uses: &str, kind: Value| {
            package(&json!({"name": name, "dependencies": [{"name": uses, "kind": kind}]})).len()
        };
        assert_eq!(found("tidemark-protocols", "tidemark-contract", Value::Null), 0);
        assert_eq!(found("tidemark-protocols", "tidemark-store", Value::Null), 1);
        assert_eq!(found("tidemark-replica", "tidemark-protocols", json!("dev")), 0);
        assert_eq!(found("tidemark-replica", "tidemark-protocols", Value::Null), 1);
        assert_eq!(found("tidemark-sim", "rand", Value::Null), 1);
        assert_eq!(found("tidemark-server", "tokio", Value::Null), 0);
        assert_eq!(found("tidemark-new", "serde", Value::Null), 1);
    }

    #[test]
    fn a_small_build_does_without_the_lab() {
        let found = |uses: &str, optional: bool| {
            let used = json!({"name": uses, "kind": null, "optional": optional});
            package(&json!({"name": "tidemark", "dependencies": [used]})).len()
        };
        assert_eq!(found("tidemark-sim", true), 0);
        assert_eq!(found("tidemark-sim", false), 1);
        assert_eq!(found("tidemark-server", false), 0);
    }
}
