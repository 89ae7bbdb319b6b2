//! Inline requests: a line of words, as typed into telnet, with quotes.
//!
//! The rules are those of Redis: words are separated by white space; inside double quotes `\n \r \t \b \a \xHH`
//! and `\` before any other character are escapes; inside single quotes only `\'` is; a closing quote must be
//! followed by white space or the end; a NUL ends the line.
//!
//! I1: a word is never longer than what it was written as, so words are unquoted in place and stay slices of the
//! read buffer.

use super::request::Span;

/// A quote was left open, or something stood right behind a closing one.
pub(super) struct Unbalanced;

/// White space between words, as C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Splits `line` (without its line end) into words, unquoting them in place.
pub(super) fn split(line: &mut [u8], words: &mut Vec<Span>) -> Result<(), Unbalanced> {
    let end = memchr::memchr(0, line).unwrap_or(line.len());
    let line = &mut line[..end];
    let mut read = 0;
    loop {
        while line.get(read).copied().is_some_and(is_space) {
            read += 1;
        }
        if read == line.len() {
            return Ok(());
        }
        let start = read;
        let write;
        (read, write) = word(line, read)?;
        words.push(Span::new(start, write - start));
    }
}

/// Unquotes the word at `start`; returns where reading goes on and where the unquoted word ends.
fn word(line: &mut [u8], start: usize) -> Result<(usize, usize), Unbalanced> {
    let (mut read, mut write) = (start, start);
    while let Some(&byte) = line.get(read) {
        match byte {
            // `\v` and `\f` separate words only at their start: so does Redis.
            b' ' | b'\n' | b'\r' | b'\t' => break,
            b'"' | b'\'' => {
                (read, write) = quoted(line, byte, read + 1, write)?;
                match line.get(read) {
                    Some(&next) if !is_space(next) => return Err(Unbalanced),
                    _ => return Ok((read, write)),
                }
            }
            _ => {
                line[write] = byte;
                (read, write) = (read + 1, write + 1);
            }
        }
    }
    Ok((read, write))
}

/// Unquotes up to the closing `quote`; returns where reading goes on (behind it) and the new write position.
fn quoted(line: &mut [u8], quote: u8, read: usize, write: usize) -> Result<(usize, usize), Unbalanced> {
    let (mut read, mut write) = (read, write);
    loop {
        let byte = *line.get(read).ok_or(Unbalanced)?;
        if byte == quote {
            return Ok((read + 1, write));
        }
        let (unquoted, length) = match (quote, &line[read + 1..]) {
            (b'"', [b'x', high, low, ..])
                if byte == b'\\' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (hex(*high) << 4 | hex(*low), 4)
            }
            (b'"', [escaped, ..]) if byte == b'\\' => (escape(*escaped), 2),
            (b'\'', [b'\'', ..]) if byte == b'\\' => (b'\'', 2),
            _ => (byte, 1),
        };
        line[write] = unquoted;
        (read, write) = (read + length, write + 1);
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn escape(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}
