//! Many byte strings in two allocations, as answers hold them.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Byte strings in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strings {
    bytes: Bytes,
    /// Where each ends; it begins where the one before it ends.
    ends: Vec<usize>,
}

impl Strings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them. What came from elsewhere and is not well-formed has empty ones.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let one = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            one
        })
    }
}

impl<'a> FromIterator<&'a [u8]> for Strings {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(strings: I) -> Self {
        let strings = strings.into_iter();
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(strings.size_hint().0));
        for string in strings {
            bytes.extend_from_slice(string);
            ends.push(bytes.len());
        }
        Self { bytes: bytes.into(), ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_out_as_they_went_in() {
        let words: [&[u8]; 4] = [b"a", b"", b"bcd", b""];
        let strings: Strings = words.into_iter().collect();
        assert_eq!(strings.len(), 4);
        assert_eq!(strings.iter().collect::<Vec<_>>(), words);
    }

    #[test]
    fn ends_that_are_wrong_harm_nobody() {
        let strings = Strings { bytes: Bytes::from_static(b"abc"), ends: vec![2, 1, 9, 3] };
        assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"ab"[..], b"", b"", b""]);
    }
}
