//! **Writes follow reads**, global: who has read a write of any key reads nothing older, later, than what the
//! writer had itself read before that write.
//!
//! Source: Terry et al. (PDIS 1994), whose guarantee spans keys: if a session reads W1 and then writes W2,
//! then W2 is nowhere visible without W1. It is one step of causality, without transitivity. No promise
//! asks for it alone; [`Property::Causal`] implies it.

use super::{Finding, Findings};
use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED};
use crate::property::Property;
use crate::report::{Link, Step, Violation};
use crate::story::read_words;
use crate::walk::Past;

/// Who has read what, and whom.
#[derive(Default)]
pub(super) struct State {
    /// Per version: the sessions that have read it, and when first.
    readers: Map<u32, Vec<(u32, u32)>>,
    /// Per reader and writer session: the seat of the writer's last write that the reader has read.
    last_read: Map<(u32, u32), u32>,
}

impl State {
    pub(super) fn on_read(&self, findings: &mut Findings<'_>, e: u32, read: Ref, past: &Past<'_>) {
        let index = findings.index;
        let session = index.session_of[e as usize];
        let known = |(reader, seat): &(u32, u32)| {
            self.last_read.get(&(session, *reader)).is_some_and(|write| write > seat)
        };
        let mut newer = past.newer(read.key, index.rank(read.version));
        let owed = newer.find(|v| self.readers.get(v).is_some_and(|r| r.iter().any(known)));
        if let Some(owed) = owed.filter(|v| !index.excused(read, *v)) {
            findings.found(Property::WritesFollowReadsGlobal, e, read, owed);
        }
    }

    pub(super) fn after_read(&mut self, index: &Index<'_>, e: u32, read: Ref) {
        if read.version == ABSENT || read.version == UNCHECKED {
            return;
        }
        let (session, seat) = (index.session_of[e as usize], index.seat[e as usize]);
        let readers = self.readers.entry(read.version).or_default();
        if !readers.iter().any(|(s, _)| *s == session) {
            readers.push((session, seat));
        }
        let writer = index.version(read.version).writer;
        if writer != NONE {
            let (of, seat) = (index.session_of[writer as usize], index.seat[writer as usize]);
            let last = self.last_read.entry((session, of)).or_default();
            *last = (*last).max(seat);
        }
    }
}

pub(super) fn tell(index: &Index<'_>, f: &Finding) -> Violation {
    let explanation = format!(
        "{} reads {}, although it had read a write whose session had read the newer {}",
        index.actor(f.e),
        read_words(index, f.at),
        index.version_words(f.newer)
    );
    let steps = witness(index, f).unwrap_or_else(|| index.chain_or_ends(f.newer, f.e, false));
    Violation { property: f.property, explanation, steps }
}

/// Who had read the newer version and then wrote what the session read.
fn witness(index: &Index<'_>, f: &Finding) -> Option<Vec<Step>> {
    let before = |e: u32| &index.events_of(index.session_of[e as usize])[..index.seat[e as usize] as usize];
    let known =
        |r: &&Ref| r.version != UNCHECKED && r.version != ABSENT && index.version(r.version).writer != NONE;
    before(f.e).iter().find_map(|here| {
        index.reads_of(*here).iter().filter(known).find_map(|read| {
            let wrote = index.version(read.version).writer;
            let sees = |e: &&u32| index.reads_of(**e).iter().any(|r| r.version == f.newer);
            let saw = *before(wrote).iter().find(sees)?;
            let story = [
                (index.version(f.newer).writer, Link::Beside),
                (saw, Link::ReadsFrom),
                (wrote, Link::SessionOrder),
                (*here, Link::ReadsFrom),
                (f.e, Link::SessionOrder),
            ];
            Some(story.into_iter().map(|(e, link)| index.step(e, link)).collect())
        })
    })
}
