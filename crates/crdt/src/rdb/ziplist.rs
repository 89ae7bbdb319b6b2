//! Older arrays of Redis: ziplists, which versions before 7 wrote, and sets of integers.

use super::listpack::Entry;
use super::load::Error;
use super::read::Reader;
use std::borrow::Cow;

/// The entries of a ziplist.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let mut reader = Reader::new(bytes);
    let total = u32::from_le_bytes(reader.array()?);
    let _tail = u32::from_le_bytes(reader.array()?);
    let count = u16::from_le_bytes(reader.array()?);
    if total as usize != bytes.len() {
        return Err(Error::Malformed);
    }
    let (mut entries, mut previous) = (Vec::new(), 0);
    loop {
        let before = reader.left();
        let length = match reader.byte()? {
            0xff => break,
            0xfe => u32::from_le_bytes(reader.array()?) as usize,
            length => usize::from(length),
        };
        if length != previous {
            return Err(Error::Malformed);
        }
        entries.push(entry(&mut reader)?);
        previous = before - reader.left();
    }
    let counted = count == u16::MAX || usize::from(count) == entries.len();
    if counted && reader.left() == 0 { Ok(entries) } else { Err(Error::Malformed) }
}

fn entry<'a>(reader: &mut Reader<'a>) -> Result<Entry<'a>, Error> {
    let first = reader.byte()?;
    let number = match first {
        0..0x40 => return reader.take(usize::from(first)).map(Cow::Borrowed),
        0x40..0x80 => {
            let length = usize::from(first & 0x3f) << 8 | usize::from(reader.byte()?);
            return reader.take(length).map(Cow::Borrowed);
        }
        0x80 => {
            let length = u32::from_be_bytes(reader.array()?);
            return reader.take(length as usize).map(Cow::Borrowed);
        }
        0xc0 => i64::from(i16::from_le_bytes(reader.array()?)),
        0xd0 => i64::from(i32::from_le_bytes(reader.array()?)),
        0xe0 => i64::from_le_bytes(reader.array()?),
        0xf0 => {
            let [a, b, c] = reader.array()?;
            i64::from(i32::from_le_bytes([0, a, b, c]) >> 8)
        }
        0xfe => i64::from(i8::from_le_bytes(reader.array()?)),
        0xf1..=0xfd => i64::from(first & 0x0f) - 1,
        _ => return Err(Error::Malformed),
    };
    Ok(Cow::Owned(number.to_string().into_bytes()))
}

/// The members of a set of integers, as text.
pub(super) fn integers(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let mut reader = Reader::new(bytes);
    let width = u32::from_le_bytes(reader.array()?);
    let count = u32::from_le_bytes(reader.array()?);
    if !matches!(width, 2 | 4 | 8) || u64::from(count) * u64::from(width) != reader.left() as u64 {
        return Err(Error::Malformed);
    }
    let mut member = || -> Result<Vec<u8>, Error> {
        let number = match width {
            2 => i64::from(i16::from_le_bytes(reader.array()?)),
            4 => i64::from(i32::from_le_bytes(reader.array()?)),
            _ => i64::from_le_bytes(reader.array()?),
        };
        Ok(number.to_string().into_bytes())
    };
    (0..count).map(|_| member()).collect()
}
