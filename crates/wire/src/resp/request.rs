//! Requests out of a read buffer, without copying and, in the steady state, without allocating.
//!
//! A request stays where it was read. [`RequestParser::parse`] notes where its arguments lie; [`Request`] lends
//! them as slices and gives one away as `Bytes` when asked, which costs one reference count.
//!
//! Source: the RESP specification and the behaviour of redis-server 7.0, whose limits, order of checks and words
//! are kept.
//!
//! **Deviations**
//! - D1: a NUL inside a length line is an invalid length at once; Redis goes on waiting for the end of the line.
//! - D2: a line's limit holds wherever packets end; Redis applies it only to what one read left incomplete.
//! - D3: a request beyond `request_bytes_max` (Redis: `client-query-buffer-limit`) gets an answer before the
//!   connection is closed.
//! - D4: the byte found instead of `$` is shown as its Latin-1 letter in UTF-8; Redis repeats the byte.
//!
//! **Invariants**
//! - I1: the requests do not depend on how the bytes were cut into reads.
//! - I2: no byte is looked at again and again: while a bulk is incomplete, nothing is parsed before it is whole.

use super::inline;
use super::number::{parse_i64, short_length};
use super::protocol_error::{ErrorKind, ProtocolError};
use bytes::{Buf, Bytes, BytesMut};
use std::ops::{Index, Range};

/// Longest inline request and longest length line, without its end.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// What a connection that has not authenticated may send: arguments a request, bytes an argument.
const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
const UNAUTHENTICATED_BULK_BYTES_MAX: i64 = 16 * 1024;
/// Room for arguments that is kept from one request to the next.
const SPANS_KEPT: usize = 1024;

/// Where an argument lies, from the start of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    /// REQUIRES: both below 4 GiB, which [`RequestLimits`] sees to.
    #[inline]
    pub(super) fn new(start: usize, length: usize) -> Self {
        Self { start: start as u32, length: length as u32 }
    }

    #[inline]
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }
}

/// How much a client may send.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Longest argument in bytes: `proto-max-bulk-len`.
    pub bulk_bytes_max: usize,
    /// Longest request in bytes: `client-query-buffer-limit`. At most 4 GiB − 1.
    pub request_bytes_max: usize,
}

impl Default for RequestLimits {
    /// As Redis: 512 MiB and 1 GiB.
    fn default() -> Self {
        Self { bulk_bytes_max: 512 << 20, request_bytes_max: 1 << 30 }
    }
}

/// What a look at the buffer gave.
enum Step {
    /// A request of so many bytes.
    Request(usize),
    /// So many bytes that ask for nothing.
    Nothing(usize),
    /// The rest has not arrived.
    Incomplete,
}

/// An incremental parser: one a connection.
#[derive(Debug)]
pub struct RequestParser {
    limits: RequestLimits,
    authenticated: bool,
    /// The arguments found so far.
    spans: Vec<Span>,
    /// Arguments of a multibulk request that were not found yet; 0 between requests.
    missing: usize,
    /// Where to go on, from the start of the request.
    position: usize,
    /// Up to where the line at `position` holds no line end.
    searched: usize,
    /// A buffer shorter than this cannot complete the request, or at least its next argument (I2).
    needed: usize,
}

impl Default for RequestParser {
    fn default() -> Self {
        Self::new(RequestLimits::default())
    }
}

impl RequestParser {
    /// A parser for a connection that need not, or did already, authenticate.
    pub fn new(limits: RequestLimits) -> Self {
        let mut parser = Self {
            limits,
            authenticated: true,
            spans: Vec::with_capacity(8),
            missing: 0,
            position: 0,
            searched: 0,
            needed: 1,
        };
        parser.set_limits(limits);
        parser
    }

    /// Changes the limits from the next argument on.
    pub fn set_limits(&mut self, limits: RequestLimits) {
        self.limits = limits;
        self.limits.request_bytes_max = limits.request_bytes_max.min(u32::MAX as usize);
    }

