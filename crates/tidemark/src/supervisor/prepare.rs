//! Before children start: the directory, the cluster file, and ports that are free.

use super::plan::{Wish, cluster_file};
use crate::{Usage, running};
use anyhow::{Context, bail};
use std::fs::{self, File, TryLockError};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tidemark_server::config::{self, Cluster, ClusterFile, Overrides};

/// The directory of a cluster, held by this process alone.
pub(crate) struct Directory {
    /// Where it is.
    pub(crate) path: PathBuf,
    temporary: bool,
    _lock: File,
}

impl Directory {
    /// Takes `wished`, or a new temporary directory.
    pub(crate) fn take(wished: Option<PathBuf>) -> anyhow::Result<Self> {
        let temporary = wished.is_none();
        let path = match wished {
            Some(path) => path,
            None => std::env::temp_dir().join(format!("tidemark-up-{}", std::process::id())),
        };
        let shown = path.display().to_string();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create {shown}"))?;
        let path = fs::canonicalize(path)?;
        let lock = File::options().create(true).truncate(false).write(true).open(path.join("up.lock"));
        let lock = lock.with_context(|| format!("cannot write in {shown}"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, temporary, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                bail!("a cluster runs in {shown} already; stop it, or choose another --dir")
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {shown}")),
        }
    }

    /// Whether it is removed at the end.
    pub(crate) fn is_temporary(&self) -> bool {
        self.temporary
    }

    /// The cluster that is to run here: the one whose file stands here, else a new one as wished.
    pub(crate) fn cluster(&self, wish: &Wish) -> anyhow::Result<Cluster> {
        let file = self.path.join("cluster.toml");
        if !file.exists() {
            let text = toml::to_string(&cluster_file(wish)?)?;
            let note = "# Written by `tidemark up`, which uses it as it stands when it finds it here.\n";
            // Checked before it is kept: what flags ask for can be impossible, too.
            let checked = config::parse(&text, "the flags", &self.path, &Overrides::default(), None);
            checked.map_err(|error| Usage(error.to_string()))?;
            fs::write(&file, format!("{note}{text}"))
                .with_context(|| format!("cannot write {}", file.display()))?;
        } else if *wish != Wish::default() {
            let there: ClusterFile = toml::from_str(&fs::read_to_string(&file)?)?;
            if toml::to_string(&there)? != toml::to_string(&cluster_file(wish)?)? {
                let shown = file.display();
                let what = format!("{shown} describes another cluster than these flags");
                return Err(Usage(format!(
                    "{what}; leave them out to use it, edit it, or choose another --dir"
                ))
                .into());
            }
        }
        Ok(config::load(&file, &Overrides::default()).map_err(|error| Usage(error.to_string()))?)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.temporary {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Sees to it that every port of the cluster is free.
pub(crate) fn ports_are_free(cluster: &Cluster) -> anyhow::Result<()> {
    for node in &cluster.nodes {
        let uses =
            [("Redis clients", &node.listen), ("peers", &node.peer_listen), ("HTTP", &node.admin_listen)];
        for (what, address) in uses {
            match TcpListener::bind((address.host.as_str(), address.port)) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    let by = held_by(&address.to_string());
                    bail!(
                        "{address}, for {what} of {}, is in use{by}; choose other ports with --base-port and --http-port",
                        node.name
                    )
                }
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot listen on {address} for {what} of {}", node.name));
                }
                Ok(_) => {}
            }
        }
    }
    Ok(())
}

/// Which other cluster of this user listens there, if one does.
fn held_by(address: &str) -> String {
    let clusters = running::all().into_iter().filter_map(|running| running.status().ok());
    let holder = clusters
        .into_iter()
        .find(|cluster| cluster.nodes.iter().any(|node| node.redis == address || node.admin == address));
    holder.map_or(String::new(), |cluster| format!(" by the cluster in {}", shown(&cluster.dir)))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
