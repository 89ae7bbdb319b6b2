//! `./x test`: the gate, which CI runs, and what `--full` adds.
//!
//! Everything is built once, in the `dev` profile: clippy checks, and one `cargo test --no-run` builds all tests and the binaries that they
//! run. These are optimised a little, and look after themselves: an overflow or a broken assumption ends them.

use crate::artefacts::Artefacts;
use crate::lanes::{self, Which};
use crate::run::{cargo, run};
use crate::steps::Steps;
use crate::{check, client_tests, fetch, redis_tests};
use anyhow::{Context, Result, bail};
use std::process::Command;

pub(crate) const HELP: &str = "\
./x test [--full] [--again N]

Runs the gate, which every change has to pass: twenty minutes on two cores.

  fetch      installs the programs and libraries that are missing
  check      formatting, the tidy rules, clippy
  build      all tests, once
  compute    tests that use nothing but the processor
  processes  tests that start servers and clusters, and Redis's own tests
  doc        examples in documentation

  --full     adds the test suites of client libraries, applications, browsers, faults on clusters of all protocols, the longest of
             Redis's own tests, and a long comparison with redis-server: about twenty minutes more
  --again N  runs compute and processes (and what --full adds) N times, and stops at the first run that fails

Longer searches, rates and latencies: ./x nightly.
";

/// The options of the user.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    full: bool,
    times: usize,
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options { full: false, times: 1 };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--full" => options.full = true,
            "--again" => {
                let times = rest.next().and_then(|times| times.parse().ok()).filter(|times| *times > 0);
                options.times = times.context("--again takes a number of runs, such as 10")?;
            }
            other => bail!("{other}: no such option\n\n{HELP}"),
        }
    }
    Ok(options)
}

pub(crate) fn test(args: &[String]) -> Result<()> {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = parse(args)?;
    let mut steps = Steps::new(format!("./x test {}", args.join(" ")).trim_end());
    let fetch = if options.full { fetch::fetch_full } else { fetch::fetch_gate };
    let ready = steps.step("fetch", || fetch().map(|()| String::new()));
    let mut built = None;
    // Without what fetch brings, all others would fail for the same reason.
    if ready {
        steps.step("check", check::all);
    }
    if ready && steps.step("build", || Artefacts::build().map(|all| built.insert(all).summary())) {
        let built = built.expect("the step has passed");
        let mut times = 1..=options.times;
        if times.all(|time| run_all(&mut steps, &built, &options, time)) {
            steps.step("doc", doc);
        }
    }
    steps.finish()
}

/// Runs what was built, for the first or another time. Whether everything passed.
fn run_all(steps: &mut Steps, built: &Artefacts, options: &Options, time: usize) -> bool {
    let environment = environment();
    let mut passed = true;
    let mut step = |name: &str, step: &dyn Fn() -> Result<String>| {
        let name = if options.times == 1 { name.to_string() } else { format!("{name} {time}") };
        passed &= steps.step(&name, step);
    };
    step("compute", &|| lanes::run(Which::Compute, &built.programs, &environment));
    step("processes", &|| {
        let ours = lanes::run(Which::Processes, &built.programs, &environment);
        both(ours, redis_tests::run_all(built.binary("tidemark")?, false))
    });
    if options.full {
        step("clients", &|| lanes::run(Which::Full, &built.programs, &environment));
        step("redis-tests", &|| redis_tests::run_all(built.binary("tidemark")?, true));
        step("client-tests", &|| client_tests::run_all(built.binary("tidemark")?));
        step("differential", &|| differential(built));
    }
    passed
}

/// The words of two parts of a step, or their errors.
fn both(one: Result<String>, other: Result<String>) -> Result<String> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(format!("{one}, {other}")),
        (Err(one), Err(other)) => bail!("{one:#}; {other:#}"),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}

/// Variables for all tests.
pub(crate) fn environment() -> Vec<(String, String)> {
    // With this set, a test whose tools are missing fails instead of saying that it was left out.
    let mut environment = vec![("TIDEMARK_TEST_ALL".to_string(), "1".to_string())];
    // A run that fails fails again. Other inputs: PROPTEST_RNG_SEED=N ./x test, or `cargo test`, which draws anew.
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        environment.push(("PROPTEST_RNG_SEED".to_string(), "1".to_string()));
    }
    environment
}

fn doc() -> Result<String> {
    cargo(&["test", "--workspace", "--doc", "--no-fail-fast", "--quiet"])?;
    Ok(String::new())
}

/// As many commands as take a few minutes, the same each time.
fn differential(built: &Artefacts) -> Result<String> {
    let mut command = Command::new(built.binary("tidemark-differential")?);
    run(command
        .args(["--seed", "1", "--commands", "150000"])
        .env("TIDEMARK_BIN", built.binary("tidemark")?))?;
    Ok("150,000 commands".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options> {
        parse(&words.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_wrong_ones_are_explained() {
        assert_eq!(parsed("").unwrap(), Options { full: false, times: 1 });
        assert_eq!(parsed("--again 10 --full").unwrap(), Options { full: true, times: 10 });
        for wrong in ["--again", "--again none", "--again 0", "fast"] {
            let why = parsed(wrong).unwrap_err().to_string();
            assert!(why.contains("--again takes a number") || why.contains("no such option"), "{why}");
        }
    }

    #[test]
    fn a_step_of_two_parts_fails_with_either() {
        let part =
            |fails: bool, word: &str| if fails { bail!("{word} failed") } else { Ok(word.to_string()) };
        let of = |one, other| both(part(one, "one"), part(other, "other")).map_err(|error| error.to_string());
        assert_eq!(of(false, false), Ok("one, other".into()));
        assert_eq!(of(true, false), Err("one failed".into()));
        assert_eq!(of(false, true), Err("other failed".into()));
        assert_eq!(of(true, true), Err("one failed; other failed".into()));
    }
}
