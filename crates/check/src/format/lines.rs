//! JSON lines, as `docs/history-format.md` describes them: the header first, then operations and last words.

use super::ReadError;
use std::io::{self, BufRead, Write};
use tidemark_core::history::{History, Line};

/// Reads a history in JSON lines. Blank lines and lines that start with `#` are skipped.
pub fn read_history(mut input: impl BufRead) -> Result<History, ReadError> {
    let mut history = History::default();
    let (mut text, mut number, mut headed) = (String::new(), 0, false);
    loop {
        text.clear();
        number += 1;
        let read = input.read_line(&mut text).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => ReadError::at(number, "not UTF-8: escape bytes as \\xNN"),
            _ => ReadError::Io(e),
        })?;
        if read == 0 {
            return if headed { Ok(history) } else { Err(ReadError::Empty) };
        }
        let line = text.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match serde_json::from_str(line).map_err(|e| ReadError::at(number, explain(&e, &text)))? {
            Line::Header(_) if headed => {
                return Err(ReadError::at(number, "a second header: give each history a file of its own"));
            }
            Line::Header(header) => {
                history.header = header;
                headed = true;
            }
            _ if !headed => {
                let what = "the header is missing: put {\"type\":\"history\",\"format\":1} before this line";
                return Err(ReadError::at(number, what));
            }
            Line::Event(event) => history.events.push(event),
            Line::Final(last) => history.finals.push(last),
            Line::Lost(lost) => history.lost.push(lost),
        }
    }
}

/// What is wrong with a line: the parser's words, without its count of the one line it was given.
fn explain(error: &serde_json::Error, text: &str) -> String {
    let words = error.to_string();
    let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
    if error.is_eof() && !text.ends_with('\n') {
        return format!("{what}: the last line is cut off; if its recorder was killed, remove that line");
    }
    match error.column() {
        0 => what.to_string(),
        column => format!("{what} (column {column})"),
    }
}

/// Writes a history in JSON lines.
pub fn write_history(history: &History, mut output: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut output, &history.header)?;
    output.write_all(b"\n")?;
    for event in &history.events {
        serde_json::to_writer(&mut output, event)?;
        output.write_all(b"\n")?;
    }
    for last in &history.finals {
        serde_json::to_writer(&mut output, last)?;
        output.write_all(b"\n")?;
    }
    for lost in &history.lost {
        serde_json::to_writer(&mut output, lost)?;
        output.write_all(b"\n")?;
    }
    output.flush()
}
