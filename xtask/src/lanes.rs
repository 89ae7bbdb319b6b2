//! Running test programs: those that compute in two lanes of one thread each, and those that start processes one after the other, two tests
//! at a time. More at once would make the load under which tests of processes fail.

use crate::artefacts::Program;
use crate::run::output;
use crate::silence::{self, SILENCE};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Seek};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// Programs whose tests start servers, clusters or other processes.
const PROCESSES: &[&str] = &[
    "server/cluster",
    "bench/all",
    "differential/all",
    "tidemark/cli",
    "tidemark/torture",
    "tidemark/clients",
];

/// Tests of processes that the gate leaves to `--full`, by program and the beginning of their names. Of tests that find the same mistakes
/// the gate keeps the quickest: one protocol instead of all, one way to sync, the simulator instead of processes that are killed at random.
const FULL: &[(&str, &str)] = &[
    ("differential/all", ""),
    ("server/cluster", "blocking::one_who_waits_is_woken_under_every_protocol"),
    ("server/cluster", "scopes::every_protocol_with_sessions_shares_them"),
    ("tidemark/cli", "documents::the_document_of_protocols_shows_all_that_is_measured"),
    ("tidemark/cli", "edge_bench::"),
    ("tidemark/cli", "experiments::a_load_is_calibrated_simulated_and_measured"),
    ("tidemark/cli", "searches::the_document_of_the_simulator_tells_the_first_violations"),
    ("tidemark/cli", "table::a_scalar_does_not_grow_with_the_number_of_data_centres_and_a_vector_does"),
    ("tidemark/clients", ""),
    ("tidemark/torture", "every::"),
    ("tidemark/torture", "groups::a_copy_that_is_interrupted_is_sent_again"),
    ("tidemark/torture", "groups::every_protocol_outlives_its_leaders"),
    ("tidemark/torture", "groups::groups_go_on_while_their_leaders_are_killed_and_members_replaced"),
    ("tidemark/torture", "regrouping::"),
    ("tidemark/torture", "spread::regions_of_two_nodes"),
    ("tidemark/torture", "spread::regions_that_hold_some_keys_only"),
    ("tidemark/torture", "spread::three_regions_that_sync_before_they_answer"),
    ("tidemark/torture", "spread::three_regions_under_gentlerain"),
    ("tidemark/torture", "whole::mset_is_whole_under_cure"),
    ("tidemark/torture", "whole::mset_is_whole_under_eiger"),
    ("tidemark/torture", "whole::mset_is_whole_under_wren"),
];

/// Tests that are tools for whoever works on a crate. Cargo ignores them, and no command runs them.
const BY_HAND: &[(&str, &str)] = &[
    // Gigabytes of memory.
    ("server/cluster", "sizes::largest::values_of_64_and_of_512_mebibytes"),
    ("store/all", "log_fixture::write_the_fixture"),
    ("store/all", "log_throughput::appends"),
    ("store/all", "typed::one_schedule"),
];

/// Programs that compute for longest, and begin before all others.
const LONGEST: &[&str] = &["simulators/all", "steps/all", "edge/all", "sim/all", "check/all"];

/// The tests of one run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which<'a> {
    /// Those of the gate that use nothing but the processor.
    Compute,
    /// Those of them that other parts of a night leave out: all but the simulator's.
    Models,
    /// Those of the gate that start processes.
    Processes,
    /// Those that the gate leaves out.
    Full,
    /// Those of rates and latencies: modules called `rates`, whose tests cargo ignores.
    Rates,
    /// Those of a program that are in some of its modules.
    Modules(&'a str, &'a [&'a str]),
}

impl Which<'_> {
    /// Whether a test runs, by its program and name.
    fn has(self, program: &str, test: &str) -> bool {
        let module = module_of(test);
        let processes = PROCESSES.contains(&program);
        let full = FULL.iter().any(|(name, left)| *name == program && test.starts_with(left));
        match self {
            Self::Compute => !processes,
            Self::Models => !processes && program != "simulators/all",
            Self::Processes => processes && !full,
            Self::Full => full,
            Self::Rates => module == "rates" || test.contains("::rates::"),
            Self::Modules(name, modules) => name == program && modules.contains(&module),
        }
    }

    fn how(self) -> How {
        match self {
            Self::Compute | Self::Models => How { lanes: 2, threads: 1, talks: false },
            Self::Processes | Self::Full => How { lanes: 1, threads: 2, talks: false },
            Self::Rates => How { lanes: 1, threads: 1, talks: true },
            // The modules of one program are a unit each, unless they start processes.
            Self::Modules(program, _) if PROCESSES.contains(&program) => {
                How { lanes: 1, threads: 1, talks: true }
            }
            Self::Modules(..) => How { lanes: 1, threads: 2, talks: true },
        }
    }
}

