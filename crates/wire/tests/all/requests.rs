//! Requests: the exact error for each malformed input, and properties of arbitrary ones.

use crate::checks::{check_requests, parse_all};
use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use tidemark_wire::resp::{RequestLimits, RequestParser, encode_request};

/// What redis-server 7.0 answered to the same bytes (`ERR Protocol error: ` left out), or none if it took them.
#[test]
fn malformed_requests_get_the_error_that_redis_gives() {
    let count = Some("invalid multibulk length");
    let bulk = Some("invalid bulk length");
    let quotes = Some("unbalanced quotes in request");
    let table: &[(&[u8], Option<&str>)] = &[
        (b"*x\r\n", count),
        (b"*\r\n", count),
        (b"*01\r\n", count),
        (b"*+1\r\n", count),
        (b"*-0\r\n", count),
        (b"*2147483648\r\n", count),
        (b"*3000000000\r\n", count),
        (b"*99999999999999999999\r\n", count),
        (b"*2147483647\r\n", None),
        (b"*0\r\nPING\r\n", None),
        (b"*-1\r\nPING\r\n", None),
        (b"*-5\r\nPING\r\n", None),
        (b"*1\r\nx4\r\nPING\r\n", Some("expected '$', got 'x'")),
        (b"*1\r\n\r\nPING\r\n", Some("expected '$', got ' '")),
        (b"*1\r\n\nPI\r\n", Some("expected '$', got ' '")),
        (b"*1\r\nx4", None),
        (b"*1\r\n$-1\r\n", bulk),
        (b"*1\r\n$\r\n", bulk),
        (b"*1\r\n$x\r\n", bulk),
        (b"*1\r\n$04\r\n", bulk),
        (b"*1\r\n$536870913\r\n", bulk),
        (b"*1\r\n$536870912\r\n", None),
        (b"*1\rx$4\r\nPINGxx", None),
        (b"\"PING\r\n", quotes),
        (b"'PING\r\n", quotes),
        (b"\"PING\"x\r\n", quotes),
        (b"ECHO \"\\\"\r\n", quotes),
        (b"\"PING\" \r\n", None),
        (b"\r\n\n\r\n", None),
    ];
    for (input, expected) in table {
        assert_eq!(error_of(input, true), expected.map(String::from), "{}", input.escape_ascii());
    }
    let long = |prefix: &str, filler: &str, count| [prefix.to_string(), filler.repeat(count)].concat();
    for (input, expected) in [
        (long("", "a", 65537), Some("too big inline request")),
        (long("", "a", 65536), None),
        (long("", "a", 65536) + "\n", None),
        (long("*", "1", 65536), Some("too big mbulk count string")),
        (long("*", "1", 65535), None),
        (long("*1\r\n$", "1", 65536), Some("too big bulk count string")),
        (long("*1\r\nx", "x", 65536), Some("too big bulk count string")),
        (long("*1\r\nx", "x", 65535), None),
    ] {
        assert_eq!(error_of(input.as_bytes(), true), expected.map(String::from), "{}", &input[..8]);
    }
}

#[test]
fn a_connection_that_has_not_authenticated_may_send_little() {
    let table: &[(&[u8], Option<&str>)] = &[
        (b"*10\r\n", None),
        (b"*11\r\n", Some("unauthenticated multibulk length")),
        (b"*1\r\n$16384\r\n", None),
        (b"*1\r\n$16385\r\n", Some("unauthenticated bulk length")),
    ];
    for (input, expected) in table {
        assert_eq!(error_of(input, false), expected.map(String::from));
        assert_eq!(error_of(input, true), None);
    }
}

fn error_of(input: &[u8], authenticated: bool) -> Option<String> {
    let mut parser = RequestParser::default();
    parser.set_authenticated(authenticated);
    let mut buffer = BytesMut::from(input);
    loop {
        match parser.parse(&mut buffer) {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => {
                let text = error.to_string();
                return Some(text.strip_prefix("ERR Protocol error: ").unwrap().to_string());
            }
        }
    }
}

#[test]
fn a_request_beyond_the_query_buffer_limit_is_refused_as_soon_as_it_is_announced() {
    let limits = RequestLimits { bulk_bytes_max: 100, request_bytes_max: 150 };
    let mut parser = RequestParser::new(limits);
    let mut buffer = BytesMut::from(&b"*2\r\n$80\r\n"[..]);
    assert!(parser.parse(&mut buffer).unwrap().is_none());
    buffer.extend_from_slice(&[b'x'; 82]);
    buffer.extend_from_slice(b"$80\r\n");
    let error = parser.parse(&mut buffer).unwrap_err();
    assert_eq!(error.to_string(), "ERR Protocol error: request exceeds client-query-buffer-limit");
}

/// While a large bulk arrives in small reads the parser says how much it wants and does not look again (I2).
#[test]
fn a_large_bulk_is_waited_for_and_shared_not_copied() {
    let mut wire = Vec::new();
    let value = vec![b'v'; 1 << 20];
    encode_request(&mut wire, &[&b"SET"[..], b"k", &value]);
    let mut parser = RequestParser::default();
    let mut buffer = BytesMut::new();
    let mut looks = 0;
    for piece in wire.chunks(1000) {
        buffer.extend_from_slice(piece);
        looks += usize::from(parser.wanted(buffer.len()) == 0);
        let Some(mut request) = parser.parse(&mut buffer).unwrap() else { continue };
        let inside = request[2].as_ptr();
        let taken = request.take(2);
        assert_eq!(taken, value);
        assert_eq!(taken.as_ptr(), inside);
        drop(request);
        assert!(buffer.is_empty());
        assert!(looks <= 3, "looked {looks} times");
        return;
    }
    panic!("the request was not found");
}

#[test]
fn what_is_not_taken_leaves_the_buffer_with_the_request() {
    let mut buffer = BytesMut::from(&b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nvv\r\nGET k\r\n"[..]);
    let mut parser = RequestParser::default();
    {
        let mut request = parser.parse(&mut buffer).unwrap().unwrap();
        assert_eq!((request.len(), &request[0], request.get(3)), (3, &b"SET"[..], None));
        assert_eq!(request.take(1), "k");
        assert_eq!(&request[2], b"vv");
    }
    let request = parser.parse(&mut buffer).unwrap().unwrap();
    assert_eq!(request.iter().collect::<Vec<_>>(), [b"GET", &b"k"[..]]);
    drop(request);
    assert!(parser.parse(&mut buffer).unwrap().is_none());
}

fn request() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 0..40), 1..8)
}

proptest! {
    #[test]
    fn requests_round_trip_however_they_are_cut(
        requests in vec(request(), 0..6),
        cuts in vec(1usize..30, 1..50),
    ) {
        let mut wire = Vec::new();
        requests.iter().for_each(|request| encode_request(&mut wire, request));
        let mut cuts = cuts.into_iter().cycle();
        prop_assert_eq!(parse_all(&wire, true, |_| cuts.next().unwrap()), (requests, None));
    }

    #[test]
    fn any_bytes_mean_the_same_however_they_are_cut(
        input in vec(prop_oneof![
            any::<u8>().prop_map(|b| vec![b]),
            proptest::sample::select(b"*$\r\n\"'\\ x0123".to_vec()).prop_map(|b| vec![b]),
            Just(b"\r\n".to_vec()),
            Just(b"*2\r\n$3\r\nGET\r\n$1\r\n".to_vec()),
        ], 0..60),
        cuts in vec(1usize..9, 1..20),
    ) {
        let mut cuts = cuts.into_iter().cycle();
        check_requests(&input.concat(), |_| cuts.next().unwrap());
    }
}
