//! What commands of several types share: HSCAN and its kin, and drawing elements at random.

use crate::args::{NOT_AN_INTEGER, SYNTAX, int, is};
use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use tidemark_core::Reply;
use tidemark_core::glob::glob_matches;

/// The options of a scan.
#[derive(Debug)]
pub(crate) struct Scan {
    /// Where it goes on.
    pub(crate) cursor: u64,
    /// About how many elements.
    pub(crate) count: usize,
    pattern: Option<Bytes>,
}

impl Scan {
    /// Takes the cursor off the beginning of `args`. Redis looks at the options behind it only if the key is there.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn cursor<'a>(args: &'a [Bytes], name: &str) -> Result<(u64, &'a [Bytes]), Reply> {
        let [cursor, options @ ..] = args else { return Err(crate::args::arity(name)) };
        Ok((tidemark_core::text::cursor(cursor).ok_or(Reply::error("ERR invalid cursor"))?, options))
    }

    /// Reads `[MATCH pattern] [COUNT count]`.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn parse(cursor: u64, options: &[Bytes]) -> Result<Self, Reply> {
        let mut scan = Self { cursor, count: 10, pattern: None };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let value = options.next().ok_or(SYNTAX)?;
            if is(option, "match") {
                scan.pattern = Some(value.clone());
            } else if is(option, "count") {
                scan.count = match int(value)? {
                    count @ 1.. => usize::try_from(count).map_err(|_| NOT_AN_INTEGER)?,
                    _ => return Err(SYNTAX),
                };
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(scan)
    }

    /// Whether an element is asked for.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| glob_matches(pattern, name, false))
    }

    /// The answer: where it goes on, and what was found.
    pub(crate) fn reply(next: u64, found: Vec<Reply>) -> Reply {
        Reply::Array(vec![Reply::bulk(next.to_string().as_bytes()), Reply::Array(found)])
    }
}

/// Random numbers, the same for the same seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// How many elements a client wants at random.
///
/// # Errors
/// It is no such number.
pub(crate) fn draw_count(count: &[u8]) -> Result<i64, Reply> {
    match int(count)? {
        // The only one whose opposite is none.
        i64::MIN => Err(Reply::error(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )),
        count => Ok(count),
    }
}

/// How many of `len` elements a draw is to return, and whether one may come twice: a negative count says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// So many, each at most once.
    Distinct(usize),
    /// So many.
    Any(usize),
}

impl Draw {
    /// Of `count` as clients give it.
    pub(crate) fn of(count: i64, len: usize) -> Self {
        match usize::try_from(count) {
            Ok(count) => Self::Distinct(count.min(len)),
            Err(_) if len == 0 => Self::Any(0),
            Err(_) => Self::Any(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX)),
        }
    }

    /// Draws from elements that `sample` picks by a random number and `all` lists; `name` tells them apart.
    pub(crate) fn run<'a, T: Copy>(
        self,
        len: usize,
        seed: u64,
        sample: impl Fn(u64) -> Option<T>,
        all: impl Fn() -> Vec<T>,
        name: impl Fn(T) -> &'a [u8],
    ) -> Vec<T> {
        let mut random = Random(seed);
        match self {
            Self::Any(count) => (0..count).filter_map(|_| sample(random.next())).collect(),
            Self::Distinct(count) if count >= len => all(),
            Self::Distinct(count) if count * 3 > len => {
                let mut left = all();
                (0..count).map(|_| left.swap_remove(random.below(left.len()))).collect()
            }
            Self::Distinct(1) => sample(random.next()).into_iter().collect(),
            Self::Distinct(count) => {
                let mut drawn: HashSet<&[u8], FixedState> = HashSet::default();
                let mut picked = Vec::with_capacity(count);
                while picked.len() < count {
                    let Some(one) = sample(random.next()) else { break };
                    if drawn.insert(name(one)) {
                        picked.push(one);
                    }
                }
                picked
            }
        }
    }
}
