//! What a reader of a document has been given, as text that only this module understands.
//!
//! **Idea.** A reader has seen every version at or below the floor of the server that answered, for every view there contains them
//! ([`crate::Moment::floor`]); what it has seen above is named. The newest version of each region would not do: of two versions
//! of one region the newer can be visible before the older, if that one waits for what it depends on.
//!
//! ```text
//! text := "td1-" hex(postcard((floor, [(region, [(time, number)])])))    each floor and time less the one before
//! ```

use crate::rule;
use bytes::Bytes;
use std::fmt::Write;
use tidemark_core::{DcId, Hlc, Stamp};

/// See above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Token {
    floor: Hlc,
    /// Above the floor, in order.
    above: Vec<Stamp>,
}

/// As it is written.
type Written = (u64, Vec<(u8, Vec<(u64, u32)>)>);

const BEGIN: &str = "td1-";

impl Token {
    /// Whether its reader was given what the version with this stamp put.
    pub(super) fn covers(&self, stamp: Stamp) -> bool {
        stamp.ts <= self.floor || self.above.binary_search(&stamp).is_ok()
    }

    /// With what a reader is given at a server with this floor.
    pub(super) fn with(mut self, floor: Hlc, given: impl Iterator<Item = Stamp>) -> Self {
        self.above.extend(given);
        self.above.sort_unstable();
        self.above.dedup();
        let newest = self.above.last().map_or(Hlc::ZERO, |stamp| stamp.ts);
        self.floor = self.floor.max(if rule::TOKENS_END_AT_FLOORS.kept() { floor } else { newest });
        let floor = self.floor;
        self.above.retain(|stamp| stamp.ts > floor);
        self
    }

    /// As text.
    pub(super) fn encode(&self) -> Bytes {
        let mut regions: Vec<(u8, Vec<(u64, u32)>)> = Vec::new();
        let mut last = Vec::new();
        for stamp in &self.above {
            let at =
                regions.iter().position(|(region, _)| *region == stamp.origin.0).unwrap_or(regions.len());
            if at == regions.len() {
                regions.push((stamp.origin.0, Vec::new()));
                last.push(self.floor.0);
            }
            regions[at].1.push((stamp.ts.0 - last[at], stamp.seq));
            last[at] = stamp.ts.0;
        }
        let written: Written = (self.floor.0, regions);
        let bytes = postcard::to_allocvec(&written).expect("it has no parts that cannot be written");
        let mut text = String::with_capacity(BEGIN.len() + 2 * bytes.len());
        text.push_str(BEGIN);
        bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes everything"));
        text.into()
    }

    /// What [`Self::encode`] wrote; none if it was something else.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let digits = text.strip_prefix(BEGIN.as_bytes())?;
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let byte = |pair: &[u8]| Some((digit(pair.first()?)? << 4 | digit(pair.get(1)?)?) as u8);
        let bytes = digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
        let ((floor, regions), rest) = postcard::take_from_bytes::<Written>(&bytes).ok()?;
        let mut above = Vec::new();
        for (region, stamps) in regions {
            let mut ts = floor;
            for (more, seq) in stamps {
                ts = ts.checked_add(more)?;
                above.push(Stamp { ts: Hlc(ts), origin: DcId(region), seq });
            }
        }
        above.sort_unstable();
        rest.is_empty().then_some(Self { floor: Hlc(floor), above })
    }
}

/// The version that put an update, by the update's name; none if it is no name of an update.
pub(super) fn stamp_of(name: &[u8]) -> Option<Stamp> {
    let (origin, rest) = name.split_first()?;
    let (ts, rest) = rest.split_first_chunk::<8>()?;
    let (seq, rest) = rest.split_first()?;
    let seq = match seq {
        255 => u32::from_be_bytes(*rest.first_chunk::<4>()?),
        seq => u32::from(*seq),
    };
    Some(Stamp { ts: Hlc(u64::from_be_bytes(*ts)), origin: DcId(*origin), seq })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ts: u64, origin: u8, seq: u32) -> Stamp {
        Stamp { ts: Hlc(ts), origin: DcId(origin), seq }
    }

    #[test]
    fn a_token_covers_the_floor_and_what_it_names_and_nothing_between() {
        let given = [stamp(12, 0, 0), stamp(9, 1, 0), stamp(20, 1, 3)];
        let token = Token::default().with(Hlc(10), given.into_iter());
        let covered = |ts, origin, seq| token.covers(stamp(ts, origin, seq));
        assert!(covered(10, 2, 0) && covered(9, 1, 0) && covered(12, 0, 0) && covered(20, 1, 3));
        assert!(!covered(11, 0, 0) && !covered(12, 1, 0) && !covered(20, 1, 2) && !covered(21, 1, 3));
    }

    #[test]
    fn a_token_comes_back_and_what_is_none_does_not() {
        let given = [stamp(12, 0, 0), stamp(12, 0, 1), stamp(u64::MAX, 1, 300), stamp(15, 1, 0)];
        for token in [Token::default(), Token::default().with(Hlc(10), given.into_iter())] {
            let text = token.encode();
            assert_eq!(Token::parse(&text), Some(token));
            assert_eq!(Token::parse(&text[..text.len() - 1]), None);
            assert_eq!(Token::parse(&[&text[..], b"00"].concat()), None);
        }
        for text in ["", "td1-", "td1-zz", "tm1.AAAA", "*"] {
            assert_eq!(Token::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_token_grows_by_every_answer_and_forgets_what_floors_pass() {
        let first = Token::default().with(Hlc(10), [stamp(12, 0, 0)].into_iter());
        let other = first.clone().with(Hlc(5), [stamp(14, 1, 0)].into_iter());
        assert!(other.covers(stamp(10, 2, 0)) && other.covers(stamp(12, 0, 0)), "another region knew less");
        let later = other.with(Hlc(13), std::iter::empty());
        assert_eq!(later.above, [stamp(14, 1, 0)]);
    }

    #[test]
    fn the_name_of_an_update_tells_its_version() {
        for of in [stamp(7, 3, 0), stamp(u64::MAX, 255, 254), stamp(1, 0, 255), stamp(1, 0, u32::MAX)] {
            let name = super::super::name(1, 2).resolve(of).into_owned();
            assert_eq!(stamp_of(&name), Some(of));
        }
        assert_eq!(stamp_of(b"short"), None);
    }
}
