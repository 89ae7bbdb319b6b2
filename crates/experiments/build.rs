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
    embed(&mut code, "PUBLISHED", &here.join("../../docs/claims"), "json")?;
    fs::write(out.join("embedded.rs"), code)
}

/// Writes a constant with the stem and the text of every file of `folder` with that extension, sorted.
fn embed(code: &mut String, name: &str, folder: &Path, extension: &str) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    let _ = writeln!(code, "pub(crate) const {name}: &[(&str, &str)] = &[");
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let _ = writeln!(code, "    ({stem:?}, include_str!({:?})),", file.canonicalize()?);
    }
    code.push_str("];\n");
    Ok(())
}
