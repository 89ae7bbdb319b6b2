//! Edits of lists: what they do depends on what the list holds here.

use super::show;
use anyhow::bail;
use bytes::Bytes;
use tidemark_edge::client::Transaction;
use tidemark_edge::frames::Value;

/// An edit of a list, as the command of Redis of that name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// `RPUSH`
    Back(Bytes),
    /// `LPUSH`
    Front(Bytes),
    /// `LINSERT`: behind, or before, the first element like this.
    Beside { behind: bool, pivot: Bytes, value: Bytes },
    /// `LSET`: counted from the end if the index is negative.
    Set(i64, Bytes),
    /// `LREM`: so many elements like this, from the end if the count is negative; 0: all.
    Remove(i64, Bytes),
}

impl Edit {
    /// Whether it can be done without knowing the list.
    pub(super) fn is_blind(&self) -> bool {
        matches!(self, Self::Back(_))
    }

    /// Does it in a transaction.
    ///
    /// # Errors
    /// The key is of another type, or has no such element.
    pub(super) fn apply(self, key: &Bytes, transaction: &mut Transaction) -> anyhow::Result<()> {
        let name = String::from_utf8_lossy(key);
        let values: Vec<Bytes> = match transaction.read(key) {
            Some(Value::List(elements)) => elements.into_values().map(|written| written.bytes).collect(),
            Some(Value::Absent) | None => Vec::new(),
            Some(other) => {
                bail!("{name} is {}, and this wants a list; nothing was written", show::kind(&other))
            }
        };
        let find = |sought: &Bytes| values.iter().position(|value| value == sought);
        match self {
            Self::Back(value) => transaction.push_back(key.clone(), value),
            Self::Front(value) => transaction.insert(key.clone(), 0, value)?,
            Self::Beside { behind, pivot, value } => {
                let Some(at) = find(&pivot) else {
                    let pivot = String::from_utf8_lossy(&pivot);
                    bail!("{name} has no element {pivot}; nothing was written");
                };
                transaction.insert(key.clone(), at + usize::from(behind), value)?;
            }
            Self::Set(index, value) => match place(index, values.len()) {
                Some(index) => transaction.set_at(key.clone(), index, value)?,
                None => {
                    bail!("{name} has {} elements, and none at {index}; nothing was written", values.len())
                }
            },
            Self::Remove(count, value) => {
                let found: Vec<usize> = (0..values.len()).filter(|at| values[*at] == value).collect();
                let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
                let most = most.min(found.len());
                let taken = if count < 0 { &found[found.len() - most..] } else { &found[..most] };
                // From the end: so the indices of the others stay.
                for index in taken.iter().rev() {
                    transaction.remove_at(key.clone(), *index)?;
                }
            }
        }
        Ok(())
    }
}

/// The index that a number means in a list of `len` elements.
fn place(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add_unsigned(len as u64)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}

/// The elements from one index to another, both of which are meant, as LRANGE counts them.
pub(super) fn range<T>(all: Vec<T>, start: i64, stop: i64) -> Vec<T> {
    let len = all.len() as i64;
    let from_end = |index: i64| if index < 0 { index.saturating_add(len) } else { index };
    let (start, stop) = (from_end(start).max(0), from_end(stop).min(len - 1));
    let count = usize::try_from(stop.saturating_sub(start).saturating_add(1)).unwrap_or(0);
    all.into_iter().skip(start as usize).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_edge::client::{Client, Config, Timing};
    use tidemark_edge::durable::Durable;
    use tidemark_edge::frames::{Secret, Written};
    use tidemark_edge::position::Hand;

    /// A client that keeps the list a, b, a, c, a, and a string.
    fn client() -> Client {
        let mut disk = Durable::new(Secret([1; 32]));
        let element = |(nth, text): (u64, &'static str)| {
            let position = Hand { author: Hand::LEAST, time_us: 1, nth }.between(None, None);
            (Bytes::from(position), Written { at_us: 1, bytes: text.into() })
        };
        let elements = (0..).zip(["a", "b", "a", "c", "a"]).map(element).collect();
        let string = Value::String(Written { at_us: 1, bytes: "text".into() });
        disk.values = [("l".into(), Value::List(elements)), ("s".into(), string)].into();
        let timing = Timing::DEFAULT;
        Client::with_values(disk, Config { endpoints: 1, seed: 1, token: "".into(), lowers: false, timing })
    }

    #[test]
    fn edits_are_those_of_redis() {
        let client = client();
        let edited = |key: &'static str, edit: Edit| {
            let mut transaction = client.begin();
            edit.apply(&key.into(), &mut transaction).map_err(|error| error.to_string())?;
            match transaction.read(key.as_bytes()) {
                Some(value @ Value::List(_)) => Ok(show::lines(&value).join(&b' ')),
                other => Err(format!("{other:?}")),
            }
        };
        let list = |edit| edited("l", edit).map(|text| String::from_utf8(text).expect("it is text"));
        let beside = |behind, pivot| Edit::Beside { behind, pivot, value: "x".into() };
        let remove = |count| Edit::Remove(count, "a".into());
        for (edit, expected) in [
            (Edit::Back("x".into()), "a b a c a x"),
            (Edit::Front("x".into()), "x a b a c a"),
            (beside(false, "a".into()), "x a b a c a"),
            (beside(true, "a".into()), "a x b a c a"),
            (beside(true, "c".into()), "a b a c x a"),
            (Edit::Set(1, "x".into()), "a x a c a"),
            (Edit::Set(-1, "x".into()), "a b a c x"),
            (remove(1), "b a c a"),
            (remove(2), "b c a"),
            (remove(-1), "a b a c"),
            (remove(-2), "a b c"),
            (remove(0), "b c"),
            (remove(9), "b c"),
            (remove(i64::MIN), "b c"),
            (Edit::Remove(0, "z".into()), "a b a c a"),
        ] {
            let what = format!("{edit:?}");
            assert_eq!(list(edit).as_deref(), Ok(expected), "{what}");
        }
        for edit in [Edit::Set(5, "x".into()), Edit::Set(-6, "x".into()), beside(true, "z".into())] {
            assert!(list(edit).unwrap_err().contains("nothing was written"));
        }
        assert!(edited("s", Edit::Back("x".into())).unwrap_err().contains("a string"));
    }

    #[test]
    fn ranges_are_those_of_redis() {
        let of = |start, stop| range(vec![0, 1, 2, 3], start, stop);
        assert_eq!(
            [of(0, -1), of(1, 2), of(-2, 9), of(-9, 0)],
            [vec![0, 1, 2, 3], vec![1, 2], vec![2, 3], vec![0]]
        );
        for (start, stop) in [(2, 1), (4, 9), (0, -5), (i64::MAX, i64::MAX), (i64::MIN, i64::MIN)] {
            assert!(of(start, stop).is_empty(), "{start} {stop}");
        }
        assert_eq!(of(i64::MIN, i64::MAX).len(), 4);
        assert_eq!(
            [place(0, 2), place(-2, 2), place(2, 2), place(-3, 2), place(i64::MIN, 2)],
            [Some(0), Some(0), None, None, None]
        );
    }
}