    /// Whether the connection may send more than 10 arguments, and arguments of more than 16 KiB.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.authenticated = authenticated;
    }

    /// How many bytes a buffer that holds `buffered` of them lacks at least until there is something to parse:
    /// a hint for how much to reserve, to be trusted only up to what the server is willing to spend on a promise.
    pub fn wanted(&self, buffered: usize) -> usize {
        self.needed.saturating_sub(buffered)
    }

    /// The next request in `buffer`, or none until more has been read. The request leaves the buffer when it is
    /// dropped. Empty requests are skipped.
    ///
    /// After an error nothing more can be read from the connection.
    #[inline]
    pub fn parse<'a>(&'a mut self, buffer: &'a mut BytesMut) -> Result<Option<Request<'a>>, ProtocolError> {
        loop {
            if buffer.len() < self.needed {
                return Ok(None);
            }
            let step = if self.missing > 0 || buffer[0] == b'*' {
                self.multibulk(buffer)?
            } else {
                self.inline(buffer)?
            };
            match step {
                Step::Request(length) => {
                    self.restart();
                    return Ok(Some(Request { buffer, spans: &self.spans, length, given: 0 }));
                }
                Step::Nothing(length) => {
                    self.restart();
                    buffer.advance(length);
                }
                Step::Incomplete => return Ok(None),
            }
        }
    }

    #[inline]
    fn restart(&mut self) {
        (self.missing, self.position, self.searched, self.needed) = (0, 0, 0, 1);
    }

    /// REQUIRES: `bytes` starts with `*` unless arguments are missing.
    #[inline]
    fn multibulk(&mut self, bytes: &[u8]) -> Result<Step, ProtocolError> {
        if self.missing == 0 {
            match self.count(bytes)? {
                None => return Ok(Step::Incomplete),
                Some(..=0) => return Ok(Step::Nothing(self.position)),
                Some(count) => self.missing = count as usize,
            }
            self.spans.clear();
            if self.spans.capacity() > SPANS_KEPT {
                self.spans.shrink_to(SPANS_KEPT);
            }
        }
        while self.missing > 0 {
            let Some((length, start)) = self.bulk(bytes)? else { return Ok(Step::Incomplete) };
            let end = start + length + 2;
            if end > self.limits.request_bytes_max {
                return Err(ErrorKind::RequestTooBig.into());
            }
            if end > bytes.len() {
                // `position` stays at the length line, which is read once more when the bulk is there.
                self.needed = end;
                return Ok(Step::Incomplete);
            }
            self.spans.push(Span::new(start, length));
            self.position = end;
            self.missing -= 1;
        }
        Ok(Step::Request(self.position))
    }

    /// The number behind `*`; leaves `position` behind its line.
    #[inline]
    fn count(&mut self, bytes: &[u8]) -> Result<Option<i64>, ProtocolError> {
        let (count, after) = match short_length(bytes, 0) {
            Some((count, after)) => (count as i64, after),
            None => {
                let Some((end, after)) = self.length_line(bytes, ErrorKind::CountLineTooBig)? else {
                    return Ok(None);
                };
                let count = parse_i64(&bytes[1..end]).filter(|count| *count <= i64::from(i32::MAX));
                (count.ok_or(ErrorKind::Count)?, after)
            }
        };
        if !self.authenticated && count > UNAUTHENTICATED_ARGS_MAX {
            return Err(ErrorKind::CountUnauthenticated.into());
        }
        self.position = after;
        Ok(Some(count))
    }

    /// The number behind `$` at `position`, and where the bulk starts.
    #[inline]
    fn bulk(&mut self, bytes: &[u8]) -> Result<Option<(usize, usize)>, ProtocolError> {
        let at = self.position;
        let (length, start) = match short_length(bytes, at) {
            Some(found) if bytes[at] == b'$' => found,
            _ => {
                let Some((end, after)) = self.length_line(bytes, ErrorKind::BulkLineTooBig)? else {
                    return Ok(None);
                };
                if bytes[at] != b'$' {
                    return Err(ErrorKind::NoBulk(bytes[at]).into());
                }
                let length = parse_i64(&bytes[at + 1..end]).ok_or(ErrorKind::Bulk)?;
                (usize::try_from(length).map_err(|_| ErrorKind::Bulk)?, after)
            }
        };
        if length > self.limits.bulk_bytes_max {
            return Err(ErrorKind::Bulk.into());
        }
        if !self.authenticated && length as i64 > UNAUTHENTICATED_BULK_BYTES_MAX {
            return Err(ErrorKind::BulkUnauthenticated.into());
        }
        Ok(Some((length, start)))
    }

    /// Where the line at `position` ends and the next begins. As in Redis, any byte may follow the `\r`.
    #[cold]
    fn length_line(
        &mut self,
        bytes: &[u8],
        too_big: ErrorKind,
    ) -> Result<Option<(usize, usize)>, ProtocolError> {
        let limit = self.position + LINE_BYTES_MAX + 1;
        let from = self.searched.max(self.position);
        let to = bytes.len().min(limit);
        match memchr::memchr(b'\r', &bytes[from.min(to)..to]) {
            Some(offset) if from + offset + 1 < bytes.len() => {
                self.searched = 0;
                Ok(Some((from + offset, from + offset + 2)))
            }
            None if bytes.len() >= limit => Err(too_big.into()),
            found => {
                self.searched = found.map_or(to, |offset| from + offset);
                self.needed = bytes.len() + 1;
                Ok(None)
            }
        }
    }

    #[cold]
    fn inline(&mut self, bytes: &mut [u8]) -> Result<Step, ProtocolError> {
        let to = bytes.len().min(LINE_BYTES_MAX + 1);
        let Some(offset) = memchr::memchr(b'\n', &bytes[self.searched.min(to)..to]) else {
            if bytes.len() > LINE_BYTES_MAX {
                return Err(ErrorKind::InlineTooBig.into());
            }
            (self.searched, self.needed) = (bytes.len(), bytes.len() + 1);
            return Ok(Step::Incomplete);
        };
        let end = self.searched + offset;
        self.spans.clear();
        inline::split(&mut bytes[..end], &mut self.spans).map_err(|_| ErrorKind::UnbalancedQuotes)?;
        Ok(if self.spans.is_empty() { Step::Nothing(end + 1) } else { Step::Request(end + 1) })
    }
}

