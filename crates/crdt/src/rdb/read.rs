//! Reads the parts of payloads: lengths, numbers, and strings with their compression.

use super::load::Error;
use std::borrow::Cow;

/// As many bytes as compression and shared field names may expand to in one payload: Redis's own limit of a string.
const ALLOWANCE: usize = 512 * 1024 * 1024;

/// The rest of a payload, as it is read.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    allowance: usize,
}

/// A length, or the number of an encoding of a string.
enum Length {
    Is(u64),
    Encoding(u8),
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, allowance: ALLOWANCE }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Error::Malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(|_| Error::Malformed)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Takes so many bytes off what may still be expanded.
    pub(super) fn expand(&mut self, bytes: usize) -> Result<(), Error> {
        self.allowance = self.allowance.checked_sub(bytes).ok_or(Error::Malformed)?;
        Ok(())
    }

    fn any_length(&mut self) -> Result<Length, Error> {
        let first = self.byte()?;
        let low = first & 0x3f;
        Ok(match first >> 6 {
            0 => Length::Is(u64::from(low)),
            1 => Length::Is(u64::from(low) << 8 | u64::from(self.byte()?)),
            3 => Length::Encoding(low),
            _ => match low {
                0 => Length::Is(u64::from(u32::from_be_bytes(self.array()?))),
                1 => Length::Is(u64::from_be_bytes(self.array()?)),
                _ => return Err(Error::Malformed),
            },
        })
    }

    /// A number that is written as a length is.
    pub(super) fn number(&mut self) -> Result<u64, Error> {
        match self.any_length()? {
            Length::Is(length) => Ok(length),
            Length::Encoding(_) => Err(Error::Malformed),
        }
    }

    /// A length in bytes, or of items that have a byte each at least.
    pub(super) fn length(&mut self) -> Result<usize, Error> {
        let length = usize::try_from(self.number()?).map_err(|_| Error::Malformed)?;
        if length > self.left() { Err(Error::Malformed) } else { Ok(length) }
    }

    /// The count of items of a value that is not there when it has none.
    pub(super) fn count(&mut self) -> Result<usize, Error> {
        self.length().and_then(|count| if count == 0 { Err(Error::Malformed) } else { Ok(count) })
    }

    /// A string.
    pub(super) fn string(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        let number = match self.any_length()? {
            Length::Is(length) => {
                let length = usize::try_from(length).map_err(|_| Error::Malformed)?;
                return self.take(length).map(Cow::Borrowed);
            }
            Length::Encoding(0) => i32::from(i8::from_le_bytes(self.array()?)),
            Length::Encoding(1) => i32::from(i16::from_le_bytes(self.array()?)),
            Length::Encoding(2) => i32::from_le_bytes(self.array()?),
            Length::Encoding(3) => return self.compressed().map(Cow::Owned),
            Length::Encoding(_) => return Err(Error::Malformed),
        };
        Ok(Cow::Owned(number.to_string().into_bytes()))
    }

    /// A string that is compressed by LZF.
    fn compressed(&mut self) -> Result<Vec<u8>, Error> {
        let compressed = self.length()?;
        let length = usize::try_from(self.number()?).map_err(|_| Error::Malformed)?;
        self.expand(length)?;
        let expanded = expand(self.take(compressed)?, length).ok_or(Error::Malformed)?;
        if expanded.len() == length { Ok(expanded) } else { Err(Error::Malformed) }
    }
}

/// Undoes LZF; none if it is not that, or becomes longer than `most`.
fn expand(mut bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut expanded = Vec::new();
    while let [control, rest @ ..] = bytes {
        bytes = rest;
        let control = usize::from(*control);
        if control < 32 {
            let (literal, rest) = bytes.split_at_checked(control + 1)?;
            expanded.extend_from_slice(literal);
            bytes = rest;
        } else {
            let mut length = control >> 5;
            if length == 7 {
                let (more, rest) = bytes.split_first()?;
                length += usize::from(*more);
                bytes = rest;
            }
            let (low, rest) = bytes.split_first()?;
            bytes = rest;
            let back = (control & 31) << 8 | usize::from(*low);
            let from = expanded.len().checked_sub(back + 1)?;
            // The copy may reach into what it writes.
            (from..from + length + 2).for_each(|at| expanded.push(expanded[at]));
        }
        if expanded.len() > most {
            return None;
        }
    }
    Some(expanded)
}
