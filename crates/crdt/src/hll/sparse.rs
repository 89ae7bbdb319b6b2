//! The run-length code of a sketch: `00llllll` and `01llllll llllllll` are runs of zeros, `1vvvvvll` up to four registers with one
//! number. The steps are those of Redis, so that the same bytes come out.

/// As long as a run of zeros in one byte can be.
const SHORT: usize = 64;
/// As long as a run of a number can be.
const LONGEST: usize = 4;

/// Numbers and how many registers hold them.
pub(super) struct Runs<'a>(pub(super) &'a [u8]);

impl Iterator for Runs<'_> {
    type Item = (u8, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let (value, len, used) = decode(self.0)?;
        self.0 = &self.0[used.min(self.0.len())..];
        Some((value, len))
    }
}

/// The number, the length and the bytes of the first run.
fn decode(code: &[u8]) -> Option<(u8, usize, usize)> {
    let first = *code.first()?;
    let low = usize::from(first & 0x3f);
    Some(match first >> 6 {
        0 => (0, low + 1, 1),
        1 => (0, (low << 8 | usize::from(code.get(1).copied().unwrap_or(0))) + 1, 2),
        _ => ((first >> 2 & 0x1f) + 1, usize::from(first & 3) + 1, 1),
    })
}

/// The code in words: `z:` and the length of a run of zeros, `Z:` if it takes two bytes, `v:` a number and how often it comes.
pub(super) fn spell(code: &[u8]) -> String {
    let (mut words, mut rest) = (Vec::new(), code);
    while let Some((value, len, used)) = decode(rest) {
        words.push(match (value, used) {
            (0, 1) => format!("z:{len}"),
            (0, _) => format!("Z:{len}"),
            _ => format!("v:{value},{len}"),
        });
        rest = &rest[used.min(rest.len())..];
    }
    words.join(" ")
}

fn encode(code: &mut Vec<u8>, value: u8, len: usize) {
    match (value, len) {
        (_, 0) => {}
        (0, ..=SHORT) => code.push(len as u8 - 1),
        (0, _) => code.extend(((len as u16 - 1) | 0x4000).to_be_bytes()),
        _ => code.push(0x80 | (value - 1) << 2 | (len as u8 - 1)),
    }
}

/// Raises a register in the code behind `header`: whether it was lower; none if the result would be longer than `most` bytes.
/// None outside if the code is corrupt.
pub(super) fn raise(
    bytes: &mut Vec<u8>,
    header: usize,
    register: usize,
    run: u8,
    most: usize,
) -> Option<Option<bool>> {
    let (mut at, mut first, mut previous) = (header, 0, header);
    let (value, len, used) = loop {
        let found @ (_, len, used) = decode(bytes.get(at..)?)?;
        if register < first + len {
            break found;
        }
        previous = at;
        (at, first) = (at + used, first + len);
    };
    if value >= run {
        return Some(Some(false));
    }
    let mut code = Vec::with_capacity(5);
    encode(&mut code, value, register - first);
    encode(&mut code, run, 1);
    encode(&mut code, value, first + len - 1 - register);
    if code.len() > used && bytes.len() + code.len() - used > most {
        return Some(None);
    }
    let end = (at + used).min(bytes.len());
    bytes.splice(at..end, code);
    join(bytes, previous);
    Some(Some(true))
}

/// Joins runs of the same number around the one that has changed.
fn join(bytes: &mut Vec<u8>, mut at: usize) {
    for _ in 0..5 {
        let Some((value, len, used)) = decode(&bytes[at.min(bytes.len())..]) else { return };
        let next = decode(&bytes[(at + used).min(bytes.len())..]);
        match next {
            Some((other, more, 1)) if value > 0 && other == value && len + more <= LONGEST => {
                let mut joined = Vec::with_capacity(1);
                encode(&mut joined, value, len + more);
                bytes.splice(at..at + 2, joined);
            }
            _ => at += used,
        }
    }
}
