//! What is lost with a region for clients with K = 1, which had seen it there, and may not find it again.
//!
//! Lost may be what only that region had: what nobody else has read, and transactions of edge clients that it took, or may have taken. To
//! the checker a client with K = 1 has not read that. All else that it has read has to be there for ever. Of its own transactions those are lost
//! of which it was told so, and no others. These are of a session of their own, which nobody but that region has seen.

use super::super::super::Cluster;
use super::super::client::client_of;
use super::Record;
use crate::outcome::ProblemKind;
use std::collections::BTreeSet;
use tidemark_core::history::{Action, Event, Fate, History, SessionId};
use tidemark_core::{DcId, Key, Value};

/// What the history calls the session of the first transaction that was lost. REQUIRES: below the numbers of clients, and above those of
/// copies.
const FIRST: u64 = 700_000;

impl Record {
    /// Whether the region that is lost has it, or may have.
    fn is_there(&self) -> bool {
        self.lost.or(self.asked_there).is_some()
    }
}

impl Cluster<'_> {
    /// A client is told that of its transactions in its base those after this one are lost.
    pub(in super::super) fn edge_loses(&mut self, number: usize, after: u64) {
        let edge = self.edge();
        let client = &edge.clients[number];
        let Some(core) = &client.core else { return };
        let (may, upto) = (client.plan.risks, core.durable().base.chain_k);
        let mut wrong = (!may).then(|| {
            format!("edge client {number} loses something, and has never had K = 1 where a region is lost")
        });
        let mut lost = 0;
        for k in after + 1..=upto {
            let is_it = |record: &&mut Record| record.client == number && record.k == k && record.sure;
            let Some(record) = edge.records.all.iter_mut().rev().find(is_it) else { continue };
            if record.taken || !record.is_there() {
                wrong =
                    Some(format!("edge client {number} is told that {k} is lost, which was taken elsewhere"));
            }
            lost += u64::from(!std::mem::replace(&mut record.forgotten, true));
        }
        self.stats.edge_forgotten += lost;
        wrong.into_iter().for_each(|text| self.problem(ProblemKind::Edge, text));
    }

    /// Leaves out of the history what clients with K = 1 have read and may have lost, and has nobody but the lost region know of transactions
    /// that are; the same of writes that were `hidden`, since what they lost to may be lost, and they do not come back.
    pub(in super::super) fn edge_leaves_out_lost(&mut self, lost: DcId, hidden: &[usize]) {
        let Some(edge) = &self.edge else { return };
        let risks: Vec<bool> = edge.clients.iter().map(|client| client.plan.risks).collect();
        if !risks.contains(&true) {
            return;
        }
        let there = edge.records.all.iter().filter(|record| record.is_there());
        let ranges: Vec<_> = there.map(|record| (record.events.clone(), record.forgotten)).collect();
        let history = &mut self.history;
        let known = known_elsewhere(history, lost, &risks);
        let (mut values, mut deleted) = (BTreeSet::<Value>::new(), BTreeSet::<Key>::new());
        for event in history.events.iter().filter(|event| event.dc == lost) {
            match &event.action {
                Action::Write { value: Some(value), .. } if !known.contains(value) => {
                    values.insert(value.clone());
                }
                Action::Write { value: None, key, .. } => _ = deleted.insert(key.clone()),
                _ => {}
            }
        }
        let hidden = hidden.iter().map(|at| (*at..*at + 1, true, false));
        let ranges = ranges.into_iter().map(|(range, forgotten)| (range, forgotten, forgotten));
        let mut back = Vec::new();
        for (number, (range, is_apart, forgotten)) in (FIRST..).zip(ranges.chain(hidden)) {
            for event in &mut history.events[range] {
                let Action::Write { value, key, .. } = &event.action else { continue };
                values.extend(value.clone());
                if value.is_none() {
                    deleted.insert(key.clone());
                }
                back.extend(value.clone().filter(|value| forgotten && known.contains(value)));
                if is_apart {
                    (event.session, event.fate, event.txn) = (SessionId(number), Fate::Unknown, Some(0));
                }
            }
        }
        let mut unread = 0;
        for event in history.events.iter_mut().filter(|event| risky(event, &risks)) {
            let Action::Read { reads, .. } = &mut event.action else { continue };
            let before = reads.len();
            reads.retain(|read| match &read.found.value {
                Some(value) => !values.contains(value),
                None => !deleted.contains(&read.key),
            });
            unread += (before - reads.len()) as u64;
            if reads.is_empty() && before > 0 {
                event.fate = Fate::Failed;
            }
        }
        self.stats.edge_unread += unread;
        for value in back {
            let text = format!("{value:?} of an edge client is there, which was told that it is lost");
            self.problem(ProblemKind::Edge, text);
        }
    }
}

/// Whether it is of a client that may have seen what is lost.
fn risky(event: &Event, risks: &[bool]) -> bool {
    event.dc == DcId::EDGE && client_of(event.session).is_some_and(|number| risks[number])
}

/// What others have read than the lost region and such clients: it is not lost.
fn known_elsewhere(history: &History, lost: DcId, risks: &[bool]) -> BTreeSet<Value> {
    let mut known: BTreeSet<Value> =
        history.finals.iter().filter_map(|last| last.found.value.clone()).collect();
    for event in history.events.iter().filter(|event| event.dc != lost && !risky(event, risks)) {
        match &event.action {
            Action::Read { reads, .. } => {
                known.extend(reads.iter().filter_map(|read| read.found.value.clone()));
            }
            Action::Write { observed: Some(found), .. } => known.extend(found.value.clone()),
            _ => {}
        }
    }
    known
}
