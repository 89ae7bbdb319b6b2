//! What measured, and where: for the record.

use std::fs::read_to_string;
use std::process::Command;

/// The machine in a few words: processor, how many of them, memory, system.
pub fn machine() -> String {
    let first = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let cpu = read_to_string("/proc/cpuinfo").ok().and_then(|text| first(&text, "model name"));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = read_to_string("/proc/meminfo").ok().and_then(|text| first(&text, "MemTotal"));
    let memory = memory.and_then(|text| text.trim_end_matches(" kB").parse::<f64>().ok());
    let memory = memory.map(|kib| format!("{:.0} GiB", kib / 1024.0 / 1024.0));
    let system = rustix::system::uname();
    let system = format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy());
    let plural = if cpus == 1 { "CPU" } else { "CPUs" };
    let all = [Some(format!("{cpus} {plural}")), cpu, memory, Some(system)];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The version of a program, with the commit of the checkout if it was built in one.
pub fn version(number: &str) -> String {
    let describe = || {
        let program = std::env::current_exe().ok()?;
        let folder = program.parent()?;
        let args = ["describe", "--always", "--dirty", "--exclude", "*"];
        let output = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let checkout = describe().map(|commit| format!(" (checkout {commit})"));
    format!("{number}{}", checkout.unwrap_or_default())
}
