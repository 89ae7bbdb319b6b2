//! The verbs of the command line: one file each under `commands`.

use crate::commands::{
    config, cut, demo, edge, exclude, groups, heal, kill, protocols, readmit, remove, replace, restart,
    serve, skew, slow, status, up,
};
use crate::lab::Lab;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  tidemark up                                  a cluster of three regions on this machine
  tidemark up --latency gentlerain             with the round-trip times of a paper between them
  tidemark cut a b                             from another terminal: cut the links between two regions
  tidemark heal                                and heal them
  tidemark demo                                what causal consistency prevents, shown on a real cluster
  tidemark bench --visibility                  load it, and measure visibility latency in other regions
  tidemark serve --config cluster.toml --node virginia-1

Exit codes: 0 success, 1 failure or a check that does not hold, 2 the command or its input is wrong.";

/// A geo-replicated, causally consistent key-value store that speaks the Redis protocol.
///
/// Write in any region at local latency, keep working when regions are cut off from each other, and never see
/// an effect without its cause. Any Redis client works.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Up(up::Up),
    Serve(serve::Serve),
    Status(status::Status),
    Cut(cut::Cut),
    Heal(heal::Heal),
    Slow(slow::Slow),
    Skew(skew::Skew),
    Exclude(exclude::Exclude),
    Readmit(readmit::Readmit),
    Kill(kill::Kill),
    Restart(restart::Restart),
    Remove(remove::Remove),
    Replace(replace::Replace),
    Groups(groups::Groups),
    Demo(demo::Demo),
    Protocols(protocols::Protocols),
    #[command(subcommand)]
    Config(config::Config),
    #[command(flatten)]
    Lab(Lab),
    Edge(edge::Edge),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Up(up) => up.run(),
            Self::Serve(serve) => serve.run(),
            Self::Status(status) => status.run(),
            Self::Cut(cut) => cut.run(),
            Self::Heal(heal) => heal.run(),
            Self::Slow(slow) => slow.run(),
            Self::Skew(skew) => skew.run(),
            Self::Exclude(exclude) => exclude.run(),
            Self::Readmit(readmit) => readmit.run(),
            Self::Kill(kill) => kill.run(),
            Self::Restart(restart) => restart.run(),
            Self::Remove(remove) => remove.run(),
            Self::Replace(replace) => replace.run(),
            Self::Groups(groups) => groups.run(),
            Self::Demo(demo) => demo.run(),
            Self::Protocols(protocols) => protocols.run(),
            Self::Config(config) => config.run(),
            Self::Lab(lab) => lab.run(),
            Self::Edge(edge) => edge.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_every_verb_and_flag_is_explained() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        for verb in command.get_subcommands() {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for flag in verb.get_arguments() {
                assert!(flag.get_help().is_some(), "{} {}", verb.get_name(), flag.get_id());
            }
        }
    }
}