/// One request, still in the read buffer: at least one argument, the first being the command's name.
///
/// `request[i]` is an argument's bytes. When the request is dropped its bytes leave the buffer.
#[derive(Debug)]
pub struct Request<'a> {
    buffer: &'a mut BytesMut,
    spans: &'a [Span],
    /// Bytes of the request.
    length: usize,
    /// How many of them have left the buffer through `take`.
    given: usize,
}

impl Request<'_> {
    /// How many arguments there are, the command's name included.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The argument's bytes, if there are so many. REQUIRES: no argument behind it was taken.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let range = self.spans.get(index)?.range();
        Some(&self.buffer[range.start - self.given..range.end - self.given])
    }

    /// The arguments in order. REQUIRES: none was taken.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| &self[index])
    }

    /// Leaves out the first `count` arguments: those behind them are a request of their own. REQUIRES: there are more, and none
    /// was taken.
    pub fn skip(&mut self, count: usize) {
        self.spans = &self.spans[count..];
    }

    /// Takes argument `index` out as shared bytes: no copy, one reference count, and none at all for what is
    /// only looked at. It and what stands before it can not be looked at again.
    ///
    /// The bytes keep the whole read buffer alive: copy what is to be kept for long.
    ///
    /// # Panics
    /// If there is no such argument or one at or behind it was taken before: take them in rising order.
    #[inline]
    pub fn take(&mut self, index: usize) -> Bytes {
        let range = self.spans[index].range();
        let skipped = range.start.checked_sub(self.given).expect("arguments are taken in rising order");
        self.buffer.advance(skipped);
        self.given = range.end;
        self.buffer.split_to(range.len()).freeze()
    }
}

impl Index<usize> for Request<'_> {
    type Output = [u8];
    #[inline]
    fn index(&self, index: usize) -> &[u8] {
        let range = self.spans[index].range();
        &self.buffer[range.start - self.given..range.end - self.given]
    }
}

impl Drop for Request<'_> {
    #[inline]
    fn drop(&mut self) {
        self.buffer.advance(self.length - self.given);
    }
}
