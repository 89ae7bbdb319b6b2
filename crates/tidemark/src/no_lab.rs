//! The substitute for `lab` in a build without that feature: the same verbs, each of which says how to get it.

use crate::Usage;
use crate::commands::edge::Common;
use crate::commands::protocols::Protocols;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Not in this build.
// Any arguments will do, `--help` too: the answer is the same.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Absent {
    /// Whatever the complete build takes.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The verb `tidemark edge bench`.
pub(crate) type EdgeBench = Absent;

impl EdgeBench {
    pub(crate) fn run(self, _: &Common) -> anyhow::Result<ExitCode> {
        lacking("tidemark edge bench")
    }
}

/// The verbs of the lab.
#[derive(Subcommand)]
pub(crate) enum Lab {
    /// Play schedules in virtual time, with faults, and check them (not in this build).
    Sim(Absent),
    /// Check a recorded history, of any store (not in this build).
    Check(Absent),
    /// Test the claims of papers (not in this build).
    Experiment(Absent),
    /// Query what experiments and benchmarks have measured (not in this build).
    Results(Absent),
    /// Load servers that speak the Redis protocol (not in this build).
    Bench(Absent),
}

impl Lab {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        lacking(match self {
            Self::Sim(_) => "tidemark sim",
            Self::Check(_) => "tidemark check",
            Self::Experiment(_) => "tidemark experiment",
            Self::Results(_) => "tidemark results",
            Self::Bench(_) => "tidemark bench",
        })
    }
}

/// In place of the tables of `tidemark protocols`.
pub(crate) fn tables(asked: &Protocols, _: &[&str]) -> anyhow::Result<()> {
    let flag = match (asked.map, asked.bound) {
        (true, _) => "--map",
        (_, true) => "--bound",
        _ => "--table",
    };
    lacking(&format!("tidemark protocols {flag}"))
}

/// In place of `tidemark demo roaming`.
pub(crate) fn roaming(_seed: u64, _json: bool) -> anyhow::Result<ExitCode> {
    lacking("tidemark demo roaming")
}

fn lacking<T>(command: &str) -> anyhow::Result<T> {
    let why = format!(
        "this build has no `{command}`: it was made without the feature `lab`, which is on by default. \
         `cargo build --release` in the repository makes a complete one."
    );
    Err(Usage(why).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{Command, Parser};

    /// The command line of a build without the lab.
    #[derive(Parser)]
    struct Small {
        #[command(flatten)]
        common: Common,
        #[command(subcommand)]
        verb: Verb,
    }

    #[derive(Subcommand)]
    enum Verb {
        #[command(flatten)]
        Lab(Lab),
        EdgeBench(EdgeBench),
    }

    fn refused(result: anyhow::Result<impl Sized>) -> String {
        let error = result.err().expect("there is no lab");
        assert!(error.is::<Usage>(), "{error}");
        error.to_string()
    }

    #[test]
    fn every_verb_of_the_lab_says_how_to_get_it_whatever_it_is_given() {
        let complete = crate::lab::Lab::augment_subcommands(Command::new("tidemark"));
        for verb in complete.get_subcommands().map(Command::get_name) {
            for given in [&[][..], &["--help"], &["run", "x", "--quick"], &["--seeds", "0..5", "-"]] {
                let words = [&["tidemark", verb], given].concat();
                let small = Small::try_parse_from(words).unwrap_or_else(|error| panic!("{verb}: {error}"));
                let Verb::Lab(lab) = small.verb else { panic!("{verb} is a verb of the lab") };
                let why = refused(lab.run());
                assert!(why.contains(&format!("`tidemark {verb}`")) && why.contains("cargo build"), "{why}");
            }
        }
        let listed = Lab::augment_subcommands(Command::new("tidemark"));
        for verb in listed.get_subcommands() {
            assert!(verb.get_about().is_some_and(|about| about.to_string().contains("not in this build")));
        }
    }

    #[test]
    fn what_is_a_part_of_another_verb_says_so_too() {
        let asked = |flag: &str| match Cli::try_parse_from(["tidemark", "protocols", flag]).ok()?.command {
            crate::cli::Command::Protocols(protocols) => Some(protocols),
            _ => None,
        };
        for flag in ["--table", "--map", "--bound"] {
            let why = refused(tables(&asked(flag).expect("a flag of protocols"), &[]));
            assert!(why.contains(flag), "{why}");
        }
        assert!(refused(roaming(1, false)).contains("demo roaming"));
        let small = Small::try_parse_from(["tidemark", "edge-bench", "--clients", "9"]);
        let Ok(Small { common, verb: Verb::EdgeBench(bench) }) = small else {
            panic!("it takes any arguments")
        };
        assert!(refused(bench.run(&common)).contains("edge bench"));
    }
}
