//! The client's side of RESP: replies out of a read buffer.
//!
//! A stack of half-filled aggregates remembers where the decoder is, so that bytes leave the buffer as they are
//! understood and nothing is read twice, however the bytes were cut into reads. Strings are slices of the buffer.
//!
//! Source: the RESP3 specification. Streamed strings and aggregates (`$?`, `*?`), which no server sends, are
//! refused.

use super::number::{parse_i64, short_length};
use super::reply::Reply;
use bytes::{Buf, Bytes, BytesMut};

/// How much a server may send in one reply.
#[derive(Clone, Copy, Debug)]
pub struct DecoderLimits {
    /// Longest string in bytes.
    pub bulk_bytes_max: usize,
    /// Longest line (simple strings, errors, numbers) in bytes.
    pub line_bytes_max: usize,
    /// Deepest nesting of aggregates.
    pub depth_max: usize,
    /// Most elements of one reply, nested ones included.
    pub elements_max: usize,
}

impl Default for DecoderLimits {
    fn default() -> Self {
        Self { bulk_bytes_max: 512 << 20, line_bytes_max: 64 << 10, depth_max: 32, elements_max: 1 << 24 }
    }
}

/// The bytes are no reply: nothing more can be read from the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The first byte is none of the types'.
    #[error("a reply starts with byte {0:#04x}")]
    Type(u8),
    /// A length, number, double or truth value is not one.
    #[error("malformed number or length in a reply of type '{0}'")]
    Number(char),
    /// A line or a string does not end in `\r\n`.
    #[error("missing line end in a reply")]
    LineEnd,
    /// One of [`DecoderLimits`] is exceeded.
    #[error("a reply exceeds the limit of {0}")]
    Limit(&'static str),
}

/// An aggregate whose elements are arriving.
#[derive(Debug)]
struct Frame {
    kind: u8,
    missing: usize,
    items: Vec<Reply>,
}

/// What the first line of an element says.
enum Element {
    Whole(Reply),
    Aggregate(Frame),
}

/// An incremental decoder: one a connection.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: DecoderLimits,
    stack: Vec<Frame>,
    elements: usize,
    /// Up to where the buffer holds no line end.
    searched: usize,
    /// A buffer shorter than this cannot complete the next element.
    needed: usize,
}

