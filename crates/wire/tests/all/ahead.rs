//! A look at requests before they are parsed.

use tidemark_wire::resp::{Ahead, requests_ahead};

#[test]
fn arguments_are_found_up_to_what_is_not_whole_or_not_usual() {
    let whole =
        b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$2\r\nbc\r\n$0\r\n\r\n";
    let found = |bytes: &'static [u8]| requests_ahead(bytes).map(|ahead| ahead.key).collect::<Vec<_>>();
    assert_eq!(found(whole), [&b"a"[..], b"", b"bc"]);
    let zadd = b"*4\r\n$4\r\nZADD\r\n$1\r\nz\r\n$2\r\n10\r\n$1\r\nm\r\n";
    let expected = Ahead { len: 4, name: b"ZADD", key: b"z", second: b"10", last: b"m" };
    assert_eq!(requests_ahead(zadd).next(), Some(expected));
    let expected = Ahead { len: 2, name: b"GET", key: b"a", second: b"", last: b"a" };
    assert_eq!(requests_ahead(whole).next(), Some(expected));
    // The last value may lack its end: nothing of it is looked at.
    for cut in 0..whole.len() - 2 {
        let found = found(&whole[..cut]);
        assert!(found.len() < 3 && [&b"a"[..], b"", b"bc"].starts_with(&found), "{cut}: {found:?}");
    }
    for odd in [
        &b""[..],
        b"\r\n",
        b"PING\r\n",
        b"*-1\r\n",
        b"*1\r\n+a\r\n",
        b"*99999999\r\n$1\r\na\r\n",
        b"$1\r\na\r\n",
    ] {
        assert!(found(odd).is_empty());
    }
    // The parser passes over it: what follows would be counted wrongly.
    assert!(found(b"*0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n").is_empty());
}
