//! Artifacts of Maven, in a repository of their own: what `clients/ycsb/pom.xml` names, by exact versions.

use super::shelf::Shelf;
use crate::environment::ask;
use crate::run::root;
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const CENTRAL: &str = "Maven Central";

const POM: &str = "clients/ycsb/pom.xml";

/// A test that passes: to run it takes everything that running tests takes. Maven has no other way to get all of that.
const TEST: &str = "class PassingTest {\n  @org.junit.jupiter.api.Test\n  void passes() {}\n}\n";

/// A folder with `pom.xml`, and `repository` with all that building and testing by it needs.
pub(super) fn repository() -> Result<PathBuf> {
    let pins = [root().join(POM)];
    Shelf { name: "maven", pins: &pins, beside: "" }.filled(|fresh| {
        fs::copy(&pins[0], fresh.join("pom.xml"))?;
        let tests = fresh.join("src/test/java");
        fs::create_dir_all(&tests)?;
        fs::write(tests.join("PassingTest.java"), TEST)?;
        let mut maven = Command::new("mvn");
        // An artifact that is not what its checksum says fails; by default Maven only warns.
        maven.args(["--quiet", "--batch-mode", "--strict-checksums", "package"]);
        let repository = format!("-Dmaven.repo.local={}", fresh.join("repository").display());
        ask(CENTRAL, maven.arg(repository).current_dir(fresh))?;
        Ok(fs::remove_dir_all(fresh.join("target"))?)
    })
}
