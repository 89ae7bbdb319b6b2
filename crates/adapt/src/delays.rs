//! How far servers are behind each other, and what that means for who reads at them.

use std::collections::BTreeMap;
use tidemark_contract::grouping::Behind;
use tidemark_core::ServerId;

/// How much of an average the newest sample is.
const NEWEST: f64 = 0.3;

/// How far all servers are behind, on average.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    servers: BTreeMap<ServerId, Average>,
}

#[derive(Clone, Debug)]
struct Average {
    us: Vec<Option<f64>>,
    own: usize,
}

impl Delays {
    /// Another sample of each server.
    pub(crate) fn sample(&mut self, seen: &BTreeMap<ServerId, Behind>) {
        for (server, Behind { us, own }) in seen {
            let fresh = || Average { us: us.iter().map(|us| us.map(|us| us as f64)).collect(), own: *own };
            let average = self.servers.entry(*server).or_insert_with(fresh);
            let same = |(old, new): (&Option<f64>, &Option<u64>)| old.is_some() == new.is_some();
            if average.us.len() != us.len() || !average.us.iter().zip(us).all(same) {
                *average = fresh(); // It is tracked in another way.
                continue;
            }
            average.own = *own;
            for (old, new) in average.us.iter_mut().zip(us) {
                if let (Some(old), Some(new)) = (old, new) {
                    *old += NEWEST * (*new as f64 - *old);
                }
            }
        }
    }

    /// How far the last of `group` is behind, by tracking group.
    fn of(&self, group: &[ServerId]) -> Vec<Option<f64>> {
        let mut last: Vec<Option<f64>> = Vec::new();
        for average in group.iter().filter_map(|server| self.servers.get(server)) {
            if last.len() < average.us.len() {
                last.resize(average.us.len(), None);
            }
            for (last, us) in last.iter_mut().zip(&average.us) {
                *last = match (*last, *us) {
                    (Some(last), Some(us)) => Some(last.max(us)),
                    (last, us) => last.or(us),
                };
            }
        }
        last
    }

    /// How old the newest is that `server` can show of others' writes, where `seen` is what may be shown.
    fn newest(&self, server: ServerId, seen: &[Option<f64>]) -> f64 {
        let own = self.servers.get(&server).map(|average| average.own);
        let of = |own: Option<usize>| {
            let others = seen.iter().enumerate().filter(|(group, _)| Some(*group) != own);
            others.filter_map(|(_, us)| *us).reduce(f64::min)
        };
        of(own).or_else(|| of(None)).unwrap_or(0.0)
    }

    /// By how much `theirs` is farther behind than `ours` is, in the tracking group where that is most. Of groups that nobody of ours
    /// hears of, what is written elsewhere may depend as soon as it is written.
    fn farther(&self, theirs: &[Option<f64>], ours: &[Option<f64>], newest: f64) -> f64 {
        let by = theirs.iter().enumerate().filter_map(|(group, us)| {
            let here = ours.get(group).copied().flatten().unwrap_or(newest);
            Some((*us)? - here)
        });
        by.fold(0.0, f64::max)
    }

    /// How much older what `server` shows is at most, in microseconds, if all of `group` have to back it.
    pub(crate) fn older(&self, server: ServerId, group: &[ServerId]) -> f64 {
        let alone = self.of(&[server]);
        self.farther(&self.of(group), &alone, self.newest(server, &alone))
    }

    /// How long a session that has read the newest at `from`, which all of `group` back, waits for it at `to`, at most, in microseconds.
    pub(crate) fn wait(&self, from: ServerId, group: &[ServerId], to: ServerId) -> f64 {
        let seen = self.of(group);
        let newest = self.newest(from, &seen);
        self.farther(&self.of(&[to]), &seen, newest)
    }
}
