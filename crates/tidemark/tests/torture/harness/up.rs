//! A cluster that `tidemark up` runs, harmed through the verbs that a user has.

use super::{Cluster, Node, Scratch, program, said, terminate, tidemark, wait_for};
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// The cluster; it ends with this value.
pub(crate) struct Up {
    supervisor: Child,
    dir: PathBuf,
    nodes: Vec<Node>,
    partitions: usize,
}

impl Up {
    /// Three regions with two partitions each, in `scratch`, with more flags.
    pub(crate) fn start(scratch: &Scratch, flags: &[&str]) -> Self {
        let dir = scratch.join("cluster");
        let log = File::create(scratch.join("up.log")).expect("a file for what it says");
        let place = dir.to_str().expect("a path in UTF-8");
        let mut command = program();
        // Redis clients, HTTP and, a hundred above, peers of up to ten nodes.
        let first = tidemark_patience::ports((0..20).chain(100..110));
        let (base, http) = (first.to_string(), (first + 10).to_string());
        command.args(["up", "--dir", place, "--base-port", &base, "--http-port", &http]).args(flags);
        command.stdin(Stdio::null()).stderr(log.try_clone().expect("a file")).stdout(log);
        let supervisor = command.spawn().expect("the program runs");
        let mut up = Self { supervisor, dir, nodes: Vec::new(), partitions: 0 };
        wait_for("`tidemark up` is ready", || {
            let ended = up.supervisor.try_wait().expect("a child");
            assert!(
                ended.is_none(),
                "`tidemark up` ended: {ended:?}; see {}",
                scratch.join("up.log").display()
            );
            let text = std::fs::read_to_string(scratch.join("up.log")).unwrap_or_default();
            text.lines().any(|line| line == "ready").then_some(())
        });
        let status = up.status();
        up.partitions = status["partitions"].as_u64().expect("a number") as usize;
        up.nodes = status["nodes"].as_array().expect("a list of nodes").iter().map(node).collect();
        up
    }

    /// `tidemark status --json`
    pub(crate) fn status(&self) -> Value {
        let text = self.verb(&["status", "--json"]);
        serde_json::from_str(&text).expect("JSON")
    }

    /// Runs a verb on this cluster, again where a node was too busy to hear of it in time; what it printed.
    pub(crate) fn verb(&self, arguments: &[&str]) -> String {
        wait_for("all nodes are told", || match self.try_verb(arguments) {
            Ok(said) => Some(said),
            Err(why) if why.contains("will be told once it answers") => None,
            Err(why) => panic!("tidemark {}: {why}", arguments.join(" ")),
        })
    }

    /// The same for one that may be refused.
    pub(crate) fn try_verb(&self, arguments: &[&str]) -> Result<String, String> {
        let dir = ["--dir", self.dir.to_str().expect("a path in UTF-8")];
        let output = tidemark(&[arguments, &dir].concat());
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(said(&output)),
        }
    }
}

fn node(value: &Value) -> Node {
    let word = |name: &str| value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}")).to_string();
    Node {
        name: word("name"),
        region: word("letter"),
        redis: word("redis").parse().expect("an address"),
        admin: word("admin").parse().expect("an address"),
        log: word("log").into(),
    }
}

impl Cluster for Up {
    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn partitions(&self) -> usize {
        self.partitions
    }

    fn kill(&self, node: usize) {
        self.verb(&["kill", &self.nodes[node].name]);
    }

    fn restart(&self, node: usize) {
        self.verb(&["restart", &self.nodes[node].name]);
    }

    fn cut(&self, from: &str, to: &str, one_way: bool) {
        let flags: &[&str] = if one_way { &["--one-way"] } else { &[] };
        self.verb(&[&["cut", from, to], flags].concat());
    }

    fn slow(&self, from: &str, to: &str, by_ms: u64) {
        self.verb(&["slow", from, to, "--one-way", "--by", &format!("{by_ms}ms")]);
    }

    fn heal(&self) {
        self.verb(&["heal"]);
    }

    fn processes(&self) -> Vec<Result<Option<u32>, String>> {
        let status = self.status();
        let process = |node: &Value| match (node["pid"].as_u64(), node["state"].as_str().unwrap_or("?")) {
            (Some(pid), "running") => Ok(Some(pid as u32)),
            (None, "killed") => Ok(None),
            (_, state) => Err(format!("node {} is {state}", node["name"])),
        };
        status["nodes"].as_array().expect("a list of nodes").iter().map(process).collect()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if self.supervisor.try_wait().is_ok_and(|ended| ended.is_none()) {
            terminate(&mut self.supervisor);
        }
    }
}
