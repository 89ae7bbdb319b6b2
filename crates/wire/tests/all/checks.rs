//! What must hold for any bytes at all, shared by the property tests, the mutation test and the fuzz targets.

use bytes::BytesMut;
use tidemark_wire::resp::{
    Decoder, DecoderLimits, Encoder, Reply, RequestLimits, RequestParser, Version, encode_request, parse_i64,
};

/// Requests, then the error that ended them.
pub(crate) type Requests = (Vec<Vec<Vec<u8>>>, Option<String>);

/// Small enough that short inputs reach them.
pub(crate) fn limits() -> RequestLimits {
    RequestLimits { bulk_bytes_max: 300, request_bytes_max: 600 }
}

/// Everything in `input`, fed in pieces whose sizes `cut` chooses.
pub(crate) fn parse_all(input: &[u8], authenticated: bool, mut cut: impl FnMut(usize) -> usize) -> Requests {
    let mut parser = RequestParser::new(limits());
    parser.set_authenticated(authenticated);
    let (mut buffer, mut requests, mut fed) = (BytesMut::new(), Vec::new(), 0);
    loop {
        loop {
            match parser.parse(&mut buffer) {
                Ok(None) => break,
                Ok(Some(mut request)) => {
                    let looked: Vec<Vec<u8>> = request.iter().map(<[u8]>::to_vec).collect();
                    // Every third one also gives its arguments away.
                    if requests.len() % 3 == 0 {
                        let taken: Vec<_> = (0..request.len()).map(|i| request.take(i)).collect();
                        assert_eq!(taken, looked);
                    }
                    requests.push(looked);
                }
                Err(error) => return (requests, Some(error.to_string())),
            }
        }
        if fed == input.len() {
            return (requests, None);
        }
        assert!(parser.wanted(buffer.len()) > 0, "it waits, so it wants more");
        let piece = cut(input.len() - fed).clamp(1, input.len() - fed);
        buffer.extend_from_slice(&input[fed..fed + piece]);
        fed += piece;
    }
}

/// The same by the book: no state, no fast path, one look at the whole input.
pub(crate) fn parse_naively(input: &[u8], authenticated: bool) -> Requests {
    let (mut requests, mut rest) = (Vec::new(), input);
    loop {
        match one(rest, authenticated) {
            Ok(Some((request, length))) => {
                if !request.is_empty() {
                    requests.push(request);
                }
                rest = &rest[length..];
            }
            Ok(None) => return (requests, None),
            Err(what) => return (requests, Some(format!("ERR Protocol error: {what}"))),
        }
    }
}

type One = Result<Option<(Vec<Vec<u8>>, usize)>, String>;

fn one(input: &[u8], authenticated: bool) -> One {
    if input.first().is_none_or(|b| *b != b'*') {
        return inline(input);
    }
    let Some(end) = line(input, "too big mbulk count string")? else { return Ok(None) };
    let count = parse_i64(&input[1..end]).filter(|n| *n <= i64::from(i32::MAX));
    let count = count.ok_or("invalid multibulk length")?;
    if count > 10 && !authenticated {
        return Err("unauthenticated multibulk length".into());
    }
    let (mut at, mut arguments) = (end + 2, Vec::new());
    for _ in 0..count {
        let Some(end) = line(&input[at.min(input.len())..], "too big bulk count string")? else {
            return Ok(None);
        };
        match input[at] {
            b'$' => {}
            b'\r' | b'\n' => return Err("expected '$', got ' '".into()),
            other => return Err(format!("expected '$', got '{}'", other as char)),
        }
        let length = parse_i64(&input[at + 1..at + end]).ok_or("invalid bulk length")?;
        if length < 0 || length > limits().bulk_bytes_max as i64 {
            return Err("invalid bulk length".into());
        }
        if length > 16384 && !authenticated {
            return Err("unauthenticated bulk length".into());
        }
        let (start, length) = (at + end + 2, length as usize);
        if start + length + 2 > limits().request_bytes_max {
            return Err("request exceeds client-query-buffer-limit".into());
        }
        if input.len() < start + length + 2 {
            return Ok(None);
        }
        arguments.push(input[start..start + length].to_vec());
        at = start + length + 2;
    }
    Ok(Some((arguments, at)))
}

fn line(input: &[u8], too_big: &str) -> Result<Option<usize>, String> {
    match input.iter().position(|b| *b == b'\r') {
        Some(end) if end <= 65536 => Ok((end + 1 < input.len()).then_some(end)),
        _ if input.len() > 65536 => Err(too_big.into()),
        _ => Ok(None),
    }
}

