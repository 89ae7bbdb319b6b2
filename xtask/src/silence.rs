//! Commands that may take as long as they like, but have to say something now and then. What is slow is never stopped; what hangs is.

use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest silence of a command. The longest test takes two minutes beside nothing, and says nothing meanwhile.
pub(crate) const SILENCE: Duration = Duration::from_secs(20 * 60);

/// The pause between two looks at a command.
const PAUSE: Duration = Duration::from_millis(50); // time: a look that comes late finds the same

/// Runs a command in a process group of its own, with its output in `file`, and ends the processes that it leaves behind. A pipe would
/// stay open for as long as one of those. Returns its exit status.
///
/// # Errors
/// The command cannot be run, or was killed since `file` did not grow for as long as `silence`.
pub(crate) fn run(silence: Duration, command: &mut Command, file: &File) -> Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let mut child = command.process_group(0).spawn().with_context(|| format!("cannot run {command:?}"))?;
    let (mut length, mut grew) = (0, Instant::now());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        let now = file.metadata()?.len();
        if now != length {
            (length, grew) = (now, Instant::now());
        }
        // time: the limit is on silence, not on duration
        if grew.elapsed() >= silence {
            break None;
        }
        sleep(PAUSE);
    };
    kill_group(child.id());
    child.wait()?;
    status.with_context(|| format!("killed: it said nothing for {} s", silence.as_secs()))
}

/// Kills a process group, of which nothing may be left.
pub(crate) fn kill_group(group: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn script(silence: Duration, script: &str) -> (Result<ExitStatus>, String) {
        let mut file = tempfile::tempfile().expect("a file");
        let ended = run(silence, Command::new("sh").args(["-c", script]), &file);
        let mut said = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut said)).expect("what it said");
        (ended, said)
    }

    #[test]
    fn what_a_command_leaves_behind_ends_with_it() {
        let (ended, said) = script(SILENCE, "sleep 100000 & echo $!");
        assert!(ended.expect("it ended by itself").success());
        // Gone, or dead and waited for by nobody.
        let stat = format!("/proc/{}/stat", said.trim());
        tidemark_patience::until("its process ends", || {
            std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
        });
    }

    #[test]
    fn a_command_that_hangs_is_killed_and_what_it_said_is_kept() {
        // Beside others, it may be killed before it has begun.
        tidemark_patience::eventually("begun\n".to_string(), || {
            let (ended, said) = script(Duration::from_secs(1), "echo begun; sleep 100000");
            assert_eq!(ended.expect_err("it hangs").to_string(), "killed: it said nothing for 1 s");
            said
        });
    }
}
