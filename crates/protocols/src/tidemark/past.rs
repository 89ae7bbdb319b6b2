//! What is stored beside a version, and what a session remembers.

use super::{
    COPIES_ARE_JOINED, DS_HAS_TIME, Known, SESSIONS_KEEP_L, TIMES_ARRIVE_WHOLE, TRANSACTIONS_HAVE_CAUSES,
};
use serde::{Deserialize, Serialize};
use tidemark_contract::prelude::{Reach, Version};
use tidemark_contract::stabilised::STABLE_STAYS_HOME;
use tidemark_core::{ClientId, DcId, Hlc, Stamp, Vector};

/// What is stored beside a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// DS.
    pub ds: Vector,
    /// Exceptions, until nobody reads below them.
    pub need: Option<Box<Need>>,
    /// Of a version of an edge client (D17). What is said above is said of the copy that counts here.
    pub edge: Option<Box<Edge>>,
}

/// What is said of a version of an edge client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Whose it is.
    pub client: ClientId,
    /// The number of the transaction there.
    pub k: u64,
    /// The stamp of the copy that counts here.
    pub at: Stamp,
    /// The other copies that are here, each with its stamp.
    pub others: Vec<(Stamp, Meta)>,
}

/// What is said of few versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// What of `ds` was stable when it was written here; entry m is zero. Not shipped.
    pub stable: Vector,
    /// `need[m]`: L has to be so high here. Not shipped.
    pub local: Hlc,
    /// `upto`: its server had announced so much; zero if all up to its own time.
    pub upto: Hlc,
}

impl Meta {
    /// The stamp that a version with this beside it has in the data centre that wrote it.
    #[inline]
    pub fn at(&self, stamp: Stamp) -> Stamp {
        self.edge.as_deref().map_or(stamp, |edge| edge.at)
    }

    /// Adds the copies of another data centre.
    pub(super) fn join(&mut self, mut copy: Self) {
        let (Some(here), Some(mut edge)) = (&mut self.edge, copy.edge.take()) else { return };
        let others = std::mem::take(&mut edge.others);
        for (at, copy) in std::iter::once((edge.at, copy)).chain(others) {
            let known = here.at == at || here.others.iter().any(|(known, _)| *known == at);
            if !known && COPIES_ARE_JOINED.kept() {
                here.others.push((at, copy));
            }
        }
    }

    /// Has the copy count that satisfies `shown`, if there is one; whether there is.
    pub(super) fn choose(&mut self, shown: impl Fn(Stamp, &Self) -> bool) -> bool {
        let Some(mut edge) = self.edge.take() else { return true };
        let mut counts = shown(edge.at, self);
        if !counts && let Some(place) = edge.others.iter().position(|(at, copy)| shown(*at, copy)) {
            let (at, copy) = edge.others.swap_remove(place);
            edge.others.push((std::mem::replace(&mut edge.at, at), std::mem::replace(self, copy)));
            counts = true;
        }
        self.edge = Some(edge);
        counts
    }

    pub(super) fn need(&self) -> &Vector {
        self.need.as_deref().map_or(&self.ds, |need| &need.stable)
    }

    /// `need[m]`.
    #[inline]
    pub(super) fn local(&self) -> Hlc {
        self.need.as_deref().map_or(Hlc::ZERO, |need| need.local)
    }

    /// Other versions of a transaction's time may follow.
    pub(super) fn announced(stamp: Stamp, meta: &Self) -> Hlc {
        let said = meta.need.as_deref().map(|need| need.upto).filter(|upto| *upto > Hlc::ZERO);
        let stamp = meta.at(stamp);
        let own = if stamp.seq > 0 && TIMES_ARRIVE_WHOLE.kept() { stamp.ts.prev() } else { stamp.ts };
        said.map_or(own, |said| said.min(own))
    }

    pub(super) fn shipped(&self) -> Self {
        let upto = self.need.as_deref().map(|need| need.upto).filter(|upto| *upto > Hlc::ZERO);
        let need = upto.map(|upto| Box::new(Need { upto, ..Need::default() }));
        Self { ds: self.ds.clone(), need, edge: self.edge.clone() }
    }

    /// Who depends on this depends on what is beside another version of the same data centre, or of the edge, too.
    pub(super) fn absorb(&mut self, stamp: Stamp, other: &Self) {
        if other.edge.is_some() {
            self.ds.include(other.at(stamp));
        }
        if other.local() > self.local() {
            let stable = self.need().clone();
            let need = self.need.get_or_insert_with(|| Box::new(Need { stable, ..Need::default() }));
            need.local = other.local();
        }
        self.ds.merge(&other.ds);
    }
}

/// What a session remembers, and what an answer adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// DS_c.
    pub ds: Vector,
    /// DSV_c; the fence is entry m.
    pub dsv: Vector,
    /// L_c.
    pub l: Hlc,
}

impl Past {
    /// DSV_c, with a fence above all that it depends on here, and L_c.
    #[inline]
    pub(super) fn fenced(&self, m: DcId) -> Known {
        (self.dsv.raised(m, self.ds[m]), self.l)
    }

    /// Its session, in data centre m, read this version.
    #[inline]
    pub(super) fn saw(&mut self, d: &Version<Meta>, m: DcId) {
        let stamp = d.meta.at(d.stamp);
        self.ds.depend_on(stamp, &d.meta.ds);
        let needs = if stamp.origin == m { d.meta.local() } else { d.meta.ds[m] };
        self.l = if SESSIONS_KEEP_L.kept() { self.l.max(needs) } else { Hlc::ZERO };
    }

    /// The dependencies of a transaction of this time, in data centre m.
    pub(super) fn of_transaction(&self, m: DcId, ct: Hlc) -> Vector {
        let ds = if TRANSACTIONS_HAVE_CAUSES.kept() {
            self.ds.clone()
        } else {
            Vector::zero(self.ds.entries().len())
        };
        if DS_HAS_TIME.kept() { ds.raised(m, ct) } else { ds }
    }
}

impl tidemark_contract::Past for Past {
    type Said = Self;

    #[inline]
    fn merge(&mut self, other: &Self) {
        self.ds.merge(&other.ds);
        self.dsv.merge(&other.dsv);
        self.l = self.l.max(other.l);
    }

    fn reach(&self, home: DcId) -> Reach {
        let reach = Reach::of(home, [&self.ds, &self.dsv]);
        Reach { latest: reach.latest.max(self.l), ..reach }
    }

    fn abroad(&self) -> Self {
        let dsv = if STABLE_STAYS_HOME.kept() { Vector::default() } else { self.dsv.clone() }; // S6
        Self { dsv, ..Self::default() }
    }
}

impl tidemark_contract::two_phase::Adds for Past {
    fn add(&mut self, other: Self) {
        tidemark_contract::Past::merge(self, &other);
    }
}
