//! History files: JSON lines, which lose nothing, and the integers-only form that other checkers share.

mod lines;
mod text;

pub use lines::{read_history, write_history};
pub use text::{TextError, read_text, write_text};

use std::io::{self, BufRead};
use tidemark_core::history::History;

/// A history could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input failed.
    #[error("cannot read the history: {0}")]
    Io(#[from] io::Error),
    /// A line is not what it has to be.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong, and what to do.
        what: String,
    },
    /// There is nothing.
    #[error(
        "the history is empty: it starts with {{\"type\":\"history\",\"format\":1}} or an r(…) or w(…) line"
    )]
    Empty,
}

impl ReadError {
    fn at(line: u64, what: impl Into<String>) -> Self {
        Self::Line { line, what: what.into() }
    }
}

/// Reads a history in either form, told apart by the first line that is neither blank nor a comment.
pub fn parse(mut input: impl BufRead) -> Result<History, ReadError> {
    let mut head = Vec::new();
    let first = loop {
        let start = head.len();
        if input.read_until(b'\n', &mut head)? == 0 {
            return Err(ReadError::Empty);
        }
        match head[start..].iter().find(|b| !b.is_ascii_whitespace()) {
            None | Some(b'#') => {}
            Some(byte) => break *byte,
        }
    };
    let line = head.split(|b| *b == b'\n').count() as u64 - u64::from(head.ends_with(b"\n"));
    let whole = io::Read::chain(&head[..], input);
    match first {
        b'{' => read_history(whole),
        b'r' | b'w' => read_text(whole),
        _ => Err(ReadError::at(
            line,
            "neither a JSON object nor an operation r(key,value,session,txn) or w(key,value,session,txn)",
        )),
    }
}