/// The number of programs that run at a time, and of their tests.
#[derive(Clone, Copy)]
struct How {
    lanes: usize,
    threads: usize,
    /// The output of tests is not kept back until they end: a long search says how it goes on.
    talks: bool,
}

/// Tests of a program that run in one process.
struct Unit<'a> {
    program: &'a Program,
    /// The module in which they are.
    module: String,
    tests: Vec<String>,
}

/// The result of a unit.
struct Ended {
    name: String,
    seconds: f64,
    passed: usize,
    /// The tests that failed; the unit itself if it did not come to its end.
    failed: Vec<String>,
    /// The text that it printed.
    said: String,
}

/// Runs tests of these programs with variables of the environment. Returns how many there were.
///
/// # Errors
/// Some failed: their names.
pub(crate) fn run(which: Which, programs: &[Program], environment: &[(String, String)]) -> Result<String> {
    let units = units(which, programs)?;
    let how = which.how();
    let (of, queue, all) = (units.len(), Mutex::new(VecDeque::from(units)), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..how.lanes {
            scope.spawn(|| {
                loop {
                    let Some(unit) = queue.lock().expect("no lane panics").pop_front() else { return };
                    let ended = unit.play(how, environment);
                    let mut all = all.lock().expect("no lane panics");
                    println!("{:4} of {of}  {}", all.len() + 1, ended.line());
                    if !ended.failed.is_empty() {
                        println!("{}", ended.said);
                    }
                    all.push(ended);
                }
            });
        }
    });
    judge(all.into_inner()?)
}

fn judge(mut all: Vec<Ended>) -> Result<String> {
    let passed: usize = all.iter().map(|ended| ended.passed).sum();
    let failed: Vec<String> = all.iter().flat_map(|ended| ended.failed.clone()).collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    println!("the longest:");
    all.iter().take(10).for_each(|ended| println!("  {}", ended.line()));
    if failed.is_empty() { Ok(format!("{passed} tests")) } else { bail!("{}", failed.join(", ")) }
}

/// The module of a program in which a test is.
fn module_of(test: &str) -> &str {
    test.split_once("::").map_or("", |(module, _)| module)
}

/// The names of a program's tests.
fn list(program: &Program, more: &[&str]) -> Result<BTreeSet<String>> {
    let listed = output(Command::new(&program.executable).args(["--list", "--format", "terse"]).args(more))?;
    Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect())
}

/// The units of a run, the longest first.
fn units<'a>(which: Which, programs: &'a [Program]) -> Result<Vec<Unit<'a>>> {
    let mut units = Vec::new();
    let mut full: Vec<_> = FULL.iter().collect();
    for program in programs {
        let (all, ignored) = (list(program, &[])?, list(program, &["--ignored"])?);
        full.retain(|(name, left)| *name != program.name || !all.iter().any(|test| test.starts_with(left)));
        let mut modules = BTreeMap::<&str, Vec<String>>::new();
        let name = program.name.as_str();
        let is_run = |test: &str| Which::Rates.has(name, test) || BY_HAND.contains(&(name, test));
        if let Some(test) = ignored.iter().find(|test| !is_run(test)) {
            bail!("{name} {test} is ignored, and no command runs it: see BY_HAND in xtask/src/lanes.rs");
        }
        for test in &all {
            let module = module_of(test);
            if ignored.contains(test) == (which == Which::Rates) && which.has(&program.name, test) {
                // Tests that wait for processes run together: module by module, each would end with one of them alone.
                let computes = !PROCESSES.contains(&program.name.as_str()) && program.name.contains('/');
                modules.entry(if computes { module } else { "" }).or_default().push(test.clone());
            }
        }
        let unit = |(module, tests): (&str, _)| Unit { program, module: module.to_string(), tests };
        units.extend(modules.into_iter().map(unit));
    }
    if let Some((name, left)) = full.first() {
        bail!("{name} has no tests whose names begin with {left:?}: see FULL in xtask/src/lanes.rs");
    }
    units.sort_by_key(|unit| {
        let long = LONGEST.iter().position(|name| *name == unit.program.name).unwrap_or(usize::MAX);
        (long, PROCESSES.iter().position(|name| *name == unit.program.name))
    });
    Ok(units)
}

