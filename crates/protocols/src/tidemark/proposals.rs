//! Proposals (T1, T2), and when they are sure.
//!
//! - D14 The coordinator asks for proposals of one time, a little ahead of its clock, and tells all siblings of that time at once. A
//!   participant is sure of its proposal if nothing else is prepared there below, and the transaction depends on nothing more for what it
//!   saw there; and of the second look, if nothing else is prepared there below `ct`. If all are sure of one time, they have announced it
//!   as soon as it is decided, for a participant that hears of an L at or above its time knows how the transaction ended. So a
//!   transaction that meets no other one takes two round trips, and one more if it looks.
//! - D15 Until physical time has come to the time of a transaction, the clocks that it has moved up go on from there, half as fast. A
//!   clock that stood still would give a PUT a time above the snapshots that are read later at other servers.

use super::edge::{Added, OfEdge, Snap, later};
use super::failures::too_late;
use super::transactions::{Message, Transactions};
use super::*;
use tidemark_contract::two_phase::{Adds, NEVER, Times, Tx};

/// How far ahead of its clock a coordinator asks for proposals, at least and at most (D14).
pub(super) const AHEAD_US: std::ops::RangeInclusive<Micros> = 1_000..=8_000;

/// To what a transaction has moved a clock up, and when (D15).
pub(super) struct Lead {
    to: Micros,
    since: Micros,
}

impl Lead {
    fn reading(&self, cx: &Cx<'_, Tidemark>) -> Option<Micros> {
        let reading = self.to + cx.mono.saturating_sub(self.since) / 2;
        (cx.now..=cx.now + AHEAD_US.end()).contains(&reading).then_some(reading)
    }
}

impl Tidemark {
    /// This server's clock, at or above what it has announced (D15).
    #[inline]
    pub(super) fn clock(&self, cx: &Cx<'_, Self>) -> Hlc {
        let (clock, lead) = (self.st.vv[cx.me.dc], self.lead.as_ref());
        lead.and_then(|lead| lead.reading(cx)).map_or(clock, |reading| clock.max(Hlc::at(reading)))
    }

    /// Moves the clock up to the time of a transaction.
    pub(super) fn advance(&mut self, to: Hlc, cx: &mut Cx<'_, Self>) {
        if self.clock(cx).max(Hlc::at(cx.now)) < to {
            self.lead = Some(Lead { to: to.micros(), since: cx.mono });
        }
        self.st.advance(to, cx);
    }

    /// Asks for proposals (T1), and the other siblings to announce what is asked for (D14).
    pub(super) fn begin(
        &mut self,
        ticket: Ticket,
        all: Part,
        snap: Snap,
        deadline: Micros,
        cx: &mut Cx<'_, Self>,
    ) {
        let Transactions { commits, ahead, .. } = &mut self.transactions;
        let ahead = (*ahead).min(cx.max_skew_us / 4); // who writes at a sibling is not to be refused for it
        let from = self.st.vv[cx.me.dc].next().max(Hlc::at(cx.now + ahead));
        let until = match &snap.edge {
            Some(edge) if TIMES_ARE_NEW.kept() => later(edge.stamp.ts, cx.params.edge_retain_us), // D18
            _ => NEVER,
        };
        let times = Times { from, until, deadline };
        let participants = commits.begin_watching(ticket, all, snap, times, cx.topology);
        self.lift(from, &participants, cx);
    }

    /// Has all but these announce so much (T8).
    pub(super) fn lift(&self, time: Hlc, participants: &[PartitionId], cx: &mut Cx<'_, Self>) {
        for partition in cx.topology.all_partitions().filter(|partition| !participants.contains(partition)) {
            cx.send(ServerId::new(cx.me.dc, partition), Peer::Own(Message::Lift(time)));
        }
    }

    /// The next time proposals are asked for later, if siblings were ahead, or else a little sooner (D14).
    pub(super) fn look_ahead(&mut self, late: bool) {
        let ahead = self.transactions.ahead;
        let next = if late { 2 * ahead } else { ahead - ahead / 16 };
        self.transactions.ahead = next.clamp(*AHEAD_US.start(), *AHEAD_US.end());
    }

