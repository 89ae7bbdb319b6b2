//! Orders are a state: what is wanted of the nodes stands in `wanted.json`, and each node is compared with it each second and told
//! what it does not know.
//!
//! A task for each node does so, so that one that stands still keeps no order from the others. It is told as soon as it runs
//! again. A node that starts has its faults from its first connection on.

use super::faults::Faults;
use super::membership::Change;
use super::{Event, State, Supervisor};
use crate::http;
use crate::supervisor::api::{NOT_TOLD, Untold};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tidemark_server::config::Node;
use tidemark_server::{Waiting, Wanted};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The time in which a node has to answer, and a command has to be heard.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time between two comparisons of a node with what is wanted of it.
const LOOK: Duration = Duration::from_secs(1);
const FILE: &str = "wanted.json";

/// Orders to the nodes of one cluster: `wanted.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Orders {
    /// Rises with each change.
    pub(super) version: u64,
    pub(super) faults: Faults,
    /// A region that is to be excluded, or readmitted, once all nodes answer.
    pub(super) membership: Option<Change>,
}

impl Orders {
    /// Reads the orders that held when the supervisor of this directory ended.
    pub(super) fn read(dir: &Path) -> anyhow::Result<Self> {
        let file = dir.join(FILE);
        match fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| {
                format!("{} cannot be read: remove it, and no node has a fault", file.display())
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    fn write(&self, dir: &Path) -> anyhow::Result<()> {
        let (partial, file) = (dir.join("wanted.partial"), dir.join(FILE));
        let written = fs::write(&partial, serde_json::to_vec_pretty(self)?);
        written
            .and_then(|()| fs::rename(&partial, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

/// The orders that a node has heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The version of the orders that it knows.
    version: u64,
    silent: Option<NoAnswer>,
}

/// The failure that came instead of an answer.
#[derive(Clone, Debug)]
struct NoAnswer {
    why: String,
    since: Instant,
    /// The same by the wall clock, in microseconds since 1970.
    since_us: u64,
}

impl NoAnswer {
    fn new(why: String, asked: Instant) -> Self {
        let ago = asked.elapsed();
        let since = UNIX_EPOCH.elapsed().unwrap_or_default().saturating_sub(ago);
        Self { why, since: asked, since_us: since.as_micros() as u64 }
    }
}

impl Heard {
    /// Of a node that was started with the orders of this version.
    pub(super) fn at_start(version: u64) -> Self {
        Self { version, silent: None }
    }
}

/// A node did not answer. That may end by itself.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Silent(String);

impl Supervisor {
    /// Returns the orders.
    pub(super) fn orders(&self) -> Orders {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The faults that there are to be.
    pub(super) fn known_faults(&self) -> Faults {
        self.orders().faults
    }

    /// Changes what is wanted, and has nodes told; returns the version of that.
    pub(super) fn want(&self, change: impl FnOnce(&mut Orders)) -> anyhow::Result<u64> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = orders.clone();
        change(&mut wanted);
        wanted.version += 1;
        wanted.write(&self.dir)?;
        *orders = wanted;
        self.changed.send_replace(orders.version);
        Ok(orders.version)
    }

    /// Returns what a node that starts is told of faults, as its command line has it.
    pub(super) fn faults_of(&self, node: &Node) -> Option<String> {
        let orders = self.orders();
        let wanted = orders.faults.of(&node.name, orders.version);
        let text = serde_json::to_string(&wanted).expect("it is JSON");
        (!wanted.is_whole()).then(|| format!("faults {text}"))
    }

    fn wanted_of(&self, node: &Node) -> Wanted {
        let Orders { version, faults, membership } = self.orders();
        let waiting =
            self.silent().into_iter().filter_map(|(node, heard, NoAnswer { why, since_us, .. })| {
                let order = match &membership {
                    Some(change) => change.to_string(),
                    None if heard < version => "faults".into(),
                    None => return None,
                };
                Some(Waiting { order, node, since_us, why })
            });
        Wanted { waiting: waiting.collect(), ..faults.of(&node.name, version) }
    }

    /// The nodes that run and do not answer: what each has heard, and what came instead of its answer.
    fn silent(&self) -> Vec<(String, u64, NoAnswer)> {
        let slots = self.locked();
        let nodes = self.cluster.nodes.iter().zip(slots.iter());
        let running = nodes.filter(|(_, slot)| slot.state == State::Running);
        let silent = running.filter_map(|(node, slot)| Some((node, slot, slot.heard.silent.as_ref()?)));
        silent.map(|(node, slot, silent)| (node.name.clone(), slot.heard.version, silent.clone())).collect()
    }

    /// Begins to compare nodes with what is wanted, for as long as this process runs.
    pub(super) fn keep_telling(self: &Arc<Self>) {
        for index in 0..self.cluster.nodes.len() {
            tokio::spawn(Arc::clone(self).tell(index));
        }
        tokio::spawn(Arc::clone(self).finish_membership());
    }

    async fn tell(self: Arc<Self>, index: usize) {
        let node = &self.cluster.nodes[index];
        let mut changed = self.changed.subscribe();
        loop {
            // Earlier if something new is wanted.
            let _ = timeout(LOOK, changed.changed()).await;
            changed.borrow_and_update();
            if self.locked()[index].state != State::Running {
                continue;
            }
            let pid = self.locked()[index].child.as_ref().map(|child| child.pid);
            let wanted = self.wanted_of(node);
            let asked = Instant::now();
            let told = self.compare(node, &wanted).await;
            let slot = &mut self.locked()[index];
            if slot.child.as_ref().map(|child| child.pid) == pid {
                match told {
                    Ok(()) => slot.heard = Heard { version: wanted.version, silent: None },
                    Err(why) => {
                        slot.heard.silent.get_or_insert_with(|| NoAnswer::new(format!("{why:#}"), asked));
                    }
                }
            }
            self.heard.notify_waiters();
        }
    }

    /// Tells a node what is wanted of it unless it says so itself. Faults are said again each time: they end otherwise.
    async fn compare(&self, node: &Node, wanted: &Wanted) -> anyhow::Result<()> {
        let status = self.ask(node, "status", None).await?;
        let knows = match &status["ordered"] {
            Value::Null => wanted.is_whole(),
            said => Wanted::deserialize(said).is_ok_and(|said| said == *wanted),
        };
        if !(knows && wanted.is_whole()) {
            self.ask(node, "admin/faults", Some(serde_json::to_value(wanted)?)).await?;
        }
        Ok(())
    }

    /// The nodes that run and have not heard of what is wanted since `version`.
    pub(super) fn untold(&self, version: u64) -> Vec<Untold> {
        let slots = self.locked();
        let nodes = self.cluster.nodes.iter().zip(slots.iter());
        let late = nodes.filter(|(_, slot)| slot.state == State::Running && slot.heard.version < version);
        late.map(|(node, slot)| {
            let (since_s, why) = match &slot.heard.silent {
                Some(silent) => (silent.since.elapsed().as_secs(), silent.why.clone()),
                None => (0, "it has not answered yet".into()),
            };
            Untold { node: node.name.clone(), since_s, why }
        })
        .collect()
    }

    /// Waits until every node that runs has heard of what is wanted since `version`, and fails if one does not answer: it is told later.
    pub(super) async fn all_told(&self, version: u64) -> anyhow::Result<()> {
        let all = async {
            loop {
                let heard = self.heard.notified();
                tokio::pin!(heard);
                heard.as_mut().enable();
                if self.untold(version).is_empty() {
                    return;
                }
                // A node that has ended is not waited for, and tells nobody.
                let _ = timeout(LOOK, heard).await;
            }
        };
        if timeout(PATIENCE, all).await.is_ok() {
            return Ok(());
        }
        let late: Vec<String> = self
            .untold(version)
            .iter()
            .map(|late| format!("{} {NOT_TOLD} ({})", late.node, late.why))
            .collect();
        if late.is_empty() { Ok(()) } else { bail!("{}; all others have been told", late.join("; ")) }
    }

    /// Whether every node that runs has answered when it was asked last.
    fn all_answer(&self) -> bool {
        self.locked().iter().all(|slot| slot.child.is_none() || slot.heard.silent.is_none())
    }

    /// Carries out what could not be carried out because a node did not answer.
    async fn finish_membership(self: Arc<Self>) {
        loop {
            sleep(LOOK).await;
            if self.orders().membership.is_none() || !self.all_answer() {
                continue;
            }
            let _busy = self.busy.lock().await;
            if let Some(change) = self.orders().membership {
                let done = self.change_membership(change).await.unwrap_or_else(|why| format!("{why:#}"));
                let _ = self.events.send(Event::Done(done));
            }
        }
    }

    /// Whether a node outside of `region` runs and did not answer, which may end by itself. One that does not run has to be started first.
    pub(super) fn may_end(&self, error: &anyhow::Error, region: &str) -> bool {
        let region = self.cluster.find_region(region);
        let slots = self.locked();
        let mut others =
            self.cluster.nodes.iter().zip(slots.iter()).filter(|(node, _)| Some(node.region) != region);
        error.chain().any(|cause| cause.is::<Silent>())
            && (self.cluster.replicas > 1 || others.all(|(_, slot)| slot.child.is_some()))
    }

    /// Returns the answer of a node over HTTP.
    pub(super) async fn ask(&self, node: &Node, what: &str, body: Option<Value>) -> anyhow::Result<Value> {
        self.asking(node, what, body).await?
    }

    /// Asks a node over HTTP, beside whatever else is asked.
    pub(super) fn asking(
        &self,
        node: &Node,
        what: &str,
        body: Option<Value>,
    ) -> JoinHandle<anyhow::Result<Value>> {
        let url = format!("http://{}/{what}", node.admin_listen);
        let bearer = self.cluster.requirepass.clone().map(|secret| secret.0);
        tokio::task::spawn_blocking(move || {
            let answer = match body {
                Some(body) => http::post(&url, bearer.as_deref(), PATIENCE, &body),
                None => http::get(&url, bearer.as_deref(), PATIENCE),
            };
            let (status, text) = answer.map_err(|error| Silent(format!("{error:#}")))?;
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            match answer["error"].as_str() {
                Some(error) if status == 503 => Err(Silent(error.to_string()).into()),
                Some(error) => bail!("{error}"),
                None if status != 200 => bail!("it answered {status}"),
                None => Ok(answer),
            }
        })
    }
}
