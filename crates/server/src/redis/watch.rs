//! What is noted of commands while they run: their arguments, for MONITOR and the slow log, and how long they take.
//!
//! Nothing is copied and no clock is read unless a setting asks for it. The slow log and latency tracking are on by
//! default, as in Redis: then a command costs a copy of its first arguments and one look at the clock.

use super::config::Config;
use super::table::Spec;
use bytes::Bytes;
use std::fmt::Write as _;
use tidemark_core::Micros;
use tidemark_wire::resp::Request;

/// The slow log keeps so many arguments of a command, and so many bytes of each.
const ARGUMENTS_MAX: usize = 32;
const ARGUMENT_BYTES_MAX: usize = 128;

/// What is shown instead of a secret.
const REDACTED: &[u8] = b"(redacted)";

/// The settings, and the command that runs.
#[derive(Debug, Default)]
pub struct Watch {
    /// `slowlog-log-slower-than`, unless the slow log is off.
    pub(super) slower_than_us: Option<Micros>,
    /// `latency-monitor-threshold`, unless events are not looked for.
    pub(super) latency_ms: Option<u64>,
    /// `latency-tracking`.
    pub(super) tracks: bool,
    /// Somebody monitors.
    pub(super) monitored: bool,
    /// When the command that runs began.
    pub begun: Micros,
    /// Its arguments.
    pub(super) kept: Kept,
}

impl Watch {
    /// Takes the settings over.
    pub(super) fn configure(&mut self, config: &Config) {
        self.slower_than_us = Micros::try_from(config.number("slowlog-log-slower-than")).ok();
        let threshold = config.number("latency-monitor-threshold") as u64;
        self.latency_ms = (threshold > 0).then_some(threshold);
        self.tracks = config.get("latency-tracking") == Some("yes");
    }

    /// Whether the time of commands is taken.
    #[inline]
    pub fn is_timed(&self) -> bool {
        self.slower_than_us.is_some() || self.latency_ms.is_some() || self.tracks
    }

    /// Whether somebody monitors.
    #[inline]
    pub fn is_monitored(&self) -> bool {
        self.monitored
    }

    /// What was noted of the command that runs, and now has to wait.
    pub fn put_aside(&mut self) -> Option<Box<Noted>> {
        (self.is_timed() || self.monitored)
            .then(|| Box::new(Noted { begun: self.begun, kept: std::mem::take(&mut self.kept) }))
    }

    /// The command of which this was noted goes on.
    pub fn take_up(&mut self, noted: Option<Box<Noted>>) {
        match noted {
            Some(noted) => (self.begun, self.kept) = (noted.begun, noted.kept),
            None => self.kept = Kept::default(),
        }
    }

    /// Keeps the arguments of a request that is about to be carried out, if somebody may want them.
    #[inline]
    pub fn keep(&mut self, request: &Request<'_>) {
        if self.monitored {
            self.kept.take(request, usize::MAX, usize::MAX);
        } else if self.slower_than_us.is_some() {
            self.kept.take(request, ARGUMENTS_MAX, ARGUMENT_BYTES_MAX);
        } else if !self.kept.is_empty() {
            self.kept = Kept::default();
        }
    }
}

/// What was noted of a command that waits.
#[derive(Clone, Debug)]
pub struct Noted {
    begun: Micros,
    kept: Kept,
}

/// Arguments of a request, perhaps cut short.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    /// Where each ends, and how long it was.
    ends: Vec<(usize, usize)>,
    /// How many there were.
    count: usize,
}

impl Kept {
    fn take(&mut self, request: &Request<'_>, arguments_max: usize, bytes_max: usize) {
        self.bytes.clear();
        self.ends.clear();
        self.count = request.len();
        for argument in request.iter().take(arguments_max) {
            self.bytes.extend_from_slice(&argument[..argument.len().min(bytes_max)]);
            self.ends.push((self.bytes.len(), argument.len()));
        }
        // What one large request took is not kept for ever.
        if self.bytes.capacity() > 64 << 10 {
            self.bytes.shrink_to(self.bytes.len());
        }
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1].0 };
        &self.bytes[start..self.ends[index].0]
    }

    /// Which arguments of a command are secrets.
    fn is_secret(&self, spec: &Spec, index: usize) -> bool {
        let behind = |word: &str, distance: usize| {
            index >= distance && self.get(index - distance).eq_ignore_ascii_case(word.as_bytes())
        };
        match spec.name {
            "auth" => index > 0,
            "hello" => index > 2 && (behind("auth", 1) || behind("auth", 2)),
            "config|set" => index > 2 && index % 2 == 1 && Config::is_sensitive(self.get(index - 1)),
            "migrate" => index > 5 && (behind("auth", 1) || behind("auth2", 1) || behind("auth2", 2)),
            _ => false,
        }
    }

    /// The arguments as the slow log shows them; none if they were not kept.
    pub(super) fn for_slow_log(&self, spec: &Spec) -> Option<Vec<Bytes>> {
        if self.is_empty() {
            return None;
        }
        let shown = self.count.min(ARGUMENTS_MAX);
        let argument = |index: usize| {
            let (bytes, length) = (self.get(index), self.ends[index].1);
            if index + 1 == shown && self.count > shown {
                Bytes::from(format!("... ({} more arguments)", self.count - shown + 1))
            } else if self.is_secret(spec, index) {
                Bytes::from_static(REDACTED)
            } else if length > ARGUMENT_BYTES_MAX {
                let more = format!("... ({} more bytes)", length - ARGUMENT_BYTES_MAX);
                Bytes::from([&bytes[..ARGUMENT_BYTES_MAX], more.as_bytes()].concat())
            } else {
                Bytes::copy_from_slice(bytes)
            }
        };
        Some((0..shown).map(argument).collect())
    }

    /// The line of MONITOR, without the end of line.
    pub(super) fn for_monitor(&self, spec: &Spec, now: Micros, address: &str) -> String {
        let mut line = format!("{}.{:06} [0 {address}]", now / 1_000_000, now % 1_000_000);
        for index in 0..self.ends.len() {
            line.push(' ');
            quote(if self.is_secret(spec, index) { REDACTED } else { self.get(index) }, &mut line);
        }
        line
    }
}

/// Appends bytes in quotes; what cannot be printed is escaped.
fn quote(bytes: &[u8], line: &mut String) {
    line.push('"');
    for byte in bytes {
        match byte {
            b'\\' | b'"' => {
                line.push('\\');
                line.push(char::from(*byte));
            }
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'\t' => line.push_str("\\t"),
            7 => line.push_str("\\a"),
            8 => line.push_str("\\b"),
            b' '..=b'~' => line.push(char::from(*byte)),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
    line.push('"');
}
