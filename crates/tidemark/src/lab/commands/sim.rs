//! `tidemark sim`: schedules drawn from seeds, played in virtual time, and checked.

use super::calibrate::Calibrate;
use crate::lab::picture::picture;
use crate::output::{print, print_json};
use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tidemark_check::write_history;
use tidemark_contract::core::Promise;
use tidemark_contract::core::history::History;
use tidemark_protocols::{NAMES, variants};
use tidemark_sim::{Campaign, Faults, Options, Placed, Progress, Summary};
use tidemark_simulators::{Simulator, simulator};

const EXAMPLES: &str = "\
Examples:
  tidemark sim --protocol causal --seeds 0..10000
  tidemark sim --protocol eventual --promise causal --seeds 0..100        finds a violation at once
  tidemark sim --protocol causal-spartan-x-published --seeds 0..300000 \\
      --dcs 2 --partitions 2 --sessions 4 --ops 40 --faults none          a paper's own mistake, found
  tidemark sim --protocol tidemark --without PUT_ABOVE_FENCE --seeds 0..20000 \\
      --dcs 2 --partitions 3 --sessions 4 --ops 40                        what a rule is for

The same seed always gives the same run, and the same digest. Exit codes: 0 no violation on any
seed, 1 a violation, 2 the command is wrong.";

/// Play schedules drawn from seeds in virtual time, with faults, and check the histories of sessions.
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    task: Option<Task>,
    /// The protocol; `causal` is the default one.
    #[arg(long, value_name = "NAME", default_value = "causal", value_parser = protocols())]
    protocol: String,
    /// The seeds, from A on, before B.
    #[arg(long, value_name = "A..B", default_value = "0..1000", value_parser = seeds)]
    seeds: Range<u64>,
    /// Data centres.
    #[arg(long, value_name = "N", default_value_t = 3)]
    dcs: usize,
    /// Partitions of each data centre.
    #[arg(long, value_name = "N", default_value_t = 4)]
    partitions: usize,
    /// Replicas of each node, by Raft.
    #[arg(long, value_name = "N", default_value_t = 1)]
    replicas: usize,
    /// Which data centres hold which keys: everywhere; by-partition, each one partition; or random, each key some of them.
    #[arg(long, value_name = "HOW", default_value = "everywhere")]
    placement: Placed,
    /// Sessions in all.
    #[arg(long, value_name = "N", default_value_t = 12)]
    sessions: usize,
    /// Operations of a schedule, those of all sessions together.
    #[arg(long, value_name = "N", default_value_t = 200)]
    ops: usize,
    /// The faults: none, all that the protocol tolerates, or some of
    /// cuts,one-way,slow,drift,jumps,crashes,power,disk,operator-cuts,handshakes,damage,clients.
    #[arg(long, value_name = "LIST", default_value = "all")]
    faults: Faults,
    /// Have an operator exclude a data centre, roughly while it is cut off, and readmit it.
    #[arg(long)]
    exclusions: bool,
    /// Make some reads reads at a time, in protocols that have them, and keep versions for them (`keep_us`).
    #[arg(long)]
    reads_at_a_time: bool,
    /// Have the sessions at a node share one past, as the connections of a pool do.
    #[arg(long)]
    pools: bool,
    /// How many of a hundred reads and writes are commands of data types, in protocols that have them.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100))]
    typed: u32,
    /// Before how many of a hundred operations an interactive transaction begins, in protocols that have them.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100))]
    interactive: u32,
    /// Have regions that cannot reach another one get its writes through a third, with three regions or more.
    #[arg(long)]
    relays: bool,
    /// Give logs tiny segments, which most records do not fit, and have what nodes exchange leave in tiny parts.
    #[arg(long)]
    large: bool,
    /// Edge clients, in protocols that have them: their disks, connections and processes fail, too.
    #[arg(long, value_name = "N", default_value_t = 0)]
    edge: usize,
    /// Have edge clients edit lists, too.
    #[arg(long)]
    lists: bool,
    /// Let some edge clients have K = 1 where a data centre is lost for good: they may see what is lost with it.
    #[arg(long, requires_all = ["edge", "exclusions"])]
    edge_k1: bool,
    /// Write what edge clients are told and do to the standard output, as lines of JSON: clients in other languages are
    /// compared with them.
    #[arg(long, requires = "edge", conflicts_with_all = ["jobs", "json", "svg", "history"])]
    edge_transcripts: bool,
    /// Play it without a rule that its correctness, or that of Raft groups or nodes, rests on, to see what the rule is for; may be
    /// repeated. An unknown name lists those that there are.
    #[arg(long, value_name = "RULE")]
    without: Vec<String>,
    /// The consistency model to check; by default that of the protocol.
    #[arg(long, value_name = "NAME")]
    promise: Option<Promise>,
    /// When logs are synced: always, everysec or no; drawn for each schedule; `lossless`: drawn, and always in those in which power
    /// fails; or `varied`: drawn, and in those mostly everysec, and changed between starts.
    #[arg(long, value_name = "POLICY", default_value_t)]
    fsync: tidemark_sim::Policies,
    /// A parameter of the protocol, as in the [protocol] table of a configuration; may be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param)]
    params: Vec<(String, Value)>,
    /// Continue after a violation, and count.
    #[arg(long)]
    keep_going: bool,
    /// Write the history of the first violation, or else of the last schedule, to a file.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Draw the first violation, shrunk, as an SVG picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Threads; the results do not depend on their number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Print a summary as JSON.
    #[arg(long)]
    json: bool,
}

