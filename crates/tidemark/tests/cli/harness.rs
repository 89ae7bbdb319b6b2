//! Running the binary, and clusters of it.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use tempfile::TempDir;
pub(crate) use tidemark_patience::eventually;
use tidemark_patience::{Sought, until, wait_for};

/// The binary under test.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("TIDEMARK_BIN").map_or_else(|| env!("CARGO_BIN_EXE_tidemark").into(), PathBuf::from)
}

/// Runs `tidemark` with `args`, away from clusters that the user may have running.
pub(crate) fn tidemark(args: &[&str]) -> Output {
    let alone = TempDir::new().unwrap();
    let results = alone.path().join("results.sqlite");
    let mut command = Command::new(binary());
    command.args(args).env("XDG_RUNTIME_DIR", alone.path()).env("TIDEMARK_RESULTS", results).output().unwrap()
}

/// Whether a program is there; where all tests have to run, it must be.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    assert!(found || std::env::var_os("TIDEMARK_TEST_ALL").is_none(), "{program} is missing");
    if !found {
        eprintln!("{program} is missing: the test is left out");
    }
    found
}

/// What was written to standard output, and to standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What a command did, once all nodes have heard of it: where one was too busy to, the command is run again.
#[track_caller]
fn heard(mut command: impl FnMut() -> Output) -> Output {
    let busy = |output: &Output| said(output).contains("will be told once it answers");
    wait_for("all nodes are told", || Some(command()).filter(|output| !busy(output)))
}

