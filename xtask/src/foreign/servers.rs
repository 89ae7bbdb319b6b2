//! A server for one unit: started with nothing in it on a free port, and gone with its files at the end.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tidemark_patience::{poll, port};

/// Which server the tests run against.
pub(crate) enum Kind {
    /// One node of one region with one partition, of this binary.
    Tidemark(PathBuf),
    /// The reference.
    Redis,
}

/// A running server.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Child,
    folder: PathBuf,
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Tidemark(_) => "tidemark",
            Self::Redis => "redis-server",
        }
    }

    pub(crate) fn start(&self) -> Result<Server> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tidemark-foreign-tests-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder)?;
        match self {
            Self::Tidemark(binary) => tidemark(binary, folder),
            Self::Redis => redis(folder),
        }
    }
}

fn tidemark(binary: &PathBuf, folder: PathBuf) -> Result<Server> {
    let mut command = Command::new(binary);
    command.args(["up", "--regions", "1", "--nodes", "1", "--partitions", "1", "--fsync", "no"]);
    command.args(["--base-port", "0", "--dir"]).arg(folder.join("cluster"));
    // `tidemark status` of a developer shows their own cluster, not this one.
    command.env("XDG_RUNTIME_DIR", &folder);
    let errors = fs::File::create(folder.join("stderr"))?;
    let child = command.stdout(Stdio::piped()).stderr(errors).spawn();
    let child = child.with_context(|| format!("cannot run {}", binary.display()))?;
    let mut server = Server { port: 0, child, folder };
    let mut lines = BufReader::new(server.child.stdout.take().expect("it is piped")).lines();
    for line in lines.by_ref().map_while(Result::ok) {
        if line.trim() == "ready" {
            break;
        }
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("127.0.0.1:"));
        if let Some(port) = address.and_then(|port| port.parse().ok()) {
            server.port = port;
        }
    }
    std::thread::spawn(move || lines.for_each(drop));
    if server.port == 0 {
        bail!("tidemark does not start: {}", server.errors());
    }
    Ok(server)
}

fn redis(folder: PathBuf) -> Result<Server> {
    let port = port();
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]);
    let child = command.arg(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.context("redis-server is missing; Debian has it in redis-server")?;
    let server = Server { port, child, folder };
    let answers = || TcpStream::connect(("127.0.0.1", port)).ok();
    poll(answers).with_context(|| format!("redis-server does not answer on port {port}"))?;
    Ok(server)
}

impl Server {
    /// What it wrote to standard error.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = poll(|| self.child.try_wait().transpose());
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
