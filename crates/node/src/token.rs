//! A session's token as text: what `TIDE.SESSION EXPORT` gives and `TIDE.SESSION IMPORT` takes.
//!
//! ```text
//! text  := "tm1." base64url(bytes)          (no padding)
//! bytes := envelope:postcard crc32(envelope):u32le
//! ```
//!
//! The envelope names the cluster and the protocol, so that a token of another one is refused in words, and says when
//! it was made. The sum finds damage, not malice: who may run commands may also write. But no token, however it came
//! about, takes a session or a server to a time that no clock has reached, or to a region that does not exist.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tidemark_contract::{Protocol, Reaches, Session, Topology};
use tidemark_core::{Failure, Micros};

const PREFIX: &str = "tm1.";
/// Longer texts are no tokens: a token holds a few numbers a region.
const TEXT_BYTES_MAX: usize = 64 << 10;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    cluster: String,
    protocol: String,
    made_at: Micros,
    token: T,
}

/// Why a text was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Damaged, cut short, or something else.
    #[error("this is not a session token, or it was damaged on the way")]
    Malformed,
    /// A later version wrote it.
    #[error("this session token was made by a newer version of Tidemark")]
    Newer,
    /// It is another cluster's.
    #[error("this session token belongs to cluster '{0}'")]
    OtherCluster(String),
    /// It is another protocol's.
    #[error("this session token belongs to protocol '{0}'")]
    OtherProtocol(String),
    /// It was made in the future, or speaks of it.
    #[error("this session token lies in the future: {0:?}")]
    Ahead(Failure),
}

/// The text of `token`.
pub fn export<T: Serialize>(cluster: &str, protocol: &str, now: Micros, token: T) -> String {
    let envelope = Envelope { cluster: cluster.into(), protocol: protocol.into(), made_at: now, token };
    let mut bytes = postcard::to_stdvec(&envelope).expect("a token can be encoded");
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let mut text = String::with_capacity(PREFIX.len() + bytes.len() * 4 / 3 + 4);
    text.push_str(PREFIX);
    encode(&bytes, &mut text);
    text
}

/// The token in `text`.
///
/// # Errors
/// Any [`TokenError`].
pub fn import<T: DeserializeOwned>(
    cluster: &str,
    protocol: &str,
    (now, max_skew_us): (Micros, Micros),
    text: &[u8],
) -> Result<T, TokenError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(TokenError::Malformed);
    }
    let Some(body) = text.strip_prefix(PREFIX.as_bytes()) else {
        let newer = text.starts_with(b"tm") && text.get(2).is_some_and(u8::is_ascii_digit);
        return Err(if newer { TokenError::Newer } else { TokenError::Malformed });
    };
    let bytes = decode(body).ok_or(TokenError::Malformed)?;
    let (envelope, sum) = bytes.split_last_chunk::<4>().ok_or(TokenError::Malformed)?;
    if crc32fast::hash(envelope) != u32::from_le_bytes(*sum) {
        return Err(TokenError::Malformed);
    }
    // The head first: what follows is of a type that only the same protocol knows.
    let (head, rest) =
        postcard::take_from_bytes::<(String, String, Micros)>(envelope).map_err(|_| TokenError::Malformed)?;
    if head.0 != cluster {
        return Err(TokenError::OtherCluster(head.0));
    }
    if head.1 != protocol {
        return Err(TokenError::OtherProtocol(head.1));
    }
    not_ahead(head.2, (now, max_skew_us))?;
    match postcard::take_from_bytes(rest) {
        Ok((token, [])) => Ok(token),
        _ => Err(TokenError::Malformed),
    }
}

/// Whether `token` speaks of nothing that lies farther ahead than clocks may, and of no region or partition that does not
/// exist.
///
/// # Errors
/// `Malformed`, `Ahead`.
pub fn check<P: Protocol>(
    token: <P::Session as Session<P>>::Token,
    topology: &Topology,
    time: (Micros, Micros),
) -> Result<<P::Session as Session<P>>::Token, TokenError> {
    let reach = token.reach();
    if reach.dcs > topology.dcs || reach.partitions > topology.partitions {
        return Err(TokenError::Malformed);
    }
    not_ahead(reach.latest.micros(), time)?;
    Ok(token)
}

fn not_ahead(at: Micros, (now, max_skew_us): (Micros, Micros)) -> Result<(), TokenError> {
    match at.saturating_sub(now) {
        ahead_us if ahead_us > max_skew_us => Err(TokenError::Ahead(Failure::ClockSkew { ahead_us })),
        _ => Ok(()),
    }
}

fn encode(bytes: &[u8], text: &mut String) {
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(ALPHABET[(word >> (18 - 6 * place)) as usize & 63] as char);
        }
    }
}

/// Unused bits must be zero, so that every token has one text.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.chunks(4) {
        let mut word = 0_u32;
        for letter in chunk {
            word = word << 6 | ALPHABET.iter().position(|known| known == letter)? as u32;
        }
        word <<= 6 * (4 - chunk.len());
        let whole = chunk.len().checked_sub(1).filter(|count| *count > 0)?;
        let [_, a, b, c] = word.to_be_bytes();
        bytes.extend_from_slice(&[a, b, c][..whole]);
        if [a, b, c][whole..].iter().any(|byte| *byte != 0) {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: (Micros, Micros) = (1_000_000, 500_000);

    #[test]
    fn a_token_comes_back_and_every_damage_is_noticed() {
        for length in 0..40_usize {
            let token: Vec<u8> = (0..length as u8).collect();
            let text = export("c", "p", NOW.0, token.clone());
            assert_eq!(import::<Vec<u8>>("c", "p", NOW, text.as_bytes()), Ok(token));
            for at in 0..text.len() {
                let mut damaged = text.clone().into_bytes();
                damaged[at] = if damaged[at] == b'x' { b'y' } else { b'x' };
                assert!(import::<Vec<u8>>("c", "p", NOW, &damaged).is_err(), "{text} at {at}");
                assert!(import::<Vec<u8>>("c", "p", NOW, &text.as_bytes()[..at]).is_err());
            }
        }
    }

    #[test]
    fn strangers_are_named() {
        let text = export("mine", "causal", NOW.0, 7_u64);
        let of = |cluster: &str, protocol: &str| import::<u64>(cluster, protocol, NOW, text.as_bytes());
        assert_eq!(of("mine", "causal"), Ok(7));
        assert_eq!(of("other", "causal"), Err(TokenError::OtherCluster("mine".into())));
        assert_eq!(of("mine", "eventual"), Err(TokenError::OtherProtocol("causal".into())));
        assert_eq!(import::<u64>("mine", "causal", NOW, b"tm2.AAAA"), Err(TokenError::Newer));
        let ahead = |ahead_us| TokenError::Ahead(Failure::ClockSkew { ahead_us });
        let late = export("mine", "causal", NOW.0 + 600_000, 7_u64);
        assert_eq!(import::<u64>("mine", "causal", NOW, late.as_bytes()), Err(ahead(600_000)));
    }
}
