//! The form that checkers of black-box histories share: one operation a line, `r(key,value,session,txn)` or
//! `w(key,value,session,txn)`, integers throughout; value 0 is the initial value of every key. Consecutive
//! operations of a session with the same txn are one transaction.
//!
//! Source: the histories of Plume (Liu et al., OOPSLA 2024), also read by PolySI and AWDIT. What is lost on the
//! way is listed at [`read_text`] and [`write_text`].

use super::ReadError;
use crate::hash::Map;
use std::io::{self, BufRead, Write};
use tidemark_core::history::{Action, Event, Fate, History, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Found, Key, Value};

/// Reads a history in the text form. Keys and values become decimal strings, and everything happens in data
/// centre 0. An operation on its own is a GET or a write; reads that stand together in one transaction
/// become one read-only transaction. Blank lines and lines that start with `#` are skipped.
pub fn read_text(input: impl BufRead) -> Result<History, ReadError> {
    let mut history = History::default();
    // Per session: the transaction it is in, and the events of it.
    let mut open: Map<u64, (u64, Vec<usize>)> = Map::default();
    let mut empty = true;
    for (i, line) in input.lines().enumerate() {
        let (line, number) = (line?, i as u64 + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (is_write, [key, value, session, txn]) = operation(line).ok_or_else(|| {
            ReadError::at(number, format!("{line:?} is not r(key,value,session,txn) or w(…) with integers"))
        })?;
        empty = false;
        let (key, text) = (Key::from(key.to_string().as_str()), value.to_string());
        let value: Option<Value> = (value != 0).then(|| Value::from(text.as_bytes()));
        let (current, events) = open.entry(session).or_insert((txn, Vec::new()));
        if *current != txn {
            close(&mut history, events);
            *current = txn;
        }
        if is_write {
            if value.is_none() {
                return Err(ReadError::at(number, "0 is the initial value: write another one"));
            }
            events.push(history.events.len());
            history.events.push(Event::put(SessionId(session), DcId(0), key, value, None));
        } else {
            let read = Read::new(key, Found::new(None, value));
            match events.last().map(|e| &mut history.events[*e].action) {
                Some(Action::Read { reads, .. }) => reads.push(read),
                _ => {
                    events.push(history.events.len());
                    history.events.push(Event::read(SessionId(session), DcId(0), ReadKind::Get, [read]));
                }
            }
        }
        let event = *events.last().expect("one was pushed or extended");
        history.events[event].txn = Some(txn);
    }
    // tidy: allowed, because closing a transaction touches nothing of another session.
    for (_, events) in open.values_mut() {
        close(&mut history, events);
    }
    if empty { Err(ReadError::Empty) } else { Ok(history) }
}

/// A transaction of a session is complete: one of a single event needs no number.
fn close(history: &mut History, events: &mut Vec<usize>) {
    if let [only] = events[..] {
        let event = &mut history.events[only];
        event.txn = None;
        if let Action::Read { kind, reads } = &mut event.action
            && reads.len() > 1
        {
            *kind = ReadKind::Rotx;
        }
    }
    events.clear();
}

fn operation(line: &str) -> Option<(bool, [u64; 4])> {
    let is_write = line.starts_with('w');
    let inside = line.strip_prefix(if is_write { 'w' } else { 'r' })?.trim_start();
    let mut fields = inside.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|f| f.trim().parse().ok());
    let numbers = [fields.next()??, fields.next()??, fields.next()??, fields.next()??];
    fields.next().is_none().then_some((is_write, numbers))
}

/// A history has no text form.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The output failed.
    #[error("cannot write the history: {0}")]
    Io(#[from] io::Error),
    /// The text form has no deletes.
    #[error("operation {0} deletes a key, which the text form cannot say: use JSON lines")]
    Delete(usize),
}

/// Writes a history in the text form, which knows less. Lost are data centres, times, stamps and so which of
/// two writes is newer, last words, adoption, failed operations, and unknown writes that nobody read; those
/// that were read get a session of their own, as do `snapshot` reads, so that neither follows the other
/// operations of its session. A history with a delete has no text form. Keys and values that are not numbers
/// are numbered.
pub fn write_text(history: &History, mut output: impl Write) -> Result<(), TextError> {
    let mut writer = TextWriter::new(history);
    for (e, event) in history.events.iter().enumerate() {
        writer.event(e, event, &mut output)?;
    }
    Ok(output.flush()?)
}

struct TextWriter {
    keys: Numbers,
    values: Numbers,
    /// Keys with the values that somebody read.
    seen: Map<(Vec<u8>, Option<Vec<u8>>), ()>,
    next_session: u64,
    txn: u64,
    /// Per session: the transaction it is in, and its number here.
    open: Map<u64, (u64, u64)>,
}

