//! How much of a message is keys and values that somebody asked for, and how much is metadata.
//!
//! Messages are weighed in the form in which the server sends them (postcard). Keys and values of a measured run are
//! runs of bytes that nothing else in a message looks like.

use tidemark_core::{Key, Value};
use tidemark_node::{Content, Sink};

/// The length of every key of a measured run.
const KEY_BYTES: usize = 24;
/// The length of every value.
const VALUE_BYTES: usize = 64;

/// The key with this number.
pub(crate) fn key(number: usize) -> Key {
    Key::from(format!("key-{number:020}").as_str())
}

/// The number of a key.
pub(crate) fn key_number(bytes: &[u8]) -> Option<u32> {
    let digits = (bytes.len() == KEY_BYTES).then(|| bytes.strip_prefix(b"key-"))??;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A value that nobody else writes.
pub(crate) fn value(number: usize) -> Value {
    Value::from(format!("val-{number:060}").as_bytes())
}

/// What is in a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    /// Its length.
    pub(crate) bytes: usize,
    /// The keys in it, by number.
    pub(crate) keys: Vec<u32>,
    /// How many values.
    pub(crate) values: usize,
}

impl Weight {
    /// What is left without the values, and without one mention of each of `own`: the keys that the message is about.
    /// Other keys are metadata, such as those that a version depends on.
    pub(crate) fn metadata(&self, own: &[u32]) -> u64 {
        let mut left = self.keys.clone();
        let mentioned = own.iter().filter(|key| {
            let place = left.iter().position(|other| other == *key);
            place.map(|place| left.swap_remove(place)).is_some()
        });
        (self.bytes - self.values * VALUE_BYTES - mentioned.count() * KEY_BYTES) as u64
    }
}

/// Weighs a message.
pub(crate) fn weigh(message: &dyn Content) -> Weight {
    let mut weight = Weight::default();
    message.pour(&mut weight);
    weight
}

/// How long a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Its first byte, which tells its variant if it has variants.
    pub(crate) first: Option<u8>,
    /// Its length.
    pub(crate) bytes: u64,
    /// What of that are keys and values: whatever is longer than a number can be.
    pub(crate) payload: u64,
}

/// The longest number.
const NUMBER_BYTES: usize = 10;

/// Measures a message, whatever its keys and values look like.
pub(crate) fn size(message: &dyn Content) -> Size {
    let mut size = Size::default();
    message.pour(&mut size);
    size
}

impl Sink for Size {
    fn byte(&mut self, byte: u8) {
        self.first.get_or_insert(byte);
        self.bytes += 1;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.first = self.first.or(bytes.first().copied());
        self.bytes += bytes.len() as u64;
        if bytes.len() > NUMBER_BYTES {
            self.payload += bytes.len() as u64;
        }
    }
}

impl Sink for Weight {
    fn byte(&mut self, _: u8) {
        self.bytes += 1;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if let Some(number) = key_number(bytes) {
            self.keys.push(number);
        } else if bytes.len() == VALUE_BYTES && bytes.starts_with(b"val-") {
            self.values += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{Found, Hlc, Vector, Write};

    #[test]
    fn keys_and_values_are_told_from_metadata() {
        let vector = Vector::from_entries([Hlc(1), Hlc(300)]);
        let weight = weigh(&(key(7), Write::Assign(value(1)), &vector, vec![key(7), key(8)]));
        // Lengths of one byte each, the tag of the write, and the vector: 1 + 1 + 1 + (1 + 1 + 2) + 1 + 2.
        assert_eq!((weight.keys.as_slice(), weight.values), (&[7, 7, 8][..], 1));
        assert_eq!(weight.metadata(&[7, 8]), 10 + 24);
        assert_eq!(weight.metadata(&[7, 7, 8, 9]), 10);
        let found = Found::new(None, Some(value(2)));
        assert_eq!(weigh(&found), Weight { bytes: 64 + 4, keys: vec![], values: 1 });
        assert_eq!(size(&found), Size { first: Some(0), bytes: 64 + 4, payload: 64 });
    }
}
