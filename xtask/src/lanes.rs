//! Test programs, three at a time: some use the processor, and some wait for real processes to die and come back.

use crate::run::{command, root};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many programs run at the same time.
const LANES: usize = 3;

/// Programs that mostly wait, the longest first: how many of their tests run at the same time. They begin before all others.
const WAITING: &[(&str, usize)] = &[("clients", 2), ("torture", 4)];

/// A program that runs for longer hangs: several times as long as the longest takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(25 * 60);

/// A test program that cargo has built.
struct Program {
    /// What cargo calls it: the package and the target.
    name: String,
    target: String,
    executable: PathBuf,
    /// The package's folder, in which cargo runs its tests.
    folder: PathBuf,
}

/// Builds all tests, runs their programs, and then the tests in documentation. Those that fail are named at the end; the others
/// run all the same.
pub(crate) fn run_all(environment: &[(&str, String)]) -> Result<()> {
    let programs = build()?;
    let of = programs.len();
    let (queue, failed, done) = (Mutex::new(in_order(programs)), Mutex::new(Vec::new()), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let Some(program) = queue.lock().expect("no lane panics").pop_front() else { return };
                    println!("running {}", program.name); // one that hangs is known by this line
                    let began = Instant::now();
                    let (passed, said) = play(&program, environment);
                    // What a program says is printed as a whole.
                    let mut done = done.lock().expect("no lane panics");
                    *done += 1;
                    let seconds = began.elapsed().as_secs_f64();
                    println!("\n{} ({done} of {of}, {seconds:.1} s)\n{said}", program.name);
                    if !passed {
                        failed.lock().expect("no lane panics").push(program.name);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner()?;
    let mut documents = command(env!("CARGO"), &["test", "--workspace", "--doc", "--no-fail-fast"]);
    if !documents.status().context("cannot run cargo")?.success() {
        failed.push("the tests in documentation".to_string());
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

/// Builds the tests; cargo tells about it on standard error.
fn build() -> Result<Vec<Program>> {
    let mut cargo = command(
        env!("CARGO"),
        &["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"],
    );
    let built = cargo.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !built.status.success() {
        bail!("the tests do not compile");
    }
    let lines = String::from_utf8(built.stdout)?;
    let programs: Vec<Program> = lines.lines().filter_map(program).collect();
    if programs.is_empty() {
        bail!("cargo has built no tests");
    }
    Ok(programs)
}

/// The program that a line of cargo tells of, if it is one.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let executable = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let target = message["target"]["name"].as_str()?.to_string();
    let source = Path::new(message["target"]["src_path"].as_str()?);
    let name = source.strip_prefix(root()).unwrap_or(source).display().to_string();
    Some(Program { name, target, executable, folder })
}

fn waiting(program: &Program) -> Option<usize> {
    WAITING.iter().position(|(name, _)| *name == program.target)
}

fn in_order(mut programs: Vec<Program>) -> VecDeque<Program> {
    programs.sort_by_key(|program| waiting(program).unwrap_or(usize::MAX));
    programs.into()
}

/// Runs a program to its end, and ends the processes that it leaves behind. Whether its tests passed, and what it said.
fn play(program: &Program, environment: &[(&str, String)]) -> (bool, String) {
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.env("CARGO", env!("CARGO")).envs(environment.iter().map(|(name, value)| (name, value)));
    if let Some(place) = waiting(program) {
        command.env("RUST_TEST_THREADS", WAITING[place].1.to_string());
    }
    let (ended, said) = match tempfile::tempfile() {
        Ok(mut file) => {
            let ended = within(PATIENCE, &mut command, &file);
            let mut said = Vec::new();
            let read = file.rewind().and_then(|()| file.read_to_end(&mut said));
            (read.map_err(Into::into).and(ended), String::from_utf8_lossy(&said).into_owned())
        }
        Err(error) => (Err(error.into()), String::new()),
    };
    match ended {
        Ok(passed) => (passed, said),
        Err(error) => (false, format!("{said}\n{}: {error:#}\n", program.executable.display())),
    }
}

/// Runs a command whose output goes to `file`: a pipe would stay open for as long as a process that it left behind. Whether it
/// succeeded; an error if it had to be killed.
fn within(patience: Duration, command: &mut Command, file: &File) -> Result<bool> {
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let began = Instant::now();
    let mut child = command.process_group(0).spawn()?;
    let status = loop {
        match child.try_wait()? {
            None if began.elapsed() < patience => sleep(Duration::from_millis(50)),
            status => break status,
        }
    };
    let group = format!("-{}", child.id());
    let mut kill = Command::new("kill");
    kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status()?; // fails if none is left
    child.wait()?;
    status.map(|status| status.success()).with_context(|| format!("killed after {} s", patience.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(patience: Duration, script: &str) -> (Result<bool>, String) {
        let mut file = tempfile::tempfile().expect("a file");
        let ended = within(patience, Command::new("sh").args(["-c", script]), &file);
        let mut said = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut said)).expect("what it said");
        (ended, said)
    }

    #[test]
    fn what_a_program_leaves_behind_is_not_waited_for() {
        let began = Instant::now();
        let (ended, said) = script(PATIENCE, "sleep 600 & echo $!");
        assert!(ended.expect("it ended by itself"));
        assert!(began.elapsed() < Duration::from_secs(500));
        // Gone, or dead and waited for by nobody; this hangs if it lives.
        let stat = format!("/proc/{}/stat", said.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_program_that_hangs_is_killed_and_what_it_said_is_kept() {
        let (ended, said) = script(Duration::from_secs(1), "echo begun; sleep 600");
        assert_eq!(ended.expect_err("it hangs").to_string(), "killed after 1 s");
        assert_eq!(said, "begun\n");
    }
}
