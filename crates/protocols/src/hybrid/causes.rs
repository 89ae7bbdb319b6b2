//! Steps 1 to 5: a version shows once its causes do, and they are asked for when somebody reads it.

use super::{ASKS_AFTER_OWN, CHECKS_CAUSES, Hybrid, MARKS_SURVIVE, Message, Meta, Past, Peer};
use tidemark_contract::Deps;
use tidemark_contract::prelude::*;

/// What waits for causes.
pub(super) enum Work {
    /// A version.
    Show(Stamp),
    /// A GET, until a time: for the newest version of its key.
    Get(Ticket, Key, Micros),
    /// A session that moved here, until a time.
    Adopt(Ticket, Past, Micros),
}

impl Hybrid {
    /// A version is here. Without a list it shows: all that it depends on is stable.
    pub(super) fn receive(&mut self, key: Key, stamp: Stamp, bare: bool, cx: &mut Cx<'_, Self>) {
        self.hidden.insert(stamp, (key, false));
        self.checks.arrived(stamp);
        if bare || !CHECKS_CAUSES.kept() || stamp.ts <= self.gst() {
            self.show(stamp, false, cx);
        }
    }

    /// Asks for the causes of a version, unless that was done or it shows.
    pub(super) fn look_into(&mut self, stamp: Stamp, cx: &mut Cx<'_, Self>) {
        let Some((key, asked)) = self.hidden.get_mut(&stamp) else { return };
        if !std::mem::replace(asked, true) {
            let near = cx.chain(key).find(|d| d.stamp == stamp).map(|d| d.meta.near.clone());
            self.check(near.unwrap_or_default(), Work::Show(stamp)); // 2
        }
    }

    /// `work` waits for those of `near` that GST does not vouch for.
    pub(super) fn check(&mut self, mut near: Deps, work: Work) {
        near.retain(|dep| dep.stamp.ts > self.gst()); // 2
        match ASKS_AFTER_OWN.kept() {
            true => self.checks.open_all(&near, work), // D2
            false => self.checks.open(&near, work),
        }
    }

    /// Does what waits for nothing any more, and says what there is to say.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        loop {
            if let Some(stamp) = self.checks.wanted() {
                self.look_into(stamp, cx); // 3
            } else if let Some(work) = self.checks.ready() {
                self.finish(work, cx);
            } else {
                break;
            }
        }
        let gst = self.gst();
        self.checks.send(|check| Peer::Own(Message::Check(check, gst)), cx);
    }

    pub(super) fn finish(&mut self, work: Work, cx: &mut Cx<'_, Self>) {
        match work {
            Work::Show(stamp) => self.show(stamp, MARKS_SURVIVE.kept(), cx), // 4
            Work::Get(ticket, key, until) => self.get(ticket, key, until, cx),
            Work::Adopt(ticket, past, _) => {
                cx.answer(ticket, Outcome::Adopted, Past { gst: self.gst(), ..past });
            }
        }
    }

    /// A version shows, and its list is forgotten.
    pub(super) fn show(&mut self, stamp: Stamp, logged: bool, cx: &mut Cx<'_, Self>) {
        let Some((key, _)) = self.hidden.remove(&stamp) else { return };
        let gst = self.gst();
        let shows = |meta: &mut Meta| *meta = Meta { since: Some(gst), ..Meta::default() };
        match logged {
            true => cx.revise(&key, stamp, shows),
            false => cx.change_in_memory(&key, stamp, shows),
        }
        self.checks.apply(stamp);
    }
}
