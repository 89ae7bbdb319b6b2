//! The servers under test: started, watched, and stopped.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Clock ticks a second in /proc, on every Linux that we know of.
const TICKS: f64 = 100.0;

/// A server, with all of its processes and files; dropping it stops it.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) port: u16,
    child: Child,
    dir: PathBuf,
    /// What copies its data; it counts with it.
    replicas: Vec<Server>,
}

/// What Tidemark is to run.
pub(crate) struct Setup {
    protocol: String,
    regions: usize,
    partitions: usize,
    replicas: usize,
    fsync: &'static str,
    port: u16,
}

impl Setup {
    pub(crate) fn new(protocol: &str, regions: usize, partitions: usize, port: u16) -> Self {
        Self { protocol: protocol.to_string(), regions, partitions, replicas: 1, fsync: "everysec", port }
    }

    pub(crate) fn replicas(self, replicas: usize) -> Self {
        Self { replicas, ..self }
    }

    pub(crate) fn fsync(self, fsync: &'static str) -> Self {
        Self { fsync, ..self }
    }
}

/// The program under test: the build for packages, or the one that `TIDEMARK_BIN` names.
fn program() -> Command {
    Command::new(std::env::var_os("TIDEMARK_BIN").unwrap_or_else(|| "target/dist/tidemark".into()))
}

/// Builds the binary of packages, unless another is to be measured.
pub(crate) fn build() -> Result<()> {
    if std::env::var_os("TIDEMARK_BIN").is_some() {
        return Ok(());
    }
    let status = Command::new("cargo").args(["build", "--profile", "dist", "-p", "tidemark"]).status()?;
    if !status.success() {
        bail!("the build failed");
    }
    Ok(())
}

fn scratch(name: &str, port: u16) -> Result<PathBuf> {
    let dir =
        std::env::temp_dir().join(format!("tidemark-bench-{}-{port}", name.replace([' ', ',', '+'], "-")));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

impl Server {
    /// A redis-server with an append-only file, synced every second; a replica of the one at `primary`.
    pub(crate) fn redis(name: &str, port: u16, primary: Option<u16>) -> Result<Self> {
        let dir = scratch(name, port)?;
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "everysec", "--dir"]).arg(&dir);
        if let Some(primary) = primary {
            command.args(["--replicaof", &format!("127.0.0.1 {primary}")]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("redis-server does not start; Debian has it in redis-server")?;
        let server = Self { name: name.into(), port, child, dir, replicas: Vec::new() };
        server.wait_until_it_answers();
        Ok(server)
    }

    /// A cluster of etcd's, on ports from `port` on, two a member.
    pub(crate) fn etcd(members: usize, port: u16) -> Result<Self> {
        let name = format!("etcd, {members}");
        let url = |member: usize, kind: u16| format!("http://127.0.0.1:{}", port + 2 * member as u16 + kind);
        let cluster = (0..members).map(|member| format!("m{member}={}", url(member, 1)));
        let cluster = cluster.collect::<Vec<_>>().join(",");
        let mut all = Vec::new();
        for member in 0..members {
            let mine = port + 2 * member as u16;
            let dir = scratch(&name, mine)?;
            let (clients, peers) = (url(member, 0), url(member, 1));
            let mut command = Command::new("etcd");
            command.args(["--name", &format!("m{member}"), "--log-level", "error", "--data-dir"]).arg(&dir);
            command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
            command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
            command.args(["--initial-cluster", &cluster]).stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().context("etcd does not start; Debian has it in etcd-server")?;
            all.push(Self { name: name.clone(), port: mine, child, dir, replicas: Vec::new() });
        }
        all.iter().for_each(Self::wait_until_it_answers);
        let replicas = all.split_off(1);
        Ok(all.remove(0).with(replicas))
    }

    /// What kind of server it is, and where its leader listens; of etcd, where all members do.
    pub(crate) fn leader(&self) -> Result<(&'static str, String)> {
        if self.name.starts_with("etcd") {
            let ports = std::iter::once(self.port).chain(self.replicas.iter().map(|member| member.port));
            return Ok(("etcd", ports.map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")));
        }
        let status = program().arg("status").arg("--dir").arg(&self.dir).output()?;
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        let leads = |line: &&str| line.split_whitespace().any(|word| word == "leader");
        let line = status.lines().find(leads);
        let address =
            line.and_then(|line| line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")));
        Ok(("redis", address.map_or(format!("127.0.0.1:{}", self.port), str::to_string)))
    }

    /// With `replicas`: their CPU time counts as this server's.
    pub(crate) fn with(mut self, replicas: Vec<Server>) -> Self {
        self.replicas = replicas;
        self
    }

    /// A Tidemark cluster on this machine; the load goes to its first region.
    pub(crate) fn tidemark(name: &str, setup: &Setup) -> Result<Self> {
        let dir = scratch(name, setup.port)?;
        let mut command = program();
        command.args(["up", "--fsync", setup.fsync, "--protocol", &setup.protocol]);
        command.args(["--replicas", &setup.replicas.to_string()]);
        command.args([
            "--regions",
            &setup.regions.to_string(),
            "--partitions",
            &setup.partitions.to_string(),
        ]);
        command.args(["--base-port", &setup.port.to_string()]);
        command.args(["--http-port", &(setup.port + 50).to_string(), "--dir"]).arg(&dir);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let output = child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(output).lines();
        if !lines.by_ref().map_while(Result::ok).any(|line| line.trim() == "ready") {
            bail!("{name} did not become ready");
        }
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self { name: name.into(), port: setup.port, child, dir, replicas: Vec::new() };
        server.wait_until_it_answers();
        Ok(server)
    }

    fn wait_until_it_answers(&self) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        tidemark_patience::until(format!("{} answers on port {}", self.name, self.port), || {
            TcpStream::connect(address).is_ok()
        });
    }

    /// The processes that serve: the child itself, its children, and the replicas.
    fn processes(&self) -> Result<Vec<u32>> {
        let mut all = vec![self.child.id()];
        all.extend(self.replicas.iter().map(|replica| replica.child.id()));
        for entry in fs::read_dir("/proc")?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if stat(pid).is_ok_and(|fields| fields[1] == self.child.id().to_string()) {
                all.push(pid);
            }
        }
        Ok(all)
    }

    /// CPU time of all its processes so far, user and system, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let ticks = |pid: u32| {
            stat(pid).ok().and_then(|f| Some(f[11].parse::<f64>().ok()? + f[12].parse::<f64>().ok()?))
        };
        Ok(self.processes()?.into_iter().filter_map(ticks).sum::<f64>() / TICKS)
    }

    /// Resident memory of the largest of its processes, in MiB.
    pub(crate) fn resident_mib(&self) -> Result<f64> {
        let resident = |pid: u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status.lines().find(|line| line.starts_with("VmRSS:"))?.to_string();
            line.split_whitespace().nth(1)?.parse::<f64>().ok()
        };
        let largest = self.processes()?.into_iter().filter_map(resident).fold(0.0, f64::max);
        Ok(largest / 1024.0)
    }
}

/// The fields of /proc/PID/stat from the state on.
fn stat(pid: u32) -> Result<Vec<String>> {
    let mut text = String::new();
    fs::File::open(format!("/proc/{pid}/stat"))?.read_to_string(&mut text)?;
    let after = text.rsplit_once(')').context("no process name")?.1;
    Ok(after.split_whitespace().map(String::from).collect())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}
