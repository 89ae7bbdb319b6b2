//! Rules 3 to 7: sending the log.

use super::reading::{Entry, Sent, written};
use super::{Client, Report};
use crate::durable::Row;
use crate::frames::{Body, MICROS_END, Malformed, ToGateway, ValueHash};
use crate::rule::{ACKS_PRUNE_NOTHING, HIDDEN_STAYS_HIDDEN, TIMES_ARE_DURABLE};
use crate::value::Epoch;
use std::sync::Arc;

/// At most this many transactions are sent ahead of what is acknowledged.
pub const WINDOW: u64 = 64;

/// After so many Behind in a row the next endpoint is tried.
pub const BEHIND_MAX: u32 = 3;

/// Transactions that are being given new times.
#[derive(Clone, Debug)]
pub(super) struct Retiming {
    pub(super) persist: u64,
    entries: Vec<Entry>,
}

impl Client {
    /// Sends what may be sent.
    pub(super) fn advance_transfers(&mut self) {
        while let Some(k) = self.next_transfer() {
            let Some(open) = self.connecting.opened_mut() else { return };
            let Some(Entry { body, mut sent, .. }) = self.view.log.get(&k).cloned() else { return };
            open.next += 1;
            let now = Sent::In(open.number);
            if sent == Sent::No {
                sent = now; // Rule 3
                Arc::make_mut(&mut self.view.log).entry(k).and_modify(|entry| entry.sent = now);
            }
            let frame = ToGateway::Transfer { body: (*body).clone(), sent_before: sent != now };
            self.send_if_open(&frame);
        }
    }

    /// The transaction to be sent next, if one may be.
    fn next_transfer(&self) -> Option<u64> {
        let open = self.opened()?;
        let paused = open.paused_until_us.is_some_and(|until| until > self.now_us);
        let welcomed = open.welcome.is_some() && self.fork.is_none();
        let may = welcomed && !paused && self.retiming.is_none() && open.retime.is_none();
        (may && open.next <= self.last_k() && open.next <= open.acked + WINDOW).then_some(open.next)
    }

    /// A transaction that gets a later time loses what its client has seen overwritten: with that time it would win again.
    fn leave_out_hidden(&self, entry: &Entry, body: &mut Body) {
        if body.h_us == entry.body.h_us || !HIDDEN_STAYS_HIDDEN.kept() {
            return;
        }
        let cache = &self.view.cache;
        body.operations.retain(|operation| {
            cache.get(&operation.key).is_none_or(|cached| !cached.hides(entry.moment(), &operation.kind))
        });
    }

    /// The transaction, which counts as prepared in the base of now if its own is so old in a region's entry that regions may not read it any more.
    fn seen_lately(&self, entry: &Entry, oldest_us: u64) -> (Body, Epoch) {
        let (body, base) = ((*entry.body).clone(), &self.base.base);
        let is_old = (0..base.0.len()).any(|dc| {
            let seen = body.dep.entry(dc);
            seen.micros() < oldest_us && seen < base.entry(dc)
        });
        if is_old && base.dominates(&body.dep) {
            (Body { dep: self.base.base.clone(), ..body }, self.epoch)
        } else {
            (body, entry.epoch)
        }
    }

    /// Where regions remember for certain what they have taken, in microseconds since 1970.
    fn oldest_us(&self) -> u64 {
        let welcome = self.opened().and_then(|open| open.welcome.as_ref());
        let half_us = welcome.map_or(0, |welcome| welcome.retain_ms.saturating_mul(500));
        self.server_time_us().map_or(0, |now| now.saturating_sub(half_us))
    }

    /// Rule 12: no region has taken `k` with its time, and none will.
    pub(super) fn on_retime(&mut self, k: u64) {
        let (is_known, now_us) = (self.view.log.contains_key(&k), self.now_us);
        let retry_us = self.timing().retry_ms * 1000;
        let Some(open) = self.connecting.opened_mut() else { return };
        if open.retime.is_some_and(|first| first <= k) {
            return; // it is about a frame that was under way
        }
        if let Some((first, at)) = open.retimed
            && (k > first || (k == first && now_us < at + retry_us))
        {
            open.retry_at_us = Some(at + retry_us);
            return; // it is about a frame that was under way, with the old time
        }
        if open.retimed.is_some_and(|(first, _)| k == first) {
            // On a slow link it can still be about the old time, while the frame with the new one is under way: another connection tells.
            return self.fail();
        }
        if !is_known || k <= open.acked {
            return self
                .on_malformed(Malformed("a new time for a transaction that is not in the log, or is taken"));
        }
        (open.retimed, open.retime) = (Some((k, now_us)), Some(k));
    }