impl Decoder {
    /// A decoder with its own limits.
    pub fn new(limits: DecoderLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The next reply, or none until more has been read. What was understood has left the buffer.
    pub fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Reply>, DecodeError> {
        while buffer.len() >= self.needed.max(1) {
            let Some(element) = self.element(buffer)? else { return Ok(None) };
            (self.searched, self.needed) = (0, 0);
            self.elements += 1;
            if self.elements > self.limits.elements_max {
                return Err(DecodeError::Limit("elements"));
            }
            match element {
                Element::Aggregate(frame) if frame.missing > 0 => {
                    if self.stack.len() == self.limits.depth_max {
                        return Err(DecodeError::Limit("depth"));
                    }
                    self.stack.push(frame);
                }
                Element::Aggregate(frame) => {
                    let reply = frame.finish();
                    if let Some(whole) = self.settle(reply) {
                        return Ok(Some(whole));
                    }
                }
                Element::Whole(reply) => {
                    if let Some(whole) = self.settle(reply) {
                        return Ok(Some(whole));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Puts a complete element where it belongs; gives back the whole reply if that was its last.
    #[inline]
    fn settle(&mut self, mut reply: Reply) -> Option<Reply> {
        while let Some(frame) = self.stack.last_mut() {
            frame.items.push(reply);
            frame.missing -= 1;
            if frame.missing > 0 {
                return None;
            }
            reply = self.stack.pop().expect("it was there").finish();
        }
        self.elements = 0;
        Some(reply)
    }

    /// Takes the next element out of the buffer, aggregates without what they hold.
    #[inline]
    fn element(&mut self, buffer: &mut BytesMut) -> Result<Option<Element>, DecodeError> {
        if buffer[0] == b'$'
            && let Some((length, start)) = short_length(buffer, 0)
            && buffer[start - 1] == b'\n'
            && length <= self.limits.bulk_bytes_max
        {
            return self.string(buffer, start, length);
        }
        let Some(end) = self.line_end(buffer)? else { return Ok(None) };
        let kind = buffer[0];
        let line = &buffer[1..end];
        let reply = match kind {
            b'$' | b'=' | b'!' => match self.length(kind, line)? {
                None => Reply::Null,
                Some(length) => return self.string(buffer, end + 2, length),
            },
            b'*' | b'%' | b'~' | b'>' | b'|' => match self.length(kind, line)? {
                None => Reply::Null,
                Some(count) => {
                    buffer.advance(end + 2);
                    return Ok(Some(Element::Aggregate(Frame::new(kind, count))));
                }
            },
            b':' => {
                Reply::Integer(parse_i64(line.strip_prefix(b"+").unwrap_or(line)).ok_or(malformed(kind))?)
            }
            b'_' if line.is_empty() => Reply::Null,
            b'#' => match line {
                b"t" => Reply::Boolean(true),
                b"f" => Reply::Boolean(false),
                _ => return Err(malformed(kind)),
            },
            b',' => Reply::Double(double(line).ok_or(malformed(kind))?),
            b'+' if line == b"OK" => Reply::Simple(Bytes::from_static(b"OK")),
            b'+' | b'-' | b'(' => {
                if kind == b'(' && !is_big_number(line) {
                    return Err(malformed(kind));
                }
                buffer.advance(1);
                let text = buffer.split_to(end - 1).freeze();
                buffer.advance(2);
                return Ok(Some(Element::Whole(match kind {
                    b'+' => Reply::Simple(text),
                    b'-' => Reply::Error(text),
                    _ => Reply::BigNumber(text),
                })));
            }
            b'_' => return Err(malformed(kind)),
            _ => return Err(DecodeError::Type(kind)),
        };
        buffer.advance(end + 2);
        Ok(Some(Element::Whole(reply)))
    }

    /// Where the first line ends.
    #[inline]
    fn line_end(&mut self, buffer: &[u8]) -> Result<Option<usize>, DecodeError> {
        let limit = self.limits.line_bytes_max + 1;
        let to = buffer.len().min(limit + 1);
        match memchr::memchr(b'\r', &buffer[self.searched..to]) {
            Some(offset) if self.searched + offset + 1 < buffer.len() => {
                let end = self.searched + offset;
                if end == 0 {
                    return Err(DecodeError::Type(b'\r'));
                }
                if buffer[end + 1] == b'\n' { Ok(Some(end)) } else { Err(DecodeError::LineEnd) }
            }
            None if buffer.len() > limit => Err(DecodeError::Limit("line bytes")),
            found => {
                self.searched = found.map_or(to, |offset| self.searched + offset);
                self.needed = buffer.len() + 1;
                Ok(None)
            }
        }
    }

    /// The number behind a string's or an aggregate's type; none for −1, the null of RESP2.
    #[inline]
    fn length(&self, kind: u8, line: &[u8]) -> Result<Option<usize>, DecodeError> {
        let length = parse_i64(line).ok_or(malformed(kind))?;
        if length == -1 && matches!(kind, b'$' | b'*') {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| malformed(kind))?;
        match kind {
            b'$' | b'=' | b'!' if length > self.limits.bulk_bytes_max => {
                Err(DecodeError::Limit("bulk bytes"))
            }
            b'*' | b'%' | b'~' | b'>' | b'|' if length > self.limits.elements_max => {
                Err(DecodeError::Limit("elements"))
            }
            _ => Ok(Some(length)),
        }
    }

    /// The string of `length` bytes at `start`.
    #[inline]
    fn string(
        &mut self,
        buffer: &mut BytesMut,
        start: usize,
        length: usize,
    ) -> Result<Option<Element>, DecodeError> {
        let end = start + length;
        if buffer.len() < end + 2 {
            // The length line is read once more when the string is there.
            (self.searched, self.needed) = (0, end + 2);
            return Ok(None);
        }
        if &buffer[end..end + 2] != b"\r\n" {
            return Err(DecodeError::LineEnd);
        }
        let kind = buffer[0];
        buffer.advance(start);
        let mut bytes = buffer.split_to(length).freeze();
        buffer.advance(2);
        Ok(Some(Element::Whole(match kind {
            b'$' => Reply::Bulk(bytes),
            b'!' => Reply::BulkError(bytes),
            _ => {
                let format: [u8; 3] = match bytes.get(..4) {
                    Some(&[a, b, c, b':']) => [a, b, c],
                    _ => return Err(malformed(kind)),
                };
                bytes.advance(4);
                Reply::Verbatim(format, bytes)
            }
        })))
    }
}

impl Frame {
    /// REQUIRES: `count` within the limit of elements.
    fn new(kind: u8, count: usize) -> Self {
        let missing = match kind {
            b'%' => 2 * count,
            // The remarks, then what they are about.
            b'|' => 2 * count + 1,
            _ => count,
        };
        // What is announced is not yet there: room for little of it.
        Self { kind, missing, items: Vec::with_capacity(missing.min(64)) }
    }

    fn finish(mut self) -> Reply {
        match self.kind {
            b'*' => Reply::Array(self.items),
            b'~' => Reply::Set(self.items),
            b'>' => Reply::Push(self.items),
            b'%' => Reply::Map(pairs(self.items)),
            _ => {
                let reply = self.items.pop().expect("an attributed reply has itself as last element");
                Reply::Attributed(pairs(self.items), Box::new(reply))
            }
        }
    }
}

fn pairs(items: Vec<Reply>) -> Vec<(Reply, Reply)> {
    let mut items = items.into_iter();
    std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
}

#[cold]
fn malformed(kind: u8) -> DecodeError {
    DecodeError::Number(kind as char)
}

fn double(line: &[u8]) -> Option<f64> {
    match line {
        b"inf" => Some(f64::INFINITY),
        b"-inf" => Some(f64::NEG_INFINITY),
        b"nan" | b"-nan" => Some(f64::NAN),
        // Rust also reads words such as `infinity`.
        _ if line.iter().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => {
            std::str::from_utf8(line).ok()?.parse().ok()
        }
        _ => None,
    }
}

fn is_big_number(line: &[u8]) -> bool {
    let digits = line.strip_prefix(b"-").unwrap_or(line);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
