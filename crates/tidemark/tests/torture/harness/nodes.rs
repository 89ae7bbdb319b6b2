//! A cluster of `tidemark serve` processes, as a service manager would run them: one cluster file, a region may
//! have several nodes. Harmed with signals and through the nodes' admin HTTP.

use super::admin::{self, http};
use super::resp::Client;
use super::{Cluster, Node, Scratch, address, program, terminate, wait_for};
use serde_json::Value;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a cluster file says, as far as tests vary it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// By region: the partitions of each of its nodes.
    pub(crate) regions: Vec<Vec<&'static str>>,
    /// Partitions a region.
    pub(crate) partitions: usize,
    /// The protocol.
    pub(crate) protocol: &'static str,
    /// always, everysec or no.
    pub(crate) fsync: &'static str,
    /// Nodes that are killed lose what they have not synced.
    pub(crate) power: bool,
    /// More lines of `[cluster]`.
    pub(crate) cluster: &'static str,
    /// Lines of `[limits]`.
    pub(crate) limits: &'static str,
}

impl Default for Plan {
    /// One region with one node and two partitions.
    fn default() -> Self {
        let regions = vec![vec!["all"]];
        let (protocol, fsync) = ("causal", "everysec");
        Self { regions, partitions: 2, protocol, fsync, power: false, cluster: "", limits: "" }
    }
}

/// A link that is not as it should be.
#[derive(Clone, Debug)]
struct Fault {
    /// The path below `admin`.
    what: &'static str,
    body: String,
}

/// The nodes; they end with this value.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    partitions: usize,
    config: PathBuf,
    power: bool,
    children: Mutex<Vec<Option<Child>>>,
    faults: Mutex<Vec<Fault>>,
}

impl Nodes {
    /// Writes the cluster file into `scratch`, and starts no process.
    pub(crate) fn plan(scratch: &Scratch, plan: &Plan) -> Self {
        let (protocol, fsync, partitions) = (plan.protocol, plan.fsync, plan.partitions);
        let mut file = format!(
            "[cluster]\nname = \"test\"\nprotocol = \"{protocol}\"\nfsync = \"{fsync}\"\npartitions = {partitions}\n\
             {}\n[limits]\n{}\n",
            plan.cluster, plan.limits
        );
        if protocol == Plan::default().protocol {
            // A machine that stands still for a moment refuses no transaction. Some other protocols have no such parameter.
            file.push_str("[protocol]\nwait_limit = \"20s\"\n");
        }
        let mut nodes: Vec<Node> = Vec::new();
        for (region, held) in plan.regions.iter().enumerate() {
            let letter = (b'a' + region as u8) as char;
            file.push_str(&format!("[[region]]\nname = \"{letter}\"\n"));
            for (at, partitions) in held.iter().enumerate() {
                let name = format!("{letter}{at}");
                let [redis, peer, admin] = [(); 3].map(|()| address());
                file.push_str(&format!(
                    "[[node]]\nname = \"{name}\"\nregion = \"{letter}\"\nlisten = \"{redis}\"\n\
                     peer_listen = \"{peer}\"\nadmin_listen = \"{admin}\"\npartitions = \"{partitions}\"\n"
                ));
                let log = scratch.join(&format!("{name}.log"));
                nodes.push(Node { name, region: letter.to_ascii_uppercase().to_string(), redis, admin, log });
            }
        }
        let config = scratch.join("cluster.toml");
        std::fs::write(&config, file).expect("the cluster file");
        let children = Mutex::new(nodes.iter().map(|_| None).collect());
        Self { nodes, partitions, config, power: plan.power, children, faults: Mutex::default() }
    }

    /// Starts all nodes, and waits until they serve.
    pub(crate) fn start(scratch: &Scratch, plan: &Plan) -> Self {
        let nodes = Self::plan(scratch, plan);
        (0..nodes.nodes.len()).for_each(|node| nodes.spawn(node));
        (0..nodes.nodes.len()).for_each(|node| nodes.wait_until_it_serves(node));
        nodes.nodes.iter().for_each(wait_for_siblings);
        nodes
    }

    /// The command that runs a node.
    pub(crate) fn command(&self, node: usize) -> Command {
        let mut command = program();
        command.arg("serve").arg("--config").arg(&self.config).args(["--node", &self.nodes[node].name]);
        command.env("TIDEMARK_DISK_QUOTA", self.quota());
        if self.power {
            command.env("TIDEMARK_LOSES_POWER", "1");
        }
        command
    }

    /// Starts a node, which appends to its log and has the faults of links from its first connection on.
    pub(crate) fn spawn(&self, node: usize) {
        let log = OpenOptions::new().create(true).append(true).open(&self.nodes[node].log).expect("its log");
        let mut command = self.command(node);
        for Fault { what, body } in &*self.faults.lock().unwrap_or_else(PoisonError::into_inner) {
            command.args(["--fault", &format!("{what} {body}")]);
        }
        command.stdin(Stdio::null()).stderr(log.try_clone().expect("its log")).stdout(log);
        let child = command.spawn().expect("the program runs");
        self.children()[node] = Some(child);
    }

