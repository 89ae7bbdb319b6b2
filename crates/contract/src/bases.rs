//! Bases: snapshots of which each of several data centres has everything (K-stable versions, 004 §3.3.1 and §3.8).
//!
//! **Idea.** A stable vector says what its data centre has. Data centres tell each other theirs, once they would have them after a
//! crash, too. The least of what k of them have told, of which this one is one, is a vector that each of the k covers. So what lies in it
//! can be read here now, and outlives the loss of any k − 1 data centres.
//!
//! **Steps** (numbered as in EDGE.md)
//! - 28 What is told is durable. It only rises, so that old and lost words do no harm.
//! - 29 The base of k is the least of what k data centres have told, this one among them. It is one choice of k for all entries: if
//!   each entry had its own, no data centre might cover the whole vector (erratum S-1). Of those that do not fall behind the base
//!   before, each step takes the data centre that leaves the greatest sum.
//!
//! **Invariants**
//! - The base of k never falls; not by a restart either, since its owner persists it.
//! - k data centres cover all of it.

use crate::rules;
use tidemark_core::{DcId, Hlc, Vector};

rules! { from crate::Rule::COMPONENTS + 16;
    OWN_REGION_COVERS, // 29
    ONE_CHOICE_FOR_ALL, // 29: S-1
    BASES_NEVER_FALL, // 29
    GONE_IS_NOT_COUNTED // 29: who is excluded for good
}

/// The bases of one data centre, and what the others have told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bases {
    told: Vec<Vector>,
    /// That of 1, of 2, and so on.
    bases: Vec<Vector>,
    /// Who is excluded for good: it is not counted, and a base of more than are left is one of all that are.
    gone: Option<DcId>,
}

impl Bases {
    /// Of so many data centres: that of 1, of 2, and so on. Below them something may be collected.
    pub fn new(dcs: usize, bases: Vec<Vector>) -> Self {
        Self { told: vec![Vector::zero(dcs); dcs], bases, gone: None }
    }

    /// A data centre has told that it has this (28).
    pub fn told(&mut self, dc: DcId, stable: &Vector) {
        if let Some(told) = self.told.get_mut(dc.index()) {
            told.merge(stable);
        }
    }

    /// A data centre is excluded for good.
    pub fn without(&mut self, gone: Option<DcId>) {
        self.gone = gone.filter(|_| GONE_IS_NOT_COUNTED.kept());
    }

    /// What those that are left have told.
    fn left(&self) -> impl Iterator<Item = &Vector> {
        let gone = self.gone.map(DcId::index);
        self.told.iter().enumerate().filter(move |(dc, _)| Some(*dc) != gone).map(|(_, told)| told)
    }

    /// Finds the bases of now, at data centre `me` (29).
    pub fn advance(&mut self, me: DcId) {
        for n in 0..self.bases.len() {
            if let Some(base) = self.least(me, n + 1) {
                self.bases[n] = base;
            }
        }
    }

    /// The base of k, if k data centres have told so much.
    pub fn base(&self, k: usize) -> Option<&Vector> {
        let base = self.bases.get(k.checked_sub(1)?)?;
        let has = |told: &&Vector| told.max() > Hlc::ZERO && base.le(told);
        let k = if self.gone.is_some() { k.min(self.left().count()) } else { k };
        (self.left().filter(has).count() >= k).then_some(base)
    }

    /// All bases: collection stays below each.
    pub fn all(&self) -> &[Vector] {
        &self.bases
    }

    /// What each data centre has told.
    pub fn all_told(&self) -> &[Vector] {
        &self.told
    }

    /// The least of what `me` and k − 1 others have told, if it is at or above the last base of k.
    fn least(&self, me: DcId, k: usize) -> Option<Vector> {
        let last = &self.bases[k - 1];
        let holds = |told: &Vector| last.le(told) || !BASES_NEVER_FALL.kept();
        if !ONE_CHOICE_FOR_ALL.kept() {
            return Some(self.by_entry(last, k));
        }
        let own = &self.told[me.index()];
        let mut others: Vec<&Vector> = self.left().filter(|told| holds(told)).collect();
        let k = if self.gone.is_some() { k.min(self.left().count()) } else { k };
        let (mut least, left) = match OWN_REGION_COVERS.kept() {
            true if !holds(own) => return None,
            true => (own.clone(), k - 1),
            false => (others.pop()?.clone(), k - 1),
        };
        others.retain(|told| !std::ptr::eq(*told, own) || !OWN_REGION_COVERS.kept());
        for _ in 0..left {
            let with = |told: &Vector| {
                let mut both = least.clone();
                both.meet(told);
                both
            };
            let best = (0..others.len()).max_by_key(|n| sum(&with(others[*n])))?;
            least.meet(others.swap_remove(best));
        }
        Some(least)
    }

