//! `./x bench groups`: one group beside etcd, whose writes go through Raft as well; every write on the disk first.

use super::servers::{Server, Setup};
use super::{Figure, Options, figure, median};
use crate::run::{command, output, run};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// How many clients write at once.
const CLIENTS: [usize; 3] = [16, 64, 256];
/// Bytes of a value.
const VALUE: usize = 64;

/// The program that loads both, built.
fn load() -> Result<PathBuf> {
    let program = std::env::temp_dir().join("tidemark-beside-etcd");
    let mut build = command("go", &["build", "-o", &program.display().to_string(), "."]);
    build.current_dir(crate::run::root().join("clients/beside-etcd"));
    run(&mut build).context("the load needs Go 1.22 or newer")?;
    Ok(program)
}

/// One member and three of each, interleaved; prints the ratios.
pub(super) fn groups(options: &Options) -> Result<Vec<Figure>> {
    let load = load()?;
    let tidemark = |replicas, port| {
        let setup = Setup::new(&options.protocol, 1, 1, port).replicas(replicas).fsync("always");
        Server::tidemark(&format!("tidemark, {replicas}"), &setup)
    };
    let mut report = Vec::new();
    for (members, base) in [(1, 17_000), (3, 17_300)] {
        let servers = [Server::etcd(members, base)?, tidemark(members, base + 101)?];
        println!(
            "\ngroups of {members}: writes of {VALUE} bytes, each on the disk before it is acknowledged"
        );
        println!(
            "{:>8} {:>10} {:>10} {:>7} {:>22}",
            "clients", "etcd/s", "tidemark/s", "ratio", "CPU µs/write"
        );
        for clients in CLIENTS {
            let (mut rates, mut cpu) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
            let operations = options.requests / 10;
            for round in 0..options.rounds {
                for at in [round % 2, (round + 1) % 2] {
                    let (kind, address) = servers[at].leader()?;
                    let mut load =
                        command(&load.display().to_string(), &["-server", kind, "-address", &address]);
                    load.args(["-clients", &clients.to_string(), "-value", &VALUE.to_string()]);
                    load.args(["-operations", &operations.to_string()]);
                    let before = servers[at].cpu_seconds()?;
                    rates[at].push(output(&mut load)?.trim().parse::<f64>()?);
                    cpu[at].push((servers[at].cpu_seconds()? - before) * 1e6 / operations as f64);
                }
            }
            let ratio = median(rates[0].iter().zip(&rates[1]).map(|(etcd, ours)| ours / etcd).collect());
            let ([etcd, ours], [etcd_cpu, our_cpu]) = (rates.map(median), cpu.map(median));
            let share = etcd_cpu / our_cpu;
            println!(
                "{clients:>8} {etcd:>10.0} {ours:>10.0} {ratio:>7.2} {etcd_cpu:>8.1} {our_cpu:>6.1} ({share:.1})"
            );
            report.push(figure(format!("groups of {members}, {clients} clients, ratio"), ratio, "x"));
            report.push(figure(
                format!("groups of {members}, {clients} clients, cpu of etcd"),
                etcd_cpu,
                "us/write",
            ));
            report.push(figure(format!("groups of {members}, {clients} clients, cpu"), our_cpu, "us/write"));
        }
    }
    Ok(report)
}
