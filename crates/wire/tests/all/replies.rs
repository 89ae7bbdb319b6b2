//! Replies: round trips of arbitrary ones, and the exact error for each malformed input.

use crate::checks::{check_replies, decode_all, encode};
use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use tidemark_wire::resp::{Decoder, Reply, Version};

fn text() -> impl Strategy<Value = Bytes> {
    "[ -~]{0,20}".prop_map(Bytes::from)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn reply() -> impl Strategy<Value = Reply> {
    let leaf = prop_oneof![
        text().prop_map(Reply::Simple),
        text().prop_map(Reply::Error),
        any::<i64>().prop_map(Reply::Integer),
        bytes().prop_map(Reply::Bulk),
        Just(Reply::Null),
        any::<f64>().prop_filter("NaN is not equal to itself", |v| !v.is_nan()).prop_map(Reply::Double),
        any::<bool>().prop_map(Reply::Boolean),
        "-?[0-9]{1,30}".prop_map(|digits| Reply::BigNumber(digits.into())),
        bytes().prop_map(Reply::BulkError),
        ("[a-z]{3}", bytes()).prop_map(|(f, text)| Reply::Verbatim(f.as_bytes().try_into().unwrap(), text)),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let pairs = || vec((inner.clone(), inner.clone()), 0..4);
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Reply::Array),
            vec(inner.clone(), 0..6).prop_map(Reply::Set),
            vec(inner.clone(), 0..6).prop_map(Reply::Push),
            pairs().prop_map(Reply::Map),
            (pairs(), inner.clone())
                .prop_map(|(attributes, reply)| { Reply::Attributed(attributes, Box::new(reply)) }),
        ]
    })
}

proptest! {
    #[test]
    fn replies_round_trip_in_resp3_however_they_are_cut(
        replies in vec(reply(), 0..3),
        cuts in vec(1usize..30, 1..50),
    ) {
        let wire = encode(&replies, Version::Resp3);
        let mut cuts = cuts.into_iter().cycle();
        let mut decoder = Decoder::default();
        let (mut buffer, mut decoded, mut rest) = (BytesMut::new(), Vec::new(), &wire[..]);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            buffer.extend_from_slice(piece);
            rest = after;
            while let Some(reply) = decoder.decode(&mut buffer).unwrap() {
                decoded.push(reply);
            }
        }
        prop_assert_eq!(decoded, replies);
        prop_assert!(buffer.is_empty());
    }

    #[test]
    fn any_bytes_mean_the_same_however_they_are_cut(
        input in vec(prop_oneof![
            any::<u8>().prop_map(|b| vec![b]),
            proptest::sample::select(b"+-:$*%~>|_#,(!=\r\n0123tf".to_vec()).prop_map(|b| vec![b]),
            Just(b"\r\n".to_vec()),
            proptest::sample::select(vec!["*2\r\n", "$1\r\n", "%1\r\n", "|1\r\n", "_\r\n", ":1\r\n"])
                .prop_map(|s| s.as_bytes().to_vec()),
        ], 0..60),
        cuts in vec(1usize..9, 1..20),
    ) {
        let mut cuts = cuts.into_iter().cycle();
        check_replies(&input.concat(), |_| cuts.next().unwrap());
    }
}

#[test]
fn malformed_replies_are_refused() {
    let number = |kind: char| format!("malformed number or length in a reply of type '{kind}'");
    let limit = |what: &str| format!("a reply exceeds the limit of {what}");
    let table: Vec<(Vec<u8>, String)> = vec![
        (b"x\r\n".to_vec(), "a reply starts with byte 0x78".into()),
        (b"\r\n".to_vec(), "a reply starts with byte 0x0d".into()),
        (b":x\r\n".to_vec(), number(':')),
        (b":\r\n".to_vec(), number(':')),
        (b"$-2\r\n".to_vec(), number('$')),
        (b"=-1\r\n".to_vec(), number('=')),
        (b"%-1\r\n".to_vec(), number('%')),
        (b"*?\r\n".to_vec(), number('*')),
        (b"_x\r\n".to_vec(), number('_')),
        (b"#x\r\n".to_vec(), number('#')),
        (b",infinity\r\n".to_vec(), number(',')),
        (b"(12x\r\n".to_vec(), number('(')),
        (b"=3\r\ntxt\r\n".to_vec(), number('=')),
        (b"$1\r\nab\r\n".to_vec(), "missing line end in a reply".into()),
        (b"+a\rb\r\n".to_vec(), "missing line end in a reply".into()),
        (b"$301\r\n".to_vec(), limit("bulk bytes")),
        (b"*101\r\n".to_vec(), limit("elements")),
        (b"*99\r\n*2\r\n".repeat(60), limit("depth")),
        ([b"*100\r\n".to_vec(), b"*0\r\n".repeat(100)].concat(), limit("elements")),
        (b"*1\r\n".repeat(7), limit("depth")),
        (b"|0\r\n".repeat(7), limit("depth")),
        ([b"+".to_vec(), b"x".repeat(101)].concat(), limit("line bytes")),
    ];
    for (input, expected) in table {
        assert_eq!(decode_all(&input, |all| all).1, Some(expected), "{}", input.escape_ascii());
        check_replies(&input, |_| 1);
    }
}

#[test]
fn helpers_find_what_clients_look_for() {
    let hello = Reply::Map(vec![("server".into(), "redis".into()), ("proto".into(), Reply::Integer(3))]);
    assert_eq!(hello.lookup("proto").and_then(Reply::integer), Some(3));
    let flat = Reply::Array(vec!["server".into(), "redis".into(), "proto".into(), Reply::Integer(2)]);
    assert_eq!(flat.lookup("proto").and_then(Reply::integer), Some(2));
    assert_eq!(flat.lookup("redis"), None);
    assert_eq!(Reply::Error(Bytes::from_static(b"ERR no")).error().unwrap(), "ERR no");
}
