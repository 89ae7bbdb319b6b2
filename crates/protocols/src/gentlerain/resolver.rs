//! §4.4: which updates did not see each other, and who wins then.
//!
//! **Deviation D9.** §4.4 finds conflicts by the version that preceded a new one in its origin's chain, which misses some and
//! tells one side only of others. A version is shipped with the `gst` of its PUT instead, which says exactly what
//! was visible there: two versions from different regions conflict unless the older one's `ut` is at or below it.
//! Conflicts are counted; a [`Resolver`] resolves them, as the last writer wins by default, whenever they are
//! read: deciding once at arrival, as in §4.4, lets replicas diverge. What is hidden (D10) counts as seen.
//!
//! §4.4 has the application decide: it lists the versions in conflict, and writes what it decides. A write that has seen
//! them takes their place, and what a session was shown is seen by its later writes, in every region.

use super::{GentleRain, Hlc, LOSERS_STAY, Past};
use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol as _;
use tidemark_contract::conflicts::Judge;
use tidemark_contract::cx::found_of;
use tidemark_contract::prelude::{Cx, Failure, Outcome, Ticket, Version};

/// §4.4: who wins of two updates that did not see each other. It is the same in every region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolver {
    /// The last writer, and what loses is forgotten.
    #[default]
    LastWriter,
    /// The larger value, byte by byte; any value against a deletion.
    LargestValue,
    /// The smaller value, byte by byte; any value against a deletion.
    SmallestValue,
    /// What the application decides: until it has, the last writer, and what loses can be listed.
    Application,
}

/// D9: who has seen what tells the `gst` of the PUT.
impl Judge for Resolver {
    type Meta = Hlc;

    fn resolves(&self) -> bool {
        *self != Self::LastWriter
    }

    /// Whether `older` was visible where `newer` was written.
    fn saw(newer: &Version<Hlc>, older: &Version<Hlc>) -> bool {
        newer.stamp.origin == older.stamp.origin || older.stamp.ts <= newer.meta
    }

    /// A deletion loses against a value that did not see it: it may have been collected where that arrives.
    fn newer_wins(&self, older: &Version<Hlc>, newer: &Version<Hlc>) -> bool {
        match (self, older.write.value(), newer.write.value()) {
            (Self::LastWriter | Self::Application, ..) | (_, None, _) => true,
            (Self::LargestValue, older, newer) => older <= newer,
            (Self::SmallestValue, older, newer) => newer.is_some() && older >= newer,
        }
    }
}

impl GentleRain {
    /// Lists what is in conflict, as a reader sees it. The session depends on what it is shown.
    pub(super) fn list_conflicts(&mut self, ticket: Ticket, limit: u32, gst: Hlc, cx: &mut Cx<'_, Self>) {
        self.raise(gst, cx);
        if !cx.params.resolver.resolves() {
            let why = "the last writer wins, and conflicts are not kept: set resolver in [protocol]";
            return cx.fail(ticket, Failure::Refused(why.to_string()));
        }
        let (view, mut seen) = (self.fresh(cx.me.dc), Past { dt: Hlc::ZERO, gst: self.gst() });
        let visible = |d: &Version<Hlc>| Self::visible(&view, d.stamp, &d.meta);
        let all = self.conflicts.list(limit as usize, cx.store(), visible);
        let told = all.into_iter().map(|(key, rivals)| {
            rivals.iter().for_each(|d| seen.dt = seen.dt.max(d.stamp.ts));
            (key, rivals.into_iter().map(|d| found_of(Some(d))).collect())
        });
        let outcome = Outcome::Conflicts(told.collect());
        cx.answer(ticket, outcome, seen);
    }

    /// Whether all versions older than this one can go once every snapshot contains it.
    pub(super) fn takes_their_place(&self, d: &Version<Hlc>) -> bool {
        self.conflicts.settled(d.stamp) || !LOSERS_STAY.kept()
    }
}
