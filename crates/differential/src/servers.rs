//! The two servers, each started with nothing in it on a free port, and gone with its files when it is dropped.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tidemark_patience::poll;

/// A running server.
pub struct Server {
    /// Where it serves.
    pub address: SocketAddr,
    child: Child,
    _folder: TempDir,
}

/// The version of redis-server with which replies are compared, and its source.
const PIN: &str = include_str!("../../../xtask/pins/redis.txt");

/// Checks that redis-server is there, in the version with which replies are compared.
pub fn check_redis() -> Result<()> {
    let pin = PIN.lines().find(|line| !line.starts_with('#'));
    let expected = pin.and_then(|pin| pin.split(' ').next()).context("no version is pinned")?;
    let output = Command::new("redis-server").arg("--version").output();
    let output = output.context("redis-server is missing; Debian has it in redis-server")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.contains(&format!("v={expected} ")) {
        bail!("redis-server {expected} is expected, and this is {}", said.trim());
    }
    Ok(())
}

/// A redis-server that keeps nothing.
pub fn redis() -> Result<Server> {
    check_redis().context("environment")?;
    let folder = TempDir::new()?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut command = Command::new("redis-server");
    command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]);
    // SORT compares text as the locale says.
    command.arg(folder.path()).env("LC_ALL", "C");
    // It looks this often whether a command has waited long enough; ten times a second would be most of the run.
    let child = command.args(["--hz", "500"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.context("redis-server does not run")?;
    let server = Server { address, child, _folder: folder };
    let answers = || TcpStream::connect(address).ok();
    poll(answers).with_context(|| format!("redis-server does not answer at {address}"))?;
    Ok(server)
}

/// One node of Tidemark: one region, with so many partitions.
pub fn tidemark(binary: &Path, partitions: u16) -> Result<Server> {
    let folder = TempDir::new()?;
    let mut command = Command::new(binary);
    command.args(["up", "--regions", "1", "--nodes", "1", "--fsync", "no"]);
    command.args(["--partitions", &partitions.to_string()]);
    command.args(["--base-port", "0", "--dir"]).arg(folder.path().join("cluster"));
    command.env("XDG_RUNTIME_DIR", folder.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
    let mut child = child.with_context(|| format!("cannot run {}", binary.display()))?;
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut server = Server { address: SocketAddr::from(([127, 0, 0, 1], 0)), child, _folder: folder };
    for line in lines.by_ref().map_while(Result::ok) {
        if line.trim() == "ready" {
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(server);
        }
        if let Some(address) = line.split_whitespace().find_map(|word| word.parse().ok()) {
            server.address = address;
        }
    }
    bail!("{} does not become ready", binary.display())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = poll(|| self.child.try_wait().transpose());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
