//! The pinned versions of what tests install, which `./x fetch` installs and `./x raise` raises.
//!
//! `xtask/pins` has those that belong to tests alone. What our own clients and examples use is pinned beside them, as their users
//! expect it: in `package-lock.json`, `go.sum` and `pom.xml`.

use crate::run::root;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the pins of tests are, from the root.
pub(crate) const FOLDER: &str = "xtask/pins";

/// Versions by the names of their packages; of two versions of one package, the second is `name #2`.
pub(crate) type Versions = BTreeMap<String, String>;

/// A pinned file of tests.
pub(crate) fn path(name: &str) -> PathBuf {
    root().join(FOLDER).join(name)
}

/// Reads a pinned file of tests.
pub(crate) fn read(name: &str) -> Result<String> {
    std::fs::read_to_string(path(name)).with_context(|| format!("{FOLDER}/{name}"))
}

/// The versions in requirements of pip.
pub(crate) fn requirements(text: &str) -> Result<Versions> {
    let pinned = |line: &str| {
        let (name, rest) = line.split_once("==")?;
        let version = rest.split([' ', ';']).next()?;
        (!line.starts_with([' ', '#'])).then(|| (name.to_string(), version.to_string()))
    };
    Ok(numbered(text.lines().filter_map(pinned)))
}

/// The requirement of one package with its hashes.
pub(crate) fn requirement(text: &str, name: &str) -> Result<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{name}==")));
    let first = lines.next().with_context(|| format!("{name} is not pinned"))?;
    let rest = lines.take_while(|line| line.starts_with(' '));
    Ok([first].into_iter().chain(rest).map(|line| format!("{line}\n")).collect())
}

/// The versions in a `package-lock.json`.
pub(crate) fn package_lock(text: &str) -> Result<Versions> {
    let lock: Value = serde_json::from_str(text)?;
    let packages = lock["packages"].as_object().context("a lock file has packages")?;
    let pinned = |(path, package): (&String, &Value)| {
        let (_, name) = path.rsplit_once("node_modules/")?;
        Some((name.to_string(), package["version"].as_str()?.to_string()))
    };
    Ok(numbered(packages.iter().filter_map(pinned)))
}

/// The versions in a `go.mod`, and that of Go.
pub(crate) fn go_mod(text: &str) -> Result<Versions> {
    let pinned = |line: &str| {
        let mut words = line.trim().trim_start_matches("require ").split(' ');
        let (name, version) = (words.next()?, words.next()?);
        let is_pin = name == "go" || version.starts_with('v');
        is_pin.then(|| (name.to_string(), version.trim_start_matches('v').to_string()))
    };
    Ok(numbered(text.lines().filter_map(pinned)))
}

/// The versions in the properties of a `pom.xml`; the ones that are written elsewhere are not to be raised.
pub(crate) fn pom(text: &str) -> Result<Versions> {
    let (_, rest) = text.split_once("<properties>").context("a pom.xml has properties")?;
    let (properties, _) = rest.split_once("</properties>").context("properties end")?;
    let pinned = |line: &str| {
        let (name, rest) = line.trim().strip_prefix('<')?.split_once(".version>")?;
        Some((name.to_string(), rest.split_once('<')?.0.to_string()))
    };
    Ok(numbered(properties.lines().filter_map(pinned)))
}

