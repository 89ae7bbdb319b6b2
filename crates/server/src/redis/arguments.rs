//! Arguments of requests as the commands of operations need them.

use super::error::ErrorReply;
use tidemark_core::{Key, Value};
use tidemark_wire::resp::{Request, parse_i64};

/// Reads the arguments of a request. They are taken in rising order; what stands before an argument that was taken
/// cannot be read any more.
pub(super) trait Arguments {
    /// Takes argument `index` as a key, which keeps the read buffer alive.
    fn key(&mut self, index: usize) -> Key;

    /// Takes the arguments from `first` on as keys.
    fn keys(&mut self, first: usize) -> Vec<Key>;

    /// Copies argument `index` into a value.
    fn value(&self, index: usize) -> Value;

    /// Whether argument `index` is `word`, in any case.
    fn is(&self, index: usize, word: &str) -> bool;
}

impl Arguments for Request<'_> {
    #[inline]
    fn key(&mut self, index: usize) -> Key {
        Key(self.take(index))
    }

    fn keys(&mut self, first: usize) -> Vec<Key> {
        (first..self.len()).map(|index| self.key(index)).collect()
    }

    #[inline]
    fn value(&self, index: usize) -> Value {
        Value::from(&self[index])
    }

    fn is(&self, index: usize, word: &str) -> bool {
        is(&self[index], word)
    }
}

/// Whether `argument` is `word`, in any case.
pub(super) fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// An argument that has to be an integer.
pub(super) fn integer(argument: &[u8]) -> Result<i64, ErrorReply> {
    parse_i64(argument).ok_or(ErrorReply::NOT_AN_INTEGER)
}
