//! The cluster file: what may stand in it, what must hold, and what follows from it.
//!
//! One TOML file describes the whole cluster and is the same for every node; `tidemark config schema` prints
//! its JSON schema. Reading it has three steps, one file each: [`file`] says what may stand where, `check`
//! what it must fulfil together, and [`Cluster`] is what the rest of the server works with. Values that may
//! differ from node to node can be overridden by flags and the environment ([`Overrides`]).

mod adapt;
mod check;
pub mod cluster;
pub mod file;
mod launch;
mod memory;
mod params;
mod placement;
pub mod problem;
mod scope;
mod together;
pub mod units;
pub mod wan;

#[cfg(test)]
mod tests;

pub use adapt::{Adapt, AdaptTable};
pub use cluster::{Cluster, Node};
pub use file::{ClusterFile, Elsewhere, Fsync, Limits, PlacementTable, Secret};
pub use memory::MemoryPolicy;
pub use problem::{ConfigError, Problem};
pub use scope::SessionScope;
pub use units::{Address, PartitionSet, Size, Span};
pub use wan::Wan;

use crate::NodeId;
use problem::nearest;
use std::path::Path;

/// What flags and the environment may set: it wins over the file. Addresses and the directory are those of
/// the node that is started.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `[cluster] fsync`
    pub fsync: Option<Fsync>,
    /// `[cluster] session_scope`
    pub session_scope: Option<SessionScope>,
    /// `[cluster] peer_secret`
    pub peer_secret: Option<Secret>,
    /// `[cluster] requirepass`
    pub requirepass: Option<Secret>,
    /// `[limits] log_retain`
    pub log_retain: Option<Size>,
    /// `[limits] max_clients`
    pub max_clients: Option<u32>,
    /// `[limits] max_memory`
    pub max_memory: Option<Size>,
    /// `[limits] max_memory_policy`
    pub max_memory_policy: Option<MemoryPolicy>,
    /// `[[node]] listen`
    pub listen: Option<Address>,
    /// `[[node]] peer_listen`
    pub peer_listen: Option<Address>,
    /// `[[node]] admin_listen`
    pub admin_listen: Option<Address>,
    /// `[[node]] dir`
    pub dir: Option<String>,
}

/// Reads and checks the cluster file at `path`.
pub fn load(path: &Path, overrides: &Overrides) -> Result<Cluster, ConfigError> {
    read(path, overrides, None)
}

/// Reads and checks the cluster file at `path`, for its node called `name`.
pub fn load_node(path: &Path, name: &str, overrides: &Overrides) -> Result<(Cluster, NodeId), ConfigError> {
    let cluster = read(path, overrides, Some(name))?;
    match cluster.find_node(name) {
        Some(me) => Ok((cluster, me)),
        None => {
            let names: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
            let meant = nearest(name, names.iter().copied());
            let meant = meant.map_or(String::new(), |near| format!("did you mean {near:?}? "));
            let remedy = format!("{meant}the nodes are {}", names.join(", "));
            let problem = Problem::new("", format!("there is no node {name:?}"), remedy);
            Err(ConfigError { file: path.display().to_string(), problems: vec![problem] })
        }
    }
}

fn read(path: &Path, overrides: &Overrides, node: Option<&str>) -> Result<Cluster, ConfigError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let remedy = "`tidemark config example` prints a file to begin with";
        let problem = Problem::new("", format!("cannot be read: {error}"), remedy);
        ConfigError { file: shown.clone(), problems: vec![problem] }
    })?;
    parse(&text, &shown, path.parent().unwrap_or(Path::new("")), overrides, node)
}

/// Checks the text of a cluster file called `shown` that stands in the directory `base`.
pub fn parse(
    text: &str,
    shown: &str,
    base: &Path,
    overrides: &Overrides,
    node: Option<&str>,
) -> Result<Cluster, ConfigError> {
    let fail = |problems| ConfigError { file: shown.to_string(), problems };
    let mut file: ClusterFile = toml::from_str(text).map_err(|error| fail(vec![syntax(text, &error)]))?;
    overrides.apply(&mut file, node);
    check::check(&file, base).map_err(|mut problems| {
        for problem in &mut problems {
            problem.line = problem::line_of(text, &problem.place);
        }
        problems.sort_by_key(|problem| problem.line);
        fail(problems)
    })
}

/// What the TOML reader says, in our form.
fn syntax(text: &str, error: &toml::de::Error) -> Problem {
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let quoted = line.and_then(|line| text.lines().nth(line - 1)).map(str::trim).unwrap_or_default();
    let remedy = if quoted.is_empty() { String::new() } else { format!("the line is: {quoted}") };
    Problem { place: String::new(), line, what: error.message().trim().replace('\n', " "), remedy }
}

impl Overrides {
    fn apply(&self, file: &mut ClusterFile, node: Option<&str>) {
        fn set<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(value) = from {
                *to = value.clone();
            }
        }
        set(&mut file.cluster.fsync, &self.fsync);
        set(&mut file.cluster.session_scope, &self.session_scope);
        set(&mut file.limits.log_retain, &self.log_retain);
        set(&mut file.limits.max_clients, &self.max_clients);
        set(&mut file.limits.max_memory, &self.max_memory);
        set(&mut file.limits.max_memory_policy, &self.max_memory_policy);
        if self.peer_secret.is_some() {
            file.cluster.peer_secret = self.peer_secret.clone();
        }
        if self.requirepass.is_some() {
            file.cluster.requirepass = self.requirepass.clone();
        }
        for table in file.nodes.iter_mut().filter(|table| Some(table.name.as_str()) == node) {
            set(&mut table.listen, &self.listen);
            set(&mut table.peer_listen, &self.peer_listen);
            set(&mut table.admin_listen, &self.admin_listen);
            if self.dir.is_some() {
                table.dir = self.dir.clone();
            }
        }
    }
}

/// The JSON schema of the cluster file, for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ClusterFile).to_value()
}
