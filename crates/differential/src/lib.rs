//! Differential tests: the same random commands to redis-server and to Tidemark. Replies are compared byte for byte, and
//! so is, now and then, all that the servers hold.
//!
//! - [`shapes`]: which commands there are, as a table; [`generate`]: random commands of these shapes, from [`words`].
//! - [`side`]: a connection to one of the two servers; [`servers`]: the servers.
//! - [`compare`]: when two replies are the same; [`state`]: when two servers hold the same.
//! - [`shrink`]: the shortest sequence that still shows a difference; [`campaign`]: all of it, and what it has found.
//! - [`intended`]: differences that are meant.

pub mod campaign;
pub mod compare;
pub mod generate;
pub mod intended;
mod report;
pub mod servers;
pub mod shapes;
pub mod shrink;
pub mod side;
pub mod state;
pub mod words;

/// A command with its arguments.
pub type Words = Vec<Vec<u8>>;

/// A command as redis-cli reads it from its input.
pub fn line(words: &[Vec<u8>]) -> String {
    let word = |word: &Vec<u8>| {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:*+()[]{}?=/#".contains(byte);
        if !word.is_empty() && word.iter().all(plain) {
            return String::from_utf8_lossy(word).into_owned();
        }
        let escaped = word.iter().map(|byte| match byte {
            b'"' | b'\\' => format!("\\{}", *byte as char),
            b' '..=b'~' => (*byte as char).to_string(),
            _ => format!("\\x{byte:02x}"),
        });
        format!("\"{}\"", escaped.collect::<String>())
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_quoted_for_redis_cli() {
        let words = [&b"SET"[..], b"", b"a b", b"\x00\xff\"\\", b"-1.5"].map(<[u8]>::to_vec);
        assert_eq!(super::line(&words), r#"SET "" "a b" "\x00\xff\"\\" -1.5"#);
    }
}
