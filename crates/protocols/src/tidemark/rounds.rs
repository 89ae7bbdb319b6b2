//! When a transaction shows (T8, T9): a round of announcements for each, of which its coordinator is the root.

use super::failures::not_shown;
use super::transactions::{Message, Transactions};
use super::*;
use tidemark_contract::two_phase::given_up;

impl Tidemark {
    /// The coordinator is to be told once `ct` is announced (T8).
    pub(super) fn owe(&mut self, ct: Hlc, coordinator: PartitionId, cx: &mut Cx<'_, Self>) {
        self.transactions.owed.push((ct, coordinator));
        self.report(cx);
    }

    pub(super) fn report(&mut self, cx: &mut Cx<'_, Self>) {
        let (announced, m) = (self.announced(cx), cx.me.dc);
        self.transactions.owed.retain(|(ct, coordinator)| {
            if *ct <= announced {
                cx.send(ServerId::new(m, *coordinator), Peer::Own(Message::Announced(announced)));
            }
            *ct > announced
        });
    }

    /// The coordinator tells all what all have announced, itself among them, if it waits for that (T8).
    pub(super) fn tell(&mut self, cx: &mut Cx<'_, Self>) {
        let me = cx.me;
        let Transactions { heard, told, unanswered, .. } = &mut self.transactions;
        let least = heard.iter().copied().min().unwrap_or_default();
        if !unanswered.values().any(|waits| *told < waits.stamp.ts && waits.stamp.ts <= least) {
            return;
        }
        *told = least;
        for partition in cx.topology.all_partitions() {
            cx.send(ServerId::new(me.dc, partition), Peer::Own(Message::Stable(least)));
        }
    }

    /// Tells coordinators what is shown here by now; first L is made durable (T9).
    pub(super) fn show(&mut self, cx: &mut Cx<'_, Self>) {
        let (l, Transactions { unshown, commits, .. }) = (self.st.stable[self.l], &mut self.transactions);
        let before = unshown.len();
        unshown.retain(|(ct, tx)| {
            if *ct <= l {
                commits.applied(*tx);
            }
            *ct > l
        });
        if before == unshown.len() {
            return;
        }
        if SHOWN_SURVIVES.kept() {
            self.st.ceiling.keep(self.st.stable.clone(), cx);
        }
        self.save(cx);
    }

    /// θ: what is in doubt, and what waits for too long.
    pub(super) fn tend(&mut self, cx: &mut Cx<'_, Self>) {
        let mut lost = self.transactions.commits.tend(cx.mono);
        lost.extend(self.given_up(None, cx.mono));
        lost.extend(self.unread(None, cx.mono));
        lost.extend(self.changes_unknown(None, cx.mono));
        lost.into_iter().for_each(|ticket| self.fail(ticket, given_up(), cx));
        self.transactions.unanswered.retain(|_, waits| {
            let late = waits.deadline <= cx.mono;
            if late {
                cx.fail(waits.ticket, not_shown());
            }
            !late
        });
        self.stir(cx);
        self.save(cx);
    }

    /// A server restarted.
    pub(super) fn reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        let mut lost = self.transactions.commits.reset(peer, cx.mono);
        lost.extend(self.given_up(Some(peer), cx.mono));
        lost.extend(self.unread(Some(peer), cx.mono));
        lost.extend(self.changes_unknown(Some(peer), cx.mono));
        lost.into_iter().for_each(|ticket| self.fail(ticket, given_up(), cx));
        self.save(cx);
    }
}
