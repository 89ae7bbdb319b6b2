//! `./x nightly`: what takes too long for every change, as a list of parts, and what depends on how fast the machine is.

use crate::artefacts::Artefacts;
use crate::fetch;
use crate::lanes::{self, Which};
use crate::run::{command, output, released, root, run, run_and_hear};
use crate::steps::Steps;
use crate::test::environment;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// A part that can be run alone.
struct Part {
    name: &'static str,
    /// Its purpose, in a line.
    about: &'static str,
    run: Run,
}

enum Run {
    /// Modules of the simulator's campaigns, with all of their seeds.
    Schedules(&'static [&'static str]),
    Other(fn(&Night) -> Result<String>),
}

use Run::{Other, Schedules};

/// The part that searches for what is known to go wrong: other seeds of it show nothing.
const MUTANTS: &str = "mutants";

/// All parts, in the order in which they run: those that find most in little time come first.
const PARTS: &[Part] = &[
    Part {
        name: "rates",
        about: "tests of rates and latencies, which depend on the machine",
        run: Other(rates),
    },
    Part {
        name: "campaigns",
        about: "all seeds of the campaigns of protocols",
        run: Schedules(&["campaigns"]),
    },
    Part {
        name: "layouts",
        about: "all seeds of campaigns over groupings and placements",
        run: Schedules(&["layouts", "placement"]),
    },
    Part {
        name: "nodes",
        about: "all seeds of campaigns over nodes and their links",
        run: Schedules(&["nodes"]),
    },
    Part { name: "groups", about: "all seeds of campaigns over Raft groups", run: Schedules(&["groups"]) },
    Part { name: "power", about: "all seeds of campaigns over losses of power", run: Schedules(&["power"]) },
    Part {
        name: "typed",
        about: "all seeds of campaigns over data types, and over conflicts that are resolved",
        run: Schedules(&["typed", "resolvers"]),
    },
    Part { name: "edge", about: "all seeds of campaigns over edge clients", run: Schedules(&["edge"]) },
    Part {
        name: MUTANTS,
        about: "a search from the first seed for each mutant's violation, but for the rarest",
        run: Schedules(&[MUTANTS, "sequential"]),
    },
    Part { name: "fresh", about: "the same campaigns on seeds that no run has played", run: Other(fresh) },
    Part {
        name: "experiments",
        about: "simulated experiments of less than five minutes: what moved",
        run: Other(experiments),
    },
    Part {
        name: "properties",
        about: "models with all their schedules, property tests with ten times as many fresh cases",
        run: Other(properties),
    },
    Part {
        name: "differential",
        about: "a million fresh commands to redis-server and to Tidemark",
        run: Other(differential),
    },
    Part { name: "faults", about: "faults on real clusters: ten times as many rounds", run: Other(faults) },
];

impl Part {
    /// The modules of the simulator's campaigns that it runs.
    fn modules(&self) -> &'static [&'static str] {
        match self.run {
            Schedules(modules) => modules,
            Other(_) => &[],
        }
    }
}

/// Options, and what all parts use.
struct Night {
    built: Artefacts,
    /// Where fresh seeds begin.
    first: u64,
}

fn help() -> String {
    let parts: String = PARTS.iter().map(|part| format!("  {:14} {}\n", part.name, part.about)).collect();
    format!(
        "./x nightly [PART…] [--anew] [--first SEED]\n\n\
         Runs the parts that the gate is too short for, on the code as it is, which takes hours. It goes on where it\n\
         stopped: parts that have ended on the same code are not run again unless they are named.\n\n{parts}\n\
         \x20 --anew        forgets what has ended\n\
         \x20 --first SEED  begins fresh seeds there; without it, the day decides\n\n\
         The page at the end is also written to target/nightly.txt.\n"
    )
}

/// Where the results of this code are kept.
const STATE: &str = "target/nightly.json";
const PAGE: &str = "target/nightly.txt";

