//! How much of a message is keys and values that somebody asked for, and how much is metadata.
//!
//! Messages are weighed in the form in which the server sends them (postcard). Keys and values of a measured run are
//! runs of bytes that nothing else in a message looks like.

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use tidemark_core::{Key, Value};

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
pub(crate) fn weigh(message: &impl Serialize) -> Weight {
    let scale = Scale(Weight::default());
    postcard::serialize_with_flavor(message, scale).expect("our types have no unserialisable parts")
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
pub(crate) fn size(message: &impl Serialize) -> Size {
    let ruler = Ruler(Size::default());
    postcard::serialize_with_flavor(message, ruler).expect("our types have no unserialisable parts")
}

struct Ruler(Size);

impl Flavor for Ruler {
    type Output = Size;

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.first.get_or_insert(byte);
        self.0.bytes += 1;
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.first = self.0.first.or(data.first().copied());
        self.0.bytes += data.len() as u64;
        if data.len() > NUMBER_BYTES {
            self.0.payload += data.len() as u64;
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Size> {
        Ok(self.0)
    }
}

struct Scale(Weight);

impl Flavor for Scale {
    type Output = Weight;

    fn try_push(&mut self, _: u8) -> postcard::Result<()> {
        self.0.bytes += 1;
        Ok(())
    }

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.bytes += data.len();
        if let Some(number) = key_number(data) {
            self.0.keys.push(number);
        } else if data.len() == VALUE_BYTES && data.starts_with(b"val-") {
            self.0.values += 1;
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Weight> {
        Ok(self.0)
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
        let found = Found { stamp: None, value: Some(value(2)) };
        assert_eq!(weigh(&found), Weight { bytes: 64 + 3, keys: vec![], values: 1 });
        assert_eq!(size(&found), Size { first: Some(0), bytes: 64 + 3, payload: 64 });
    }
}
