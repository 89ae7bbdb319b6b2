//! One cargo build of everything that is tested: test programs, and the binaries that they and other steps run.

use crate::run::{command, root};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A test program that cargo has built.
pub(crate) struct Program {
    /// Its package and target, such as `tidemark/cli`; of a library or a binary that holds tests, the package alone.
    pub(crate) name: String,
    pub(crate) executable: PathBuf,
    /// The package's folder, in which cargo runs its tests.
    pub(crate) folder: PathBuf,
}

/// All that a build has made.
pub(crate) struct Artefacts {
    pub(crate) programs: Vec<Program>,
    /// Binaries by their names.
    binaries: BTreeMap<String, PathBuf>,
}

impl Artefacts {
    /// Builds tests and binaries in the `dev` profile; cargo reports on standard error.
    ///
    /// # Errors
    /// Something does not compile.
    pub(crate) fn build() -> Result<Self> {
        Self::of(&["--workspace"])
    }

    /// The same for one package.
    pub(crate) fn of_package(name: &str) -> Result<Self> {
        Self::of(&["--package", name])
    }

    fn of(packages: &[&str]) -> Result<Self> {
        let arguments = ["test", "--no-run", "--locked", "--message-format", "json-render-diagnostics"];
        let arguments = [&arguments, packages].concat();
        let built = command(env!("CARGO"), &arguments).stderr(Stdio::inherit()).output();
        let built = built.context("cannot run cargo")?;
        if !built.status.success() {
            bail!("the tests do not compile");
        }
        let mut all = Self { programs: Vec::new(), binaries: BTreeMap::new() };
        String::from_utf8(built.stdout)?.lines().for_each(|line| all.note(line));
        if all.programs.is_empty() {
            bail!("cargo has built no tests");
        }
        Ok(all)
    }

    /// The number of test programs, in words.
    pub(crate) fn summary(&self) -> String {
        format!("{} test programs", self.programs.len())
    }

    /// The binary called `name`.
    ///
    /// # Errors
    /// None was built.
    pub(crate) fn binary(&self, name: &str) -> Result<&Path> {
        self.binaries
            .get(name)
            .map(PathBuf::as_path)
            .with_context(|| format!("cargo has built no binary {name}"))
    }

    /// Takes in a line that cargo printed.
    fn note(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        let Some(executable) = message["executable"].as_str().map(PathBuf::from) else { return };
        if message["reason"] != "compiler-artifact" {
            return;
        }
        let target = message["target"]["name"].as_str().unwrap_or_default();
        let kind = message["target"]["kind"][0].as_str().unwrap_or_default();
        if message["profile"]["test"] != true {
            if kind == "bin" {
                self.binaries.insert(target.to_string(), executable);
            }
            return;
        }
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().unwrap_or(Path::new("")).to_path_buf();
        let package = folder.strip_prefix(root()).unwrap_or(&folder);
        let package = package.strip_prefix("crates").unwrap_or(package).display();
        let name = match kind {
            "test" | "example" => format!("{package}/{target}"),
            _ => package.to_string(),
        };
        self.programs.push(Program { name, executable, folder });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_and_binaries_are_found_in_what_cargo_prints() {
        let mut all = Artefacts { programs: Vec::new(), binaries: BTreeMap::new() };
        let at = root().join("crates/tidemark/Cargo.toml");
        let line = |kind: &str, target: &str, test: bool, executable: Value| {
            json!({"reason": "compiler-artifact", "manifest_path": at, "target": {"name": target, "kind": [kind]},
                "profile": {"test": test}, "executable": executable})
            .to_string()
        };
        all.note("not JSON");
        all.note(&line("lib", "tidemark", false, Value::Null));
        all.note(&line("bin", "tidemark", false, json!("/t/tidemark")));
        all.note(&line("bin", "tidemark", true, json!("/t/deps/tidemark-1")));
        all.note(&line("test", "cli", true, json!("/t/deps/cli-1")));
        let names: Vec<&str> = all.programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["tidemark", "tidemark/cli"]);
        assert_eq!(all.programs[1].folder, root().join("crates/tidemark"));
        assert_eq!(all.binary("tidemark").unwrap(), Path::new("/t/tidemark"));
        assert!(all.binary("other").is_err());
    }
}
