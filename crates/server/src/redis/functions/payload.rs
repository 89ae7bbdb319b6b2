//! The payload of FUNCTION DUMP and RESTORE: for each library an opcode and its text, then the version of the format and a
//! checksum, as Redis 7.0 writes them. Texts are written plainly, and read with the compression that Redis applies.

use crate::redis::error::ErrorReply;
use bytes::Bytes;

/// Before each library.
const FUNCTION: u8 = 245;
/// Before a library of a release candidate of Redis 7.0.
const OLD_FUNCTION: u8 = 246;
/// The version of the format that is written, and the latest that is read.
const VERSION: (u16, u16) = (10, 11);
/// The polynomial of Jones, bits in reverse order.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
/// As many bytes as all texts of a payload may have.
const EXPANDED_MAX: usize = 64 << 20;

const BROKEN: ErrorReply = ErrorReply::fixed("ERR DUMP payload version or checksum are wrong");
const MALFORMED: ErrorReply = ErrorReply::fixed("ERR failed loading functions payload");

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(
            sum ^ u64::from(*byte),
            |sum, _| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 },
        )
    })
}

/// The payload of these libraries.
pub(in crate::redis) fn save<'a>(codes: impl Iterator<Item = &'a [u8]>) -> Bytes {
    let mut payload = Vec::new();
    for code in codes {
        // A length of four bytes is read whatever it is.
        payload.extend([FUNCTION, 0x80]);
        payload.extend(u32::try_from(code.len()).unwrap_or(u32::MAX).to_be_bytes());
        payload.extend_from_slice(code);
    }
    payload.extend(VERSION.0.to_le_bytes());
    let sum = checksum(&payload);
    payload.extend(sum.to_le_bytes());
    payload.into()
}

/// The libraries of a payload.
///
/// # Errors
/// It is none, in the words of Redis.
pub(in crate::redis) fn load(payload: &[u8]) -> Result<Vec<Vec<u8>>, ErrorReply> {
    let (sealed, sum) = payload.split_last_chunk().ok_or(BROKEN)?;
    let (mut rest, version) = sealed.split_last_chunk().ok_or(BROKEN)?;
    if u16::from_le_bytes(*version) > VERSION.1 || checksum(sealed).to_le_bytes() != *sum {
        return Err(BROKEN);
    }
    let (mut codes, mut expanded) = (Vec::new(), 0);
    while let Some((opcode, behind)) = rest.split_first() {
        match *opcode {
            FUNCTION => {}
            OLD_FUNCTION => {
                return Err(ErrorReply::fixed("ERR Pre-GA function format not supported"));
            }
            _ => return Err(ErrorReply::fixed("ERR given type is not a function")),
        }
        rest = behind;
        let code = string(&mut rest).ok_or(MALFORMED)?;
        expanded += code.len();
        if expanded > EXPANDED_MAX {
            return Err(MALFORMED);
        }
        codes.push(code);
    }
    Ok(codes)
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// A length. None if it is the number of an encoding, or is not there.
fn length(bytes: &mut &[u8]) -> Option<usize> {
    let first = *take(bytes, 1)?.first()?;
    let low = usize::from(first & 0x3f);
    match (first >> 6, low) {
        (0, _) => Some(low),
        (1, _) => Some(low << 8 | usize::from(*take(bytes, 1)?.first()?)),
        (2, 0) => Some(u32::from_be_bytes(take(bytes, 4)?.try_into().ok()?) as usize),
        (2, 1) => usize::try_from(u64::from_be_bytes(take(bytes, 8)?.try_into().ok()?)).ok(),
        _ => None,
    }
}

/// A string, plain or compressed.
fn string(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    if bytes.first() != Some(&0xc3) {
        let length = length(bytes)?;
        return take(bytes, length).map(<[u8]>::to_vec);
    }
    take(bytes, 1)?;
    let (compressed, expanded) = (length(bytes)?, length(bytes)?);
    let text = expand(take(bytes, compressed)?, expanded.min(EXPANDED_MAX))?;
    (text.len() == expanded).then_some(text)
}

/// Undoes LZF; none if it is not that, or becomes longer than `most`.
fn expand(mut bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut expanded: Vec<u8> = Vec::new();
    while let Some(control) = take(&mut bytes, 1)?.first().map(|control| usize::from(*control)) {
        if control < 32 {
            expanded.extend_from_slice(take(&mut bytes, control + 1)?);
        } else {
            let more = if control >> 5 == 7 { usize::from(*take(&mut bytes, 1)?.first()?) } else { 0 };
            let low = usize::from(*take(&mut bytes, 1)?.first()?);
            let from = expanded.len().checked_sub(((control & 31) << 8 | low) + 1)?;
            // The copy may reach into what it writes.
            (from..from + (control >> 5) + more + 2).for_each(|at| expanded.push(expanded[at]));
        }
        if expanded.len() > most {
            return None;
        }
        if bytes.is_empty() {
            break;
        }
    }
    Some(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_read_as_it_was_written() {
        assert_eq!(checksum(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        let codes = [&b"#!lua name=a\n"[..], &[b'x'; 70_000][..], b""];
        let payload = save(codes.into_iter());
        assert_eq!(load(&payload).ok(), Some(codes.map(<[u8]>::to_vec).to_vec()));
        for at in [0, 5, payload.len() - 1] {
            let mut broken = payload.to_vec();
            broken[at] ^= 1;
            assert_eq!(load(&broken), Err(BROKEN));
        }
        // What redis-server 7.0.15 makes of no library.
        let none = b"\n\x00]\x9b\\@\x0f\x7f\xa2\xda";
        assert_eq!((save(std::iter::empty()).as_ref(), load(none)), (&none[..], Ok(Vec::new())));
    }

    #[test]
    fn a_compressed_text_is_expanded() {
        let repeated = [&b"\xc3\x05\x0a\x00a\xe0\x00\x00"[..], b""].concat();
        assert_eq!(string(&mut &repeated[..]), Some(b"aaaaaaaaaa".to_vec()));
        for cut in 1..repeated.len() {
            assert_eq!(string(&mut &repeated[..cut]), None);
        }
        assert_eq!(
            string(&mut &b"\xc3\x05\x0a\x00a\xe0\x00\x01"[..]),
            None,
            "it copies from before its beginning"
        );
    }
}
