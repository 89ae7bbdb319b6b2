//! Bytes as strings of a history file: a backslash is doubled, and a byte that is not part of valid UTF-8 is `\xNN`.

use crate::{Key, Value};
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes, as a string in the file.
pub(super) struct Text(pub(super) Vec<u8>);

impl Text {
    pub(super) fn key(&self) -> Key {
        Key(Bytes::copy_from_slice(&self.0))
    }

    pub(super) fn value(&self) -> Value {
        Value::from(self.0.as_slice())
    }
}

/// `bytes` as text.
fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' { text.push_str("\\\\") } else { text.push(c) }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        if let Some(after) = escape.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = after;
        } else {
            let hex = escape.strip_prefix('x').and_then(|e| e.get(..2));
            let byte = hex.and_then(|h| u8::from_str_radix(h, 16).ok());
            bytes.push(byte.ok_or_else(|| {
                format!("{text:?}: after a backslash comes another backslash or `x` and two hex digits")
            })?);
            rest = &escape[3..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&escape(&self.0))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unescape(&text).map(Text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_as_text() {
        for bytes in
            [&b""[..], b"plain", b"back\\slash", b"\\x41", b"\xff\x00\xc3", "Gezeiten \u{1f30a}".as_bytes()]
        {
            assert_eq!(unescape(&escape(bytes)).unwrap(), bytes);
        }
        assert_eq!(escape(b"a\xff\\"), "a\\xff\\\\");
        assert!(unescape("\\n").unwrap_err().contains("two hex digits"));
        assert!(unescape("\\").is_err() && unescape("\\x4").is_err() && unescape("\\xé").is_err());
    }
}