/// Inline requests as a list of characters, quotes by a state machine.
fn inline(input: &[u8]) -> One {
    let Some(end) = input.iter().position(|b| *b == b'\n').filter(|end| *end <= 65536) else {
        return if input.len() > 65536 { Err("too big inline request".into()) } else { Ok(None) };
    };
    let line: Vec<u8> = input[..end].iter().copied().take_while(|b| *b != 0).collect();
    let (mut words, mut i) = (Vec::new(), 0);
    let space = |b: u8| b" \t\n\r\x0b\x0c".contains(&b);
    while i < line.len() {
        if space(line[i]) {
            i += 1;
            continue;
        }
        let (mut word, mut quote) = (Vec::new(), None);
        loop {
            let here = line.get(i).copied();
            match (quote, here) {
                (None, None | Some(b' ' | b'\t' | b'\r')) => break,
                (None, Some(q @ (b'"' | b'\''))) => quote = Some(q),
                (None, Some(b)) => word.push(b),
                (Some(_), None) => return Err("unbalanced quotes in request".into()),
                (Some(q), Some(b)) if b == q => {
                    if line.get(i + 1).is_some_and(|b| !space(*b)) {
                        return Err("unbalanced quotes in request".into());
                    }
                    i += 1;
                    break;
                }
                (Some(b'\''), Some(b'\\')) if line.get(i + 1) == Some(&b'\'') => {
                    word.push(b'\'');
                    i += 1;
                }
                (Some(b'"'), Some(b'\\')) if i + 1 < line.len() => {
                    let hex = line.get(i + 2..i + 4).and_then(|h| std::str::from_utf8(h).ok());
                    let hex = hex.filter(|h| line[i + 1] == b'x' && h.bytes().all(|b| b.is_ascii_hexdigit()));
                    if let Some(hex) = hex {
                        word.push(u8::from_str_radix(hex, 16).unwrap());
                        i += 3;
                    } else {
                        let from = b"nrtba".iter().position(|b| *b == line[i + 1]);
                        word.push(from.map_or(line[i + 1], |at| b"\n\r\t\x08\x07"[at]));
                        i += 1;
                    }
                }
                (Some(_), Some(b)) => word.push(b),
            }
            i += 1;
        }
        words.push(word);
    }
    Ok(Some((words, end + 1)))
}

/// Requests do not depend on the cuts, agree with the naive parser, and come back when written anew.
pub(crate) fn check_requests(input: &[u8], cut: impl FnMut(usize) -> usize) {
    for authenticated in [true, false] {
        let expected = parse_naively(input, authenticated);
        assert_eq!(parse_all(input, authenticated, |all| all), expected, "{}", input.escape_ascii());
        if authenticated {
            let (requests, _) = &expected;
            let mut written = Vec::new();
            for request in requests {
                // Written anew an inline request can be longer than the limit of these tests.
                let bytes: usize = request.iter().map(|argument| argument.len() + 16).sum();
                if bytes < 500 && request.iter().all(|argument| argument.len() <= limits().bulk_bytes_max) {
                    let before = written.len();
                    encode_request(&mut written, request);
                    assert_eq!(
                        parse_all(&written[before..], true, |all| all).0,
                        std::slice::from_ref(request)
                    );
                }
            }
        }
    }
    assert_eq!(parse_all(input, true, cut), parse_naively(input, true), "{}", input.escape_ascii());
}

/// Replies, then the error that ended them.
pub(crate) type Replies = (Vec<Reply>, Option<String>);

/// Everything in `input`, fed in pieces whose sizes `cut` chooses.
pub(crate) fn decode_all(input: &[u8], mut cut: impl FnMut(usize) -> usize) -> Replies {
    let limits = DecoderLimits { bulk_bytes_max: 300, line_bytes_max: 100, depth_max: 6, elements_max: 100 };
    let mut decoder = Decoder::new(limits);
    let (mut buffer, mut replies, mut fed) = (BytesMut::new(), Vec::new(), 0);
    loop {
        loop {
            match decoder.decode(&mut buffer) {
                Ok(None) => break,
                Ok(Some(reply)) => replies.push(reply),
                Err(error) => return (replies, Some(error.to_string())),
            }
        }
        if fed == input.len() {
            return (replies, None);
        }
        let piece = cut(input.len() - fed).clamp(1, input.len() - fed);
        buffer.extend_from_slice(&input[fed..fed + piece]);
        fed += piece;
    }
}

/// Replies do not depend on the cuts, and written anew they are understood as what was written.
pub(crate) fn check_replies(input: &[u8], cut: impl FnMut(usize) -> usize) {
    let (replies, error) = decode_all(input, |all| all);
    let (again, same_error) = decode_all(input, cut);
    // Debug text, since a NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{replies:?}"), "{}", input.escape_ascii());
    assert_eq!(error, same_error, "{}", input.escape_ascii());
    for version in [Version::Resp2, Version::Resp3] {
        let once = encode(&replies, version);
        let (back, error) = decode_all(&once, |all| all);
        assert_eq!(error, None, "{}", once.escape_ascii());
        assert_eq!(back.len(), replies.len(), "{}", once.escape_ascii());
        assert_eq!(encode(&back, version), once, "{}", input.escape_ascii());
    }
}

/// The replies as a server writes them.
pub(crate) fn encode(replies: &[Reply], version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, version);
    replies.iter().for_each(|reply| encoder.reply(reply));
    out
}