    /// Persists new times, and sends from there again; not before the first tick of the connection: the base may be so old that no region reads
    /// it any more.
    pub(super) fn advance_retime(&mut self) {
        let (oldest_us, now_us) = (self.oldest_us(), self.now_us);
        // What is being committed follows it, with a later time.
        let busy = self.retiming.is_some() || self.fork.is_some() || self.commits.is_busy();
        let Some(open) = self.connecting.opened_mut().filter(|open| !busy && open.has_based) else { return };
        let Some(k) = open.retime.take().filter(|k| *k > open.acked) else { return };
        open.retimed = Some((k, now_us));
        (open.next, open.behind) = (open.next.min(k), 0);
        let connection = open.number;
        let mut last_us = 0;
        let mut entries = Vec::new();
        for (_, entry) in self.view.log.range(k..) {
            let (mut body, epoch) = self.seen_lately(entry, oldest_us);
            // By that the gateway tells the new one from the old one.
            let own_us = if body.k == k { body.h_us + 1 } else { body.h_us };
            let least_us = oldest_us.max(body.dep.newest_us() + 1);
            body.h_us = own_us.max(least_us).max(last_us + 1).min(MICROS_END - 1);
            last_us = body.h_us;
            self.leave_out_hidden(entry, &mut body);
            let sent = if entry.sent == Sent::No { Sent::No } else { Sent::In(connection) };
            entries.push(Entry { body: Arc::new(body), epoch, sent });
        }
        let rows = entries.iter().map(|entry| Row::Entry((*entry.body).clone())).collect();
        let persist = self.persist(rows);
        self.last_h_us = self.last_h_us.max(last_us);
        self.retiming = Some(Retiming { persist, entries });
        if !TIMES_ARE_DURABLE.kept() {
            self.on_retimed(true);
        }
    }

    pub(super) fn on_retimed(&mut self, done: bool) {
        let Some(retiming) = self.retiming.take() else { return };
        if !done {
            self.pause(self.timing().retry_ms);
            return;
        }
        let old = retiming.entries.iter().filter_map(|new| {
            let old = self.view.log.get(&new.body.k)?;
            (old.body != new.body).then_some(old)
        });
        let shown: Vec<_> = written(old).into_iter().map(|key| (self.shown(&key), key)).collect();
        let log = Arc::make_mut(&mut self.view.log);
        for entry in retiming.entries {
            log.insert(entry.body.k, entry);
        }
        // A write with a later time may win now, and a removal may cover more.
        let changed = shown.into_iter().filter(|(before, key)| *before != self.shown(key));
        let changed = changed.map(|(_, key)| key).collect();
        self.changed(changed);
    }

    /// The hash of what is shown of a key.
    fn shown(&self, key: &[u8]) -> Option<ValueHash> {
        self.read(key).map(|value| value.hash())
    }

    /// Rule 5: an Ack speaks of one region.
    pub(super) fn on_ack(&mut self, k: u64) {
        let Some(open) = self.connecting.opened_mut() else { return };
        open.reaches(open.acked.max(k.min(open.next.saturating_sub(1))));
        open.behind = 0;
        self.acknowledged = self.acknowledged.max(open.acked);
        if !ACKS_PRUNE_NOTHING.kept() {
            let log = Arc::make_mut(&mut self.view.log);
            *log = log.split_off(&(k + 1));
            self.persist(vec![Row::Drop(k)]);
        }
    }

    /// Rule 6.
    pub(super) fn on_missing(&mut self, k: u64) {
        let (first, now_us, retry_ms) = (self.first_k(), self.now_us, self.timing().retry_ms);
        let Some(open) = self.connecting.opened_mut() else { return };
        if k + 1 < first {
            if !open.has_base() {
                // It lacks the base, too, and with it what the log has lost: that will come.
                let period_ms = open.welcome.as_ref().map_or(retry_ms, |welcome| welcome.period_ms);
                return self.on_wait(period_ms, true);
            }
            self.report(Report::Lost { k });
            return self.fail();
        }
        let until = open.missing.filter(|(last, _)| *last == k).map(|(_, at)| at + retry_ms * 1000);
        if until.is_some_and(|until| now_us < until) {
            open.retry_at_us = until;
            return;
        }
        open.missing = Some((k, now_us));
        open.reaches(k.min(open.next - 1));
        open.next = open.next.min(k + 1);
    }

    /// Rule 7.
    pub(super) fn on_wait(&mut self, wait_ms: u64, is_behind: bool) {
        let now_us = self.now_us;
        let Some(open) = self.connecting.opened_mut() else { return };
        if open.paused_until_us.is_some_and(|until| until > now_us) {
            return; // it is about a frame that had been sent before the client began to wait
        }
        open.behind = if is_behind { open.behind + 1 } else { 0 };
        if open.behind >= BEHIND_MAX {
            return self.fail();
        }
        self.pause(wait_ms);
    }

    /// Sends nothing for a while, and then again from the first that is not acknowledged.
    fn pause(&mut self, wait_ms: u64) {
        let until = self.now_us.saturating_add(wait_ms.saturating_mul(1000));
        let Some(open) = self.connecting.opened_mut() else { return };
        open.paused_until_us = Some(until);
        open.next = open.acked + 1;
    }
}
