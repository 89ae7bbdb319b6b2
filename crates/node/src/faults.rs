//! Faults that an operator injects at run time: links that are cut, or slower than they were; a node that is slow to speak.
//!
//! A cut acts as a broken connection does: what is under way is lost, and nothing passes until it is healed; the
//! feeds then go on from the log. It concerns one direction of what is said (records and messages from one region or
//! server to another), not the confirmations that flow back.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::{DcId, Micros, PartitionId, ServerId};

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

/// What is wrong with a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Nothing passes.
    pub cut: bool,
    /// It takes so much longer.
    pub slow_us: Micros,
}

/// The faults that this node knows of.
#[derive(Debug, Default)]
pub struct Faults {
    links: BTreeMap<(Place, Place), Fault>,
    /// Whatever this node says to any other leaves so much later.
    pub late_us: Micros,
}

impl Faults {
    /// Changes what is wrong from `from` to `to`.
    pub fn change(&mut self, from: Place, to: Place, change: impl FnOnce(&mut Fault)) {
        let fault = self.links.entry((from, to)).or_default();
        change(fault);
        if *fault == Fault::default() {
            self.links.remove(&(from, to));
        }
    }

    /// Heals everything between the two places, in this direction; what is inside a region that is named, too.
    pub fn heal(&mut self, from: Place, to: Place) {
        let inside = |outer: Place, inner: Place| match outer {
            Place::Region(dc) => inner.dc() == dc,
            Place::Server(_) => inner == outer,
        };
        self.links.retain(|(a, b), _| !(inside(from, *a) && inside(to, *b)));
    }

    /// Heals everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// All those of links.
    pub fn iter(&self) -> impl Iterator<Item = (Place, Place, Fault)> + '_ {
        self.links.iter().map(|((from, to), fault)| (*from, *to, *fault))
    }

    /// Whether nothing passes from `from` to `to`.
    #[inline]
    pub fn is_cut(&self, from: ServerId, to: ServerId) -> bool {
        !self.links.is_empty()
            && self.links.iter().any(|((a, b), fault)| fault.cut && a.covers(from) && b.covers(to))
    }

    /// Whether nothing at all passes from region `from` to region `to`.
    pub fn is_region_cut(&self, from: DcId, to: DcId) -> bool {
        self.links.get(&(Place::Region(from), Place::Region(to))).is_some_and(|fault| fault.cut)
    }

    /// How much longer it takes what this node, in region `from`, says to a node of region `to`.
    pub fn slow_us(&self, from: DcId, to: DcId) -> Micros {
        let link = self.links.get(&(Place::Region(from), Place::Region(to)));
        self.late_us + link.map_or(0, |fault| fault.slow_us)
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
        let mut faults = Faults::default();
        faults.change(place("A"), place("B"), |fault| fault.cut = true);
        faults.change(place("B/1"), place("A/1"), |fault| fault.cut = true);
        assert!(faults.is_cut(server("A/0"), server("B/3")));
        assert!(!faults.is_cut(server("B/0"), server("A/0")));
        assert!(faults.is_cut(server("B/1"), server("A/1")));
        assert!(faults.is_region_cut(DcId(0), DcId(1)) && !faults.is_region_cut(DcId(1), DcId(0)));
        faults.heal(place("B"), place("A"));
        assert!(!faults.is_cut(server("B/1"), server("A/1")), "healing a region heals what is inside");
        faults.change(place("A"), place("B"), |fault| fault.cut = false);
        assert!(faults.links.is_empty());
    }
}
