//! Following a child's log: what is alarming is shown in the terminal.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// A place in a log file, from which on nothing has been looked at.
pub(super) struct Tail {
    file: Option<File>,
    unfinished: Vec<u8>,
}

impl Tail {
    /// At the end of `log`, which exists.
    pub(super) fn at_end_of(log: &Path) -> Self {
        let mut file = File::open(log).ok();
        if let Some(file) = &mut file {
            let _ = file.seek(SeekFrom::End(0));
        }
        Self { file, unfinished: Vec::new() }
    }

    /// The warnings, errors and panics that were logged since.
    pub(super) fn alarming(&mut self) -> Vec<String> {
        let Some(file) = &mut self.file else { return Vec::new() };
        let _ = file.read_to_end(&mut self.unfinished);
        let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let lines: Vec<u8> = self.unfinished.drain(..=end).collect();
        let lines = String::from_utf8_lossy(&lines).into_owned();
        lines.lines().filter_map(alarm).collect()
    }
}

/// What of a line is to be shown, if anything: a log line loses its time stamp.
fn alarm(line: &str) -> Option<String> {
    let mut words = line.splitn(2, char::is_whitespace);
    let (first, rest) = (words.next()?, words.next().unwrap_or_default().trim_start());
    let stamped = first.len() > 19 && first.as_bytes()[10] == b'T';
    match stamped {
        // What the supervisor ordered itself it need not hear again.
        true if rest.contains(" tidemark_server::admin") => None,
        true => (rest.starts_with("WARN") || rest.starts_with("ERROR")).then(|| rest.to_string()),
        false => (first == "tidemark:" || (first == "thread" && rest.contains("panicked")))
            .then(|| line.to_string()),
    }
}

/// The last lines of a file, indented.
pub(super) fn last_lines(file: &Path, count: usize) -> String {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(count)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_what_is_alarming_is_shown_once_its_line_is_complete() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        writeln!(log, "2026-01-01T00:00:00.000000Z ERROR before the start").unwrap();
        let mut tail = Tail::at_end_of(log.path());
        writeln!(log, "2026-01-01T00:00:00.000000Z  INFO serving").unwrap();
        write!(log, "2026-01-01T00:00:00.000000Z  WARN link: peer b is").unwrap();
        assert!(tail.alarming().is_empty());
        writeln!(log, " away\n2026-01-01T00:00:00.000000Z  WARN tidemark_server::admin::orders: links: Cut\nthread 'main' panicked at src\ntidemark: disk full\nnote: other").unwrap();
        assert_eq!(
            tail.alarming(),
            ["WARN link: peer b is away", "thread 'main' panicked at src", "tidemark: disk full"]
        );
        assert!(tail.alarming().is_empty());
        assert_eq!(last_lines(log.path(), 2), "  tidemark: disk full\n  note: other");
    }
}
