//! A look at requests before they are parsed.

use super::number::short_length;

/// Requests with more arguments than so many are not worth the look.
const ARGUMENTS_MAX: usize = 8;

/// The first, the second and the last argument of each whole multibulk request that `bytes` begins with, each empty where a request
/// has none. What is long, or not in the usual form, ends it: the parser decides.
pub fn arguments_ahead(bytes: &[u8]) -> impl Iterator<Item = [&[u8]; 3]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (count, mut next) =
            short_length(bytes, at).filter(|(count, _)| bytes[at] == b'*' && *count <= ARGUMENTS_MAX)?;
        let mut arguments = [&bytes[..0]; 3];
        for argument in 0..count {
            let (length, start) = short_length(bytes, next).filter(|_| bytes[next] == b'$')?;
            let found = bytes.get(start..start + length)?;
            match argument {
                0 => {}
                1 => [arguments[0], arguments[2]] = [found; 2],
                2 => [arguments[1], arguments[2]] = [found; 2],
                _ => arguments[2] = found,
            }
            next = start + length + 2;
        }
        at = next;
        Some(arguments)
    })
}

#[cfg(test)]
mod tests {
    use super::arguments_ahead;

    #[test]
    fn arguments_are_found_up_to_what_is_not_whole_or_not_usual() {
        let whole =
            b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$2\r\nbc\r\n$0\r\n\r\n";
        let found = |bytes: &'static [u8]| arguments_ahead(bytes).map(|[key, ..]| key).collect::<Vec<_>>();
        assert_eq!(found(whole), [&b"a"[..], b"", b"bc"]);
        let zadd = b"*4\r\n$4\r\nZADD\r\n$1\r\nz\r\n$2\r\n10\r\n$1\r\nm\r\n";
        assert_eq!(arguments_ahead(zadd).next(), Some([&b"z"[..], b"10", b"m"]));
        assert_eq!(arguments_ahead(whole).next(), Some([&b"a"[..], b"", b"a"]));
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
        assert_eq!(found(b"*0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"), [&b""[..], b"b"]);
    }
}
