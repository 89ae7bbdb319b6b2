//! The bytes that servers and clients write, in each version of the protocol.

use tidemark_wire::resp::{Encoder, Version, encode_request};

fn written(version: Version, write: impl FnOnce(&mut Encoder<'_>)) -> String {
    let mut out = Vec::new();
    write(&mut Encoder::new(&mut out, version));
    String::from_utf8(out).unwrap()
}

#[test]
fn each_version_gets_its_own_form() {
    type Write = fn(&mut Encoder<'_>);
    let table: &[(Write, &str, &str)] = &[
        (|e| e.ok(), "+OK\r\n", "+OK\r\n"),
        (|e| e.simple("PONG"), "+PONG\r\n", "+PONG\r\n"),
        (|e| e.error("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n"),
        (|e| e.integer(-7), ":-7\r\n", ":-7\r\n"),
        (|e| e.integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"),
        (|e| e.bulk(""), "$0\r\n\r\n", "$0\r\n\r\n"),
        (|e| e.bulk("twelve bytes"), "$12\r\ntwelve bytes\r\n", "$12\r\ntwelve bytes\r\n"),
        (|e| e.null(), "$-1\r\n", "_\r\n"),
        (|e| e.null_array(), "*-1\r\n", "_\r\n"),
        (|e| e.array(100), "*100\r\n", "*100\r\n"),
        (|e| e.map(7), "*14\r\n", "%7\r\n"),
        (|e| e.set(3), "*3\r\n", "~3\r\n"),
        (|e| e.push(3), "*3\r\n", ">3\r\n"),
        (|e| e.double(2.5), "$3\r\n2.5\r\n", ",2.5\r\n"),
        (|e| e.boolean(true), ":1\r\n", "#t\r\n"),
        (|e| e.boolean(false), ":0\r\n", "#f\r\n"),
        (|e| e.verbatim(*b"txt", "hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
    ];
    for (write, two, three) in table {
        assert_eq!(written(Version::Resp2, write), *two);
        assert_eq!(written(Version::Resp3, write), *three);
    }
}

#[test]
fn a_request_is_an_array_of_bulk_strings() {
    let mut out = Vec::new();
    encode_request(&mut out, &["SET", "k", ""]);
    assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
}
