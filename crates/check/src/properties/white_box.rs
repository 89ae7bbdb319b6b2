//! The white box: asks each property that needs an event's past, once for every event of the walk, and keeps
//! what a session has read and written of each key.

use super::ledger::Ledger;
use super::reach::{Owed, Reach};
use super::{
    Findings, atomic_writes, causal, monotonic_reads, monotonic_writes, monotonic_writes_global,
    overwrite_order, read_your_writes, snapshot, writes_follow_reads, writes_follow_reads_global,
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

/// What the guarantees that span keys need: the newest version that each session had read and written of each key,
/// and when.
struct Across {
    read: Ledger,
    written: Ledger,
    reach: Reach,
}

impl Across {
    fn new(sessions: usize) -> Self {
        Self { read: Ledger::new(sessions), written: Ledger::new(sessions), reach: Reach::new(sessions) }
    }

    /// The newest of what the session of event `e` is owed of `key`.
    fn newest(&self, index: &Index<'_>, owed: Owed, e: u32, key: u32) -> u32 {
        let known = if owed == Owed::Read { &self.read } else { &self.written };
        let at = (index.session_of[e as usize], index.began(e));
        self.reach.owed(known, owed, at, key).max_by_key(|v| index.rank(*v)).unwrap_or(ABSENT)
    }

    fn adopt(&mut self, index: &Index<'_>, e: u32, from: u32, events: u32) {
        let at = (index.session_of[e as usize], index.seat[e as usize]);
        for ledger in [&mut self.read, &mut self.written] {
            for (key, version) in ledger.known(from, events) {
                raise(ledger, index, at, key, version);
            }
        }
        self.reach.adopt(at, from, events);
    }
}

/// `session` knows of `version` of `key` since its event at `seat`.
fn raise(ledger: &mut Ledger, index: &Index<'_>, (session, seat): (u32, u32), key: u32, version: u32) {
    if ledger.latest(session, key).is_none_or(|known| index.rank(known) < index.rank(version)) {
        ledger.push(session, key, seat, version);
    }
}

pub(crate) struct WhiteBox<'f, 'i> {
    findings: &'f mut Findings<'i>,
    read: Option<Newest>,
    written: Option<Newest>,
    across: Option<Across>,
    causal: bool,
    snapshot: bool,
    atomic: bool,
    overwrite: bool,
}

impl<'f, 'i> WhiteBox<'f, 'i> {
    pub(crate) fn new(findings: &'f mut Findings<'i>) -> Self {
        let sessions = findings.index.session_ids.len();
        let any = |a, b| (findings.checks(a) || findings.checks(b)).then(|| Newest::new(sessions));
        let read = any(Property::MonotonicReads, Property::WritesFollowReads);
        let written = any(Property::ReadYourWrites, Property::MonotonicWrites);
        let across = findings.checks(Property::MonotonicWritesGlobal)
            || findings.checks(Property::WritesFollowReadsGlobal);
        let across = across.then(|| Across::new(sessions));
        let (causal, snapshot) = (findings.checks(Property::Causal), findings.checks(Property::Snapshot));
        let atomic = findings.checks(Property::AtomicWrites) && findings.index.has_txns;
        let overwrite = findings.checks(Property::OverwriteOrder);
        Self { findings, read, written, across, causal, snapshot, atomic, overwrite }
    }
}

impl Observer for WhiteBox<'_, '_> {
    #[inline]
    fn on_reads(&mut self, e: u32, kind: ReadKind, reads: &[Ref], past: &Past<'_>, joint: &Past<'_>) {
        let findings = &mut *self.findings;
        let index = findings.index;
        let (session, asked) = (index.session_of[e as usize], index.asked(e));
        for read in reads.iter().filter(|r| r.version != UNCHECKED) {
            match kind {
                ReadKind::Get if self.causal => causal::on_read(findings, e, *read, past),
                ReadKind::Rotx | ReadKind::Snapshot if self.snapshot => {
                    snapshot::on_read(findings, e, *read, joint);
                }
                // Whoever asks for no snapshot takes it for several reads.
                ReadKind::Rotx if self.causal => causal::on_read(findings, e, *read, past),
                _ => {}
            }
            if self.atomic {
                let seen = if kind == ReadKind::Get { past } else { joint };
                atomic_writes::on_read(findings, e, *read, seen);
            }
            if kind == ReadKind::Snapshot {
                continue;
            }
            if let Some(written) = &self.written
                && asked.read_your_writes
                && findings.checks(Property::ReadYourWrites)
            {
                read_your_writes::on_read(findings, e, *read, written.get(session, read.key));
            }
            if let Some(seen) = &self.read
                && asked.monotonic_reads
                && findings.checks(Property::MonotonicReads)
            {
                monotonic_reads::on_read(findings, e, *read, seen.get(session, read.key));
            }
            if let Some(across) = &self.across {
                if findings.checks(Property::MonotonicWritesGlobal) {
                    let owed = across.newest(index, Owed::Written, e, read.key);
                    monotonic_writes_global::on_read(findings, e, *read, owed);
                }
                if findings.checks(Property::WritesFollowReadsGlobal) {
                    let owed = across.newest(index, Owed::Read, e, read.key);
                    writes_follow_reads_global::on_read(findings, e, *read, owed);
                }
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
            if let Some(across) = &mut self.across {
                raise(&mut across.read, index, (session, index.seat[e as usize]), read.key, read.version);
                across.reach.after_read(index, e, *read);
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
        if let Some(across) = &mut self.across
            && index.version(version).column == session
        {
            raise(&mut across.written, index, (session, index.seat[e as usize]), wrote.key, version);
        }
        if let Some(written) = &mut self.written {
            if index.asked(e).monotonic_writes && findings.checks(Property::MonotonicWrites) {
                monotonic_writes::on_write(findings, e, wrote, written.get(session, wrote.key));
            }
            // A write without an answer is not owed to its session.
            if index.version(version).column == session {
                written.raise(index, session, wrote.key, version);
            }
        }
        if let Some(seen) = &self.read
            && index.asked(e).writes_follow_reads
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

    fn on_adopt(&mut self, e: u32, from: u32, events: u32) {
        let index = self.findings.index;
        let session = index.session_of[e as usize];
        if let Some(across) = &mut self.across {
            across.adopt(index, e, from, events);
        }
        for newest in [&mut self.read, &mut self.written].into_iter().flatten() {
            newest.adopt(index, session, (from, events));
        }
    }
}