fn numbered(pinned: impl Iterator<Item = (String, String)>) -> Versions {
    let mut versions = Versions::new();
    for (name, version) in pinned {
        let free = (2..).map(|number| format!("{name} #{number}"));
        let mut names = [name.clone()].into_iter().chain(free);
        let name = names.find(|name| !versions.contains_key(name)).expect("numbers do not end");
        versions.insert(name, version);
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(versions: &Versions) -> Vec<(&str, &str)> {
        versions.iter().map(|(name, version)| (&name[..], &version[..])).collect()
    }

    const REQUIREMENTS: &str = "# a header==1\nasync-timeout==5.0.1 ; python_full_version < '3.11.3' \\\n    --hash=sha256:aa \\\n    \
                                --hash=sha256:bb\nredis==8.1.0 \\\n    --hash=sha256:cc\nvine==5.1.0 \\\n    --hash=sha256:dd\n";

    #[test]
    fn requirements_of_pip_are_read() {
        let versions = requirements(REQUIREMENTS).unwrap();
        assert_eq!(list(&versions), [("async-timeout", "5.0.1"), ("redis", "8.1.0"), ("vine", "5.1.0")]);
        let redis = requirement(REQUIREMENTS, "redis").unwrap();
        assert_eq!(redis, "redis==8.1.0 \\\n    --hash=sha256:cc\n");
        assert!(requirement(REQUIREMENTS, "red").is_err());
    }

    #[test]
    fn a_lock_file_of_npm_is_read() {
        let lock = r#"{"packages": {"": {"version": "0.1.0"}, "node_modules/@redis/client": {"version": "6.3.1"},
            "node_modules/a/node_modules/ms": {"version": "2.0.0"}, "node_modules/ms": {"version": "2.1.3"}}}"#;
        let versions = package_lock(lock).unwrap();
        assert_eq!(list(&versions), [("@redis/client", "6.3.1"), ("ms", "2.0.0"), ("ms #2", "2.1.3")]);
        assert!(package_lock("{}").is_err());
    }

    #[test]
    fn a_go_mod_is_read() {
        let text = "module tidemark/x\n\ngo 1.22\n\nrequire example.org/a v1.2.3\n\nrequire (\n\texample.org/b/v2 v2.0.0-rc.1 // indirect\n)\n";
        let versions = go_mod(text).unwrap();
        assert_eq!(
            list(&versions),
            [("example.org/a", "1.2.3"), ("example.org/b/v2", "2.0.0-rc.1"), ("go", "1.22")]
        );
    }

    #[test]
    fn the_properties_of_a_pom_are_read() {
        let text = "<project>\n<version>0.1.0</version>\n<properties>\n  <jedis.version>8.0.2</jedis.version>\n  \
                    <maven.compiler.release>17</maven.compiler.release>\n</properties>\n<a.version>1</a.version>\n</project>\n";
        assert_eq!(list(&pom(text).unwrap()), [("jedis", "8.0.2")]);
    }

    /// Versions in the tables of a document, by the first cell of their rows.
    fn documented(text: &str, name: &str) -> Vec<String> {
        let cells = |line: &str| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let (first, second) = (cells.next()?, cells.next()?);
            let first = first.trim_start_matches('[').split("](").next()?;
            let is_version = second.starts_with(|letter: char| letter.is_ascii_digit());
            (first == name && is_version).then(|| second.to_string())
        };
        text.lines().filter_map(cells).collect()
    }

    #[test]
    fn the_guide_names_the_pinned_versions() {
        let file = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
        let python = |name: &str| requirements(&read(&format!("python/{name}.txt")).unwrap()).unwrap();
        let node =
            |name: &str| package_lock(&read(&format!("node/{name}/package-lock.json")).unwrap()).unwrap();
        let (libraries, applications) = (python("libraries"), python("applications"));
        let suite = python("redis-py-tests")["redis"].clone();
        let go_suite = go_mod(&read("go-redis/go.mod").unwrap()).unwrap();
        let ycsb_go = go_mod(&file("clients/ycsb-go/go.mod")).unwrap();
        let redis = crate::fetch::programs::redis_pin().unwrap().0;
        let guide = file("docs/clients.md");
        for (name, versions) in [
            ("redis-cli", vec![redis.clone()]),
            ("redis-benchmark", vec![redis]),
            ("redis-py", vec![libraries["redis"].clone(), suite.clone()]),
            ("redis-py, asyncio", vec![suite]),
            ("ioredis", vec![node("libraries")["ioredis"].clone()]),
            ("node-redis", vec![node("libraries")["redis"].clone()]),
            (
                "go-redis",
                vec![
                    ycsb_go["github.com/go-redis/redis/v9"].clone(),
                    go_suite["github.com/redis/go-redis/v9"].clone(),
                ],
            ),
            ("Jedis", vec![pom(&file("clients/ycsb/pom.xml")).unwrap()["jedis"].clone()]),
            ("Celery", vec![applications["celery"].clone()]),
            ("Django", vec![applications["django"].clone()]),
            ("BullMQ", vec![node("bullmq")["bullmq"].clone()]),
        ] {
            assert_eq!(documented(&guide, name), versions, "{name} in docs/clients.md");
        }
    }
}
