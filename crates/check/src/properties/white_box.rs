//! The white box: asks each property that needs an event's past, once for every event of the walk, and keeps
//! what a session has read and written of each key.

use super::{
    Findings, causal, monotonic_reads, monotonic_writes, overwrite_order, read_your_writes, snapshot,
    writes_follow_reads, writes_follow_reads_global,
};
use crate::hash::Map;
use crate::index::{ABSENT, Index, Ref, UNCHECKED};
use crate::property::Property;
use crate::walk::{Observer, Past};
use tidemark_core::history::ReadKind;

/// Per session and key: the newest version that the session has read, or written.
struct Newest {
    of: Vec<Map<u32, u32>>,
    exports: Map<(u32, u32), Map<u32, u32>>,
}

impl Newest {
    fn new(sessions: usize) -> Self {
        Self { of: vec![Map::default(); sessions], exports: Map::default() }
    }

    #[inline]
    fn get(&self, session: u32, key: u32) -> u32 {
        self.of[session as usize].get(&key).copied().unwrap_or(ABSENT)
    }

    #[inline]
    fn raise(&mut self, index: &Index<'_>, session: u32, key: u32, version: u32) {
        let newest = self.of[session as usize].entry(key).or_insert(ABSENT);
        if index.rank(version) > index.rank(*newest) {
            *newest = version;
        }
    }

    fn export(&mut self, session: u32, events: u32) {
        self.exports.insert((session, events), self.of[session as usize].clone());
    }

    fn adopt(&mut self, index: &Index<'_>, session: u32, export: (u32, u32)) {
        let Some(adopted) = self.exports.get(&export).cloned() else { return };
        // tidy: allowed, because a maximum does not depend on the order.
        for (key, version) in adopted {
            self.raise(index, session, key, version);
        }
    }
}

pub(crate) struct WhiteBox<'f, 'i> {
    findings: &'f mut Findings<'i>,
    read: Option<Newest>,
    written: Option<Newest>,
    follow: Option<writes_follow_reads_global::State>,
    causal: bool,
    snapshot: bool,
    overwrite: bool,
}

impl<'f, 'i> WhiteBox<'f, 'i> {
    pub(crate) fn new(findings: &'f mut Findings<'i>) -> Self {
        let sessions = findings.index.session_ids.len();
        let any = |a, b| (findings.checks(a) || findings.checks(b)).then(|| Newest::new(sessions));
        let read = any(Property::MonotonicReads, Property::WritesFollowReads);
        let written = any(Property::ReadYourWrites, Property::MonotonicWrites);
        let follow = findings.checks(Property::WritesFollowReadsGlobal).then(Default::default);
        let (causal, snapshot) = (findings.checks(Property::Causal), findings.checks(Property::Snapshot));
        let overwrite = findings.checks(Property::OverwriteOrder);
        Self { findings, read, written, follow, causal, snapshot, overwrite }
    }
}

impl Observer for WhiteBox<'_, '_> {
    #[inline]
    fn on_reads(&mut self, e: u32, kind: ReadKind, reads: &[Ref], past: &Past<'_>, joint: &Past<'_>) {
        let findings = &mut *self.findings;
        let session = findings.index.session_of[e as usize];
        for read in reads.iter().filter(|r| r.version != UNCHECKED) {
            match kind {
                ReadKind::Get if self.causal => causal::on_get(findings, e, *read, past),
                ReadKind::Rotx | ReadKind::Snapshot if self.snapshot => {
                    snapshot::on_read(findings, e, *read, joint);
                }
                _ => {}
            }
            if kind == ReadKind::Snapshot {
                continue;
            }
            if let Some(written) = &self.written
                && findings.checks(Property::ReadYourWrites)
            {
                read_your_writes::on_read(findings, e, *read, written.get(session, read.key));
            }
            if let Some(seen) = &self.read
                && findings.checks(Property::MonotonicReads)
            {
                monotonic_reads::on_read(findings, e, *read, seen.get(session, read.key));
            }
            if let Some(follow) = &self.follow {
                follow.on_read(findings, e, *read, past);
            }
        }
    }

    #[inline]
    fn after_reads(&mut self, e: u32, reads: &[Ref]) {
        let index = self.findings.index;
        let session = index.session_of[e as usize];
        for read in reads.iter().filter(|r| r.version != UNCHECKED && r.version != ABSENT) {
            if let Some(seen) = &mut self.read {
                seen.raise(index, session, read.key, read.version);
            }
            if let Some(follow) = &mut self.follow {
                follow.after_read(index, e, *read);
            }
        }
    }

    #[inline]
    fn on_write(&mut self, e: u32, version: u32, past: &Past<'_>) {
        let findings = &mut *self.findings;
        let index = findings.index;
        let wrote = Ref { key: index.version(version).key, version };
        let session = index.session_of[e as usize];
        if self.overwrite {
            overwrite_order::on_write(findings, e, wrote, past);
        }
        if let Some(written) = &mut self.written {
            if findings.checks(Property::MonotonicWrites) {
                monotonic_writes::on_write(findings, e, wrote, written.get(session, wrote.key));
            }
            // A write without an answer is not owed to its session.
            if index.version(version).column == session {
                written.raise(index, session, wrote.key, version);
            }
        }
        if let Some(seen) = &self.read
            && findings.checks(Property::WritesFollowReads)
        {
            writes_follow_reads::on_write(findings, e, wrote, seen.get(session, wrote.key));
        }
    }

    fn on_export(&mut self, session: u32, events: u32) {
        for newest in [&mut self.read, &mut self.written].into_iter().flatten() {
            newest.export(session, events);
        }
    }

    fn on_adopt(&mut self, session: u32, from: u32, events: u32) {
        let index = self.findings.index;
        for newest in [&mut self.read, &mut self.written].into_iter().flatten() {
            newest.adopt(index, session, (from, events));
        }
    }
}
