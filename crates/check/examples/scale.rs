//! How the checker's time and memory grow with the history: `cargo run --release -p tidemark-check --example scale`.
//!
//! Histories of 10,000, 100,000 and 1,000,000 operations (or of the sizes given as arguments) come from a small
//! causal store of three data centres, and are held to each guarantee on its own, by values and by versions. The
//! column *growth* is the processor time for each operation, as a multiple of that of the size before: 1.0 is linear.
//!
//! Memory is what the process needed at most beyond the history, as Linux tells it; elsewhere it is not shown.

use std::process::Command;
use std::sync::LazyLock;
use std::time::Instant;
use tidemark_check::{Options, Properties, Property, Report, check_with};
use tidemark_core::history::History;

#[path = "scale/store.rs"]
mod store;
use store::Shape;

/// What is timed: a name, the properties, and whether by values only.
struct Case {
    name: &'static str,
    properties: Properties,
    values_only: bool,
}

fn cases() -> Vec<Case> {
    use Property::*;
    let session = [ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads];
    let of = |properties: &[Property]| properties.iter().fold(Properties::default(), |all, p| all.with(*p));
    let mut cases = Vec::new();
    for values_only in [true, false] {
        let mut case = |name, properties: &[Property]| {
            cases.push(Case { name, properties: of(properties), values_only });
        };
        for property in session.iter().chain(&[MonotonicWritesGlobal, WritesFollowReadsGlobal]) {
            case(property.name(), &[*property]);
        }
        case("session", &session);
        case("causal", &[Causal, OverwriteOrder]);
        case("causal-snapshot", &[Causal, OverwriteOrder, Snapshot, AtomicWrites]);
    }
    cases
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [one, shape, case, size] = &args[..]
        && one == "one"
    {
        let number = |text: &String| text.parse::<usize>().expect("a number");
        return measure(Shape::ALL[number(shape)].1, &cases()[number(case)], number(size));
    }
    let given: Vec<usize> = args.iter().filter_map(|n| n.replace('_', "").parse().ok()).collect();
    let sizes = if given.is_empty() { vec![10_000, 100_000, 1_000_000] } else { given };
    for (shape, (title, _)) in Shape::ALL.iter().enumerate() {
        println!("\n{title}");
        table(&sizes, shape);
    }
}

fn table(sizes: &[usize], shape: usize) {
    println!(
        "{:<28}{:<10}{:>11}{:>10}{:>12}{:>9}{:>12}",
        "guarantee", "by", "operations", "seconds", "ops/s", "growth", "memory MB"
    );
    for (number, case) in cases().iter().enumerate() {
        let mut before: Option<f64> = None;
        for size in sizes {
            let (seconds, megabytes) = in_its_own_process(shape, number, *size);
            let each = seconds / *size as f64;
            let growth = before.map_or(String::new(), |before| format!("{:.2}", each / before));
            let by = if case.values_only { "values" } else { "versions" };
            let rate = *size as f64 / seconds;
            println!(
                "{:<28}{by:<10}{size:>11}{seconds:>10.3}{rate:>12.0}{growth:>9}{megabytes:>12}",
                case.name
            );
            before = Some(each);
        }
    }
}

/// Memory that one check has used would be there for the next.
fn in_its_own_process(shape: usize, case: usize, size: usize) -> (f64, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let output = command.args(["one".into(), shape.to_string(), case.to_string(), size.to_string()]).output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let (seconds, megabytes) = text.trim().split_once(' ').expect("two numbers");
    (seconds.parse().expect("seconds"), megabytes.to_string())
}

/// Prints the seconds for one check, the mean of some, and its memory.
fn measure(shape: Shape, case: &Case, size: usize) {
    let history: History = store::generate(size, shape);
    let options = Options { limit: 3, values_only: case.values_only, ..Options::new(case.properties) };
    let (floor, begin) = (resident("VmRSS"), clock());
    reset_peak();
    let (mut peak, mut runs) = (None, 0);
    // What the clock tells is some milliseconds coarse.
    while runs < 2 || clock() - begin < 0.4 {
        let report: Report = check_with(&history, options);
        peak = peak.or_else(|| resident("VmHWM"));
        assert!(report.ok(), "the store is causal\n{report}");
        runs += 1;
    }
    let seconds = (clock() - begin) / f64::from(runs);
    let used = peak.zip(floor).map(|(peak, floor)| (peak - floor).max(0.0) / 1024.0);
    println!("{seconds} {}", used.map_or("-".to_string(), |used| format!("{used:.0}")));
}

/// Seconds that this process has had a processor, so that a busy machine does not blur them (Linux); else those that
/// have passed.
fn clock() -> f64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let had = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds: Option<f64> = had.and_then(|line| line.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGIN.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// A line of `/proc/self/status`, in kB.
fn resident(field: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Lets the peak start again from what is resident now (Linux).
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
