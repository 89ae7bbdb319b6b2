//! The folder of a client: its file, and the gateways that it was told last.

use super::Common;
use anyhow::{Context, anyhow, bail};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tidemark_edge::file::ClientFile;
use tidemark_edge_client::{Endpoint, draw_secret};

/// The client's file.
const CLIENT: &str = "client";

/// A line for each gateway.
const GATEWAYS: &str = "gateways";

pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) file: ClientFile,
    pub(super) endpoints: Vec<Endpoint>,
}

impl Folder {
    /// Opens the folder, or makes one with a new client.
    pub(super) fn open(common: &Common) -> anyhow::Result<Self> {
        let path = common.data.clone().map_or_else(default_path, Ok)?;
        let endpoints = common.endpoints(remembered(&path)?)?;
        // What lies there lets its reader speak for the client.
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        let file =
            ClientFile::open(&path.join(CLIENT), draw_secret()).map_err(|error| refused(&path, error))?;
        if !common.connect.is_empty() {
            remember(&path, &endpoints).with_context(|| format!("cannot write to {}", path.display()))?;
        }
        Ok(Self { path, file, endpoints })
    }
}

fn default_path() -> anyhow::Result<PathBuf> {
    let home = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = home("XDG_DATA_HOME").or_else(|| home("HOME").map(|home| home.join(".local/share")));
    Ok(data.context("there is no home directory: name a folder with --data")?.join("tidemark/edge"))
}

fn refused(path: &Path, error: std::io::Error) -> anyhow::Error {
    let path = path.display();
    match error.kind() {
        ErrorKind::WouldBlock => anyhow!(
            "another process uses {path}: end it, or take another folder with --data (it is another client then)"
        ),
        ErrorKind::InvalidData => anyhow!(
            "the client in {path} is damaged ({error}). Take another folder with --data; what this one had not delivered is only in its file"
        ),
        _ => anyhow::Error::from(error).context(format!("cannot open the client in {path}")),
    }
}

fn remembered(folder: &Path) -> anyhow::Result<Vec<Endpoint>> {
    let path = folder.join(GATEWAYS);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => bail!("cannot read {}: {error}", path.display()),
    };
    let all: Result<_, _> = text.lines().map(str::parse).collect();
    all.with_context(|| format!("{} is no list of gateways: name them with --connect", path.display()))
}

fn remember(folder: &Path, endpoints: &[Endpoint]) -> std::io::Result<()> {
    let text: String = endpoints.iter().map(|endpoint| format!("{endpoint}\n")).collect();
    let path = folder.join(GATEWAYS);
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let new = folder.join("gateways.new");
    fs::write(&new, text)?;
    fs::rename(new, path)
}
