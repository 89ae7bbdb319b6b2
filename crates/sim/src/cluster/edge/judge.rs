//! What has to be true of what edge clients see: bases never go back; and once all has healed, everything arrives, and clients show what
//! regions say. That as many regions have a base as its client asked for is another test's matter (`crates/edge/tests/all/whole.rs`): here
//! nobody can ask regions without changing the schedule.

use super::super::Cluster;
use crate::outcome::ProblemKind;
use crate::typed::Family;
use std::collections::BTreeMap;
use tidemark_core::history::Read;
use tidemark_core::{Key, Reply, Value, Vector, Verb};
use tidemark_edge::frames::{Base, Value as Shown};

fn vector(base: &Base, dcs: usize) -> Vector {
    Vector::from_entries((0..dcs).map(|dc| base.entry(dc)))
}

fn is_empty(reply: &Reply) -> bool {
    match reply {
        Reply::Map(pairs) | Reply::Pairs(pairs) => pairs.is_empty(),
        Reply::Set(all) | Reply::Array(all) => all.is_empty(),
        Reply::Strings(all) => all.is_empty(),
        other => *other == Reply::Null,
    }
}

impl Cluster<'_> {
    /// A client may show another base than before: it never goes back.
    pub(super) fn edge_looks(&mut self, number: usize) {
        let client = &mut self.edge().clients[number];
        let Some(core) = &client.core else { return };
        if client.looked == *core.base() {
            return;
        }
        let (now, restored) = (core.base().clone(), client.looked.0.is_empty());
        let before = std::mem::replace(&mut client.looked, now.clone());
        if !restored && !now.dominates(&before) {
            let text = format!("edge client {number} goes back from {before:?} to {now:?}");
            self.problem(ProblemKind::Edge, text);
        }
    }

    /// What of edge clients is not as it has to be in the end, if anything is not.
    pub(in super::super) fn edge_unsettled(&self) -> Option<String> {
        let edge = self.edge.as_ref()?;
        for (number, client) in edge.clients.iter().enumerate() {
            if let Some(what) = client.unfinished() {
                return Some(format!("edge client {number} {what}"));
            }
            let Some(core) = &client.core else { continue };
            let base = vector(core.base(), self.layout.topology.dcs);
            if !self.written.le(&base) {
                let (base, last) = (core.base(), &self.written);
                return Some(format!("edge client {number} is at {base:?}, the last writes are {last}"));
            }
        }
        None
    }

    /// The end: what became of transactions, and whether clients show what regions said.
    pub(in super::super) fn judge_edge(&mut self, ended: bool) {
        self.edge_concludes(ended);
        let Some(edge) = self.edge.as_ref().filter(|_| ended) else { return };
        let finals: BTreeMap<&Key, Option<&Value>> =
            self.history.finals.iter().map(|last| (&last.key, last.found.value.as_ref())).collect();
        let mut wrong = Vec::new();
        for (number, client) in edge.clients.iter().enumerate() {
            for key in &client.plan.watched {
                let Some(core) = &client.core else { continue };
                let Some(value) = core.read(key) else { continue };
                match client.shows(key) {
                    Some(Some(reads)) => wrong.extend(reads.into_iter().filter_map(|Read { key, found }| {
                        let said = *finals.get(&key)?;
                        (said != found.value.as_ref()).then(|| {
                            format!(
                                "in the end edge client {number} shows {:?} at {key}, and regions {said:?}",
                                found.value
                            )
                        })
                    })),
                    _ if self.says(key, &value) == Some(false) => {
                        wrong.push(format!(
                            "in the end edge client {number} shows {value:?} at {key}, which regions do not"
                        ));
                    }
                    _ => {}
                }
            }
        }
        wrong.into_iter().for_each(|text| self.problem(ProblemKind::Edge, text));
    }

    /// Whether regions say the same of a key; none if they were not asked. Deadlines are not compared: clients are not told that time passes.
    fn says(&self, key: &Key, value: &Shown) -> Option<bool> {
        let said = |verb: Verb| self.ledger.said(key, verb);
        let text = |reply: &Reply| if let Reply::Bulk(bytes) = reply { Some(bytes.clone()) } else { None };
        match (Family::find(key)?, value) {
            (Family::Counter, Shown::String(written)) => {
                Some(text(said(Verb::Get)?).as_ref() == Some(&written.bytes))
            }
            (Family::Counts, Shown::Map(map)) => match said(Verb::HGetAll)? {
                Reply::Map(pairs) | Reply::Pairs(pairs) => Some(
                    pairs.len() == map.len()
                        && pairs.iter().all(|(name, count)| {
                            let shown = text(name).and_then(|name| map.get(&name));
                            shown.map(|written| &written.bytes) == text(count).as_ref()
                        }),
                ),
                _ => Some(false),
            },
            (Family::Set, Shown::Set(set)) => match said(Verb::SMembers)? {
                Reply::Set(all) | Reply::Array(all) => {
                    Some(all.len() == set.len() && all.iter().filter_map(text).all(|one| set.contains(&one)))
                }
                Reply::Strings(all) => {
                    Some(all.len() == set.len() && all.iter().all(|one| set.contains(one)))
                }
                _ => Some(false),
            },
            (Family::List, Shown::List(elements)) => match said(Verb::LRange)? {
                Reply::Strings(all) => Some(all.iter().eq(elements.values().map(|one| &one.bytes[..]))),
                Reply::Array(all) => {
                    Some(all.iter().filter_map(text).eq(elements.values().map(|one| one.bytes.clone())))
                }
                _ => Some(false),
            },
            (Family::List, Shown::Absent) => Some(is_empty(said(Verb::LRange)?)),
            (Family::Counter, Shown::Absent) => Some(*said(Verb::Get)? == Reply::Null),
            (Family::Counts, Shown::Absent) => Some(is_empty(said(Verb::HGetAll)?)),
            (Family::Set, Shown::Absent) => Some(is_empty(said(Verb::SMembers)?)),
            (Family::Counter | Family::Counts | Family::Set | Family::List, _) => Some(false),
            _ => None,
        }
    }
}
