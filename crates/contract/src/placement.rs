//! Which regions hold a key: all of them, unless it is said otherwise.
//!
//! What a region does not hold it never receives. Time passes there all the same: the feed of a partition says, where a
//! version is left out, up to when nothing is missing.

use serde::{Deserialize, Serialize};
use tidemark_core::slot::slot_of;
use tidemark_core::{DcId, Key, Regions};

/// Some keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keys {
    /// Those whose names begin so.
    Prefix(Vec<u8>),
    /// Those of these slots, the first and the last.
    Slots(u16, u16),
}

impl Keys {
    fn contains(&self, key: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => key.starts_with(prefix),
            Self::Slots(first, last) => (*first..=*last).contains(&slot_of(key)),
        }
    }
}

/// Which regions hold which keys, and where a region turns for those that it does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The first rule that speaks of a key says who holds it; if none does, all regions do.
    pub rules: Vec<(Keys, Regions)>,
    /// For each region the others, the nearest first: where it turns. Those that follow it, if nothing is said.
    pub near: Vec<Vec<DcId>>,
    /// A region refuses what it would have to ask another one for.
    pub refuses: bool,
}

impl Placement {
    /// The regions that hold `key`, of so many.
    #[inline]
    pub fn holders(&self, key: &[u8], dcs: usize) -> Regions {
        if self.rules.is_empty() {
            return Regions::all(dcs);
        }
        let rule = self.rules.iter().find(|(keys, _)| keys.contains(key));
        rule.map_or(Regions::all(dcs), |(_, regions)| *regions)
    }

    /// Divides keys into parts, each of which at least one region holds as a whole: the regions that do, and the places of
    /// the keys. As few as come of taking to each part whatever fits, in the order of the keys; one, if a region holds all.
    pub fn divide(&self, keys: &[Key], dcs: usize) -> Vec<(Regions, Vec<usize>)> {
        let mut parts: Vec<(Regions, Vec<usize>)> = Vec::new();
        let mut left: Vec<usize> = (0..keys.len()).collect();
        while let Some(first) = left.first() {
            let (mut regions, mut part) = (self.holders(&keys[*first], dcs), vec![*first]);
            let others = left.split_off(1).into_iter().filter(|at| {
                let both = regions.and(self.holders(&keys[*at], dcs));
                let fits = both != Regions::NONE;
                if fits {
                    regions = both;
                    part.push(*at);
                }
                !fits
            });
            left = others.collect();
            parts.push((regions, part));
        }
        parts
    }

    /// The region nearest to `home`, of so many, that is one of `holders`: `home` itself, if it is.
    pub fn nearest(&self, home: DcId, holders: Regions, dcs: usize) -> Option<DcId> {
        if holders.contains(home) {
            return Some(home);
        }
        match self.near.get(home.index()) {
            Some(near) => near.iter().copied().find(|dc| holders.contains(*dc)),
            None => {
                let following = (1..dcs).map(|step| DcId(((home.index() + step) % dcs) as u8));
                following.into_iter().find(|dc| holders.contains(*dc))
            }
        }
    }

    /// Whether two regions, of so many, both hold keys whose slots are `slots`, or may.
    pub fn share(&self, (a, b): (DcId, DcId), slots: std::ops::Range<u32>, dcs: usize) -> bool {
        let both = |regions: &Regions| regions.contains(a) && regions.contains(b);
        // Slots that no rule speaks of, up to the first that one may speak of.
        let mut unsaid = slots.start;
        for (keys, regions) in &self.rules {
            let speaks = match keys {
                Keys::Prefix(_) => true,
                Keys::Slots(first, last) => {
                    let (first, next) = (u32::from(*first), u32::from(*last) + 1);
                    if first <= unsaid {
                        unsaid = unsaid.max(next);
                    }
                    first < slots.end && slots.start < next
                }
            };
            if speaks && both(regions) {
                return true;
            }
        }
        unsaid < slots.end && both(&Regions::all(dcs))
    }

