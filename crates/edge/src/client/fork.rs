//! Rule 11: forks. A disk that was copied or restored makes two clients of one. Gateways notice that transactions of one number
//! differ; then this one goes on under a new name.

use super::connection::Phase;
use super::reading::{Entry, Sent, written};
use super::{Client, Report};
use crate::durable::{DurableBase, Row};
use crate::frames::{Body, Secret};
use crate::rule::FORKS_RENEW;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What there is to be done before the client has a new name.
#[derive(Clone, Debug)]
pub(super) struct Fork {
    /// The first transaction that differs: those before it are the gateway's, too.
    k: u64,
    secret: Option<Secret>,
    /// The new state, and the number under which it is being persisted.
    renewed: Option<(u64, BTreeMap<u64, Entry>)>,
}

impl Fork {
    pub(super) fn persist(&self) -> Option<u64> {
        self.renewed.as_ref().map(|(id, _)| *id)
    }
}

impl Client {
    /// `k` is the first transaction that may differ.
    pub(super) fn on_forked(&mut self, k: u64) {
        if !FORKS_RENEW.kept() || self.fork.is_some() {
            return;
        }
        self.close();
        self.connecting.phase = Phase::Renewing;
        self.fork = Some(Fork { k, secret: None, renewed: None });
        self.out.push(super::Effect::DrawSecret);
    }

    pub(super) fn on_secret(&mut self, secret: Secret) {
        if let Some(fork) = &mut self.fork {
            fork.secret.get_or_insert(secret);
        }
    }

    /// Goes on when nothing of the old name is on its way to the disk.
    pub(super) fn advance_fork(&mut self) {
        let busy = self.commits.is_busy() || self.retiming.is_some() || self.tick_persist.is_some();
        let Some(fork) = &self.fork else { return };
        let Some(secret) = fork.secret.clone().filter(|_| !busy && fork.renewed.is_none()) else { return };
        self.staged.clear();
        let kept = self.view.log.values().filter(|entry| is_kept(entry));
        let kept: BTreeMap<u64, Entry> =
            (1..).zip(kept).map(|(k, entry)| (k, renumbered(entry, k))).collect();
        let mut rows = vec![Row::Secret(secret)];
        rows.extend(kept.values().map(|entry| Row::Entry((*entry.body).clone())));
        let id = self.persist(rows);
        if let Some(fork) = &mut self.fork {
            fork.renewed = Some((id, kept));
        }
    }

    pub(super) fn on_fork_persisted(&mut self, done: bool) {
        let Some(Fork { k, secret: Some(secret), renewed: Some((_, kept)) }) = self.fork.take() else {
            return;
        };
        if !done {
            return self.try_again(); // the gateway will say it again
        }
        let gone: Vec<Entry> = self.view.log.values().filter(|entry| !is_kept(entry)).cloned().collect();
        let keys = written(gone.iter());
        let dropped = gone.iter().map(|entry| entry.body.k).filter(|number| *number >= k).collect();
        self.secret = secret;
        self.base = DurableBase { base: self.base.base.clone(), ..DurableBase::START };
        self.view.log = Arc::new(kept);
        self.reported.clear();
        self.acknowledged = 0;
        self.let_go();
        self.report(Report::Forked { dropped });
        self.changed(keys);
        self.try_again();
    }

    /// A gateway that has more transactions than this client ever made says that the disk was restored. With an empty log nothing is
    /// lost by a new name, and without one the next transaction would be.
    pub(super) fn renew_if_restored(&mut self) {
        let Some(welcome) = self.opened().and_then(|open| open.welcome.as_ref()) else { return };
        let known = self.base.in_base.max(welcome.head);
        if known > self.last_k() && self.view.log.is_empty() && self.commits.is_empty() {
            self.on_forked(known + 1);
        }
    }
}

/// Whether no other copy can have sent it. What was not sent when the disk was copied may have been sent from the other copy since.
fn is_kept(entry: &Entry) -> bool {
    entry.sent == Sent::No
}

fn renumbered(entry: &Entry, k: u64) -> Entry {
    let body = Body { k, ..(*entry.body).clone() };
    Entry { body: Arc::new(body), ..entry.clone() }
}
