//! The server's side of RESP: replies into an output buffer. Also the one thing a client writes, a request.
//!
//! The encoder knows the connection's protocol version and writes what is new in RESP3 (maps, sets, pushes, nulls,
//! doubles, booleans, verbatim strings) as RESP2 clients expect it: flat arrays, `$-1`, bulk strings and integers.

use super::number::format_f64;
use super::reply::Reply;

/// The protocol version that a connection speaks: 2 until `HELLO 3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RESP2.
    #[default]
    Resp2,
    /// RESP3.
    Resp3,
}

impl Version {
    /// 2 or 3.
    pub fn number(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Appends replies to a buffer.
#[derive(Debug)]
pub struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    version: Version,
}

impl<'a> Encoder<'a> {
    /// An encoder that appends to `out`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, version: Version) -> Self {
        Self { out, version }
    }

    /// The version it speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Speaks `version` from the next reply on.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// Replies that are encoded already, in this version.
    pub fn encoded(&mut self, replies: &[u8]) {
        self.out.extend_from_slice(replies);
    }

    /// `OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// A simple string. REQUIRES: one line.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: a word in capitals, then what is wrong. Line ends in it become spaces.
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.line(b'-', text.as_ref());
    }

    /// A number.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.header(b':', value);
    }

    /// Any bytes.
    #[inline]
    pub fn bulk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.out.reserve(bytes.len() + 32);
        self.header(b'$', bytes.len() as i64);
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Nothing where a value was asked for: `$-1` or `_`.
    #[inline]
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Resp2 => b"$-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// Nothing where a list was asked for: `*-1` or `_`.
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Resp2 => b"*-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// Starts a list: `count` replies follow.
    #[inline]
    pub fn array(&mut self, count: usize) {
        self.header(b'*', count as i64);
    }

    /// Starts a map: `pairs` times two replies follow.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => self.header(b'*', 2 * pairs as i64),
            Version::Resp3 => self.header(b'%', pairs as i64),
        }
    }

    /// Starts a set: `count` replies follow.
    pub fn set(&mut self, count: usize) {
        self.header(if self.version == Version::Resp3 { b'~' } else { b'*' }, count as i64);
    }

    /// Starts a message that no request asked for: `count` replies follow.
    pub fn push(&mut self, count: usize) {
        self.header(if self.version == Version::Resp3 { b'>' } else { b'*' }, count as i64);
    }

    /// A double: its shortest decimal, as a bulk string in RESP2.
    pub fn double(&mut self, value: f64) {
        let mut text = String::with_capacity(24);
        format_f64(value, &mut text);
        self.decimal(text.as_bytes());
    }

    /// A double, as its digits: a bulk string in RESP2.
    pub fn decimal(&mut self, digits: &[u8]) {
        match self.version {
            Version::Resp2 => self.bulk(digits),
            Version::Resp3 => self.line(b',', digits),
        }
    }

    /// A truth value: 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        match self.version {
            Version::Resp2 => self.integer(i64::from(value)),
            Version::Resp3 => self.out.extend_from_slice(if value { b"#t\r\n" } else { b"#f\r\n" }),
        }
    }

    /// Text for people, with its format (`txt`, `mkd`): a bulk string in RESP2.
    pub fn verbatim(&mut self, format: [u8; 3], text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        if self.version == Version::Resp2 {
            return self.bulk(text);
        }
        self.header(b'=', text.len() as i64 + 4);
        self.out.extend_from_slice(&format);
        self.out.push(b':');
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A whole reply. What RESP2 lacks is written as the methods above do.
    pub fn reply(&mut self, reply: &Reply) {
        let resp3 = self.version == Version::Resp3;
        match reply {
            Reply::Simple(text) => self.line(b'+', text),
            Reply::Error(text) => self.line(b'-', text),
            Reply::Integer(value) => self.integer(*value),
            Reply::Bulk(bytes) => self.bulk(bytes),
            Reply::Null => self.null(),
            Reply::Double(value) => self.double(*value),
            Reply::Boolean(value) => self.boolean(*value),
            Reply::BigNumber(digits) if resp3 => self.line(b'(', digits),
            Reply::BigNumber(digits) => self.bulk(digits),
            Reply::BulkError(text) if resp3 => {
                self.header(b'!', text.len() as i64);
                self.out.extend_from_slice(text);
                self.out.extend_from_slice(b"\r\n");
            }
            Reply::BulkError(text) => self.line(b'-', text),
            Reply::Verbatim(format, text) => self.verbatim(*format, text),
            Reply::Array(items) => {
                self.array(items.len());
                items.iter().for_each(|item| self.reply(item));
            }
            Reply::Set(items) => {
                self.set(items.len());
                items.iter().for_each(|item| self.reply(item));
            }
            Reply::Push(items) => {
                self.push(items.len());
                items.iter().for_each(|item| self.reply(item));
            }
            Reply::Map(pairs) => {
                self.map(pairs.len());
                self.pairs(pairs);
            }
            Reply::Attributed(attributes, reply) => {
                if resp3 {
                    self.header(b'|', attributes.len() as i64);
                    self.pairs(attributes);
                }
                self.reply(reply);
            }
        }
    }

    fn pairs(&mut self, pairs: &[(Reply, Reply)]) {
        for (key, value) in pairs {
            self.reply(key);
            self.reply(value);
        }
    }

    #[inline]
    fn header(&mut self, kind: u8, number: i64) {
        header(self.out, kind, number);
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.reserve(text.len() + 3);
        self.out.push(kind);
        let start = self.out.len();
        self.out.extend_from_slice(text);
        for byte in &mut self.out[start..] {
            if matches!(*byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.out.extend_from_slice(b"\r\n");
    }
}

/// `<kind><number>\r\n`, in one go for what most headers are: one or two digits.
#[inline]
fn header(out: &mut Vec<u8>, kind: u8, number: i64) {
    match number {
        0..=9 => out.extend_from_slice(&[kind, b'0' + number as u8, b'\r', b'\n']),
        10..=99 => {
            let (tens, ones) = (b'0' + (number / 10) as u8, b'0' + (number % 10) as u8);
            out.extend_from_slice(&[kind, tens, ones, b'\r', b'\n']);
        }
        _ => {
            out.push(kind);
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Appends a request as clients send it: an array of bulk strings.
pub fn encode_request<A: AsRef<[u8]>>(out: &mut Vec<u8>, arguments: &[A]) {
    header(out, b'*', arguments.len() as i64);
    for argument in arguments {
        let argument = argument.as_ref();
        out.reserve(argument.len() + 32);
        header(out, b'$', argument.len() as i64);
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}
