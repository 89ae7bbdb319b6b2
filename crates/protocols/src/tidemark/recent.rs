//! Which keys differ between two bases: what a gateway of edge clients has to read again.
//!
//! - D20 A server remembers what came lately, from here and from elsewhere. A version is in a base if its time and what it depends on
//!   are. So what is in one base and not in an older one is found by looking through what came lately; and if the older base has all
//!   that was forgotten, nothing else is. After a restart all that is stored counts as forgotten.

use super::transactions::Message;
use super::*;
use std::collections::{BTreeSet, VecDeque};
use tidemark_contract::cx::Effect;
use tidemark_contract::gather::{Gather, GatherId};

/// So many versions are remembered.
const MOST: usize = 200_000;

/// What came lately to one server, and who asks.
pub(super) struct Recent {
    came: VecDeque<(Key, Stamp, Vector)>,
    /// Whoever has this has all that was forgotten.
    forgotten: Vector,
    asked: Gather<(Ticket, Option<BTreeSet<Key>>)>,
}

/// Whether it is in a base.
fn has(base: &Vector, at: Stamp, ds: &Vector) -> bool {
    base.covers(at) && ds.le(base)
}

impl Recent {
    pub(super) fn start(was: &Recovered<Lasting>, cx: &Cx<'_, Tidemark>) -> Self {
        let mut forgotten = was.received.clone();
        if cx.params.edge_retain_us > 0 {
            cx.store().versions().for_each(|d| forgotten.depend_on(d.meta.at(d.stamp), &d.meta.ds));
        }
        Self { came: VecDeque::new(), forgotten, asked: Gather::new(was.life) }
    }

    /// A version has come, or was written here.
    pub(super) fn came(&mut self, key: &Key, at: Stamp, ds: &Vector) {
        if self.came.len() == MOST
            && let Some((_, at, ds)) = self.came.pop_front()
        {
            self.forgotten.depend_on(at, &ds);
        }
        self.came.push_back((key.clone(), at, ds.clone()));
    }

    /// What has changed between these bases; none if that is not remembered.
    fn between(&self, from: &Vector, to: &Vector) -> Option<BTreeSet<Key>> {
        if !self.forgotten.le(from) && CHANGES_ARE_KNOWN.kept() {
            return None;
        }
        let new = self.came.iter().filter(|(_, at, ds)| has(to, *at, ds) && !has(from, *at, ds));
        Some(new.map(|(key, ..)| key.clone()).collect())
    }
}

impl Tidemark {
    /// A version that may be in bases has come.
    #[inline]
    pub(super) fn came(&mut self, key: &Key, d: &Version<Meta>) {
        if self.retain > 0 {
            let at = d.meta.at(d.stamp);
            d.write.keys(key).for_each(|key| self.recent.came(key, at, &d.meta.ds));
        }
    }

    /// What was just written here, if anything was, may be in bases.
    #[inline]
    pub(super) fn written_now(&mut self, cx: &Cx<'_, Self>) {
        if self.retain > 0
            && let Some(Effect::Write { key, version, .. }) = cx.effects.last()
        {
            self.came(key, version);
        }
    }

    /// Asks all partitions what has changed between two bases.
    pub(super) fn ask_for_changes(
        &mut self,
        ticket: Ticket,
        from: Vector,
        to: Vector,
        cx: &mut Cx<'_, Self>,
    ) {
        let servers: Vec<ServerId> =
            cx.topology.all_partitions().map(|partition| ServerId::new(cx.me.dc, partition)).collect();
        let (deadline, nothing) = (cx.mono + cx.params.wait_limit_us, (ticket, Some(BTreeSet::new())));
        let id = self.recent.asked.open(servers.clone(), deadline, nothing);
        for server in servers {
            cx.send(server, Peer::Own(Message::WhichChanged(id, from.clone(), to.clone())));
        }
    }

    /// What has changed here.
    pub(super) fn tell_changes(
        &mut self,
        asker: ServerId,
        id: GatherId,
        (from, to): (&Vector, &Vector),
        cx: &mut Cx<'_, Self>,
    ) {
        let at = self.seen_at(self.snapshot_of(to));
        let changed =
            if self.retain > 0 && self.has_base(&at, cx) { self.recent.between(from, to) } else { None };
        let changed = changed.map(|keys| keys.into_iter().collect());
        cx.send(asker, Peer::Own(Message::HaveChanged(id, changed)));
    }

    /// What has changed at a partition.
    pub(super) fn changes_told(
        &mut self,
        from: ServerId,
        id: GatherId,
        changed: Option<Vec<Key>>,
        cx: &mut Cx<'_, Self>,
    ) {
        let add = |(_, all): &mut (Ticket, Option<BTreeSet<Key>>)| match (all.as_mut(), changed) {
            (Some(all), Some(changed)) => all.extend(changed),
            _ => *all = None,
        };
        if let Some((ticket, all)) = self.recent.asked.answer(id, from, add) {
            cx.answer(ticket, Outcome::Changed(all.map(|all| all.into_iter().collect())), Past::default());
        }
    }

    /// θ, or a server has restarted: whom nobody answers any more.
    pub(super) fn changes_unknown(&mut self, peer: Option<ServerId>, now: Micros) -> Vec<Ticket> {
        let asked = &mut self.recent.asked;
        let lost = match peer {
            Some(peer) => asked.reset(peer),
            None => asked.expire(now),
        };
        lost.into_iter().map(|(ticket, _)| ticket).collect()
    }
}
