//! `tidemark protocols`

use crate::lab;
use crate::output::{print, print_json, row, table};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use tidemark_contract::info::Transactions;
use tidemark_protocols::{CAUSAL, NAMES, Protocol, published, resolve, with_any_protocol};

const EXAMPLES: &str = "\
Examples:
  tidemark protocols                                    all protocols
  tidemark protocols --table                            measured costs, beside the claims of papers
  tidemark protocols --table contrarian tidemark --json two of them, as JSON
  tidemark protocols --table --write-transactions 15    those with write transactions, at 15% of them
  tidemark protocols --map                              which consistency model implies which, and who stands where
  tidemark protocols --map --svg map.svg                the same, drawn
  tidemark protocols --bound                            a lower bound for latency-optimal reads, run
  tidemark protocols --bound cc-lo --without PUT_CHECKS_READERS
                                                        the same for a protocol without one of its rules

The same options always give the same tables.";

/// List the consistency protocols, their consistency models, and their costs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Protocols {
    /// Only these protocols; all by default.
    #[arg(value_name = "NAME", value_parser = names())]
    pub(crate) names: Vec<String>,
    /// Measure them in the simulator: rounds, messages, bytes, waiting, staleness.
    #[arg(long)]
    pub(crate) table: bool,
    /// Data centres of the measured runs.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "table")]
    pub(crate) dcs: usize,
    /// Partitions of each data centre.
    #[arg(long, value_name = "N", default_value_t = 4, requires = "table")]
    pub(crate) partitions: usize,
    /// Sessions in all.
    #[arg(long, value_name = "N", default_value_t = 24, requires = "table")]
    pub(crate) sessions: usize,
    /// Operations in all.
    #[arg(long, value_name = "N", default_value_t = 20_000, requires = "table")]
    pub(crate) ops: usize,
    /// How many of a hundred operations are write transactions, of two to four keys. Measures only protocols that have them.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, requires = "table")]
    pub(crate) write_transactions: u32,
    /// The seed of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "table")]
    pub(crate) seed: u64,
    /// Show which consistency model implies which, and which protocols stand at each.
    #[arg(long, conflicts_with_all = ["table", "bound"])]
    pub(crate) map: bool,
    /// Draw the map as an SVG picture, too.
    #[arg(long, value_name = "FILE", requires = "map")]
    pub(crate) svg: Option<PathBuf>,
    /// Run every set of readers of a theorem: one-round, one-version, nonblocking reads of snapshots make writes tell the sets apart.
    /// Print which protocols pay, and what the others give up.
    #[arg(long, conflicts_with = "table")]
    pub(crate) bound: bool,
    /// Clients that may be readers: 1 to 10. Each more takes twice as long.
    #[arg(long, value_name = "N", default_value_t = 4, requires = "bound")]
    pub(crate) readers: usize,
    /// How far the clock of one partition is ahead of that of the other, in microseconds; may be negative.
    #[arg(
        long,
        value_name = "US",
        default_value_t = 1_000,
        requires = "bound",
        allow_negative_numbers = true
    )]
    pub(crate) skew_us: i64,
    /// Run them without a rule that their correctness rests on; may be repeated. An unknown name lists those that there are.
    #[arg(long, value_name = "RULE", requires = "bound")]
    pub(crate) without: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    default: bool,
    promise: &'static str,
    promise_means: &'static str,
    /// Whether MGET is one snapshot; else it is several GETs.
    mget: &'static str,
    /// Whether MSET is one transaction; else it is several SETs.
    mset: &'static str,
    /// Whether an acknowledged write is visible at once in its region.
    immediate: bool,
    /// Whether `tidemark up` runs it; else it is for the simulator only.
    served: bool,
    about: &'static str,
    params: serde_json::Value,
}

impl Protocols {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let chosen =
            |name: &&str| self.names.is_empty() || self.names.iter().any(|wanted| resolve(wanted) == *name);
        let names: Vec<&str> = NAMES.iter().copied().chain(published()).filter(chosen).collect();
        if self.map || self.table || self.bound {
            lab::tables(&self, &names)?
        } else {
            self.listed(&names)?
        }
        Ok(ExitCode::SUCCESS)
    }

    fn listed(&self, names: &[&str]) -> anyhow::Result<()> {
        let all: Vec<Listed> = names.iter().filter_map(|name| listed(name)).collect();
        if self.json {
            return print_json(&all);
        }
        let mut rows = vec![row(["PROTOCOL", "PROMISE", "MGET", "MSET", "IMMEDIATE", "ABOUT"])];
        for listed in &all {
            let name = format!("{}{}", listed.name, if listed.default { " (default)" } else { "" });
            let immediate = if listed.immediate { "yes" } else { "no" };
            rows.push(row([&name, listed.promise, listed.mget, listed.mset, immediate, listed.about]));
        }
        let mut promises: Vec<Vec<String>> = Vec::new();
        for listed in &all {
            let promise = row([listed.promise, listed.promise_means]);
            if !promises.contains(&promise) {
                promises.push(promise);
            }
        }
        print(&format!("{}\nConsistency models (PROMISE):\n{}", table(&rows), table(&promises)));
        print("\n`causal` means the default. Parameters of each protocol: tidemark protocols --json\n");
        print("Measured costs: tidemark protocols --table\n");
        print("Which model implies which: tidemark protocols --map\n");
        print("What fast reads cost writes: tidemark protocols --bound\n");
        Ok(())
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(NAMES.iter().copied().chain(published()).chain(["causal"]))
}

fn listed(name: &str) -> Option<Listed> {
    with_any_protocol!(name, P, variant => Some(Listed {
        name: variant.map_or(P::INFO.name, |variant| variant.name),
        default: P::INFO.name == CAUSAL && variant.is_none(),
        promise: P::INFO.promise.name(),
        promise_means: P::INFO.promise.description(),
        mget: if P::INFO.promise.snapshots() { "snapshot" } else { "several GETs" },
        mset: if P::INFO.transactions >= Transactions::Writes { "atomic" } else { "several SETs" },
        immediate: P::INFO.promise.is_immediate(),
        served: variant.is_none(),
        about: variant.map_or(P::INFO.about, |variant| variant.about),
        params: json_of(&<P as Protocol>::Params::default()),
    }), otherwise None)
}

fn json_of(params: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(params).unwrap_or_default()
}
