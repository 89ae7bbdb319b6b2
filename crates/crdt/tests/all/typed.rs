//! Keys of one region, commands as text, and transcripts of what Redis answered.

use bytes::Bytes;
use std::collections::HashMap;
use std::fmt::Write;
use tidemark_core::{Command, DcId, Hlc, Reply, Stamp, Verb};
use tidemark_crdt::{Effect, Moment, State, evaluate};

/// A region on its own.
#[derive(Default)]
pub(crate) struct Region {
    pub(crate) keys: HashMap<Vec<u8>, State>,
    time: u64,
}

impl Region {
    /// Runs a command and applies what it changes.
    pub(crate) fn run(&mut self, line: &str) -> String {
        let words = words(line);
        if words[0].eq_ignore_ascii_case(b"flushall") {
            self.keys.clear();
            return "OK".into();
        }
        let (key, command) = command(&words);
        self.time += 1;
        let time = Hlc::at(1_700_000_000_000_000 + self.time);
        let state = self.keys.entry(key).or_default();
        let prepared = evaluate(&command, state, moment(time, DcId(0)));
        let effect = Effect { floor: Hlc::ZERO, changes: prepared.changes };
        let effect = Effect::decode(&effect.encode()).expect("it was just encoded");
        state.apply(Stamp::new(time, DcId(0)), &effect, None);
        if self.time.is_multiple_of(3) {
            state.settle(time.prev(), usize::MAX);
        }
        render(&prepared.reply)
    }

    /// Runs each line that begins with `> ` and requires the answer below it.
    pub(crate) fn replay(transcript: &str) {
        let mut region = Self::default();
        let lines: Vec<&str> = transcript.lines().collect();
        for (at, pair) in lines.chunks(2).enumerate() {
            let line = pair[0].strip_prefix("> ").expect("a command");
            assert_eq!(region.run(line), pair[1], "line {}: {line}", 2 * at + 1);
        }
        assert!(lines.len() > 20, "a transcript is missing");
    }
}

/// The moment of a command in a region that is alone.
pub(crate) fn moment(time: Hlc, origin: DcId) -> Moment {
    Moment {
        time,
        origin,
        floor: Hlc::ZERO,
        expiring: false,
        alone: true,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    }
}

/// The key and the command that words mean.
pub(crate) fn command(words: &[Vec<u8>]) -> (Vec<u8>, Command) {
    let named = |count: usize| {
        let name = String::from_utf8_lossy(&words[..count].join(&b'|')).to_lowercase();
        Verb::ALL.iter().copied().find(|verb| verb.name() == name)
    };
    let (verb, at) = match named(1) {
        Some(verb) => (verb, 1),
        None => (named(2).unwrap_or_else(|| panic!("no {words:?}")), 2),
    };
    let first = if verb.tells_key() { at } else { at + 1 };
    let args = words[first..].iter().map(|word| Bytes::copy_from_slice(word)).collect();
    (words[at].clone(), Command::new(verb, args))
}

/// Words of a line: parted by spaces, or in quotes with escapes as Rust writes them.
pub(crate) fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
                (word.as_bytes().to_vec(), behind)
            }
        };
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

fn unquote(text: &str) -> (Vec<u8>, &str) {
    let (mut word, bytes, mut at) = (Vec::new(), text.as_bytes(), 0);
    while bytes[at] != b'"' {
        if bytes[at] == b'\\' && bytes[at + 1] == b'x' {
            word.push(u8::from_str_radix(&text[at + 2..at + 4], 16).expect("two digits"));
            at += 4;
        } else if bytes[at] == b'\\' {
            word.push(bytes[at + 1]);
            at += 2;
        } else {
            word.push(bytes[at]);
            at += 1;
        }
    }
    (word, &text[at + 1..])
}

/// A reply as text, as RESP2 tells it.
pub(crate) fn render(reply: &Reply) -> String {
    let list = |all: &[Reply]| format!("[{}]", all.iter().map(render).collect::<Vec<_>>().join(" "));
    match reply {
        Reply::Noted(reply) => render(reply),
        Reply::Null | Reply::NullArray => "nil".into(),
        Reply::Ok => "OK".into(),
        Reply::Simple(text) => text.to_string(),
        Reply::Int(int) => int.to_string(),
        Reply::Double(number) => quote(tidemark_crdt::number::show_double(*number).as_bytes()),
        Reply::Bulk(bytes) | Reply::Decimal(bytes) => quote(bytes),
        Reply::Error(text) => format!("!{text}"),
        Reply::Array(all) | Reply::Set(all) => list(all),
        Reply::Strings(all) => list(&all.iter().map(Reply::bulk).collect::<Vec<_>>()),
        Reply::Bool(_) | Reply::BigNumber(_) | Reply::Verbatim(..) => panic!("only scripts answer {reply:?}"),
        Reply::Map(pairs) | Reply::Pairs(pairs) => {
            list(&pairs.iter().flat_map(|(name, value)| [name.clone(), value.clone()]).collect::<Vec<_>>())
        }
    }
}

fn quote(bytes: &[u8]) -> String {
    let mut text = String::from('"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(*byte)),
            0x20..=0x7e => write!(text, "{}", char::from(*byte)),
            _ => write!(text, "\\x{byte:02x}"),
        }
        .expect("text can be written");
    }
    text + "\""
}
