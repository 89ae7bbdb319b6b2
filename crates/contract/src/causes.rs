//! A whole past as a list: of each key the newest update in it, as COPS-GT sends it along.
//!
//! Such a list has an entry a key. What is applied in every data centre can be dropped ([`Causes::settle`]), and the list
//! says up to where that may have been: whoever read a key where all up to the floor was applied has read nothing
//! older than what the list lacks.

use serde::{Deserialize, Serialize};
use tidemark_core::{Key, Stamp, Vector};

/// The newest update of each key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes {
    /// In the order of the keys.
    list: Vec<(Key, Stamp)>,
    /// What the list lacks lies at or below.
    floor: Vector,
}

impl Causes {
    /// The newest update of `key` that is named.
    pub fn newest(&self, key: &Key) -> Option<Stamp> {
        self.list.binary_search_by_key(&key, |(key, _)| key).ok().map(|at| self.list[at].1)
    }

    /// Adds an update of `key`.
    pub fn include(&mut self, key: &Key, stamp: Stamp) {
        match self.list.binary_search_by_key(&key, |(key, _)| key) {
            Ok(at) => self.list[at].1 = self.list[at].1.max(stamp),
            Err(at) => self.list.insert(at, (key.clone(), stamp)),
        }
    }

    /// Adds those of another past.
    pub fn merge(&mut self, other: &Self) {
        self.floor.merge(&other.floor);
        if self.list.is_empty() {
            self.list.clone_from(&other.list);
        } else {
            other.list.iter().for_each(|(key, stamp)| self.include(key, *stamp));
        }
    }

    /// Drops what is `stable`: applied in every data centre.
    pub fn settle(&mut self, stable: &Vector) {
        let floor = &mut self.floor;
        self.list.retain(|(_, stamp)| {
            let settled = stable.covers(*stamp);
            if settled {
                floor.include(*stamp);
            }
            !settled
        });
    }

    /// What is named.
    pub fn list(&self) -> &[(Key, Stamp)] {
        &self.list
    }

    /// What is not named lies at or below.
    pub fn floor(&self) -> &Vector {
        &self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::{DcId, Hlc};

    fn causes(list: &[(&str, u64, u8)]) -> Causes {
        let mut causes = Causes::default();
        let mut include = |(key, ts, dc): &(&str, u64, u8)| {
            causes.include(&Key::from(*key), Stamp::new(Hlc(*ts), DcId(*dc)));
        };
        list.iter().for_each(&mut include);
        causes
    }

    #[test]
    fn of_each_key_the_newest_is_named() {
        let mut one = causes(&[("b", 5, 0), ("a", 3, 1), ("b", 4, 1)]);
        assert_eq!(one, causes(&[("a", 3, 1), ("b", 5, 0)]));
        one.merge(&causes(&[("a", 4, 0), ("c", 1, 0), ("b", 2, 0)]));
        assert_eq!(one, causes(&[("a", 4, 0), ("b", 5, 0), ("c", 1, 0)]));
        let mut none = Causes::default();
        none.merge(&one);
        assert_eq!((&none, none.newest(&Key::from("b"))), (&one, Some(Stamp::new(Hlc(5), DcId(0)))));
    }

    #[test]
    fn what_is_dropped_lies_under_the_floor_also_after_a_merge() {
        let mut one = causes(&[("a", 3, 0), ("b", 5, 0), ("c", 3, 1)]);
        one.settle(&Vector::from_entries([Hlc(4), Hlc(2)]));
        assert_eq!((one.list().len(), one.floor()), (2, &Vector::from_entries([Hlc(3)])));
        assert_eq!(one.newest(&Key::from("a")), None);
        let mut other = causes(&[("d", 9, 1)]);
        other.merge(&one);
        assert_eq!((other.list().len(), other.floor()), (3, one.floor()));
    }
}
