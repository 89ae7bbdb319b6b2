//! Inline requests.

use bytes::BytesMut;
use tidemark_wire::resp::RequestParser;

/// The words of a line, which are none if it asks for nothing; `None` if its quotes are unbalanced.
fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut buffer = BytesMut::from(line);
    buffer.extend_from_slice(b"\n");
    let found = match RequestParser::default().parse(&mut buffer) {
        Ok(request) => request.map_or(Vec::new(), |request| request.iter().map(<[u8]>::to_vec).collect()),
        Err(error) => {
            assert_eq!(error.to_string(), "ERR Protocol error: unbalanced quotes in request");
            return None;
        }
    };
    assert!(buffer.is_empty(), "the line has left the buffer");
    Some(found)
}

/// Answers of redis-server 7.0 to the same lines.
#[test]
fn quoting_follows_redis() {
    let table: &[(&[u8], &[&[u8]])] = &[
        (b"PING", &[b"PING"]),
        (b"  PING \t ", &[b"PING"]),
        (b"", &[]),
        (b" \r", &[]),
        (b"PI\rNG", &[b"PI", b"NG"]),
        (b"\x0bECHO\x0bx y", &[b"ECHO\x0bx", b"y"]),
        (b"PING\x0c", &[b"PING\x0c"]),
        (b"ECHO \"a\\x41\\n\\tb\\q\"", &[b"ECHO", b"aA\n\tbq"]),
        (b"ECHO \"a\\xZZ\"", &[b"ECHO", b"axZZ"]),
        (b"ECHO 'a\\'b\\n'", &[b"ECHO", b"a'b\\n"]),
        (b"ECHO a\"b\"", &[b"ECHO", b"ab"]),
        (b"ECHO \"\"", &[b"ECHO", b""]),
        (b"ECHO '' x", &[b"ECHO", b"", b"x"]),
        (b"a\0b c", &[b"a"]),
    ];
    for (line, expected) in table {
        let found = words(line).unwrap();
        assert_eq!(found, *expected, "{}", line.escape_ascii());
    }
    for line in ["\"a", "'a", "\"a\"b", "'a'b", "x\"", "\"\\\"", "'\\'", "\"a\0\""] {
        assert_eq!(words(line.as_bytes()), None, "{line}");
    }
}