/// Runs parts as `args` say.
pub(crate) fn nightly(args: &[String]) -> Result<()> {
    let (mut named, mut anew, mut first) = (Vec::new(), false, None);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--help" | "-h" => {
                print!("{}", help());
                return Ok(());
            }
            "--anew" => anew = true,
            "--first" => {
                let seed = rest.next().and_then(|seed| seed.parse().ok());
                first = Some(seed.context("--first takes a number")?);
            }
            name => match PARTS.iter().find(|part| part.name == name) {
                Some(part) => named.push(part),
                None => bail!("{name}: no such part or option\n\n{}", help()),
            },
        }
    }
    let code = code()?;
    let before = if anew { Value::Null } else { read(&code) };
    let mut ended = before["ended"].as_object().cloned().unwrap_or_default();
    named.iter().for_each(|part| drop(ended.remove(part.name)));
    // A run that goes on after midnight plays the seeds with which it began.
    let first = first.or(before["first"].as_u64()).unwrap_or_else(of_the_day);
    fetch::fetch_gate()?;
    let night = Night { built: Artefacts::build()?, first };
    let mut steps = Steps::new(format!("./x nightly {}", args.join(" ")).trim_end());
    for part in PARTS {
        if !named.is_empty() && !named.iter().any(|name| name.name == part.name) {
            continue;
        }
        if let Some(line) = ended.get(part.name) {
            steps.ended_before(part.name, line);
            continue;
        }
        steps.step(part.name, || match part.run {
            Schedules(modules) => night.modules(modules, "all"),
            Other(run) => run(&night),
        });
        // A part that the environment has kept from running has not ended.
        if !steps.blames_environment() {
            ended.insert(part.name.to_string(), steps.last());
            let state = json!({"code": code, "first": first, "ended": ended});
            std::fs::write(root().join(STATE), state.to_string())?;
        }
        std::fs::write(root().join(PAGE), steps.page())?;
    }
    steps.finish()
}

/// Names the code: the commit, and what has changed since, also in files that git does not know yet.
fn code() -> Result<String> {
    let commit = output(&mut command("git", &["rev-parse", "HEAD"]))?;
    let diff = output(&mut command("git", &["diff", "HEAD"]))?;
    let new = output(&mut command("git", &["ls-files", "--others", "--exclude-standard"]))?;
    let new: Vec<_> = new.lines().map(|path| (path, std::fs::read(root().join(path)).ok())).collect();
    let mut hash = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&(diff, new), &mut hash);
    Ok(format!("{} {:016x}", commit.trim(), std::hash::Hasher::finish(&hash)))
}

/// The state of earlier runs: the parts that have ended on this code, and where fresh seeds began.
fn read(code: &str) -> Value {
    let text = std::fs::read_to_string(root().join(STATE)).unwrap_or_default();
    let state: Value = serde_json::from_str(&text).unwrap_or_default();
    if state["code"] == code { state } else { Value::Null }
}

/// A first seed that differs from day to day, beyond all seeds that are written down.
fn of_the_day() -> u64 {
    let day = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    day * 1_000_000
}

impl Night {
    /// Runs modules of the simulator's campaigns.
    fn modules(&self, modules: &[&str], schedules: &str) -> Result<String> {
        let mut environment = environment();
        environment.push(("TIDEMARK_SCHEDULES".to_string(), schedules.to_string()));
        lanes::run(Which::Modules("simulators/all", modules), &self.built.programs, &environment)
    }
}

fn rates(night: &Night) -> Result<String> {
    lanes::run(Which::Rates, &night.built.programs, &environment())
}

fn fresh(night: &Night) -> Result<String> {
    let campaigns = PARTS.iter().filter(|part| part.name != MUTANTS);
    let modules: Vec<&str> = campaigns.flat_map(Part::modules).copied().collect();
    let passed = night.modules(&modules, &night.first.to_string());
    let first = night.first;
    Ok(format!("{}, seeds from {first} on", passed.with_context(|| format!("seeds from {first} on"))?))
}

fn experiments(_: &Night) -> Result<String> {
    let mut command = Command::new(released()?);
    command.args(["experiment", "compare", "--at-most", "5m"]).current_dir(root());
    let mut said = String::new();
    let passed = run_and_hear(&mut command, |line| {
        println!("{line}");
        said = said.clone() + line + "\n";
    });
    let moved = moved(&said);
    passed.map(|()| moved.clone()).context(moved)
}