    /// A participant proposes a time above everything that it has announced (T2); `from`, if that is possible (D14).
    pub(super) fn prepare(&mut self, tx: Tx, snap: Snap, part: Part, from: Hlc, cx: &mut Cx<'_, Self>) {
        let past = &snap.past;
        self.learn_from(&(past.dsv.clone(), past.l), cx); // what the session has seen, the writes overwrite
        let (m, view, mut seen) = (cx.me.dc, self.fresh(cx), Past::default());
        let Part { writes, watched, updates } = part;
        let early = |edge: &OfEdge| edge.stamp.ts <= cx.store().floor() || !self.sees_dep(edge);
        if !cx.bears(&writes) || snap.edge.as_deref().is_some_and(early) {
            return self.transactions.commits.refuse(tx, too_late());
        }
        let (written, without) = match &snap.edge {
            Some(edge) => {
                let (written, without) = self.carried_out(edge, writes, updates, cx); // D17
                (Ok(written), without)
            }
            None => (cx.overwritten(writes, &view, |d| seen.saw(d, m)), Vec::new()), // D9
        };
        let commits = &mut self.transactions.commits;
        let writes = match written.and_then(|writes| commits.has_room(&writes, cx.limit).map(|()| writes)) {
            Ok(writes) => writes,
            Err(why) => return commits.refuse(tx, why),
        };
        let h = snap.edge.as_ref().filter(|_| COPIES_ARE_LATER.kept()).map(|edge| edge.stamp.ts);
        let causes = past.ds.max().max(seen.ds.max()).max(h.unwrap_or_default());
        let above = if PROPOSES_ABOVE_CAUSES.kept() { causes } else { Hlc::ZERO };
        let clock = if PROPOSES_ABOVE_CLOCK.kept() { self.st.vv[m] } else { Hlc::ZERO };
        let proposal = cx.stamp_above(clock, above.max(from.prev()));
        match proposal.or_else(|_| cx.stamp_above(clock, above)) {
            Ok(pt) => {
                self.advance(pt.ts, cx);
                seen.dsv = self.need(&seen.ds, m);
                let seen = if DEPENDS_ON_SEEN.kept() { seen } else { Past::default() };
                let sure = self.is_sure(pt.ts, &snap.past, &seen);
                let (part, added) =
                    (Part { writes, watched, updates: Vec::new() }, Added { past: seen, without });
                self.transactions.commits.propose_if_sure(tx, (pt.ts, added), snap, part, sure, cx.mono);
                self.hold_floor(cx);
            }
            Err(why) => self.transactions.commits.refuse(tx, why),
        }
    }

    /// D14.
    fn is_sure(&self, pt: Hlc, snap: &Past, seen: &Past) -> bool {
        let first = self.transactions.commits.earliest().is_none_or(|other| other > pt);
        let mut with_seen = snap.clone();
        with_seen.add(seen.clone());
        (first || !SURE_IF_FIRST.kept()) && (with_seen == *snap || !SURE_IF_NOTHING_IS_ADDED.kept())
    }

    /// What is in doubt here at or below L has committed as it was proposed: nothing else shows before it is applied (D14).
    pub(super) fn end_doubts(&mut self, cx: &mut Cx<'_, Self>) {
        let (l, commits) = (self.st.stable[self.l], &mut self.transactions.commits);
        if commits.earliest().is_some_and(|pt| pt <= l) && DOUBT_ENDS_AT_L.kept() && commits.shows(l) {
            self.apply(cx);
            self.show(cx);
            self.save(cx);
        }
    }

    /// Merges an L (1, 4, 8, 9).
    #[inline]
    pub(super) fn take_l(&mut self, l: Hlc, cx: &mut Cx<'_, Self>) {
        self.st.stable.raise(self.l, if SERVERS_TAKE_L.kept() { l } else { Hlc::ZERO });
        self.end_doubts(cx);
    }
}
