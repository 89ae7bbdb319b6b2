//! A look at requests before they are parsed.

use super::number::short_length;

/// Requests with more arguments than so many are not worth the look.
const ARGUMENTS_MAX: usize = 8;

/// The first argument of each whole multibulk request that `bytes` begins with, or nothing where a request has none. What is long, or
/// not in the usual form, ends it: the parser decides.
pub fn first_arguments(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (count, mut next) =
            short_length(bytes, at).filter(|(count, _)| bytes[at] == b'*' && *count <= ARGUMENTS_MAX)?;
        let mut first = &bytes[..0];
        for argument in 0..count {
            let (length, start) = short_length(bytes, next).filter(|_| bytes[next] == b'$')?;
            let found = bytes.get(start..start + length)?;
            if argument == 1 {
                first = found;
            }
            next = start + length + 2;
        }
        at = next;
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::first_arguments;

    #[test]
    fn arguments_are_found_up_to_what_is_not_whole_or_not_usual() {
        let whole =
            b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$2\r\nbc\r\n$0\r\n\r\n";
        let found = |bytes: &'static [u8]| first_arguments(bytes).collect::<Vec<_>>();
        assert_eq!(found(whole), [&b"a"[..], b"", b"bc"]);
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
