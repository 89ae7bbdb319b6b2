//! Byte strings that stand in place while they are short.
//!
//! A string of at most 23 bytes takes 24 bytes and no allocation; a longer one takes the same 24 and an allocation
//! of exactly its length. Most keys of Redis's sets and hashes are short, and an allocation apart would cost a look-up
//! one more line of memory.

use super::Text;
use std::fmt;

/// The longest string in bytes that stands in place.
const IN_PLACE: usize = 23;

/// A length as an enumeration: its unused values tell the compiler how to mark the other variant of [`Form`].
#[derive(Clone, Copy)]
#[rustfmt::skip]
enum Length { L0, L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11, L12, L13, L14, L15, L16, L17, L18, L19, L20, L21, L22, L23 }

#[rustfmt::skip]
const LENGTHS: [Length; IN_PLACE + 1] = {
    use Length::*;
    [L0, L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11, L12, L13, L14, L15, L16, L17, L18, L19, L20, L21, L22, L23]
};

#[derive(Clone)]
enum Form {
    Here(Length, [u8; IN_PLACE]),
    There(Box<[u8]>),
}

/// An immutable byte string: 24 bytes, and an allocation only if it is longer than 23 bytes.
#[derive(Clone)]
pub struct ShortBytes(Form);

const _: () = assert!(size_of::<Option<ShortBytes>>() == 24);

impl ShortBytes {
    /// A copy of `bytes`.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        match LENGTHS.get(bytes.len()) {
            Some(length) => {
                let mut here = [0; IN_PLACE];
                here[..bytes.len()].copy_from_slice(bytes);
                Self(Form::Here(*length, here))
            }
            None => Self(Form::There(bytes.into())),
        }
    }

    /// The string.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Form::Here(length, bytes) => &bytes[..*length as usize],
            Form::There(bytes) => bytes,
        }
    }

    /// Bytes allocated beside the 24 of the string itself.
    #[inline]
    pub fn heap(&self) -> usize {
        match &self.0 {
            Form::Here(..) => 0,
            Form::There(bytes) => bytes.len(),
        }
    }
}

impl fmt::Debug for ShortBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text(self.as_slice()).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_all_lengths_come_back() {
        for length in 0..100 {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8 + 1).collect();
            let short = ShortBytes::new(&bytes);
            assert_eq!(short.as_slice(), &bytes);
            assert_eq!(short.clone().as_slice(), &bytes);
            assert_eq!(short.heap(), if length > IN_PLACE { length } else { 0 });
        }
    }
}
