//! Ids of entries: a time in milliseconds and a sequence number, as one number of 128 bits.

use tidemark_core::Reply;

/// An id; the time stands in the upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u128);

const INVALID: Reply = Reply::error("ERR Invalid stream ID specified as stream command argument");

impl Id {
    pub(crate) const LAST: Self = Self(u128::MAX);

    pub(crate) fn new(ms: u64, seq: u64) -> Self {
        Self(u128::from(ms) << 64 | u128::from(seq))
    }

    pub(crate) fn ms(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(crate) fn seq(self) -> u64 {
        self.0 as u64
    }

    /// The name of its entry.
    pub(crate) fn name(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The id that an entry's name says.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        name.try_into().ok().map(u128::from_be_bytes).map(Self)
    }

    /// An id, or the first or last one that can be; `seq` if it says none.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(argument: &[u8], seq: u64) -> Result<Self, Reply> {
        match argument {
            b"-" => Ok(Self(0)),
            b"+" => Ok(Self::LAST),
            _ => Self::strict(argument, seq),
        }
    }

    /// An id; `seq` if it says none.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn strict(argument: &[u8], seq: u64) -> Result<Self, Reply> {
        let (ms, behind) = halves(argument)?;
        let seq = behind.map_or(Ok(seq), |behind| number(behind).ok_or(INVALID))?;
        Ok(Self::new(ms, seq))
    }

    /// As XADD takes it: the time, and the sequence number unless that is `*`.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn wanted(argument: &[u8]) -> Result<(u64, Option<u64>), Reply> {
        match halves(argument)? {
            (ms, Some(b"*")) => Ok((ms, None)),
            (ms, Some(seq)) => Ok((ms, Some(number(seq).ok_or(INVALID)?))),
            (ms, None) => Ok((ms, Some(0))),
        }
    }

    /// As it is shown.
    pub(crate) fn reply(self) -> Reply {
        Reply::bulk(format!("{}-{}", self.ms(), self.seq()).as_bytes())
    }
}

fn halves(argument: &[u8]) -> Result<(u64, Option<&[u8]>), Reply> {
    if argument.len() > 127 {
        return Err(INVALID);
    }
    let (ms, seq) = match argument.iter().position(|byte| *byte == b'-') {
        Some(at) => (&argument[..at], Some(&argument[at + 1..])),
        None => (argument, None),
    };
    Ok((number(ms).ok_or(INVALID)?, seq))
}

/// A number as C's `strtoull` reads it, without a minus.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let valid = digits.first().is_some_and(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| valid)?.parse().ok()
}
