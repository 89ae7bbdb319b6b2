//! The largest values and records.
//!
//! One number says it all: the most that a value may have, `proto-max-bulk-len`. A record is what one version takes in the log and on
//! the wire; it may be a little larger than the largest value, for what stands beside it. Whoever receives records takes a little more
//! than that, for what receivers add.

use crate::{Failure, Key, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most that a value may have, in bytes, and what a record may have with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(usize);

impl Default for Limit {
    /// As Redis has it.
    fn default() -> Self {
        Self(Self::VALUE_BYTES)
    }
}

impl Limit {
    /// The most that a value can be allowed to have.
    pub const VALUE_BYTES: usize = 512 << 20;
    /// Bytes that a record may have beyond the largest value.
    const BESIDE: usize = 1 << 20;
    /// The part of that which is left for stamps and dependencies, which a check that knows only what is written leaves room for.
    const ROOM: usize = 64 << 10;

    /// Values may have so many bytes, and no more than [`Self::VALUE_BYTES`].
    pub fn of_values(bytes: usize) -> Self {
        Self(bytes.min(Self::VALUE_BYTES))
    }

    /// The most bytes that a value may have.
    pub fn value(self) -> usize {
        self.0
    }

    /// The most bytes that keys and writes of one version may have, encoded.
    pub fn written(self) -> usize {
        self.0 + Self::BESIDE - Self::ROOM
    }

    /// The most bytes of a record that is taken from another server.
    pub fn received(self) -> usize {
        self.0 + Self::BESIDE + Self::ROOM
    }

    /// Whether so many bytes can be written in one version.
    ///
    /// # Errors
    /// They cannot, nor could they later.
    pub fn admits(self, bytes: usize) -> Result<(), Failure> {
        match bytes <= self.written() {
            true => Ok(()),
            false => Err(Failure::Refused(self.refusal(bytes))),
        }
    }

    /// Why so many bytes cannot be written in one version.
    pub fn refusal(self, bytes: usize) -> String {
        let (most, value) = (self.written(), self.0);
        format!(
            "this would write {bytes} bytes at once, and {most} are allowed: proto-max-bulk-len, which is {value}, and a little for what \
             stands beside a value"
        )
    }
}

/// A limit that may change while servers run, of all that share it.
#[derive(Clone, Debug)]
pub struct SharedLimit(Arc<AtomicUsize>);

impl Default for SharedLimit {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(Limit::VALUE_BYTES)))
    }
}

impl SharedLimit {
    /// As it is now.
    #[inline]
    pub fn get(&self) -> Limit {
        Limit::of_values(self.0.load(Ordering::Relaxed))
    }

    /// From now on it is another.
    pub fn set(&self, limit: Limit) {
        self.0.store(limit.value(), Ordering::Relaxed);
    }
}

/// About how many bytes a write of this key takes, encoded: a little more than it does.
pub fn bytes_of(key: &Key, write: &Write) -> usize {
    /// Lengths and tags.
    const HEAD: usize = 16;
    let inner = match write {
        Write::Group(writes) => writes.iter().map(|(key, write)| bytes_of(key, write)).sum(),
        other => other.len(),
    };
    HEAD + key.len() + inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_room_for_the_largest_value_and_receivers_for_more() {
        for bytes in [0, 1000, 1 << 20, Limit::VALUE_BYTES, usize::MAX] {
            let limit = Limit::of_values(bytes);
            assert!(limit.value() <= Limit::VALUE_BYTES && limit.value() <= bytes);
            assert!(limit.value() < limit.written() && limit.written() + (64 << 10) < limit.received());
            assert_eq!(limit.admits(limit.written()), Ok(()));
            assert!(matches!(limit.admits(limit.written() + 1), Err(Failure::Refused(_))));
        }
    }

    #[test]
    fn the_bytes_of_a_group_are_those_of_all_its_writes() {
        let one = |key: &'static str, bytes: usize| {
            (Key::from(key), Write::Assign(crate::Value::from(vec![0; bytes].as_slice())))
        };
        let all = vec![one("a", 100), one("bb", 1000)];
        let group = Write::Group(Arc::new(all));
        assert_eq!(bytes_of(&Key::from("a"), &group), 16 + 1 + (16 + 1 + 100) + (16 + 2 + 1000));
    }
}