    /// What a directory was written with, in a line; nothing where all regions hold everything.
    pub fn in_words(&self) -> String {
        let one = |(keys, regions): &(Keys, Regions)| {
            let keys = match keys {
                Keys::Prefix(prefix) => format!("{:?}", String::from_utf8_lossy(prefix)),
                Keys::Slots(first, last) => format!("slots {first}-{last}"),
            };
            let regions: String = regions.iter().map(|dc| dc.to_string()).collect();
            format!("{keys} in {regions}")
        };
        self.rules.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(list: &[u8]) -> Regions {
        list.iter().fold(Regions::NONE, |all, dc| all.with(DcId(*dc)))
    }

    fn placement() -> Placement {
        let rules = vec![
            (Keys::Prefix(b"eu:secret:".to_vec()), regions(&[2])),
            (Keys::Prefix(b"eu:".to_vec()), regions(&[1, 2])),
            (Keys::Slots(0, 8191), regions(&[0, 1])),
        ];
        Placement { rules, ..Placement::default() }
    }

    #[test]
    fn the_first_rule_that_speaks_of_a_key_decides() {
        let held = |key: &str| placement().holders(&Key::from(key), 3);
        assert_eq!(held("eu:secret:1"), regions(&[2]));
        assert_eq!(held("eu:1"), regions(&[1, 2]));
        assert_eq!(held("bar"), regions(&[0, 1]), "slot 5061");
        assert_eq!(held("foo"), regions(&[0, 1, 2]), "slot 12182");
        assert_eq!(Placement::default().holders(&Key::from("eu:1"), 3), regions(&[0, 1, 2]));
        assert_eq!(placement().in_words(), "\"eu:secret:\" in C, \"eu:\" in BC, slots 0-8191 in AB");
    }

    #[test]
    fn keys_are_divided_into_parts_that_a_region_holds() {
        let keys = |names: &[&str]| names.iter().copied().map(Key::from).collect::<Vec<_>>();
        let divided = |names: &[&str]| placement().divide(&keys(names), 3);
        assert_eq!(
            divided(&["eu:1", "bar", "foo"]),
            [(regions(&[1]), vec![0, 1, 2])],
            "one region holds all"
        );
        assert_eq!(
            divided(&["bar", "eu:secret:1", "foo", "eu:1", "eu:secret:2"]),
            [(regions(&[1]), vec![0, 2, 3]), (regions(&[2]), vec![1, 4])]
        );
        assert_eq!(divided(&["foo", "foo"]), [(regions(&[0, 1, 2]), vec![0, 1])]);
        assert_eq!(divided(&[]), []);
        let nowhere = Placement { rules: vec![(Keys::Slots(0, 8191), Regions::NONE)], ..placement() };
        let parts = [(Regions::NONE, vec![0]), (regions(&[0, 1, 2]), vec![1])];
        assert_eq!(nowhere.divide(&keys(&["bar", "foo"]), 3), parts);
    }

    #[test]
    fn regions_share_what_a_rule_gives_both_and_what_no_rule_speaks_of() {
        let share =
            |placement: &Placement, a: u8, b: u8, slots| placement.share((DcId(a), DcId(b)), slots, 3);
        assert!(share(&Placement::default(), 0, 2, 0..16_384));
        let rules =
            vec![(Keys::Slots(0, 8_191), regions(&[0, 1])), (Keys::Slots(8_192, 16_383), regions(&[2]))];
        let apart = Placement { rules, ..Placement::default() };
        assert!(share(&apart, 0, 1, 0..8_192) && !share(&apart, 0, 1, 8_192..16_384));
        assert!(!share(&apart, 0, 2, 0..16_384) && !share(&apart, 1, 2, 0..100));
        assert!(share(&placement(), 1, 2, 0..8_192), "eu:");
        assert!(!share(&placement(), 0, 2, 0..8_192) && share(&placement(), 0, 2, 8_000..8_193));
    }

    #[test]
    fn a_region_turns_to_the_nearest_that_holds_what_it_does_not() {
        let mut placement = placement();
        let nearest = |placement: &Placement, home: u8, held: &[u8]| {
            placement.nearest(DcId(home), regions(held), 3).map(|dc| dc.0)
        };
        assert_eq!(nearest(&placement, 1, &[0, 1]), Some(1));
        assert_eq!(nearest(&placement, 1, &[0, 2]), Some(2), "the one that follows");
        assert_eq!(nearest(&placement, 2, &[0, 1]), Some(0));
        assert_eq!(nearest(&placement, 2, &[]), None);
        placement.near = vec![vec![DcId(1), DcId(2)], vec![DcId(0), DcId(2)], vec![DcId(1), DcId(0)]];
        assert_eq!((nearest(&placement, 1, &[0, 2]), nearest(&placement, 2, &[0, 1])), (Some(0), Some(1)));
    }
}
