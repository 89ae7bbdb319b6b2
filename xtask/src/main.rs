//! Developer commands behind `./x`.

mod artefacts;
mod bench;
mod check;
mod client_tests;
mod environment;
mod fetch;
mod foreign;
mod lanes;
mod nightly;
mod pins;
mod raise;
mod redis_tests;
mod run;
mod seeds;
mod silence;
mod steps;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
./x check          read only: formatting, clippy with warnings as errors, tidy
./x fix            formats, applies clippy's suggestions, lowers the ratchet
./x test           the gate: check, and the tests that every change has to pass; see ./x test --help
./x nightly        longer searches, rates and latencies, in parts; see ./x nightly --help
./x seeds          writes the table of schedules that show what mutants violate; see ./x seeds --help
./x fetch          installs what tests need; see ./x fetch --help
./x raise          raises the pinned versions of what tests install; see ./x raise --help
./x tidy           only the tidy test: which crate may use what, lengths, headers, links, words
./x redis-tests    the tests of Redis itself, against one node; see ./x redis-tests --help
./x client-tests   the tests of client libraries, against one node; see ./x client-tests --help
./x differential   random commands to redis-server and to one node, and their replies compared; see --help
./x bench          Tidemark beside redis-server; see ./x bench --help
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let verb = args.first().map_or("help", String::as_str);
    let rest = args.get(1..).unwrap_or_default();
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    let done = match (verb, &words[..]) {
        ("check", []) => check::check(),
        ("fix", []) => check::fix(),
        ("test", _) => test::test(rest),
        ("nightly", _) => nightly::nightly(rest),
        ("seeds", _) => seeds::seeds(rest),
        ("fetch", _) => fetch::run(rest),
        ("raise", _) => raise::run(rest),
        ("tidy", []) => tidy::run(),
        ("redis-tests", _) => redis_tests::run(rest),
        ("client-tests", _) => client_tests::run(rest),
        ("differential", _) => differential(rest),
        ("bench", _) => bench::run(rest),
        ("help" | "--help" | "-h", _) | ("check" | "fix" | "tidy", ["--help" | "-h"]) => {
            print!("{HELP}");
            Ok(())
        }
        _ => {
            eprint!("./x {}: there is no such command\n\n{HELP}", args.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => environment::report(verb, &error),
    }
}

/// Runs the program of that crate, with the binary that it needs.
fn differential(args: &[String]) -> anyhow::Result<()> {
    fetch::programs::check_redis(fetch::programs::REDIS_SERVER)?;
    let tidemark = run::tidemark()?;
    let mut command =
        run::command(env!("CARGO"), &["run", "--quiet", "--package", "tidemark-differential", "--"]);
    run::run(command.args(args).env("TIDEMARK_BIN", tidemark))
}
