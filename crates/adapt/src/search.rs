//! Local search: from the groups that there are to better ones, one change after the other, each the best of its kind.

use crate::Settings;
use crate::delays::Delays;
use crate::model::{Groups, User, cost};
use crate::watch::Touched;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::ServerId;

/// One search changes no more than that.
const STEPS: usize = 4;
/// Whose sets are looked at: of more, those who pay least can wait.
const USERS: usize = 32;

/// What a search goes by.
pub(crate) struct Known<'a> {
    pub(crate) users: &'a BTreeMap<Touched, User>,
    pub(crate) delays: &'a Delays,
    pub(crate) settings: &'a Settings,
    /// Groups that have been tried, and did not pay.
    pub(crate) banned: &'a BTreeSet<Touched>,
}

/// A change that would pay.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Groups that go to make room, by name.
    pub(crate) remove: Vec<String>,
    /// A group that comes.
    pub(crate) add: Touched,
    /// What that saves, in microseconds of waiting a second.
    pub(crate) gain: f64,
}

impl Known<'_> {
    /// What all pay, in microseconds of waiting a second.
    fn total(&self, groups: &Groups) -> f64 {
        let one = |(touched, user): (&Touched, &User)| {
            cost(touched, user, groups, self.delays).total(self.settings)
        };
        self.users.iter().map(one).sum()
    }

    /// Changes that pay, the best first: each follows those before.
    pub(crate) fn search(&self, groups: &Groups) -> Vec<Step> {
        let mut groups = groups.clone();
        let mut steps = Vec::new();
        while steps.len() < STEPS {
            let Some(step) = self.best(&groups) else { break };
            groups.added.retain(|(name, _)| !step.remove.contains(name));
            groups.added.push((String::new(), step.add.clone()));
            steps.push(step);
        }
        steps
    }

    /// The change that pays best, if one pays.
    fn best(&self, groups: &Groups) -> Option<Step> {
        let now = self.total(groups);
        let mut best: Option<Step> = None;
        for add in self.candidates(groups) {
            let mut changed = groups.clone();
            let remove = self.make_room(&mut changed, &add);
            let Some(remove) = remove else { continue };
            changed.added.push((String::new(), add.clone()));
            let gain = now - self.total(&changed);
            if gain > best.as_ref().map_or(0.0, |best| best.gain) && self.worth(gain, &add, &changed) {
                best = Some(Step { remove, add, gain });
            }
        }
        best
    }

    /// Whether that much is worth a change, for those whom it serves.
    fn worth(&self, gain: f64, add: &Touched, changed: &Groups) -> bool {
        let served = self.users.iter().filter(|(touched, _)| changed.given(touched) == Some(&add[..]));
        gain >= self.settings.least_us * served.map(|(_, user)| user.reads()).sum::<f64>().max(1.0)
    }

    /// Sets of servers that somebody reads at, and that two sets of people do, where there is no group of them.
    fn candidates(&self, groups: &Groups) -> BTreeSet<Touched> {
        let pays = |(touched, user): (_, &User)| -> (f64, &Touched) {
            let touched: &Touched = touched;
            (cost(touched, user, groups, self.delays).total(self.settings), touched)
        };
        let mut users: Vec<(f64, &Touched)> = self.users.iter().map(pays).collect();
        users.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
        let alone: Vec<Touched> = users.into_iter().take(USERS).map(|(_, touched)| touched.clone()).collect();
        let mut sets: BTreeSet<Touched> = alone.iter().cloned().collect();
        for (place, one) in alone.iter().enumerate() {
            for other in &alone[place + 1..] {
                if one.iter().any(|server| other.contains(server)) {
                    let mut both: Touched = one.iter().chain(other).copied().collect();
                    both.sort();
                    both.dedup();
                    sets.insert(both);
                }
            }
        }
        sets.retain(|set| !self.banned.contains(set) && !groups.all().any(|group| group == &set[..]));
        sets
    }

    /// Takes away, while a server of `add` is in as many groups as it may be, the added group that is missed least. None if there is none.
    fn make_room(&self, groups: &mut Groups, add: &[ServerId]) -> Option<Vec<String>> {
        let mut removed = Vec::new();
        while let Some(full) = add.iter().find(|server| groups.of(**server) >= self.settings.budget) {
            let without = |name: &str| {
                let mut without = groups.clone();
                without.added.retain(|(other, _)| other != name);
                without
            };
            let in_the_way =
                groups.added.iter().filter(|(name, group)| !name.is_empty() && group.contains(full));
            let priced = in_the_way.map(|(name, _)| (self.total(&without(name)), name.clone()));
            let (_, least) = priced.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
            *groups = without(&least);
            removed.push(least);
        }
        Some(removed)
    }
}