impl Unit<'_> {
    fn name(&self) -> String {
        match self.module.as_str() {
            "" => self.program.name.clone(),
            module => format!("{} {module}", self.program.name),
        }
    }

    /// Runs the tests to their end, with the processes that they start.
    fn play(&self, how: How, environment: &[(String, String)]) -> Ended {
        let began = Instant::now();
        let played = self.try_play(how, environment);
        let seconds = began.elapsed().as_secs_f64();
        let (complete, said) = played.unwrap_or_else(|error| (Err(error), String::new()));
        let mut failed: Vec<String> =
            failed(&said).map(|test| format!("{} {test}", self.program.name)).collect();
        if failed.is_empty()
            && let Err(error) = complete
        {
            failed.push(format!("{} ({error:#})", self.name()));
        }
        Ended { name: self.name(), seconds, passed: passed(&said), failed, said }
    }

    fn try_play(&self, how: How, environment: &[(String, String)]) -> Result<(Result<()>, String)> {
        let mut command = Command::new(&self.program.executable);
        command.args(["--exact", "--include-ignored"]).args(&self.tests).current_dir(&self.program.folder);
        command.env("CARGO_MANIFEST_DIR", &self.program.folder).env("CARGO", env!("CARGO"));
        command.args(how.talks.then_some("--nocapture")).env("RUST_TEST_THREADS", how.threads.to_string());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let mut file = tempfile::tempfile().context("a file for what tests print")?;
        let ended = silence::run(SILENCE, &mut command, &file);
        let mut said = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut said))?;
        let complete = match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(anyhow::anyhow!("{status}")),
            Err(error) => Err(error),
        };
        Ok((complete, String::from_utf8_lossy(&said).into_owned()))
    }
}

impl Ended {
    fn line(&self) -> String {
        let failed =
            if self.failed.is_empty() { String::new() } else { format!(", {} FAILED", self.failed.len()) };
        format!("{:7.1} s  {}: {} passed{failed}", self.seconds, self.name, self.passed)
    }
}

/// The tests that failed: the list before the result.
fn failed(said: &str) -> impl Iterator<Item = &str> {
    let list = said.rsplit_once("\nfailures:\n").map_or("", |(_, list)| list);
    list.lines().map_while(|line| line.strip_prefix("    "))
}

/// The number of tests that passed, as the harness counts them.
fn passed(said: &str) -> usize {
    let result = said.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let words = result.and_then(|result| result.split_once(". ")).map_or("", |(_, counts)| counts);
    words.split_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_and_tests_that_fail_are_named() {
        let said = "running 3 tests\ntest m::a ... ok\ntest m::b ... FAILED\ntest m::c ... talks\nFAILED\n\nfailures:\n\n\
                    ---- m::b stdout ----\n    no\n\nfailures:\n    m::b\n    m::c\n\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 4 filtered out";
        assert_eq!((passed(said), failed(said).collect::<Vec<_>>()), (1, vec!["m::b", "m::c"]));
        assert_eq!((passed("killed"), failed("killed").count()), (0, 0));
    }

    #[test]
    fn a_unit_that_ends_early_has_failed() {
        let play = |executable: &str| {
            let program = Program { name: "p/all".into(), executable: executable.into(), folder: "/".into() };
            Unit { program: &program, module: "m".into(), tests: vec!["m::a".into()] }
                .play(Which::Compute.how(), &[])
        };
        assert_eq!(play("false").failed, ["p/all m (exit status: 1)"]);
        assert!(play("/no/such/program").failed[0].starts_with("p/all m (cannot run"));
        assert_eq!(play("true").failed, [""; 0]);
        assert!(judge(vec![play("true"), play("false")]).is_err());
    }

    #[test]
    fn each_test_is_of_the_gate_or_of_full() {
        let gate = [
            ("check/all", "oracle::a"),
            ("core", "a"),
            ("tidemark/cli", "up::a"),
            ("tidemark/torture", "whole::mset_is_whole_under_tidemark"),
        ];
        let full = [("tidemark/clients", "libraries::a"), ("tidemark/torture", "every::a")];
        for (program, test) in gate.into_iter().chain(full) {
            let of = [Which::Compute, Which::Processes, Which::Full].map(|which| which.has(program, test));
            assert_eq!(of.into_iter().filter(|has| *has).count(), 1, "{program} {test}");
            assert_eq!(of[2], full.contains(&(program, test)), "{program} {test}");
        }
        let some = Which::Modules("check/all", &["oracle"]);
        let of = [("check/all", "oracle::a"), ("check/all", "asked::a"), ("core", "oracle::a")];
        assert_eq!(of.map(|(program, test)| some.has(program, test)), [true, false, false]);
        assert!(Which::Rates.has("bench/all", "omission::rates::a"));
    }
}
