//! What a choice of checking groups would cost those who read.

use crate::Settings;
use crate::delays::Delays;
use crate::watch::{Touched, fitting};
use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};
use tidemark_core::ServerId;

/// What reads cost: on the whole, in a second; or each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Sessions wait, in microseconds.
    pub(crate) waits: f64,
    /// What they read is older, in microseconds.
    pub(crate) older: f64,
}

impl Cost {
    /// Both in one number: microseconds of waiting.
    pub(crate) fn total(self, settings: &Settings) -> f64 {
        self.waits + settings.freshness * self.older
    }

    pub(crate) fn each(self, reads: f64) -> Self {
        Self { waits: self.waits / reads, older: self.older / reads }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { waits: self.waits + other.waits, older: self.older + other.older }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Those who read at the same servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct User {
    /// Reads a second, by where they had read before and where they read.
    pub(crate) visits: BTreeMap<(ServerId, ServerId), f64>,
    /// How long they waited, in microseconds a second.
    pub(crate) waited: f64,
    /// Of the longest that they could have waited, which part they did, as far as anybody knows: some read what was written long ago.
    pub(crate) share: Option<f64>,
}

impl User {
    /// Reads a second.
    pub(crate) fn reads(&self) -> f64 {
        self.visits.values().sum()
    }
}

/// The checking groups that there are, or might be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups {
    /// Those of the cluster file, which stay: the first of each server's answers who names none.
    pub(crate) founded: Vec<Touched>,
    /// Those that the controller added, by name.
    pub(crate) added: Vec<(String, Touched)>,
    /// Those that somebody else added.
    pub(crate) others: Vec<Touched>,
}

impl Groups {
    pub(crate) fn all(&self) -> impl Iterator<Item = &[ServerId]> {
        let added = self.added.iter().map(|(_, servers)| servers);
        self.founded.iter().chain(&self.others).chain(added).map(|servers| &servers[..])
    }

    /// In how many `server` is.
    pub(crate) fn of(&self, server: ServerId) -> usize {
        self.all().filter(|group| group.contains(&server)).count()
    }

    /// The group that those who read at `touched` are given.
    pub(crate) fn given(&self, touched: &[ServerId]) -> Option<&[ServerId]> {
        let all: Vec<&[ServerId]> = self.all().collect();
        fitting(touched, all.iter().copied()).map(|place| all[place])
    }

    /// Those by which `server` answers who names none.
    fn first(&self, server: ServerId) -> Touched {
        let first = self.founded.iter().find(|group| group.contains(&server));
        first.cloned().unwrap_or_else(|| [server].into_iter().collect())
    }
}

/// What those who read at `touched` pay for if these are the groups.
pub(crate) fn cost(touched: &[ServerId], user: &User, groups: &Groups, delays: &Delays) -> Cost {
    let share = user.share.unwrap_or(1.0);
    let worst = worst(touched, user, groups, delays);
    Cost { waits: share * worst.waits, ..worst }
}

/// The same, if all that they read were as new as it can be.
pub(crate) fn worst(touched: &[ServerId], user: &User, groups: &Groups, delays: &Delays) -> Cost {
    let given = groups.given(touched);
    let at = |server: ServerId| match given {
        Some(group) if group.contains(&server) => group.into(),
        _ => groups.first(server),
    };
    let mut cost = Cost::default();
    for ((from, to), rate) in &user.visits {
        let backed = at(*from);
        if !backed.contains(to) {
            cost.waits += rate * delays.wait(*from, &backed, *to);
        }
        cost.older += rate * delays.older(*to, &at(*to));
    }
    cost
}
