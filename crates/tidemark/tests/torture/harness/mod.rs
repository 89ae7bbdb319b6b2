//! Real processes for tests: clusters of `tidemark` nodes on loopback, and a Redis client.

// Each test binary uses a part of it.
#![allow(dead_code)]

pub(crate) mod admin;
pub(crate) mod nodes;
pub(crate) mod resp;
pub(crate) mod up;

use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use tidemark_patience::wait_for;

/// The program under test: the one that `./x test` has built, or cargo's.
pub(crate) fn program() -> Command {
    Command::new(std::env::var_os("TIDEMARK_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_tidemark").into()))
}

/// A node of a cluster, as a test sees it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its name.
    pub(crate) name: String,
    /// Its region's letter.
    pub(crate) region: String,
    /// Where Redis clients connect.
    pub(crate) redis: SocketAddr,
    /// Where it serves HTTP.
    pub(crate) admin: SocketAddr,
    /// What it logs.
    pub(crate) log: PathBuf,
}

/// A running cluster whose processes and links a test can harm.
pub(crate) trait Cluster: Sync {
    /// Its nodes, in the order of the regions.
    fn nodes(&self) -> &[Node];
    /// Partitions a region.
    fn partitions(&self) -> usize;
    /// SIGKILL.
    fn kill(&self, node: usize);
    /// Starts a node that was killed, and waits until it serves.
    fn restart(&self, node: usize);
    /// Nothing passes from one place to another: regions (`A`) or servers (`A/0`).
    fn cut(&self, from: &str, to: &str, one_way: bool);
    /// What one region says to another takes longer.
    fn slow(&self, from: &str, to: &str, by_ms: u64);
    /// Mends all links.
    fn heal(&self);
    /// The process of each node; in words why there is none if nobody ended it.
    fn processes(&self) -> Vec<Result<Option<u32>, String>>;
}

/// One test at a time: they compete for two cores and for timing.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loopback address that is this test's alone.
pub(crate) fn address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, tidemark_patience::port()).into()
}

/// Runs a verb of `tidemark` to its end.
pub(crate) fn tidemark(arguments: &[&str]) -> Output {
    program().args(arguments).output().expect("the program runs")
}

/// Everything a program said.
pub(crate) fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{out}{err}", output.status)
}

/// Asks a process to stop, and waits for its end.
pub(crate) fn terminate(child: &mut Child) -> ExitStatus {
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -TERM {}", child.id());
    wait_for("the process stops when asked to", || child.try_wait().expect("a child"))
}

/// A directory that is removed unless the test fails: then it is kept, and named.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A new, empty one.
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory for the test");
        Self { path }
    }

    /// A file or directory in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("kept for study: {}", self.path.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// What a JSON document holds under a path of names.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(value, |value, name| &value[*name])
}
