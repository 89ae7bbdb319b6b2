//! `tidemark config`

use crate::Usage;
use crate::commands::serve::secrets;
use crate::output::{print, print_json, row, table};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use tidemark_server::config::{self, Cluster};

const EXAMPLE: &str = include_str!("config/example.toml");

/// Check a cluster file, print its schema, or print one to begin with.
#[derive(Subcommand)]
pub(crate) enum Config {
    Check(Check),
    /// Print the JSON schema of the cluster file, for editors.
    Schema,
    /// Print a commented cluster file of three regions to begin with.
    Example,
}

/// Report the errors of a cluster file, with their places and remedies, and show its meaning.
///
/// Exit code 0: the file is sound. 1: it is not. 2: it cannot be read.
#[derive(Args)]
pub(crate) struct Check {
    /// The cluster file.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Check(check) => return check.run(),
            Self::Schema => print_json(&config::schema())?,
            Self::Example => print(EXAMPLE),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Check {
    fn run(self) -> anyhow::Result<ExitCode> {
        if let Err(error) = std::fs::metadata(&self.file) {
            return Err(Usage(format!("{}: {error}", self.file.display())).into());
        }
        let cluster = match config::load(&self.file, &secrets()) {
            Ok(cluster) => cluster,
            Err(error) if self.json => {
                let problem = |p: &config::Problem| json!({"place": p.place, "line": p.line, "what": p.what, "remedy": p.remedy});
                let problems: Vec<_> = error.problems.iter().map(problem).collect();
                print_json(&json!({"ok": false, "file": error.file, "problems": problems}))?;
                return Ok(ExitCode::FAILURE);
            }
            Err(error) => {
                let count = error.problems.len();
                let problems = if count == 1 { "problem" } else { "problems" };
                eprintln!("{error}\n{}: {count} {problems}", self.file.display());
                return Ok(ExitCode::FAILURE);
            }
        };
        if self.json {
            print_json(&summary(&cluster))?
        } else {
            print(&described(&cluster))
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn partitions(node: &config::Node) -> Vec<u16> {
    node.partitions.iter().map(|partition| partition.0).collect()
}

fn summary(cluster: &Cluster) -> serde_json::Value {
    let node = |node: &config::Node| {
        json!({
            "name": node.name, "region": cluster.regions[node.region.index()], "partitions": partitions(node),
            "listen": node.listen.to_string(), "peer_listen": node.peer_listen.to_string(),
            "peer_address": node.peer_address.to_string(), "admin_listen": node.admin_listen.to_string(),
            "dir": node.dir,
        })
    };
    json!({
        "ok": true,
        "name": cluster.name,
        "protocol": cluster.protocol,
        "params": cluster.params,
        "partitions": cluster.topology.partitions,
        "fsync": cluster.fsync,
        "fingerprint": format!("{:016x}", cluster.fingerprint()),
        "regions": cluster.regions,
        "nodes": cluster.nodes.iter().map(node).collect::<Vec<_>>(),
    })
}

fn described(cluster: &Cluster) -> String {
    let mut rows = vec![row(["REGION", "NODE", "PARTITIONS", "REDIS", "PEERS", "ADMIN", "DIRECTORY"])];
    for node in &cluster.nodes {
        let region = format!("{} {}", node.region, cluster.regions[node.region.index()]);
        let held: Vec<String> = partitions(node).iter().map(u16::to_string).collect();
        rows.push(row([
            &region,
            &node.name,
            &held.join(","),
            &node.listen.to_string(),
            &node.peer_address.to_string(),
            &node.admin_listen.to_string(),
            &node.dir.display().to_string(),
        ]));
    }
    let (name, protocol, fsync) = (&cluster.name, cluster.protocol, cluster.fsync);
    let count = cluster.topology.partitions;
    let partitions = if count == 1 { "partition" } else { "partitions" };
    let head = format!(
        "{name}: {protocol}, {count} {partitions} a region, fsync {fsync}, fingerprint {:016x}",
        cluster.fingerprint()
    );
    format!("{head}\n\n{}{}\nThe file is sound.\n", table(&rows), distances(cluster))
}

/// The emulated round-trip times, as a triangle.
fn distances(cluster: &Cluster) -> String {
    let Some(wan) = &cluster.wan else { return String::new() };
    let names: Vec<&str> = cluster.regions.iter().map(String::as_str).collect();
    let mut rows =
        vec![[vec![""], names.clone()].concat().iter().map(|name| name.to_string()).collect::<Vec<_>>()];
    for from in cluster.topology.all_dcs() {
        let cell = |to| {
            if from == to { "-".into() } else { format!("{:.1}", wan.rtt(from, to).as_secs_f64() * 1e3) }
        };
        let mut cells = vec![names[from.index()].to_string()];
        cells.extend(cluster.topology.all_dcs().map(cell));
        rows.push(cells);
    }
    format!(
        "\nEmulated round-trip times in ms, jitter {:.1} ms:\n{}",
        wan.jitter.as_secs_f64() * 1e3,
        table(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tidemark_server::config::Overrides;

    #[test]
    fn the_example_is_sound_and_describes_itself() {
        let cluster = config::parse(EXAMPLE, "example", Path::new(""), &Overrides::default(), None);
        let text = described(&cluster.expect("the example is sound"));
        assert!(text.contains("virginia") && text.contains("The file is sound."), "{text}");
    }
}
