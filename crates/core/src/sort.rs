//! SORT: its options, and the order that they ask for. Where elements and weights come from is the caller's business.

use crate::text::c_text;
use crate::{Key, Reply};
use bytes::Bytes;
use std::cmp::Ordering;
use std::ops::Range;

const SYNTAX: Reply = Reply::error("ERR syntax error");
const NOT_AN_INTEGER: Reply = Reply::error("ERR value is not an integer or out of range");
const NOT_A_NUMBER: Reply = Reply::error("ERR One or more scores can't be converted into double");

/// The options of SORT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    /// The pattern of keys with weights; without `*`, elements stay in their order.
    pub by: Option<Bytes>,
    /// The patterns of keys whose values are answered in place of an element.
    pub gets: Vec<Bytes>,
    /// How many elements are left out at first, and how many are answered.
    limit: Option<(i64, i64)>,
    descends: bool,
    alpha: bool,
    /// The key that takes the result.
    pub store: Option<Bytes>,
}

impl Sort {
    /// Reads them; `stores` tells whether STORE is one.
    ///
    /// # Errors
    /// They are not understood.
    pub fn parse(args: &[Bytes], stores: bool) -> Result<Self, Reply> {
        let mut sort = Self::default();
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            match () {
                () if is("asc") => sort.descends = false,
                () if is("desc") => sort.descends = true,
                () if is("alpha") => sort.alpha = true,
                () if is("limit") && rest.len() >= 2 => {
                    let mut number = || rest.next().and_then(|text| integer(text)).ok_or(NOT_AN_INTEGER);
                    sort.limit = Some((number()?, number()?));
                }
                () if is("store") && stores => sort.store = Some(rest.next().ok_or(SYNTAX)?.clone()),
                () if is("by") => sort.by = Some(rest.next().ok_or(SYNTAX)?.clone()),
                () if is("get") => sort.gets.push(rest.next().ok_or(SYNTAX)?.clone()),
                () => return Err(SYNTAX),
            }
        }
        Ok(sort)
    }

    /// Whether elements stay in their order.
    pub fn keeps_order(&self) -> bool {
        self.by.as_ref().is_some_and(|by| !by.contains(&b'*'))
    }

    /// The pattern of keys with weights, if there is one.
    pub fn weights(&self) -> Option<Pattern<'_>> {
        self.by.as_ref().and_then(|by| Pattern::of(by))
    }

    /// Whether it reads keys beside the one that it sorts.
    pub fn reads_others(&self) -> bool {
        self.weights().is_some() || self.gets.iter().any(|get| Pattern::of(get).is_some())
    }

    /// Puts elements in order and leaves out those that LIMIT leaves out. They come in the order of their key, and `set` tells
    /// whether that is none. `weights` are those of the elements, if there is a pattern of weights.
    ///
    /// # Errors
    /// A weight is no number.
    pub fn order(
        &self,
        elements: Vec<Bytes>,
        set: bool,
        weights: Option<Vec<Option<Bytes>>>,
    ) -> Result<Vec<Bytes>, Reply> {
        let range = self.range(elements.len());
        let mut sorted = elements;
        // The elements of a set that is stored have to have an order.
        let forced = self.keeps_order() && set && self.store.is_some();
        if self.keeps_order() && !forced {
            if self.descends && !set {
                sorted.reverse();
            }
        } else if self.alpha || forced {
            match weights {
                None if self.store.is_some() => sorted.sort_by(|a, b| self.directed(a.cmp(b))),
                // Redis compares as C does, and leaves what is the same in its order.
                None => sorted.sort_by(|a, b| self.directed(c_text(a).cmp(c_text(b)))),
                Some(weights) => {
                    let mut both: Vec<_> = weights.into_iter().zip(sorted).collect();
                    both.sort_by(|(a, _), (b, _)| self.directed(a.cmp(b)));
                    sorted = both.into_iter().map(|(_, element)| element).collect();
                }
            }
        } else {
            let score = |weight: Option<&Bytes>| weight.map_or(Some(0.0), |text| score(text));
            let scores: Option<Vec<f64>> = match &weights {
                None => sorted.iter().map(|element| score(Some(element))).collect(),
                Some(weights) => weights.iter().map(|weight| score(weight.as_ref())).collect(),
            };
            let mut both: Vec<_> = scores.ok_or(NOT_A_NUMBER)?.into_iter().zip(sorted).collect();
            both.sort_by(|a, b| {
                self.directed(a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1)))
            });
            sorted = both.into_iter().map(|(_, element)| element).collect();
        }
        sorted.truncate(range.end);
        sorted.drain(..range.start);
        Ok(sorted)
    }

    fn directed(&self, order: Ordering) -> Ordering {
        if self.descends { order.reverse() } else { order }
    }

    /// Which of `len` elements LIMIT leaves.
    fn range(&self, len: usize) -> Range<usize> {
        let Some((start, count)) = self.limit else { return 0..len };
        let start = usize::try_from(start.max(0)).unwrap_or(len).min(len);
        let end = usize::try_from(count).map_or(len, |count| start.saturating_add(count).min(len));
        start..end
    }

    /// The answer for an element to a pattern that reads no key: the element for `#`, and nothing for others.
    pub fn constant(get: &[u8], element: &Bytes) -> Option<Bytes> {
        (get == b"#").then(|| element.clone())
    }
}

/// A pattern of keys, perhaps with a field: `weight_*`, `object_*->name`.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    before: &'a [u8],
    after: &'a [u8],
    /// The field of a hash.
    pub field: Option<&'a [u8]>,
}

impl<'a> Pattern<'a> {
    /// This one; none if there is no `*` in it, and it stands for no key.
    pub fn of(pattern: &'a [u8]) -> Option<Self> {
        let star = pattern.iter().position(|byte| *byte == b'*')?;
        let (before, after) = (&pattern[..star], &pattern[star + 1..]);
        let arrow = after.windows(2).position(|pair| pair == b"->").filter(|at| at + 2 < after.len());
        Some(match arrow {
            Some(at) => Self { before, after: &after[..at], field: Some(&after[at + 2..]) },
            None => Self { before, after, field: None },
        })
    }

    /// The key of an element.
    pub fn key(&self, element: &[u8]) -> Key {
        Key([self.before, element, self.after].concat().into())
    }
}

fn integer(text: &[u8]) -> Option<i64> {
    match text {
        [b'+', ..] | [b'-', b'0', ..] | [b'0', _, ..] => None,
        _ => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// A weight as C's `strtod` reads it: up to a byte 0, and nothing is 0.
fn score(text: &[u8]) -> Option<f64> {
    let text = c_text(text);
    if text.is_empty() {
        return Some(0.0);
    }
    let number: f64 = std::str::from_utf8(text).ok()?.trim_ascii_start().parse().ok()?;
    let lost = number.is_infinite() && text.iter().any(u8::is_ascii_digit);
    (!number.is_nan() && !lost).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in redis-server 7.0.15: to a destination it compares all bytes.
    #[test]
    fn text_ends_at_its_first_zero_byte() {
        let sorted = |options: &[&'static str]| {
            let args: Vec<Bytes> = options.iter().map(|word| Bytes::from(*word)).collect();
            let elements = ["\0x", "", "b\0", "a", "b"].map(Bytes::from).to_vec();
            Sort::parse(&args, true).unwrap().order(elements, false, None).unwrap()
        };
        assert_eq!(sorted(&["ALPHA"]), ["\0x", "", "a", "b\0", "b"]);
        assert_eq!(sorted(&["ALPHA", "STORE", "k"]), ["", "\0x", "a", "b", "b\0"]);
    }
}
