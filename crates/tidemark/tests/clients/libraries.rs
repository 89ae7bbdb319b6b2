//! Client libraries: each script does what an application does, and fails with an assertion.

use crate::harness::Cluster;
use crate::harness::Scratch;
use crate::harness::nodes::{Nodes, Plan};
use crate::install;
use std::process::Command;

const PASSWORD: &str = "tide-and-time";

/// A region of two nodes, so that pipelines go over sockets between them; with a password.
fn nodes(scratch: &Scratch) -> Nodes {
    let plan =
        Plan { regions: vec![vec!["0", "1"]], cluster: "requirepass = \"tide-and-time\"", ..Plan::default() };
    Nodes::start(scratch, &plan)
}

fn arguments(nodes: &Nodes) -> [String; 3] {
    let address = nodes.nodes()[0].redis;
    [address.ip().to_string(), address.port().to_string(), PASSWORD.to_string()]
}

fn script(name: &str) -> String {
    format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn redis_py() {
    let Some(python) = install::python() else { return };
    let scratch = Scratch::new("clients-redis-py");
    let nodes = nodes(&scratch);
    let said = install::run(Command::new(python).arg(script("redis_py.py")).args(arguments(&nodes)));
    println!("{said}");
}

/// Scripts are copied into the folder, since modules are found from where a script lies.
fn javascript(name: &str) {
    let Some(folder) = install::node_modules() else { return };
    let copy = folder.join(format!("{}-{name}", std::process::id()));
    std::fs::copy(script(name), &copy).expect("the script");
    let scratch = Scratch::new(&format!("clients-{name}"));
    let nodes = nodes(&scratch);
    let said = install::run(Command::new("node").arg(&copy).args(arguments(&nodes)));
    println!("{said}");
    std::fs::remove_file(copy).expect("the copy");
}

#[test]
fn ioredis() {
    javascript("ioredis.mjs");
}

#[test]
fn node_redis() {
    javascript("node_redis.mjs");
}