/// What else there is to do about the simulator.
#[derive(Subcommand)]
enum Task {
    Calibrate(Calibrate),
}

impl Sim {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(Task::Calibrate(calibrate)) = self.task {
            return calibrate.run();
        }
        let simulator = simulator(&self.protocol);
        let simulator = simulator.with_context(|| format!("no protocol is called {}", self.protocol))?;
        let without: Result<Vec<_>, _> = self.without.iter().map(|name| simulator.rule(name)).collect();
        let without = without.map_err(crate::Usage)?;
        let options = Options {
            dcs: self.dcs,
            partitions: self.partitions,
            replicas: self.replicas,
            placement: self.placement,
            without,
            sessions: self.sessions,
            ops: self.ops,
            faults: self.faults,
            exclusions: self.exclusions,
            reads_at_a_time: self.reads_at_a_time,
            pools: self.pools,
            typed: self.typed,
            interactive: self.interactive,
            relays: self.relays,
            large: self.large,
            edge: self.edge,
            lists: self.lists,
            edge_k1: self.edge_k1,
            promise: self.promise,
            fsync: self.fsync,
            params: self.params.into_iter().collect(),
        };
        let what = Campaign {
            keep_going: self.keep_going,
            jobs: self.jobs.max(1),
            ..Campaign::new(options, self.seeds.clone())
        };
        simulator.validate(&what.options).map_err(crate::Usage)?;
        if self.edge_transcripts {
            return transcribe(simulator, &what);
        }
        let mut shown = Shown::new(&what.seeds);
        let begin = Instant::now();
        let summary = simulator.campaign(&what, &mut |progress| shown.update(progress));
        shown.end();
        if let (Some(path), Some(history)) = (&self.history, &summary.history) {
            write(path, history)?;
        }
        if let Some(path) = &self.svg {
            picture(
                path,
                summary.counterexamples.first().and_then(|counterexample| counterexample.violation.as_ref()),
            )?;
        }
        if self.json {
            print_json(&summary)?
        } else {
            print(&report(&summary, begin.elapsed()))
        }
        Ok(ExitCode::from(u8::from(summary.violations > 0)))
    }
}

