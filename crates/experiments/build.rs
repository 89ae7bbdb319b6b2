//! Embeds the experiments that ship with Tidemark, their published results, and the sources whose lines one of them
//! counts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut code = String::new();
    embed(&mut code, "EXPERIMENTS", &here.join("../../experiments"), "toml")?;
    embed(&mut code, "PROTOCOLS", &here.join("../protocols/src"), "rs")?;
    embed(&mut code, "PUBLISHED", &here.join("../../experiments/published"), "json")?;
    fs::write(out.join("embedded.rs"), code)
}

/// Writes a constant with the stem and the text of every file of `folder` with that extension, sorted. What a file has in a
/// folder of its name belongs to it, and stands behind it.
fn embed(code: &mut String, name: &str, folder: &Path, extension: &str) -> io::Result<()> {
    let files = files_of(folder, extension)?;
    let _ = writeln!(code, "pub(crate) const {name}: &[(&str, &str)] = &[");
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let parts = file.with_extension("");
        let parts = if parts.is_dir() { files_of(&parts, extension)? } else { Vec::new() };
        let _ = write!(code, "    ({stem:?}, concat!(");
        for part in std::iter::once(&file).chain(&parts) {
            println!("cargo:rerun-if-changed={}", part.display());
            let _ = write!(code, "include_str!({:?}), ", part.canonicalize()?);
        }
        code.push_str(")),\n");
    }
    code.push_str("];\n");
    Ok(())
}

/// The files of `folder` with that extension, sorted.
fn files_of(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}
