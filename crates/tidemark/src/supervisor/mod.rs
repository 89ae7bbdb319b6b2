//! The supervisor behind `tidemark up`: one child process a node, and what other terminals ask of them.
//!
//! It starts children, reports those that die, and stops them when it stops; it never starts one again by
//! itself. A child holds the reading end of a pipe whose other end only the supervisor has: however the
//! supervisor ends, even by SIGKILL, the pipe ends with it, and the child stops.

mod adapting;
pub(crate) mod api;
mod child;
pub(crate) mod control;
mod faults;
mod groups;
pub(crate) mod membership;
pub(crate) mod plan;
pub(crate) mod prepare;
mod regrouping;
mod tail;
mod telling;

use anyhow::bail;
use api::{Action, ClusterStatus, NodeStatus};
use child::Child;
use membership::Change;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use telling::{Heard, Orders};
use tidemark_adapt::Controller;
use tidemark_protocols::{Protocol, with_protocol};
use tidemark_server::config::{Cluster, Node};
use tokio::sync::{Notify, mpsc, watch};

/// A node that takes longer to read its log back and serve is reported. It is not given up: a large log takes its time.
const START_REPORT: Duration = Duration::from_secs(3);
/// How long nodes of a region may take to find each other before they are taken to be ready.
const LINK_LIMIT: Duration = Duration::from_secs(5);
/// How long a node may take to stop before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// Something that the terminal is to be told.
#[derive(Debug)]
pub(crate) enum Event {
    /// Something was done that another terminal had asked for.
    Done(String),
    /// A node reads its log back, and it takes a while.
    Slow { node: String },
    /// A node ended that nobody had ended.
    Died { node: String, how: String },
    /// A node logged a warning or an error.
    Logged { node: String, line: String },
}

