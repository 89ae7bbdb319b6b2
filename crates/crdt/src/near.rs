//! Looking ahead: where the look-up of an element will probably end, so that memory can be read before it is needed.

use crate::plain::{Near as Place, ShortBytes};
use crate::shape::Plain;
use crate::state::State;

/// A place in a large collection.
pub struct Near<'a>(Of<'a>);

enum Of<'a> {
    Hash(Place<'a, ShortBytes>),
    Set(Place<'a, ()>),
    Zset(Place<'a, f64>),
}

impl State {
    /// Where the look-up of an element probably ends, if the key is one large collection. The second argument of a command names the
    /// element, or the last. Reads the index.
    #[inline]
    pub fn near(&self, [second, last]: [&[u8]; 2]) -> Option<Near<'_>> {
        Some(Near(match self.only()? {
            Plain::Hash(table) => Of::Hash(table.near(second)?),
            Plain::Set(table) => Of::Set(table.near(last)?),
            Plain::Zset(ranked) => Of::Zset(ranked.near(last)?),
            _ => return None,
        }))
    }
}

impl Near<'_> {
    /// Reads the element. The result says nothing, but has to be used: else nothing would be read.
    #[inline]
    pub fn touch(&self) -> u64 {
        match &self.0 {
            Of::Hash(place) => place.touch(),
            Of::Set(place) => place.touch(),
            Of::Zset(place) => place.touch(),
        }
    }

    /// Reads its value, as [`Self::touch`] the element, which comes before it.
    #[inline]
    pub fn touch_value(&self) -> u64 {
        match &self.0 {
            Of::Hash(place) => place.touch_value(),
            Of::Set(_) | Of::Zset(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::{Datum, Kind};

    #[test]
    fn only_elements_of_large_collections_have_a_place() {
        for (kind, datum) in [
            (Kind::Hash, Datum::bytes(b"value")),
            (Kind::Set, Datum::Unit),
            (Kind::Zset, Datum::score(1.0)),
            (Kind::List, Datum::bytes(b"value")),
        ] {
            let mut plain = Plain::new(kind);
            let names: Vec<String> = (0..1_000).map(|number| format!("{number:04}")).collect();
            for (count, name) in (1..).zip(&names) {
                plain.set(name.as_bytes(), &datum);
                let state = State::settled(plain.clone());
                let near = state.near([name.as_bytes(); 2]);
                let large = count > 128 && kind != Kind::List;
                assert_eq!(near.is_some(), large, "{kind:?} of {count}");
                let touched = near.map_or(0, |near| near.touch() | near.touch_value());
                assert_eq!(touched > 0, large);
                if count == 200 {
                    break;
                }
            }
        }
        assert!(State::default().near([b"a", b"b"]).is_none());
    }
}
