//! Finding the cluster that `tidemark up` runs, and talking to its supervisor.
//!
//! A running cluster leaves `up.json` in its directory, and a copy named after its process in the user's
//! runtime directory, so that commands in other terminals find it without being told where it is.

use crate::http;
use crate::supervisor::api::{Action, ClusterStatus, Done, Running};
use anyhow::{Context, bail};
use clap::Args;
use serde::de::DeserializeOwned;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the supervisor may take to say how the cluster is.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an action may take: a restart reads a log back. Who does not want to wait presses Ctrl-C.
const ACTION_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// Which running cluster is meant.
#[derive(Args)]
pub(crate) struct Which {
    /// The directory of the cluster, if several run (see `tidemark up --dir`).
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Which {
    /// The cluster's supervisor.
    pub(crate) fn find(&self) -> anyhow::Result<Running> {
        if let Some(dir) = &self.dir {
            let running = read(&dir.join("up.json")).filter(Running::answers);
            return running.with_context(|| {
                format!("no cluster runs in {}; start one with `tidemark up --dir {0}`", dir.display())
            });
        }
        let mut all = all();
        match (all.len(), all.pop()) {
            (1, Some(running)) => Ok(running),
            (_, None) => bail!("no cluster runs; start one with `tidemark up`"),
            (count, Some(last)) => {
                all.push(last);
                let dirs: Vec<String> =
                    all.iter().map(|running| format!("  --dir {}", running.dir.display())).collect();
                bail!("{count} clusters run; say which one is meant:\n{}", dirs.join("\n"))
            }
        }
    }

    /// Has something done, and prints what became of it.
    pub(crate) fn act(&self, action: &Action) -> anyhow::Result<std::process::ExitCode> {
        let done: Done = self.find()?.call(Some(action))?;
        crate::output::print(&format!("{}\n", done.message));
        Ok(std::process::ExitCode::SUCCESS)
    }
}

impl Running {
    /// How the cluster is.
    pub(crate) fn status(&self) -> anyhow::Result<ClusterStatus> {
        self.call(None)
    }

    /// Whether the supervisor lives: it answers, and says that it is the one meant.
    pub(crate) fn answers(&self) -> bool {
        self.status().is_ok()
    }

    fn call<T: DeserializeOwned>(&self, action: Option<&Action>) -> anyhow::Result<T> {
        let url = |path: &str| format!("http://{}/{path}", self.control);
        let answer = match action {
            None => http::get(&url("status"), Some(&self.token), PATIENCE),
            Some(action) => http::post(&url("do"), Some(&self.token), ACTION_PATIENCE, action),
        };
        let gone = || format!("the supervisor (process {}) does not answer at {}", self.pid, self.control);
        let (status, text) = answer.with_context(gone)?;
        if status == 200 {
            return serde_json::from_str(&text).with_context(gone);
        }
        match serde_json::from_str::<Done>(&text) {
            Ok(done) => bail!("{}", done.message),
            Err(_) => bail!("{}: it answered {status}", gone()),
        }
    }
}

/// Says that a cluster runs, until it is dropped.
pub(crate) struct Registered {
    files: [PathBuf; 2],
}

impl Registered {
    /// Leaves `up.json` in the cluster's directory, and its copy where other terminals look.
    pub(crate) fn new(running: &Running) -> anyhow::Result<Self> {
        let files = [running.dir.join("up.json"), runtime_dir()?.join(format!("{}.json", running.pid))];
        for file in &files {
            write_private(file, &serde_json::to_vec_pretty(running)?)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(Self { files })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}

/// Every cluster of this user that answers. What a killed supervisor left behind is removed.
pub(crate) fn all() -> Vec<Running> {
    let Ok(entries) = runtime_dir().and_then(|dir| Ok(fs::read_dir(dir)?)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        match read(file) {
            Some(running) if running.answers() => found.push(running),
            Some(running) if !Path::new(&format!("/proc/{}", running.pid)).exists() => {
                drop(fs::remove_file(file))
            }
            _ => {}
        }
    }
    found
}

fn read(file: &Path) -> Option<Running> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// `$XDG_RUNTIME_DIR/tidemark`, or `/tmp/tidemark-$UID` if that is not set. Only its owner may look inside.
fn runtime_dir() -> anyhow::Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let dir = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_dir()) {
        Some(base) => Path::new(&base).join("tidemark"),
        None => std::env::temp_dir().join(format!("tidemark-{uid}")),
    };
    if let Err(error) = fs::DirBuilder::new().mode(0o700).create(&dir)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(error).with_context(|| format!("cannot create {}", dir.display()));
    }
    let found = fs::symlink_metadata(&dir)?;
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o077 != 0 {
        bail!("{} is not a private directory of this user; remove it, or set XDG_RUNTIME_DIR", dir.display());
    }
    Ok(dir)
}

/// Writes a file that holds a secret: others cannot read it, and nobody sees half of it.
fn write_private(file: &Path, contents: &[u8]) -> std::io::Result<()> {
    let draft = file.with_extension("draft");
    let _ = fs::remove_file(&draft);
    let mut open = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    std::io::Write::write_all(&mut open, contents)?;
    fs::rename(&draft, file)
}