/// How a node is.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// Not started yet, or on its way.
    Starting,
    Running,
    /// It is being stopped or killed, and will be in this state.
    Ending(&'static str),
    /// As it was meant to end.
    Ended(&'static str),
    Died(String),
}

struct Slot {
    state: State,
    child: Option<Child>,
    /// Which orders its node knows.
    heard: Heard,
}

/// The children of one cluster.
pub(crate) struct Supervisor {
    cluster: Cluster,
    dir: PathBuf,
    slots: Mutex<Vec<Slot>>,
    /// Orders to the nodes, each of which a task of its own tells.
    orders: Mutex<Orders>,
    /// The version of that.
    changed: watch::Sender<u64>,
    /// A node has answered, or has not.
    heard: Notify,
    /// Actions are carried out one after the other.
    busy: tokio::sync::Mutex<()>,
    events: mpsc::UnboundedSender<Event>,
    /// Has checking groups follow what clients do, if they are to.
    controller: Mutex<Option<Controller>>,
    began: Instant,
}

impl Supervisor {
    /// No child runs yet. The cluster file is `cluster.toml` in `dir`.
    ///
    /// # Errors
    /// When what was wanted of an earlier run cannot be read.
    pub(crate) fn new(
        cluster: Cluster,
        dir: PathBuf,
        events: mpsc::UnboundedSender<Event>,
    ) -> anyhow::Result<Arc<Self>> {
        let orders = Orders::read(&dir)?;
        let slot = |_: &Node| Slot { state: State::Starting, child: None, heard: Heard::default() };
        let slots = Mutex::new(cluster.nodes.iter().map(slot).collect());
        let controller = Mutex::new(cluster.adapt.map(|adapt| Controller::new(adapt.settings)));
        Ok(Arc::new(Self {
            cluster,
            dir,
            slots,
            changed: watch::Sender::new(orders.version),
            orders: Mutex::new(orders),
            heard: Notify::new(),
            busy: Default::default(),
            events,
            controller,
            began: Instant::now(),
        }))
    }

    /// Starts every node, and waits until all serve; what other terminals ask for waits, too.
    pub(crate) async fn start_all(self: &Arc<Self>) -> anyhow::Result<()> {
        let _busy = self.busy.lock().await;
        self.keep_telling();
        self.start((0..self.cluster.nodes.len()).collect()).await
    }

    /// Stops every node: cleanly, and by force what does not stop in time.
    pub(crate) async fn stop_all(&self) {
        let running = (0..self.cluster.nodes.len()).collect::<Vec<_>>();
        self.end(&running, "stopped", Child::stop).await;
    }

    /// Carries out what another terminal asks for; says in words what was done.
    pub(crate) async fn act(self: &Arc<Self>, action: Action) -> anyhow::Result<String> {
        let _busy = self.busy.lock().await;
        let done = self.carry_out(action).await?;
        let _ = self.events.send(Event::Done(done.clone()));
        Ok(done)
    }

    async fn carry_out(self: &Arc<Self>, action: Action) -> anyhow::Result<String> {
        match action {
            Action::Kill { target } => {
                let nodes = match target.split_once('/') {
                    Some(_) => vec![self.serving(&target).await?],
                    None => self.nodes_of(&target)?,
                };
                let target = if target.contains('/') { self.names(&nodes) } else { target };
                if nodes.iter().all(|node| self.locked()[*node].child.is_none()) {
                    bail!("{} does not run; `tidemark restart {target}` starts it", self.names(&nodes));
                }
                self.end(&nodes, "killed", Child::kill).await;
                Ok(format!("killed {}; `tidemark restart {target}` starts it again", self.names(&nodes)))
            }
            Action::Restart { target } => {
                let nodes = self.nodes_of(&target)?;
                self.end(&nodes, "stopped", Child::stop).await;
                self.start(nodes.clone()).await?;
                Ok(format!("restarted {}", self.names(&nodes)))
            }
            Action::Regroup { change } => self.regroup(change).await,
            Action::Remove { node } => self.remove(&node).await,
            Action::Replace { node } => self.replace(&node).await,
            Action::Exclude { region, for_good } => {
                self.change_membership(Change::Exclude { region, for_good }).await
            }
            Action::Readmit { region } => self.change_membership(Change::Readmit { region }).await,
            Action::Cut { .. } | Action::Heal { .. } | Action::Slow { .. } | Action::Skew { .. } => {
                self.change_faults(action).await
            }
        }
    }

    /// How the cluster is.
    pub(crate) async fn status(&self) -> ClusterStatus {
        let protocol = self.cluster.protocol;
        let promise = with_protocol!(protocol, P => P::INFO.promise.name(), otherwise "");
        let mut nodes = Vec::new();
        // All at once: one that does not answer is waited for once.
        let asked = self.cluster.nodes.iter().enumerate().map(|(index, node)| {
            let slot = &self.locked()[index];
            let running = slot.state == State::Running;
            let asked = running.then(|| self.asking(node, "status", None));
            (node, slot.state.clone(), slot.child.as_ref().map(|child| child.pid), asked)
        });
        for (node, state, pid, asked) in asked.collect::<Vec<_>>() {
            let detail = match asked {
                Some(asked) => asked.await.ok().and_then(Result::ok),
                None => None,
            };
            nodes.push(NodeStatus {
                name: node.name.clone(),
                letter: node.region.to_string(),
                region: self.cluster.regions[node.region.index()].clone(),
                partitions: node.partitions.iter().map(|partition| partition.0).collect(),
                redis: node.listen.to_string(),
                admin: node.admin_listen.to_string(),
                pid,
                state: state.in_words(),
                log: self.log_of(node),
                detail,
            });
        }
        let Orders { version, faults, membership } = self.orders();
        ClusterStatus {
            name: self.cluster.name.clone(),
            dir: self.dir.clone(),
            protocol: protocol.to_string(),
            promise: promise.to_string(),
            partitions: self.cluster.topology.partitions,
            nodes,
            faults: faults.links,
            node_faults: faults.nodes,
            untold: self.untold(version),
            membership_waits: membership.map(|change| change.to_string()),
            adapts: self.account(),
        }
    }

    async fn start(self: &Arc<Self>, nodes: Vec<usize>) -> anyhow::Result<()> {
        for index in &nodes {
            let child = Child::spawn(self, *index)?;
            let mut slots = self.locked();
            let heard = Heard::at_start(self.orders().version);
            slots[*index] = Slot { state: State::Starting, child: Some(child), heard };
        }
        for index in &nodes {
            self.ready(*index).await?;
        }
        let linked = async {
            for index in &nodes {
                self.linked(*index).await;
            }
        };
        // Longer than that, something is cut or broken, which `status` shows: the nodes serve what they hold.
        let _ = tokio::time::timeout(LINK_LIMIT, linked).await;
        Ok(())
    }

    /// Waits until a node can ask the nodes that run for what they hold: those of its region, and where some keys are
    /// held by some regions only, those of other regions.
    async fn linked(&self, index: usize) {
        let node = &self.cluster.nodes[index];
        let elsewhere = !self.cluster.topology.placement.rules.is_empty();
        let others: Vec<&str> = (0..self.cluster.nodes.len())
            .filter(|other| *other != index)
            .filter(|other| elsewhere || self.cluster.nodes[*other].region == node.region)
            .filter(|other| self.locked()[*other].state == State::Running)
            .map(|other| self.cluster.nodes[other].name.as_str())
            .collect();
        while !others.is_empty() && self.group_can_agree(index) {
            let status = self.ask(node, "status", None).await.unwrap_or_default();
            let up = |name: &&str| {
                let links = status["links"].as_array().into_iter().flatten();
                links.into_iter().any(|link| link["node"] == **name && link["up"] == true)
            };
            if others.iter().all(up) && groups::takes_part(&status) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a node serves.
    async fn ready(&self, index: usize) -> anyhow::Result<()> {
        let node = &self.cluster.nodes[index];
        let (begun, mut reported) = (tokio::time::Instant::now(), false);
        while !self.ready_file(node).exists() {
            let state = self.locked()[index].state.clone();
            if state != State::Starting {
                let (how, log) = (state.in_words(), self.log_of(node));
                bail!(
                    "{} {how}; its log is {}, and ends with:\n{}",
                    node.name,
                    log.display(),
                    tail::last_lines(&log, 8)
                );
            }
            if !reported && begun.elapsed() > START_REPORT {
                reported = true;
                let _ = self.events.send(Event::Slow { node: node.name.clone() });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.locked()[index].state = State::Running;
        Ok(())
    }

    /// Ends those of `nodes` that run, and waits until they have ended.
    async fn end(&self, nodes: &[usize], state: &'static str, end: impl Fn(&Child)) {
        let mut exits = Vec::new();
        for index in nodes {
            let slot = &mut self.locked()[*index];
            if let Some(child) = &slot.child {
                slot.state = State::Ending(state);
                end(child);
                exits.push((*index, child.exit()));
            }
        }
        for (index, mut exit) in exits {
            if tokio::time::timeout(STOP_LIMIT, exit.wait_for(|ended| *ended)).await.is_err() {
                if let Some(child) = &self.locked()[index].child {
                    child.kill();
                }
                let _ = exit.wait_for(|ended| *ended).await;
            }
        }
    }

    /// A child has ended: was it meant to?
    fn ended(&self, index: usize, how: String) {
        let slot = &mut self.locked()[index];
        slot.child = None;
        slot.state = match slot.state {
            State::Ending(state) => State::Ended(state),
            State::Starting => State::Died(how),
            _ => {
                let node = self.cluster.nodes[index].name.clone();
                let _ = self.events.send(Event::Died { node, how: how.clone() });
                State::Died(how)
            }
        };
    }

    /// The nodes that `target` means: those of a region, or the one of that name.
    fn nodes_of(&self, target: &str) -> anyhow::Result<Vec<usize>> {
        if let Some(region) = self.cluster.find_region(target) {
            return Ok(self.cluster.nodes_in(region).map(|(id, _)| id.index()).collect());
        }
        match self.cluster.find_node(target) {
            Some(id) => Ok(vec![id.index()]),
            None => {
                bail!("there is no region {target:?}; the regions are {}", self.cluster.regions.join(", "))
            }
        }
    }

    fn names(&self, nodes: &[usize]) -> String {
        let names: Vec<&str> = nodes.iter().map(|node| self.cluster.nodes[*node].name.as_str()).collect();
        names.join(", ")
    }

    fn log_of(&self, node: &Node) -> PathBuf {
        self.dir.join(format!("{}.log", node.name))
    }

    fn ready_file(&self, node: &Node) -> PathBuf {
        self.dir.join(format!("{}.ready", node.name))
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn in_words(&self) -> String {
        match self {
            Self::Starting => "starting".into(),
            Self::Running => "running".into(),
            Self::Ending(_) => "stopping".into(),
            Self::Ended(state) => state.to_string(),
            Self::Died(how) => format!("died: {how}"),
        }
    }
}