/// Whether a process runs (and is not a zombie).
pub(crate) fn runs(pid: u64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the command, which stands in parentheses.
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// `--base-port` and `--http-port` of a cluster with up to ten nodes, whose ports are this test's alone.
pub(crate) fn up_ports() -> [String; 2] {
    // Peers are a hundred above Redis clients.
    let first = tidemark_patience::ports((0..20).chain(100..110));
    [first, first + 10].map(|port| port.to_string())
}

/// At most two clusters run at a time: this counts the room that is left.
static ROOM: (Mutex<usize>, Condvar) = (Mutex::new(2), Condvar::new());

/// Room for clusters, until it is dropped. A test that holds some takes no more: two tests would wait for each other.
struct Room(usize);

impl Room {
    fn take(clusters: usize) -> Self {
        let left = ROOM.0.lock().unwrap();
        *ROOM.1.wait_while(left, |left| *left < clusters).unwrap() -= clusters;
        Self(clusters)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        *ROOM.0.lock().unwrap() += self.0;
        ROOM.1.notify_all();
    }
}

/// A cluster under `tidemark up`.
pub(crate) struct Up {
    pub(crate) process: Child,
    pub(crate) dir: PathBuf,
    said: Arc<Mutex<String>>,
    runtime: Arc<TempDir>,
    _kept: Option<TempDir>,
    _room: Option<Room>,
}

impl Up {
    /// Starts a cluster in a directory of its own, and waits until it is ready.
    pub(crate) fn start(args: &[&str]) -> Self {
        let kept = TempDir::new().unwrap();
        let mut up = Self::start_in(kept.path(), args);
        up._kept = Some(kept);
        up
    }

    /// Starts two clusters of the same user.
    pub(crate) fn two(args: &[&str]) -> [Self; 2] {
        let (runtime, mut room) = (Arc::new(TempDir::new().unwrap()), Some(Room::take(2)));
        [(); 2].map(|()| {
            let kept = TempDir::new().unwrap();
            let mut up = Self::start_with(kept.path(), args, &runtime, room.take());
            up._kept = Some(kept);
            up
        })
    }

    /// Starts a cluster in `dir`, on ports that are free, and waits until it is ready.
    pub(crate) fn start_in(dir: &Path, args: &[&str]) -> Self {
        Self::start_with(dir, args, &Arc::new(TempDir::new().unwrap()), Some(Room::take(1)))
    }

    fn start_with(dir: &Path, args: &[&str], runtime: &Arc<TempDir>, room: Option<Room>) -> Self {
        let [base, http] = up_ports();
        let mut all = vec!["up", "--dir", dir.to_str().unwrap()];
        if !dir.join("cluster.toml").exists() {
            all.extend(["--base-port", &base, "--http-port", &http]);
        }
        all.extend(args);
        let up = Self::spawn_with(dir, &all, runtime, room);
        up.wait_for("\nready\n");
        up
    }

    /// Starts `tidemark` with `args`.
    pub(crate) fn spawn(dir: &Path, args: &[&str]) -> Self {
        Self::spawn_with(dir, args, &Arc::new(TempDir::new().unwrap()), Some(Room::take(1)))
    }

    fn spawn_with(dir: &Path, args: &[&str], runtime: &Arc<TempDir>, room: Option<Room>) -> Self {
        let runtime = Arc::clone(runtime);
        let mut command = Command::new(binary());
        command.args(args).env("XDG_RUNTIME_DIR", runtime.path());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (out, err) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
        follow(out, &said);
        follow(err, &said);
        Self { process, dir: dir.to_path_buf(), said, runtime, _kept: None, _room: room }
    }

    /// What it has printed so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has printed `words`.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) {
        let sought = Sought::new(words);
        until(&sought, || {
            let said = self.said();
            let there = said.contains(words);
            sought.found(format!("{said}\n{}", self.logs()));
            there
        });
    }

    /// The logs of its nodes.
    pub(crate) fn logs(&self) -> String {
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|log| format!("{}:\n{}\n", log.display(), std::fs::read_to_string(&log).unwrap_or_default()))
            .collect()
    }

    /// Runs `tidemark` from another terminal of the same user.
    pub(crate) fn tidemark(&self, args: &[&str]) -> Output {
        let results = self.runtime.path().join("results.sqlite");
        let mut command = Command::new(binary());
        command.args(args).env("XDG_RUNTIME_DIR", self.runtime.path()).env("TIDEMARK_RESULTS", results);
        command.output().unwrap()
    }

    /// Runs a command that has to succeed; returns what it said. Where a node was too busy to hear of it, it is run again.
    #[track_caller]
    pub(crate) fn order(&self, args: &[&str]) -> String {
        let output = heard(|| self.tidemark(args));
        assert!(output.status.success(), "{args:?}: {}\n{}\n{}", said(&output), self.said(), self.logs());
        said(&output)
    }

    /// Carries out a line of a shell of the same user; there `tidemark` is the binary under test. Where a node was too busy to hear of it,
    /// it is run again.
    pub(crate) fn shell(&self, line: &str) -> Output {
        // Not beside `tidemark`, the folder where commands find clusters.
        let programs = self.runtime.path().join("bin");
        if !programs.exists() {
            std::fs::create_dir(&programs).unwrap();
            std::os::unix::fs::symlink(binary(), programs.join("tidemark")).unwrap();
        }
        let others = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{others}", programs.display());
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("PATH", path).env("XDG_RUNTIME_DIR", self.runtime.path());
        heard(|| command.output().unwrap())
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.order(&["status", "--json"])).unwrap()
    }

    /// The status of one node: if it runs, once it has answered.
    #[track_caller]
    pub(crate) fn node(&self, name: &str) -> Value {
        wait_for("the node answers", || {
            let status = self.status();
            let node = status["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap();
            (node["state"] != "running" || !node["detail"].is_null()).then(|| node.clone())
        })
    }

    /// The processes of its nodes.
    pub(crate) fn pids(&self) -> Vec<u64> {
        let dir = self.dir.join("up.json").exists().then(|| self.dir.to_str().unwrap());
        let which = dir.map_or(vec![], |dir| vec!["--dir", dir]);
        let status: Value =
            serde_json::from_str(&self.order(&[&["status", "--json"], &which[..]].concat())).unwrap();
        status["nodes"].as_array().unwrap().iter().filter_map(|node| node["pid"].as_u64()).collect()
    }

    /// What redis-cli prints when it asks a node.
    pub(crate) fn redis(&self, node: &str, words: &[&str]) -> String {
        redis(self.port(node), words)
    }

    /// The port of a node for Redis clients, as the cluster file says.
    pub(crate) fn port(&self, node: &str) -> u16 {
        let file: toml::Table =
            std::fs::read_to_string(self.dir.join("cluster.toml")).unwrap().parse().unwrap();
        let nodes = file["node"].as_array().unwrap();
        let node = nodes.iter().find(|found| found["name"].as_str() == Some(node)).unwrap();
        node["listen"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Sends a signal to the supervisor.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Stops it as Ctrl-C does; nothing that belonged to it may be left.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        let pids = self.pids();
        self.signal("-INT");
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
        for pid in pids {
            assert!(!runs(pid), "{pid} is an orphan");
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // Its nodes notice, and stop: that is what a test below is about.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn follow(stream: impl std::io::Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            said.lock().unwrap().push_str(&(line + "\n"));
        }
    });
}

/// What redis-cli prints when it asks whoever listens at `port`.
pub(crate) fn redis(port: u16, words: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-p", &port.to_string()]).args(words).output().unwrap();
    said(&output).trim().to_string()
}