    /// Waits until a node answers PING.
    pub(crate) fn wait_until_it_serves(&self, node: usize) {
        let Node { name, redis, log, .. } = &self.nodes[node];
        wait_for(format!("node {name} serves; see {}", log.display()), || {
            if let Some(child) = &mut self.children()[node] {
                let ended = child.try_wait().expect("a child");
                assert!(ended.is_none(), "node {name} ended: {ended:?}; see {}", log.display());
            }
            Client::connect(*redis).ok()?.call(&["PING"]).ok()
        });
    }

    /// SIGTERM, and waits for its end.
    pub(crate) fn stop(&self, node: usize) {
        let mut child = self.children()[node].take().expect("it runs");
        let status = terminate(&mut child);
        assert!(status.success(), "node {} stopped with {status}", self.nodes[node].name);
    }

    /// Connects to a node.
    pub(crate) fn client(&self, node: usize) -> Client {
        Client::connect(self.nodes[node].redis).expect("it serves")
    }

    /// The node's process, until [`Cluster::kill`] or [`Self::stop`] ends it.
    pub(crate) fn pid(&self, node: usize) -> u32 {
        self.children()[node].as_ref().expect("it runs").id()
    }

    /// What a node has logged.
    pub(crate) fn log(&self, node: usize) -> String {
        std::fs::read_to_string(&self.nodes[node].log).unwrap_or_default()
    }

    /// From now on the data directory of each node may take so many bytes, or any number.
    pub(crate) fn set_quota(&self, bytes: Option<u64>) {
        match bytes {
            Some(bytes) => std::fs::write(self.quota(), bytes.to_string()).expect("the quota"),
            None => std::fs::remove_file(self.quota()).expect("the quota"),
        }
    }

    /// The file that holds the quota, if there is one.
    fn quota(&self) -> PathBuf {
        self.config.with_file_name("quota")
    }

    /// The data directory of a node.
    pub(crate) fn data(&self, node: usize) -> PathBuf {
        self.config.with_file_name("data").join(&self.nodes[node].name)
    }

    fn children(&self) -> MutexGuard<'_, Vec<Option<Child>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, node: usize, fault: &Fault) {
        let path = format!("/admin/{}", fault.what);
        let answer = http(self.nodes[node].admin, "POST", &path, &fault.body);
        assert!(answer.as_ref().is_some_and(|(code, _)| (200..300).contains(code)), "{fault:?}: {answer:?}");
    }

    fn harm(&self, fault: Fault) {
        let running: Vec<usize> =
            (0..self.nodes.len()).filter(|node| self.children()[*node].is_some()).collect();
        running.iter().for_each(|node| self.order(*node, &fault));
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.what == "heal" { faults.clear() } else { faults.push(fault) }
    }
}

/// Waits until a node can reach those that share its region: before that some keys are UNAVAILABLE.
pub(crate) fn wait_for_siblings(node: &Node) {
    let up = |link: &Value| link["messages_out"] == true && link["messages_in"] == true;
    let reached = || {
        let status = admin::status(node)?;
        let links = status["links"].as_array().expect("a list of links");
        links.iter().filter(|link| link["region"] == status["region"]).all(up).then_some(())
    };
    wait_for(format!("node {} reaches its siblings", node.name), reached);
}

impl Cluster for Nodes {
    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn partitions(&self) -> usize {
        self.partitions
    }

    fn kill(&self, node: usize) {
        let mut child = self.children()[node].take().expect("it runs");
        child.kill().expect("SIGKILL");
        child.wait().expect("a child");
    }

    fn restart(&self, node: usize) {
        self.spawn(node);
        self.wait_until_it_serves(node);
    }

    fn cut(&self, from: &str, to: &str, one_way: bool) {
        let body = serde_json::json!({"from": from, "to": to, "one_way": one_way}).to_string();
        self.harm(Fault { what: "cut", body });
    }

    fn slow(&self, from: &str, to: &str, by_ms: u64) {
        let body = serde_json::json!({"from": from, "to": to, "one_way": true, "ms": by_ms}).to_string();
        self.harm(Fault { what: "slow", body });
    }

    fn heal(&self) {
        self.harm(Fault { what: "heal", body: "{}".to_string() });
    }

    fn processes(&self) -> Vec<Result<Option<u32>, String>> {
        let process = |(child, node): (&mut Option<Child>, &Node)| match child {
            None => Ok(None),
            Some(child) => match child.try_wait().expect("a child") {
                None => Ok(Some(child.id())),
                Some(status) => Err(format!("node {} died: {status}", node.name)),
            },
        };
        self.children().iter_mut().zip(&self.nodes).map(process).collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in self.children().iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
