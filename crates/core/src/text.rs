//! Arguments that Redis reads with functions of C.

/// What a function of C sees of an argument: a text ends at its first zero byte.
pub fn c_text(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The cursor of `SCAN` and its kin, of which nothing is 0; none if it is no such number.
pub fn cursor(argument: &[u8]) -> Option<u64> {
    let text = c_text(argument);
    if text.is_empty() { Some(0) } else { std::str::from_utf8(text).ok()?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::cursor;

    #[test]
    fn cursors_are_read_as_redis_reads_them() {
        let read = [&b""[..], b"0", b"17", b"\0x", b"5\0x", b"18446744073709551615"].map(cursor);
        assert_eq!(read, [Some(0), Some(0), Some(17), Some(0), Some(5), Some(u64::MAX)]);
        assert_eq!([&b" 1"[..], b"x", b"1x", b"18446744073709551616"].map(cursor), [None; 4]);
    }
}
