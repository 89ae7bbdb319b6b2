//! Whole applications, unmodified: the programs of `examples/`. Each checks itself, or is run in two regions with the
//! link between them cut.

use crate::harness::up::Up;
use crate::harness::{Cluster, Scratch, wait_for};
use crate::install;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn example(path: &str) -> PathBuf {
    Path::new(EXAMPLES).join(path)
}

/// Runs a program with the address of a node, and with more arguments; what it printed.
fn at(program: &mut Command, up: &Up, node: usize, arguments: &[&str]) -> String {
    let address = up.nodes()[node].redis;
    program.args([address.ip().to_string(), address.port().to_string()]).args(arguments);
    install::run(program)
}

/// One region of two partitions, so that keys that belong together are kept together by hash tags.
fn region(scratch: &Scratch) -> Up {
    Up::start(scratch, &["--regions", "1"])
}

/// Runs the program of an example in Python, which checks itself.
fn python_checks(name: &str, parts: usize) {
    let Some(python) = install::python_of_applications() else { return };
    let scratch = Scratch::new(&format!("clients-{name}"));
    let up = region(&scratch);
    // No files of compiled modules in the source tree.
    let mut program = Command::new(python);
    program.arg("-B").arg(example(name).join("check.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    all_parts(&at(&mut program, &up, 0, &[]), parts);
}

/// An example that ends early without an error has checked less than it has to.
fn all_parts(said: &str, parts: usize) {
    // What a worker logs may come in the middle of a line.
    const DONE: &str = ": as expected";
    let done: Vec<&str> = said.lines().filter(|line| line.contains(DONE)).collect();
    assert_eq!(said.matches(DONE).count(), parts, "{said}");
    println!("{}", done.join("\n"));
}

#[test]
fn celery() {
    python_checks("celery", 6);
}

#[test]
fn django() {
    python_checks("django", 4);
}

#[test]
fn bullmq() {
    let Some(folder) = install::bullmq() else { return };
    // Modules are found from where a script lies.
    let copy = folder.join(format!("{}-check.mjs", std::process::id()));
    std::fs::copy(example("bullmq/check.mjs"), &copy).expect("the script");
    let scratch = Scratch::new("clients-bullmq");
    let up = region(&scratch);
    let said = at(Command::new("node").arg(&copy), &up, 0, &[]);
    std::fs::remove_file(copy).expect("the copy");
    all_parts(&said, 7);
}

/// Two regions, and a program in Python that is run at either.
struct TwoRegions {
    up: Up,
    python: PathBuf,
    script: PathBuf,
    _scratch: Scratch,
}

impl TwoRegions {
    fn start(script: &str) -> Option<Self> {
        let python = install::python()?;
        let scratch = Scratch::new(&format!("clients-{}", script.replace(['/', '.'], "-")));
        let up = Up::start(&scratch, &["--regions", "2"]);
        Some(Self { up, python, script: example(script), _scratch: scratch })
    }

    /// What the program prints in a region, given words and variables of the environment.
    fn run(&self, region: usize, words: &str, variables: &[(&str, &str)]) -> String {
        let mut program = Command::new(&self.python);
        // The limiter's window is a minute, which may pass meanwhile.
        program.arg(&self.script).env("WINDOW", "36000").envs(variables.iter().copied());
        let arguments: Vec<&str> = words.split(' ').collect();
        at(&mut program, &self.up, region, &arguments).trim().to_string()
    }

    /// Waits until the program prints the same in both regions, and that is `expected`.
    fn agree(&self, words: &str, expected: &str) {
        for region in [0, 1] {
            wait_for(format!("{words}: {expected:?} in region {region}"), || {
                (self.run(region, words, &[]) == expected).then_some(())
            });
        }
    }
}

/// In one region no request too many is admitted. Regions that are cut off from each other admit as many each; when the
/// link is back, all of them count.
fn limits(way: &str) {
    let Some(regions) = TwoRegions::start("rate-limiter/limiter.py") else { return };
    let take = |region, user: &str, times| regions.run(region, &format!("{way} take {user} {times}"), &[]);
    assert_eq!(take(0, "ann", 25), "10", "of 25 requests");
    assert_eq!(take(0, "bob", 4), "4", "another user has another window");
    regions.agree(&format!("{way} count ann"), "10");
    assert_eq!(take(1, "ann", 3), "0", "the other region knows of them");
    regions.agree(&format!("{way} count bob"), "4");
    regions.up.cut("A", "B", false);
    assert_eq!((take(0, "bob", 9), take(1, "bob", 9)), ("6".to_string(), "6".to_string()));
    regions.up.heal();
    regions.agree(&format!("{way} count bob"), "16");
    assert_eq!((take(0, "bob", 2), take(1, "bob", 2)), ("0".to_string(), "0".to_string()));
    // The window moves on: one of half a second is empty soon.
    let brief = || regions.run(0, &format!("{way} take cid 10"), &[("WINDOW", "0.5")]);
    assert_eq!(brief(), "10");
    let mut later = 0;
    wait_for("as many are admitted again", || {
        later += brief().parse::<u32>().expect("a number");
        (later >= 10).then_some(())
    });
}

#[test]
fn a_rate_limiter_with_transactions() {
    limits("multi");
}

#[test]
fn a_rate_limiter_with_a_script() {
    limits("script");
}

/// Points of both regions add up, and of rounds the highest counts. Points that came in while the other region took a
/// player off count from zero.
#[test]
fn a_leaderboard() {
    let Some(regions) = TwoRegions::start("leaderboard/leaderboard.py") else { return };
    let all = |region, lines: &[&str]| lines.iter().for_each(|words| drop(regions.run(region, words, &[])));
    all(0, &["add ann 10", "add bob 20", "add cid 30", "round ann 7", "round bob 5"]);
    regions.agree("points", "cid 30\nbob 20\nann 10");
    regions.agree("best", "ann 7\nbob 5");
    regions.up.cut("A", "B", false);
    all(0, &["add ann 15", "add dan 1", "round ann 9", "round bob 8", "remove cid"]);
    all(1, &["add ann 5", "add bob 2", "add cid 4", "round ann 6", "round bob 12"]);
    assert_eq!(regions.run(0, "points", &[]), "ann 25\nbob 20\ndan 1");
    assert_eq!(regions.run(1, "points", &[]), "cid 34\nbob 22\nann 15");
    regions.up.heal();
    regions.agree("points", "ann 30\nbob 22\ncid 4\ndan 1");
    regions.agree("best", "bob 12\nann 9");
}