    /// Of each entry the k-th largest: what the rule is against.
    fn by_entry(&self, last: &Vector, k: usize) -> Vector {
        let entry = |of: usize| {
            let mut told: Vec<_> = self.told.iter().map(|told| told[DcId(of as u8)]).collect();
            told.sort_unstable();
            told[told.len() - k]
        };
        let mut base = Vector::from_entries((0..self.told.len()).map(entry));
        base.merge(last);
        base
    }
}

fn sum(vector: &Vector) -> u128 {
    vector.iter().map(|(_, time)| u128::from(time.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without;

    const ME: DcId = DcId(0);

    fn v(entries: [u64; 3]) -> Vector {
        Vector::from_entries(entries.map(Hlc))
    }

    fn bases(told: [[u64; 3]; 3]) -> Bases {
        let mut bases = Bases::new(3, vec![Vector::zero(3); 3]);
        told.iter().enumerate().for_each(|(dc, told)| bases.told(DcId(dc as u8), &v(*told)));
        bases.advance(ME);
        bases
    }

    #[test]
    fn a_base_is_covered_by_so_many_of_which_this_is_one() {
        let bases = bases([[9, 4, 3], [5, 8, 3], [2, 7, 9]]);
        assert_eq!(
            [1, 2, 3].map(|k| bases.base(k).cloned()),
            [[9, 4, 3], [5, 4, 3], [2, 4, 3]].map(|b| Some(v(b)))
        );
        assert_eq!((bases.base(0), bases.base(4)), (None, None));
    }

    /// Without the rule it has what is not here.
    #[test]
    fn own_region_covers() {
        let base = || bases([[0, 0, 0], [9, 9, 0], [9, 9, 0]]).base(2).cloned();
        assert_eq!(base(), Some(v([0, 0, 0])));
        assert_eq!(without(&[OWN_REGION_COVERS], base), Some(v([9, 9, 0])));
    }

    /// One has everything of B, another everything of C, and this one both.
    #[test]
    fn one_choice_for_all() {
        let covered = || {
            let bases = bases([[0, 4, 4], [0, 4, 0], [0, 0, 4]]);
            bases.told.iter().filter(|told| bases.bases[1].le(told)).count()
        };
        assert_eq!(covered(), 2);
        assert_eq!(without(&[ONE_CHOICE_FOR_ALL], covered), 1);
    }

    /// C has told more in sum, and less than the base of B.
    #[test]
    fn bases_never_fall() {
        let later = || {
            let mut bases = bases([[9, 9, 9], [5, 5, 5], [0, 0, 0]]);
            bases.told(DcId(2), &v([9, 9, 4]));
            bases.advance(ME);
            bases.bases[1].clone()
        };
        assert_eq!(later(), v([5, 5, 5]));
        assert_eq!(without(&[BASES_NEVER_FALL], later), v([9, 9, 4]));
    }

    /// C is excluded for good: without the rule the base of three stands still.
    #[test]
    fn gone_is_not_counted() {
        let later = || {
            let mut bases = bases([[9, 4, 3], [5, 8, 3], [2, 2, 3]]);
            bases.without(Some(DcId(2)));
            [ME, DcId(1)].into_iter().for_each(|dc| bases.told(dc, &v([9, 9, 99])));
            bases.advance(ME);
            [2, 3].map(|k| bases.base(k).cloned())
        };
        assert_eq!(later(), [Some(v([9, 9, 99])), Some(v([9, 9, 99]))]);
        assert_eq!(without(&[GONE_IS_NOT_COUNTED], later), [Some(v([9, 9, 99])), Some(v([2, 2, 3]))]);
    }

    #[test]
    fn nothing_is_read_below_the_bases_of_an_earlier_life() {
        let mut bases = Bases::new(3, vec![v([5, 5, 5]); 2]);
        assert_eq!(bases.base(1), None, "nobody has told yet");
        bases.told(ME, &v([7, 7, 7]));
        bases.told(DcId(1), &v([9, 4, 9]));
        bases.advance(ME);
        assert_eq!((bases.base(1), bases.base(2)), (Some(&v([7, 7, 7])), None));
        bases.told(DcId(1), &v([9, 6, 9]));
        bases.advance(ME);
        assert_eq!(bases.base(2), Some(&v([7, 6, 7])));
    }
}
