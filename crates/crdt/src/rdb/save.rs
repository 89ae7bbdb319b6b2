//! Writes values: each type in its plain form, which every version of Redis since 5 reads and encodes as its own limits say.

use super::load::tag;
use super::lzf::Compressor;
use super::stream;
use crate::number::parse_int;
use crate::shape::Plain;

/// Strings that are longer are compressed, if that saves some bytes.
const SHORT: usize = 20;

/// A value behind its type. REQUIRES: not a bounded counter, which has no such form.
pub(super) fn value(plain: &Plain) -> Vec<u8> {
    let mut out = Writer::default();
    match plain {
        Plain::String(value) => {
            out.bytes.push(tag::STRING);
            out.string(value);
        }
        Plain::List(values) => {
            out.begin(tag::LIST, values.len());
            values.iter().for_each(|(_, value)| out.string(value));
        }
        Plain::Set(members) => {
            out.begin(tag::SET, members.len());
            members.iter().for_each(|(member, ())| out.string(member));
        }
        Plain::Hash(fields) => {
            out.begin(tag::HASH, fields.len());
            for (field, value) in fields.iter() {
                out.string(field);
                out.string(value);
            }
        }
        Plain::Zset(members) => {
            out.begin(tag::ZSET_2, members.len());
            // From the highest score, as Redis writes them.
            for (member, score) in (0..members.len()).rev().filter_map(|rank| members.at(rank)) {
                out.string(member);
                out.bytes.extend(score.to_le_bytes());
            }
        }
        Plain::Stream(elements) => {
            out.bytes.push(tag::STREAM_2);
            stream::save(&mut out, elements);
        }
        Plain::Doc(updates) => {
            out.begin_module(tag::DOC);
            for (_, update) in updates.iter() {
                out.number(tag::MODULE_STRING);
                out.string(update);
            }
            out.number(tag::MODULE_END);
        }
        Plain::BCounter(_) => {}
    }
    out.bytes
}

/// A payload that is written.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    compressor: Compressor,
}

impl Writer {
    /// Bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn begin(&mut self, tag: u8, count: usize) {
        self.bytes.push(tag);
        self.number(count as u64);
    }

    fn begin_module(&mut self, id: u64) {
        self.bytes.push(tag::MODULE_2);
        self.number(id);
    }

    /// A length, or a number that is written as one.
    pub(super) fn number(&mut self, number: u64) {
        match number {
            0..0x40 => self.bytes.push(number as u8),
            0x40..0x4000 => self.bytes.extend([0x40 | (number >> 8) as u8, number as u8]),
            0x4000..=0xffff_ffff => {
                self.bytes.push(0x80);
                self.bytes.extend((number as u32).to_be_bytes());
            }
            _ => {
                self.bytes.push(0x81);
                self.bytes.extend(number.to_be_bytes());
            }
        }
    }

    /// A string: shorter if it is the text of an integer of 32 bits, or long enough to be compressed.
    pub(super) fn string(&mut self, bytes: &[u8]) {
        if let Some(number) = parse_int(bytes).and_then(|number| i32::try_from(number).ok()) {
            let little = number.to_le_bytes();
            let (encoding, width) = match number {
                -0x80..=0x7f => (0xc0, 1),
                -0x8000..=0x7fff => (0xc1, 2),
                _ => (0xc2, 4),
            };
            self.bytes.push(encoding);
            return self.bytes.extend_from_slice(&little[..width]);
        }
        let compressed =
            if bytes.len() > SHORT { self.compressor.compress(bytes, bytes.len() - 4) } else { None };
        match compressed {
            Some(compressed) => {
                self.bytes.push(0xc3);
                self.number(compressed.len() as u64);
                self.number(bytes.len() as u64);
                self.bytes.extend(compressed);
            }
            None => {
                self.number(bytes.len() as u64);
                self.bytes.extend_from_slice(bytes);
            }
        }
    }
}