/// Returns what stays of the words of `experiment compare`: how much has moved, and each statement and figure that has.
fn moved(said: &str) -> String {
    let (mut experiment, mut all, mut summary) = ("", String::new(), "");
    for line in said.lines() {
        if !line.starts_with(' ') {
            experiment = line.split(',').next().unwrap_or_default();
        } else if ["  VERDICT ", "  moved ", "  FAILED "].iter().any(|mark| line.starts_with(mark)) {
            all += &format!("\n    {experiment}: {}", line.trim());
        }
        if line.contains(" experiments measured again: ") {
            summary = line;
        }
    }
    summary.to_string() + &all
}

fn properties(night: &Night) -> Result<String> {
    let seed = night.first.to_string();
    let more = [
        ("PROPTEST_CASES", "2560"),
        ("PROPTEST_RNG_SEED", &*seed),
        ("TIDEMARK_SCHEDULES", "all"),
        ("TIDEMARK_TEST_ALL", "1"),
    ];
    let environment: Vec<_> = more.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let passed = lanes::run(Which::Models, &night.built.programs, &environment);
    Ok(format!("{}, PROPTEST_RNG_SEED={seed}", passed.with_context(|| format!("PROPTEST_RNG_SEED={seed}"))?))
}

fn differential(night: &Night) -> Result<String> {
    let seed = night.first.to_string();
    let mut command = Command::new(night.built.binary("tidemark-differential")?);
    command.args(["--seed", &seed, "--commands", "1000000"]);
    run(command.env("TIDEMARK_BIN", night.built.binary("tidemark")?))?;
    Ok(format!("1,000,000 commands, seed {seed}"))
}

fn faults(night: &Night) -> Result<String> {
    let mut environment = environment();
    let more = [("TORTURE_ROUNDS", "50"), ("ROUNDS", "80"), ("TORTURE_CUT_SECONDS", "50")];
    environment.extend(more.map(|(name, value)| (name.to_string(), value.to_string())));
    let modules = ["groups", "regrouping", "types", "whole"];
    lanes::run(Which::Modules("tidemark/torture", &modules), &night.built.programs, &environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names_of_their_own_and_help_lists_them() {
        let names: std::collections::BTreeSet<_> = PARTS.iter().map(|part| part.name).collect();
        assert_eq!(names.len(), PARTS.len());
        assert!(names.iter().all(|name| help().contains(name)));
        assert!(PARTS.iter().any(|part| part.name == MUTANTS));
        let why = nightly(&["no-such-part".to_string()]).unwrap_err().to_string();
        assert!(why.starts_with("no-such-part: no such part"), "{why}");
    }

    /// A campaign that no part names is played in full by nobody.
    #[test]
    fn every_module_of_campaigns_is_in_a_part() {
        let main = std::fs::read_to_string(root().join("crates/simulators/tests/all/main.rs")).unwrap();
        let declared = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        let mut declared: Vec<&str> = declared.filter(|module| *module != "playing").collect();
        let mut played: Vec<&str> = PARTS.iter().flat_map(Part::modules).copied().collect();
        declared.sort_unstable();
        played.sort_unstable();
        assert_eq!(played, declared);
    }

    #[test]
    fn what_moved_is_named() {
        let said = "one, 3 s: 1 of 2 statements moved\n  same    a: 1\n  moved   b: 1 → 2\n\
                    two, 4 s: 0 of 1 statements moved\n  VERDICT c: 1 (holds) → 2 (fails)\n  moved   figure c.svg\n\n\
                    2 experiments measured again: 3 statements, 2 moved, 1 verdicts moved, 1 figures moved\n";
        assert_eq!(
            moved(said),
            "2 experiments measured again: 3 statements, 2 moved, 1 verdicts moved, 1 figures moved\n    \
             one: moved   b: 1 → 2\n    two: VERDICT c: 1 (holds) → 2 (fails)\n    two: moved   figure c.svg"
        );
    }
}
