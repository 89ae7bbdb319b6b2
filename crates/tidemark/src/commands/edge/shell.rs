//! The shell: commands from standard input, with a prompt if that is a terminal.

use super::operations::words;
use super::session::{Session, print_line};
use super::state::in_a_word;
use super::verbs::{Verb, all_bytes};
use super::watch;
use clap::Parser;
use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use tokio::sync::mpsc;

/// A line of the shell.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true, help_template = "{subcommands}")]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

/// Reads commands until there are no more, and carries them out. The client works meanwhile.
pub(super) async fn run(session: Session) -> anyhow::Result<ExitCode> {
    let mut session = session.going_on();
    let asks = std::io::stdin().is_terminal();
    let mut lines = read_lines();
    let mut failed = false;
    if asks {
        eprintln!("An edge client of Tidemark; help shows the commands, exit ends.");
        // Who is online sees it at once.
        session.until(|client| client.base_regions() > 0).await;
    }
    loop {
        session.hear();
        if asks {
            prompt(&session);
        }
        let line = loop {
            tokio::select! {
                line = lines.recv() => break line,
                () = session.driver.step() => session.hear(),
            }
        };
        let Some(line) = line else { break };
        if matches!(line.trim_ascii(), b"exit" | b"quit") {
            break;
        }
        if let Err(error) = carry_out(&mut session, &line, &mut lines, asks).await {
            eprintln!("{error:#}");
            failed = true;
        }
    }
    session.deliver().await;
    Ok(if failed && !asks { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn carry_out(
    session: &mut Session,
    line: &[u8],
    lines: &mut mpsc::Receiver<Vec<u8>>,
    asks: bool,
) -> anyhow::Result<()> {
    let words = words(line)?;
    if words.is_empty() || words[0].starts_with(b"#") {
        return Ok(());
    }
    let line = Line::try_parse_from(words.into_iter().map(|word| OsString::from_vec(word.into())));
    match line {
        Ok(Line { verb: Verb::Watch { keys, count } }) => {
            let stop = async {
                // The lines of a script come after it, whenever they are read.
                match asks {
                    true => drop(lines.recv().await),
                    false => std::future::pending().await,
                }
            };
            if asks {
                eprintln!("(Enter ends it)");
            }
            watch::run(session, all_bytes(keys), count, stop).await
        }
        Ok(Line { verb }) => session.run(verb).await.map(drop),
        Err(help) if !help.use_stderr() => {
            print_line(help.to_string().trim_end().as_bytes());
            Ok(())
        }
        Err(error) => anyhow::bail!("{}", super::operations::first_line(&error.to_string())),
    }
}

fn prompt(session: &Session) {
    let (status, unsent) = (in_a_word(session.client().status()), session.client().unsent());
    let unsent = if unsent == 0 { String::new() } else { format!(", {unsent} unsent") };
    eprint!("{status}{unsent}> ");
    let _ = std::io::stderr().flush();
}

/// Standard input by lines, on a thread: a terminal cannot be waited for otherwise.
fn read_lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
