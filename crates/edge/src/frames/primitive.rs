//! The encodings that frames are made of: varints, byte strings, times as differences.

use super::{Base, FRAME_MAX, KEY_MAX, MICROS_END};
use bytes::Bytes;
use std::collections::BTreeSet;
use tidemark_core::Hlc;

/// Bytes that are no frame at this place of a connection. The connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed frame: {0}")]
pub struct Malformed(pub &'static str);

/// A frame that must not be sent on this connection now; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot send this frame: {0}")]
pub struct Unsendable(pub &'static str);

/// The rest of a frame that is being decoded.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// # Errors
    /// The frame is longer than [`FRAME_MAX`].
    pub(super) fn new(frame: &'a [u8]) -> Result<Self, Malformed> {
        if frame.len() > FRAME_MAX {
            return Err(Malformed("longer than 16 MiB"));
        }
        Ok(Self { rest: frame })
    }

    /// A row of a disk: a value of many fields is longer there than in a frame, because its times are whole.
    pub(super) fn of_row(row: &'a [u8]) -> Self {
        Self { rest: row }
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed("bytes after the last field")) }
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.take(N)?.try_into().expect("it has that many"))
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    /// A varint: seven bits a byte, the lowest first, in as few bytes as possible.
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Malformed("a varint above 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let minimal = byte != 0 || shift == 0;
                return if minimal { Ok(value) } else { Err(Malformed("a varint longer than needed")) };
            }
        }
        Err(Malformed("a varint above 64 bits"))
    }

    pub(super) fn signed(&mut self) -> Result<i64, Malformed> {
        let folded = self.varint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// How many items follow, each of at least `least` bytes: no more than the rest can hold.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, Malformed> {
        let count = self.varint()?;
        let fits = usize::try_from(count).ok().filter(|count| *count <= self.rest.len() / least);
        fits.ok_or(Malformed("a count above what is left"))
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes, Malformed> {
        let length = self.count(1)?;
        Ok(Bytes::copy_from_slice(self.take(length)?))
    }

    pub(super) fn key(&mut self) -> Result<Bytes, Malformed> {
        let key = self.bytes()?;
        if (1..=KEY_MAX).contains(&key.len()) {
            Ok(key)
        } else {
            Err(Malformed("a key of 0 or too many bytes"))
        }
    }

    /// A time in whole microseconds: 8 bytes, big-endian.
    pub(super) fn micros(&mut self) -> Result<u64, Malformed> {
        in_range(Some(u64::from_be_bytes(self.array()?)))
    }

    /// A time in whole microseconds, as a difference to `reference`.
    pub(super) fn micros_from(&mut self, reference: u64) -> Result<u64, Malformed> {
        in_range(reference.checked_add_signed(self.signed()?))
    }

    /// A vector with its entries as they are.
    pub(super) fn base(&mut self) -> Result<Base, Malformed> {
        let count = self.entries()?;
        let entries = (0..count).map(|_| Ok(Hlc(u64::from_be_bytes(self.array()?))));
        Ok(Base(entries.collect::<Result<_, _>>()?))
    }

    /// The number of entries of a vector.
    pub(super) fn entries(&mut self) -> Result<usize, Malformed> {
        let count = self.count(1)?;
        if count <= Base::ENTRIES_MAX { Ok(count) } else { Err(Malformed("a vector of too many entries")) }
    }

    /// Byte strings in ascending order, each once.
    pub(super) fn ascending(&mut self) -> Result<BTreeSet<Bytes>, Malformed> {
        let count = self.count(1)?;
        let mut all = BTreeSet::new();
        for _ in 0..count {
            let one = self.bytes()?;
            ascends(all.last(), &one)?;
            all.insert(one);
        }
        Ok(all)
    }
}

/// That `next` comes after what was `last` of a list, if there was one.
pub(super) fn ascends<T: Ord>(last: Option<&T>, next: &T) -> Result<(), Malformed> {
    if last.is_none_or(|last| last < next) { Ok(()) } else { Err(Malformed("a list that does not ascend")) }
}

fn in_range(time: Option<u64>) -> Result<u64, Malformed> {
    time.filter(|time| *time < MICROS_END).ok_or(Malformed("a time out of range"))
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1) as u64 ^ (value >> 63) as u64);
}

pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    put_varint(out, count as u64);
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

pub(super) fn put_micros(out: &mut Vec<u8>, time: u64) {
    out.extend_from_slice(&time.to_be_bytes());
}

/// REQUIRES: both are below [`MICROS_END`].
pub(super) fn put_micros_from(out: &mut Vec<u8>, time: u64, reference: u64) {
    put_signed(out, time.wrapping_sub(reference) as i64);
}

pub(super) fn put_base(out: &mut Vec<u8>, base: &Base) {
    put_count(out, base.0.len());
    base.0.iter().for_each(|entry| out.extend_from_slice(&entry.0.to_be_bytes()));
}

pub(super) fn put_list<'a>(out: &mut Vec<u8>, list: impl ExactSizeIterator<Item = &'a Bytes>) {
    put_count(out, list.len());
    list.for_each(|one| put_bytes(out, one));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(bytes: &[u8]) -> Result<u64, Malformed> {
        let mut reader = Reader::new(bytes)?;
        let value = reader.varint()?;
        reader.end()?;
        Ok(value)
    }

    #[test]
    fn varints_are_minimal_and_have_64_bits() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(varint(&out), Ok(value));
        }
        for bad in [&[][..], &[0x80], &[0x80, 0], &[0xff; 10], &[0xff; 11], &[1, 1]] {
            assert!(varint(bad).is_err(), "{bad:?}");
        }
        let two_to_the_64 = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2];
        assert!(varint(&two_to_the_64).is_err());
    }

    #[test]
    fn signed_numbers_and_times_survive() {
        for value in [0, -1, 1, 63, -64, i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            put_signed(&mut out, value);
            assert_eq!(Reader::new(&out).unwrap().signed(), Ok(value));
        }
        for (time, reference) in [(0, 0), (0, MICROS_END - 1), (MICROS_END - 1, 0), (5, 7)] {
            let mut out = Vec::new();
            put_micros_from(&mut out, time, reference);
            assert_eq!(Reader::new(&out).unwrap().micros_from(reference), Ok(time));
        }
        let before_the_beginning = [1]; // a difference of -1
        assert!(Reader::new(&before_the_beginning).unwrap().micros_from(0).is_err());
    }

    #[test]
    fn a_count_is_bounded_by_what_is_left() {
        let mut out = Vec::new();
        put_varint(&mut out, 1 << 40);
        out.extend([0; 100]);
        assert!(Reader::new(&out).unwrap().count(1).is_err());
        assert!(Reader::new(&out).unwrap().bytes().is_err());
    }
}
