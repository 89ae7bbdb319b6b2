//! Listpacks: Redis's array of strings and integers in one string.

use super::load::Error;
use super::read::Reader;
use crate::number::parse_int;
use std::borrow::Cow;

/// An entry: a string, or the text of an integer.
pub(super) type Entry<'a> = Cow<'a, [u8]>;

/// Bytes before the first entry.
const HEADER: usize = 6;
/// The count of entries of a listpack that has too many to count.
const UNCOUNTED: u16 = u16::MAX;
const END: u8 = 0xff;

/// The entries of a listpack.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let mut reader = Reader::new(bytes);
    let total = u32::from_le_bytes(reader.array()?);
    let count = u16::from_le_bytes(reader.array()?);
    if total as usize != bytes.len() {
        return Err(Error::Malformed);
    }
    let mut entries = Vec::new();
    loop {
        let before = reader.left();
        let first = reader.byte()?;
        if first == END {
            break;
        }
        entries.push(entry(first, &mut reader)?);
        // Behind each entry stands its length, for those who read from the end.
        let length = backward(before - reader.left());
        if reader.take(length.len())? != length {
            return Err(Error::Malformed);
        }
    }
    let counted = count == UNCOUNTED || usize::from(count) == entries.len();
    if counted && reader.left() == 0 { Ok(entries) } else { Err(Error::Malformed) }
}

fn entry<'a>(first: u8, reader: &mut Reader<'a>) -> Result<Entry<'a>, Error> {
    let high = |first: u8, bits: u8| usize::from(first & ((1 << bits) - 1)) << 8;
    let number = match first {
        0..0x80 => i64::from(first),
        0x80..0xc0 => return reader.take(usize::from(first & 0x3f)).map(Cow::Borrowed),
        0xc0..0xe0 => {
            let value = (high(first, 5) | usize::from(reader.byte()?)) as i64;
            if value >= 1 << 12 { value - (1 << 13) } else { value }
        }
        0xe0..0xf0 => {
            let length = high(first, 4) | usize::from(reader.byte()?);
            return reader.take(length).map(Cow::Borrowed);
        }
        0xf0 => {
            let length = u32::from_le_bytes(reader.array()?);
            return reader.take(length as usize).map(Cow::Borrowed);
        }
        0xf1 => i64::from(i16::from_le_bytes(reader.array()?)),
        0xf2 => {
            let [a, b, c] = reader.array()?;
            i64::from(i32::from_le_bytes([0, a, b, c]) >> 8)
        }
        0xf3 => i64::from(i32::from_le_bytes(reader.array()?)),
        0xf4 => i64::from_le_bytes(reader.array()?),
        _ => return Err(Error::Malformed),
    };
    Ok(Cow::Owned(number.to_string().into_bytes()))
}

/// The length of an entry as it stands behind it: seven bits a byte, the highest first.
fn backward(length: usize) -> Vec<u8> {
    let mut bytes = vec![(length & 0x7f) as u8];
    let mut rest = length >> 7;
    while rest > 0 {
        *bytes.last_mut().expect("it has one") |= 0x80;
        bytes.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes.reverse();
    bytes
}

/// A listpack that is written.
pub(super) struct Listpack {
    bytes: Vec<u8>,
    count: usize,
}

impl Listpack {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; HEADER], count: 0 }
    }

    /// Adds a string, as an integer if it is the text of one.
    pub(super) fn push(&mut self, entry: &[u8]) {
        if let Some(number) = parse_int(entry) {
            return self.push_int(number);
        }
        let length = entry.len();
        let mut bytes = match length {
            0..0x40 => vec![0x80 | length as u8],
            0x40..0x1000 => vec![0xe0 | (length >> 8) as u8, length as u8],
            _ => [&[0xf0][..], &(length as u32).to_le_bytes()].concat(),
        };
        bytes.extend_from_slice(entry);
        self.finish_entry(&bytes);
    }

    /// Adds an integer.
    pub(super) fn push_int(&mut self, number: i64) {
        let little = number.to_le_bytes();
        let bytes = match number {
            0..=127 => vec![number as u8],
            -4096..=4095 => vec![0xc0 | ((number >> 8) & 0x1f) as u8, number as u8],
            -0x8000..=0x7fff => [&[0xf1], &little[..2]].concat(),
            -0x80_0000..=0x7f_ffff => [&[0xf2], &little[..3]].concat(),
            -0x8000_0000..=0x7fff_ffff => [&[0xf3], &little[..4]].concat(),
            _ => [&[0xf4], &little[..]].concat(),
        };
        self.finish_entry(&bytes);
    }

    fn finish_entry(&mut self, entry: &[u8]) {
        self.bytes.extend_from_slice(entry);
        self.bytes.extend(backward(entry.len()));
        self.count += 1;
    }

    /// The whole.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(END);
        let total = (self.bytes.len() as u32).to_le_bytes();
        let count = u16::try_from(self.count).unwrap_or(UNCOUNTED).to_le_bytes();
        self.bytes[..4].copy_from_slice(&total);
        self.bytes[4..HEADER].copy_from_slice(&count);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_all_lengths_come_back() {
        let strings = [0, 1, 63, 64, 127, 128, 4095, 4096, 16384, 70000].map(|length| vec![b'x'; length]);
        let bits = (0..63).flat_map(|bit| [1i64 << bit, -(1 << bit), (1 << bit) - 1, -(1 << bit) - 1]);
        let numbers = bits.chain([i64::MIN, i64::MAX]).map(|number| number.to_string().into_bytes());
        let all: Vec<Vec<u8>> = strings.into_iter().chain(numbers).collect();
        let mut listpack = Listpack::new();
        all.iter().for_each(|entry| listpack.push(entry));
        let bytes = listpack.finish();
        assert_eq!(entries(&bytes).expect("it is one"), all);
    }
}
