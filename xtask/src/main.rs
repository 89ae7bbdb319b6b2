//! Developer commands behind `./x`.

mod bench;
mod check;
mod lanes;
mod run;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
./x check          read only: formatting, clippy with warnings as errors, tidy
./x fix            formats, applies clippy's suggestions, lowers the ratchet
./x test           everything that CI runs: check, and all tests, end-to-end tests too
./x tidy           only the tidy test: which crate may use what, lengths, headers, links, words
./x bench          Tidemark beside redis-server; see ./x bench --help
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let verb = args.first().map_or("help", String::as_str);
    let rest = args.get(1..).unwrap_or_default();
    let done = match (verb, rest) {
        ("check", []) => check::check(),
        ("fix", []) => check::fix(),
        ("test", []) => test::test(),
        ("tidy", []) => tidy::run(),
        ("bench", rest) => bench::run(rest),
        ("help" | "--help" | "-h", _) => {
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
        Err(error) => {
            eprintln!("./x {verb}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