/// Writes transcripts of edge clients until nobody reads them, or a schedule violates something.
fn transcribe(simulator: Simulator, what: &Campaign) -> anyhow::Result<ExitCode> {
    let (mut out, mut end) = (std::io::stdout().lock(), Ok(ExitCode::SUCCESS));
    simulator.transcribe(&what.options, what.seeds.clone(), &mut |outcome| {
        let (seed, verdict) = (outcome.seed, outcome.verdict());
        match out.write_all(outcome.transcript.as_deref().unwrap_or_default().as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return ControlFlow::Break(()),
            Err(error) => {
                end = Err(anyhow::Error::new(error).context("cannot write the transcript"));
                return ControlFlow::Break(());
            }
            Ok(()) if !outcome.ok() => end = Err(anyhow::anyhow!("seed {seed} violates {verdict}")),
            Ok(()) => {}
        }
        if end.is_ok() || what.keep_going { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    end
}

fn protocols() -> PossibleValuesParser {
    PossibleValuesParser::new(
        NAMES.iter().copied().chain(variants().map(|(_, variant)| variant.name)).chain(["causal"]),
    )
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |digits: &str| digits.replace('_', "").parse::<u64>().ok();
    let ends = text.split_once("..").and_then(|(from, to)| Some((number(from)?, number(to)?)));
    match ends {
        Some((from, to)) if from < to => Ok(from..to),
        Some(_) => Err("the range is empty".into()),
        None => Err("write a range of whole numbers, such as 0..1000".into()),
    }
}

/// A number, or else a word.
fn param(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as fan_out=3")?;
    let word = || Value::from(value);
    Ok((name.to_string(), serde_json::from_str(value).unwrap_or_else(|_| word())))
}

fn write(path: &Path, history: &History) -> anyhow::Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    write_history(history, BufWriter::new(file)).with_context(|| format!("cannot write {}", path.display()))
}

fn report(summary: &Summary, took: Duration) -> String {
    let mut text = String::new();
    for counterexample in &summary.counterexamples {
        text.push_str(&format!("{counterexample}\n\n"));
    }
    let rate = summary.schedules as f64 / took.as_secs_f64().max(1e-9);
    let stats = &summary.stats;
    let violations = match summary.violations {
        1 => "1 violation".to_string(),
        n => format!("{n} violations"),
    };
    text.push_str(&format!(
        "{} schedules of {} against {}: {violations}\n\
         {} operations ({} failed), {} faults, {} crashes, {} events; {rate:.0} schedules a second\n\
         digest {}\n",
        summary.schedules,
        summary.protocol,
        summary.promise,
        stats.ops,
        stats.failed,
        stats.faults,
        stats.crashes,
        stats.events,
        summary.digest,
    ));
    if stats.edge > 0 {
        text.push_str(&format!(
            "{} transactions of edge clients, {} of them in two regions or more\n",
            stats.edge, stats.edge_twice
        ));
    }
    if stats.edge_lost > 0 {
        text.push_str(&format!("{} were taken by a region that was lost then\n", stats.edge_lost));
    }
    if stats.edge_forgotten > 0 {
        let count = stats.edge_forgotten;
        text.push_str(&format!("{count} were lost with it, and their clients with K = 1 were told\n"));
    }
    if stats.edge_copied > 0 {
        let count = stats.edge_copied;
        text.push_str(&format!(
            "{count} count twice, each given two times after a disk was put back: not judged\n"
        ));
    }
    if stats.edge_shared > 0 {
        let times = stats.edge_shared;
        text.push_str(&format!("{times} times edge clients heard that theirs was isolated, or no longer\n"));
    }
    if summary.violations > 1 {
        let kinds: Vec<String> =
            summary.by_verdict.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect();
        text.push_str(&format!("violated: {}\n", kinds.join(", ")));
    }
    text
}

/// How far a campaign is: a bar on a terminal, a line now and then elsewhere.
struct Shown {
    bar: ProgressBar,
    terminal: bool,
    told: Instant,
}

/// How often a line is written where there is no terminal.
const TELL_EVERY: Duration = Duration::from_secs(30);

impl Shown {
    fn new(seeds: &Range<u64>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::new(seeds.end - seeds.start);
        bar.set_draw_target(if terminal {
            ProgressDrawTarget::stderr_with_hz(4)
        } else {
            ProgressDrawTarget::hidden()
        });
        let style = "{bar:40} {human_pos} of {human_len} schedules, {per_sec}, {eta} left{msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is a constant"));
        Self { bar, terminal, told: Instant::now() }
    }

    fn update(&mut self, Progress { done, of, violations }: Progress) {
        if self.terminal {
            self.bar.set_position(done);
            if violations > 0 {
                self.bar.set_message(format!(", {violations} violations"));
            }
        } else if done % 64 == 0 && self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            eprintln!("{done} of {of} schedules, {violations} violations");
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_seeds_is_read_or_explained() {
        assert_eq!(seeds("3..5"), Ok(3..5));
        assert_eq!(seeds("0..1_000_000"), Ok(0..1_000_000));
        assert!(seeds("5..5").unwrap_err().contains("empty"));
        assert!(seeds("7").unwrap_err().contains("0..1000"));
    }
}
