//! Links that an operator has cut.
//!
//! A cut acts as a broken connection does: what is under way is lost, and nothing passes until it is healed; replication
//! streams then go on from the log. It concerns one direction of what is said (records and messages from one region or server
//! to another), not the confirmations that flow back.

use serde::Serialize;
use std::collections::BTreeSet;
use tidemark_core::{DcId, PartitionId, ServerId};

/// One end of a faulty link: a whole region, or one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// Every server of the region.
    Region(DcId),
    /// One server.
    Server(ServerId),
}

impl Place {
    /// Whether `inner` is this place, or inside it.
    fn includes(self, inner: Self) -> bool {
        match self {
            Self::Region(dc) => inner.dc() == dc,
            Self::Server(_) => inner == self,
        }
    }

    fn covers(self, server: ServerId) -> bool {
        match self {
            Self::Region(dc) => dc == server.dc,
            Self::Server(one) => one == server,
        }
    }

    /// The region where it is.
    pub fn dc(self) -> DcId {
        match self {
            Self::Region(dc) => dc,
            Self::Server(server) => server.dc,
        }
    }

    /// `A`, a region's configured name, or `A/0`.
    ///
    /// # Errors
    /// What there is instead.
    pub fn parse(text: &str, regions: &[String], partitions: usize) -> Result<Self, String> {
        let (region, partition) = match text.split_once('/') {
            Some((region, partition)) => (region, Some(partition)),
            None => (text, None),
        };
        let named = regions.iter().position(|name| name.eq_ignore_ascii_case(region));
        let lettered =
            || (0..regions.len()).find(|at| DcId(*at as u8).to_string().eq_ignore_ascii_case(region));
        let Some(dc) = named.or_else(lettered) else {
            return Err(format!("there is no region {region:?}; regions are {}", regions.join(", ")));
        };
        let dc = DcId(dc as u8);
        match partition.map(str::parse::<u16>) {
            None => Ok(Self::Region(dc)),
            Some(Ok(partition)) if (partition as usize) < partitions => {
                Ok(Self::Server(ServerId::new(dc, PartitionId(partition))))
            }
            Some(_) => {
                Err(format!("there is no partition {text:?}; they are numbered from 0 to {}", partitions - 1))
            }
        }
    }
}

/// What an operator changes about cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOrder {
    /// Nothing passes from the first place to the second any more.
    Cut(Place, Place),
    /// Everything passes again from the first place to the second; what is inside a region that is named, too.
    Heal(Place, Place),
    /// Everything passes again.
    HealAll,
}

/// The links that an operator has cut, as this node knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts(BTreeSet<(Place, Place)>);

impl Cuts {
    /// Carries out an order.
    pub fn change(&mut self, order: CutOrder) {
        match order {
            CutOrder::Cut(from, to) => {
                self.0.insert((from, to));
            }
            CutOrder::Heal(from, to) => self.0.retain(|(a, b)| !(from.includes(*a) && to.includes(*b))),
            CutOrder::HealAll => self.0.clear(),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Place, Place)> + '_ {
        self.0.iter().copied()
    }

    /// Whether these very ends are cut.
    pub fn contains(&self, ends: &(Place, Place)) -> bool {
        self.0.contains(ends)
    }

    /// Whether nothing passes from `from` to `to`.
    #[inline]
    pub fn is_cut(&self, from: ServerId, to: ServerId) -> bool {
        !self.0.is_empty() && self.0.iter().any(|(a, b)| a.covers(from) && b.covers(to))
    }

    /// Whether nothing at all passes from region `from` to region `to`.
    pub fn is_region_cut(&self, from: DcId, to: DcId) -> bool {
        self.0.contains(&(Place::Region(from), Place::Region(to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Place::parse(text, &["Paris".to_string(), "Tokyo".to_string()], 4).unwrap()
    }

    fn server(text: &str) -> ServerId {
        let Place::Server(server) = place(text) else { panic!("{text} is no server") };
        server
    }

    #[test]
    fn places_are_named_by_letter_or_by_name() {
        assert_eq!(place("tokyo"), place("B"));
        assert_eq!(place("B/3"), place("Tokyo/3"));
        for wrong in ["C", "", "A/4", "A/x", "A/"] {
            assert!(Place::parse(wrong, &["Paris".into()], 4).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_cut_concerns_one_direction_until_it_is_healed() {
        let mut cuts = Cuts::default();
        cuts.change(CutOrder::Cut(place("A"), place("B")));
        cuts.change(CutOrder::Cut(place("B/1"), place("A/1")));
        assert!(cuts.is_cut(server("A/0"), server("B/3")));
        assert!(!cuts.is_cut(server("B/0"), server("A/0")));
        assert!(cuts.is_cut(server("B/1"), server("A/1")));
        assert!(cuts.is_region_cut(DcId(0), DcId(1)) && !cuts.is_region_cut(DcId(1), DcId(0)));
        cuts.change(CutOrder::Heal(place("B"), place("A")));
        assert!(!cuts.is_cut(server("B/1"), server("A/1")), "healing a region heals what is inside");
        cuts.change(CutOrder::HealAll);
        assert_eq!(cuts.iter().count(), 0);
    }
}
