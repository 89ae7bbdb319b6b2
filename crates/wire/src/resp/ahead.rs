//! A look at requests before they are parsed.

use super::number::short_length;

/// Requests with more arguments than so many are not worth the look.
const ARGUMENTS_MAX: usize = 8;

/// A request, before it is parsed. What it does not have is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead<'a> {
    /// How many arguments it has, with the command's name.
    pub len: usize,
    /// The command's name.
    pub name: &'a [u8],
    /// The first argument behind it.
    pub key: &'a [u8],
    /// The second one.
    pub second: &'a [u8],
    /// The last one.
    pub last: &'a [u8],
}

/// The whole multibulk requests that `bytes` begins with. What is long, empty, or not in the usual form, ends them: the parser decides.
pub fn requests_ahead(bytes: &[u8]) -> impl Iterator<Item = Ahead<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let usual = |count: usize| bytes[at] == b'*' && (1..=ARGUMENTS_MAX).contains(&count);
        let (len, mut next) = short_length(bytes, at).filter(|(count, _)| usual(*count))?;
        let mut ahead = Ahead { len, ..Ahead::default() };
        for argument in 0..len {
            let (length, start) = short_length(bytes, next).filter(|_| bytes[next] == b'$')?;
            let found = bytes.get(start..start + length)?;
            match argument {
                0 => ahead.name = found,
                1 => (ahead.key, ahead.last) = (found, found),
                2 => (ahead.second, ahead.last) = (found, found),
                _ => ahead.last = found,
            }
            next = start + length + 2;
        }
        at = next;
        Some(ahead)
    })
}
