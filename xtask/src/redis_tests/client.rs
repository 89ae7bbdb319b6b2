//! One unit, run by the client of Redis's own test runner. We are that runner's server: we tell the client first to load
//! `keep_going.tcl`, then to run the unit, and it tells us how each test ended.

use crate::foreign::{Ended, Outcome, Played, numbered};
use crate::run::root;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// After this long without a reply a test looks whether the server is only slow: whether it answers somebody else who asks later.
// time: nothing fails for it
const REPLY: Duration = Duration::from_secs(6);
/// A test that has had no reply for this long never ends.
const TEST: Duration = Duration::from_secs(600);
/// After this long without a result the client hangs, or a test goes on for ever.
const SILENCE: Duration = Duration::from_secs(900);

/// What is left out: what looks into the server by other means than the protocol, and other servers' premises.
const TAGS: &str = "-needs:debug -needs:repl -needs:save -needs:config-maxmemory -cluster:skip";

/// The client and all processes that it has started; dropping it ends them.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

/// Runs `unit` of the source of Redis against the server at `port`.
pub(super) fn play(source: &Path, port: u16, unit: &str) -> Result<Played> {
    let began = Instant::now();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = start(source, port, listener.local_addr()?.port())?;
    let stream = accept(&listener, &mut client)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut tally = Tally::default();
    let complete = talk(stream, unit, &mut tally);
    drop(client);
    let mut played = tally.finish(began.elapsed().as_secs_f64());
    match complete {
        Ok(true) => {}
        Ok(false) => played.notes.push("the client ended within the unit".to_string()),
        Err(error) if is_silence(&error) => {
            played.notes.push(format!("stopped after {} s without a result", SILENCE.as_secs()));
        }
        Err(error) => played.notes.push(format!("the client does not follow its protocol: {error:#}")),
    }
    Ok(played)
}

/// Whether a read has waited for too long.
fn is_silence(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

fn start(source: &Path, port: u16, runner: u16) -> Result<Client> {
    let mut command = Command::new("tclsh");
    command.args(["tests/test_helper.tcl", "--client", &runner.to_string()]);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--singledb", "--ignore-encoding", "--ignore-digest", "--tags", TAGS]);
    let script = root().join("xtask/src/redis_tests/keep_going.tcl");
    command.env("REDIS_TESTS_KEEP_GOING", script);
    command.env("REDIS_TESTS_LIMIT_MS", TEST.as_millis().to_string());
    command.env("REDIS_TESTS_REPLY_LIMIT_MS", REPLY.as_millis().to_string());
    command.current_dir(source).process_group(0).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(Client(command.spawn().context("tclsh is missing; Debian has it in tcl")?))
}

/// The client's connection to us.
fn accept(listener: &TcpListener, client: &mut Client) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = client.0.try_wait()? {
            bail!("the client of Redis's test runner ended before it began ({status})");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Orders, and results until the unit is done. Whether it came to its end.
fn talk(mut stream: TcpStream, unit: &str, tally: &mut Tally) -> Result<bool> {
    let mut order = |order: &str| write!(stream, "{}\n{order}", order.len());
    order("run_code {keep_going {} {source $::env(REDIS_TESTS_KEEP_GOING)}}")?;
    order(&format!("run unit/{unit}"))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    // Its greeting is a packet: a length, and a list that says that it is ready.
    let mut length = String::new();
    reader.read_line(&mut length)?;
    let mut greeting = vec![0; length.trim().parse().context("the length of a packet")?];
    reader.read_exact(&mut greeting)?;
    let mut scripts_done = 0;
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line).into_owned();
        line.clear();
        let fields: Vec<String> = text.trim_end_matches('\n').split('\t').map(unescaped).collect();
        let [status, name, details] = &fields[..] else { bail!("not a result: {text:?}") };
        if status == "done" {
            scripts_done += 1;
            // The first was our own script.
            if scripts_done == 2 {
                return Ok(true);
            }
        } else {
            tally.note(status, name, details)?;
        }
    }
    Ok(false)
}

fn unescaped(field: &str) -> String {
    let mut text = String::new();
    let mut rest = field.chars();
    while let Some(letter) = rest.next() {
        text.push(match letter {
            '\\' => match rest.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            letter => letter,
        });
    }
    text
}

/// Results as they arrive.
#[derive(Default)]
struct Tally {
    outcomes: Vec<Outcome>,
    /// How often a name has occurred.
    occurred: BTreeMap<String, usize>,
    notes: Vec<String>,
}

impl Tally {
    fn note(&mut self, status: &str, name: &str, details: &str) -> Result<()> {
        // A list holds a name a line.
        let name = name.replace(['\n', '\r', '\t'], " ").trim().to_string();
        let ended = match status {
            "note" => {
                self.notes.push(details.to_string());
                return Ok(());
            }
            "testing" => {
                let occurred = self.occurred.entry(name.clone()).or_default();
                *occurred += 1;
                let name = numbered(&name, *occurred);
                self.outcomes.push(Outcome { name, ended: Ended::Failed, details: "no result".into() });
                return Ok(());
            }
            "ok" => Ended::Passed,
            "err" => Ended::Failed,
            "skip" => Ended::Skipped,
            _ => bail!("a result of an unknown kind: {status}"),
        };
        // What is left out between tests has no name.
        let Some(occurred) = self.occurred.get(&name) else { return Ok(()) };
        let name = numbered(&name, *occurred);
        let outcome = self.outcomes.iter_mut().rfind(|outcome| outcome.name == name).expect("it has begun");
        let failed_before = outcome.ended == Ended::Failed && outcome.details != "no result";
        if !failed_before {
            (outcome.ended, outcome.details) = (ended, details.to_string());
        }
        Ok(())
    }

    fn finish(self, seconds: f64) -> Played {
        Played { outcomes: self.outcomes, notes: self.notes, seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_by_test() {
        let mut tally = Tally::default();
        let events = [
            ("testing", "a", ""),
            ("ok", "a", ""),
            ("skip", "", "between tests"),
            ("testing", "a", ""),
            ("err", "a", "Expected 1"),
            ("ok", "a", ""),
            ("note", "", "an error"),
            ("testing", "b", ""),
            ("skip", "b", "a tag"),
            ("testing", "c", ""),
        ];
        for (status, name, details) in events {
            tally.note(status, name, details).unwrap();
        }
        let played = tally.finish(1.0);
        let ended: Vec<(&str, Ended)> =
            played.outcomes.iter().map(|outcome| (&outcome.name[..], outcome.ended)).collect();
        assert_eq!(
            ended,
            [("a", Ended::Passed), ("a #2", Ended::Failed), ("b", Ended::Skipped), ("c", Ended::Failed)]
        );
        assert_eq!(played.notes, ["an error"]);
    }

    #[test]
    fn a_client_that_says_nothing_is_told_from_one_that_says_something_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        // time: who says nothing is silent for as long as anybody waits
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut tally = Tally::default();
        let error = talk(stream.try_clone().unwrap(), "unit", &mut tally).unwrap_err();
        assert!(is_silence(&error), "{error:#}");
        stream.set_read_timeout(None).unwrap();
        silent.write_all(b"5\nreadynonsense\n").unwrap();
        let error = talk(stream, "unit", &mut tally).unwrap_err();
        assert!(!is_silence(&error), "{error:#}");
    }

    #[test]
    fn fields_are_unescaped() {
        assert_eq!(unescaped("a\\tb\\\\n\\n"), "a\tb\\n\n");
    }
}