impl TextWriter {
    fn new(history: &History) -> Self {
        let mut keys: Vec<&[u8]> = Vec::new();
        let mut values: Vec<&[u8]> = Vec::new();
        let (mut seen, open) = (Map::default(), Map::default());
        for event in &history.events {
            match &event.action {
                Action::Write { key, value, observed, .. } => {
                    keys.push(key);
                    values.extend(value.as_deref());
                    values.extend(observed.as_ref().and_then(|f| f.value.as_deref()));
                }
                Action::Read { reads, .. } => {
                    for read in reads {
                        keys.push(&read.key);
                        values.extend(read.found.value.as_deref());
                        seen.insert((read.key.to_vec(), read.found.value.as_deref().map(<[u8]>::to_vec)), ());
                    }
                }
                Action::Adopt { .. } => {}
            }
        }
        let next_session = history.events.iter().map(|e| e.session.0).max().unwrap_or(0) + 1;
        Self {
            keys: Numbers::of(&keys, 0),
            values: Numbers::of(&values, 1),
            seen,
            next_session,
            txn: 0,
            open,
        }
    }

    fn event(&mut self, e: usize, event: &Event, output: &mut impl Write) -> Result<(), TextError> {
        let own = event.session.0;
        match &event.action {
            Action::Write { key, value, observed, .. } => {
                if let (Some(found), Fate::Ok | Fate::Skipped) = (observed, event.fate) {
                    let txn = self.next_txn(own, event.txn);
                    self.line('r', key, found.value.as_deref(), own, txn, output)?;
                }
                let read = self.seen.contains_key(&(key.to_vec(), value.as_deref().map(<[u8]>::to_vec)));
                let happened = event.fate == Fate::Ok || event.fate == Fate::Unknown && read;
                if !happened {
                    return Ok(());
                }
                let value = value.as_deref().ok_or(TextError::Delete(e))?;
                let session = if event.fate == Fate::Ok { own } else { self.fresh_session() };
                let txn = self.next_txn(session, event.txn.filter(|_| session == own));
                self.line('w', key, Some(value), session, txn, output)
            }
            Action::Read { kind, reads } if event.fate == Fate::Ok => {
                let snapshot = *kind == ReadKind::Snapshot;
                let session = if snapshot { self.fresh_session() } else { own };
                let mut txn = self.next_txn(session, event.txn.filter(|_| !snapshot));
                for (i, read) in reads.iter().enumerate() {
                    if i > 0 && *kind == ReadKind::Get && event.txn.is_none() {
                        txn = self.next_txn(session, None);
                    }
                    self.line('r', &read.key, read.found.value.as_deref(), session, txn, output)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn fresh_session(&mut self) -> u64 {
        self.next_session += 1;
        self.next_session - 1
    }

    /// The number of the transaction that an event of `session` belongs to: the last one's, if both are in
    /// `txn`.
    fn next_txn(&mut self, session: u64, txn: Option<u64>) -> u64 {
        if let (Some(txn), Some((open, number))) = (txn, self.open.get(&session))
            && *open == txn
        {
            return *number;
        }
        self.txn += 1;
        match txn {
            Some(txn) => self.open.insert(session, (txn, self.txn)),
            None => self.open.remove(&session),
        };
        self.txn
    }

    fn line(
        &mut self,
        verb: char,
        key: &Key,
        value: Option<&[u8]>,
        session: u64,
        txn: u64,
        output: &mut impl Write,
    ) -> Result<(), TextError> {
        let (key, value) = (self.keys.get(key), value.map_or(0, |v| self.values.get(v)));
        Ok(writeln!(output, "{verb}({key},{value},{session},{txn})")?)
    }
}

/// Numbers for byte strings: their own, if all of them spell one.
struct Numbers {
    least: u64,
    own: bool,
    given: Map<Vec<u8>, u64>,
}

impl Numbers {
    fn of(all: &[&[u8]], least: u64) -> Self {
        Self { least, own: all.iter().all(|b| number(b).is_some_and(|n| n >= least)), given: Map::default() }
    }

    fn get(&mut self, bytes: &[u8]) -> u64 {
        if let (true, Some(number)) = (self.own, number(bytes)) {
            return number;
        }
        let fresh = self.given.len() as u64 + self.least;
        *self.given.entry_ref(bytes).or_insert(fresh)
    }
}

/// The number that `bytes` spell, in the one way to spell it.
fn number(bytes: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == bytes).then_some(number)
}
