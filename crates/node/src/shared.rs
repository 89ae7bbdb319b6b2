//! Pasts that several sessions share: a pool of connections is one client then.
//!
//! Every session keeps its own past. One that shares takes over the shared past before each of its operations, and adds its own
//! when the batch of the operation is released, which is before the reply leaves ([`crate::node`]). A session that begins an
//! operation after another one was answered therefore knows all that the other one knew. It is a merge in memory, and
//! a wait only where the protocol has one (a session that reads its own writes from a cache, or one that is in another region).
//!
//! **Invariants**
//! - S1 A shared past has only what was released: a leader that is replaced takes nothing back that was shared.
//! - S2 Nothing that was added is ever missing from it: what is dropped, something newer implies.
//! - S3 It holds at most two tokens for each region where its sessions are, of which the older one goes when a session
//!   that had taken it over adds what it knows now. So lists of dependencies do not grow for ever.
//!
//! The past of a name that nobody has any more is kept. Beyond [`IDLE_MAX`] such names, the oldest join a past that every new
//! name begins with: that costs precision, and no guarantee.

use crate::gate::Gate;
use crate::node::{Batch, SessionId};
use crate::rule::{POOLS_KEEP, POOLS_TAKE};
use crate::sessions::{Session, Sessions};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use tidemark_contract::{Protocol, Reaches as _};
use tidemark_core::{DcId, Op};

/// So many names that no session has are kept one by one.
const IDLE_MAX: usize = 10_000;

/// Names a past that sessions of one node share. Two texts may have the same name; then their sessions share more than they
/// have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PastName(u64);

impl PastName {
    /// The name that stands for `text`.
    pub fn of(text: &[u8]) -> Self {
        let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.iter().fold(0xcbf2_9ce4_8422_2325, add)) // FNV-1a
    }
}

type TokenOf<P> = <<P as Protocol>::Session as tidemark_contract::Session<P>>::Token;

/// What a session has to do with a shared past.
pub(crate) struct Sharing<P: Protocol> {
    pub(crate) name: PastName,
    /// How much of it the session has taken over, by regions.
    seen: SmallVec<[(DcId, u64); 1]>,
    /// It has something to add, and is listed for that.
    adds: bool,
    /// What is left to be taken over before `then`: the last comes first.
    takes: Vec<Taking<P>>,
    /// The operation that begins after that.
    then: Option<Op>,
}

/// A token of a shared past, and how much of the past the session has with it.
struct Taking<P: Protocol> {
    at: DcId,
    version: u64,
    token: TokenOf<P>,
}

impl<P: Protocol> Sharing<P> {
    fn new(name: PastName) -> Self {
        Self { name, seen: SmallVec::new(), adds: false, takes: Vec::new(), then: None }
    }

    fn seen(&self, at: DcId) -> u64 {
        self.seen.iter().find(|(dc, _)| *dc == at).map_or(0, |(_, version)| *version)
    }

    fn saw(&mut self, at: DcId, version: u64) {
        match self.seen.iter_mut().find(|(dc, _)| *dc == at) {
            Some((_, seen)) => *seen = version,
            None => self.seen.push((at, version)),
        }
    }

    /// The next token to take over, if an operation waits for that; else the operation.
    pub(crate) fn next(&mut self) -> Option<Result<TokenOf<P>, Op>> {
        self.then.as_ref()?;
        match self.takes.last() {
            Some(taking) => Some(Ok(taking.token.clone())),
            None => self.then.take().map(Err),
        }
    }

    /// The token that [`Self::next`] gave was taken over.
    pub(crate) fn taken(&mut self) {
        if let Some(Taking { at, version, .. }) = self.takes.pop() {
            self.saw(at, version);
        }
    }

    /// Nothing comes of the operation.
    pub(crate) fn give_up(&mut self) {
        self.takes.clear();
        self.then = None;
    }

    /// Nothing that the session knows may be shared any more.
    pub(crate) fn abandon(&mut self) {
        self.give_up();
        self.adds = false;
    }
}

/// What sessions know that were in one region.
struct Part<P: Protocol> {
    at: DcId,
    /// Counts what was added.
    version: u64,
    /// What was added up to a version.
    old: Option<(u64, TokenOf<P>)>,
    /// What was added since.
    new: TokenOf<P>,
}

impl<P: Protocol> Part<P> {
    /// Adds `token`, of a session that had taken over everything up to version `seen`.
    fn add(&mut self, seen: u64, token: TokenOf<P>) {
        if seen >= self.version || !POOLS_KEEP.kept() {
            (self.old, self.new) = (None, token);
        } else if self.old.as_ref().is_none_or(|(upto, _)| seen >= *upto) {
            let new = std::mem::replace(&mut self.new, token);
            self.old = Some((self.version, new)); // S2: `token` implies what was old
        } else {
            self.new.join(&token);
        }
        self.version += 1;
    }

    /// What a session lacks that has taken over everything up to version `seen`.
    #[inline]
    fn beyond(&self, seen: u64) -> Option<TokenOf<P>> {
        if seen >= self.version || !POOLS_TAKE.kept() {
            return None;
        }
        let mut lacks = self.new.clone();
        if let Some((_, old)) = self.old.as_ref().filter(|(upto, _)| *upto > seen) {
            lacks.join(old);
        }
        Some(lacks)
    }
}

/// One shared past.
struct Shared<P: Protocol> {
    parts: Vec<Part<P>>,
    /// How many sessions share it.
    sessions: usize,
    /// When the last of them ended, counted in such ends.
    idle_since: u64,
}

/// What a session adds once its batch is released.
struct Addition<P: Protocol> {
    session: SessionId,
    name: PastName,
    at: DcId,
    seen: u64,
    token: TokenOf<P>,
}

/// The shared pasts of a node.
pub(crate) struct SharedPasts<P: Protocol> {
    pasts: BTreeMap<PastName, Shared<P>>,
    /// Those that no session shares, by the time of the last end.
    idle: BTreeMap<u64, PastName>,
    idle_max: usize,
    ends: u64,
    /// What pasts had that are not kept one by one any more.
    rest: Vec<(DcId, TokenOf<P>)>,
    /// Sessions that have something to add in this batch.
    adding: Vec<SessionId>,
    gate: Gate<Addition<P>>,
}

impl<P: Protocol> Default for SharedPasts<P> {
    fn default() -> Self {
        Self {
            pasts: BTreeMap::new(),
            idle: BTreeMap::new(),
            idle_max: IDLE_MAX,
            ends: 0,
            rest: Vec::new(),
            adding: Vec::new(),
            gate: Gate::default(),
        }
    }
}

impl<P: Protocol> SharedPasts<P> {
    /// Another session shares the past called `name`.
    fn join(&mut self, name: PastName) -> Sharing<P> {
        let rest = &self.rest;
        let part =
            |(at, token): &(DcId, TokenOf<P>)| Part { at: *at, version: 1, old: None, new: token.clone() };
        let begin = || Shared { parts: rest.iter().map(part).collect(), sessions: 0, idle_since: 0 };
        let shared = self.pasts.entry(name).or_insert_with(begin);
        if shared.sessions == 0 {
            self.idle.remove(&shared.idle_since);
        }
        shared.sessions += 1;
        Sharing::new(name)
    }

    /// A session shares it no more.
    fn leave(&mut self, name: PastName) {
        let Some(shared) = self.pasts.get_mut(&name) else { return };
        shared.sessions -= 1;
        if shared.sessions > 0 {
            return;
        }
        self.ends += 1;
        shared.idle_since = self.ends;
        self.idle.insert(self.ends, name);
        while self.idle.len() > self.idle_max {
            let Some((_, name)) = self.idle.pop_first() else { return };
            for Part { at, old, new, .. } in self.pasts.remove(&name).into_iter().flat_map(|it| it.parts) {
                old.into_iter().for_each(|(_, token)| self.keep(at, &token));
                self.keep(at, &new);
            }
        }
    }

    fn keep(&mut self, at: DcId, token: &TokenOf<P>) {
        match self.rest.iter_mut().find(|(dc, _)| *dc == at) {
            Some((_, rest)) => {
                rest.join(token);
                rest.shorten();
            }
            None => self.rest.push((at, token.clone())),
        }
    }

    /// An operation is to begin in a session that shares.
    #[inline]
    pub(crate) fn prepare(&self, sharing: &mut Sharing<P>, op: Op) {
        sharing.then = Some(op);
        let parts = self.pasts.get(&sharing.name).into_iter().flat_map(|shared| &shared.parts);
        let taking = |part: &Part<P>| {
            let token = part.beyond(sharing.seen(part.at))?;
            Some(Taking { at: part.at, version: part.version, token })
        };
        sharing.takes = parts.filter_map(taking).collect();
    }

    /// The session comes to know something that the others are to know, in the batch that is being gathered.
    #[inline]
    pub(crate) fn note(&mut self, sharing: &mut Sharing<P>, session: SessionId) {
        if !std::mem::replace(&mut sharing.adds, true) {
            self.adding.push(session);
        }
    }

    /// Adds to `token`, of a session that is in region `at`, what the session does not know yet.
    pub(crate) fn complete(&self, sharing: &Sharing<P>, at: DcId, token: &mut TokenOf<P>) {
        let shared = self.pasts.get(&sharing.name);
        let part = shared.and_then(|shared| shared.parts.iter().find(|part| part.at == at));
        let lacks = part.and_then(|part| part.beyond(sharing.seen(at)));
        lacks.into_iter().for_each(|other| token.join(&other));
    }

    /// The session adds what it knows, if it has something to add.
    fn add(&mut self, session: &mut Session<P>, batch: Batch) {
        let Some(sharing) = session.sharing.as_mut().filter(|sharing| sharing.adds) else { return };
        sharing.adds = false;
        let at = session.session.at();
        let (name, seen, token) = (sharing.name, sharing.seen(at), session.session.token());
        self.gate.push(batch, Addition { session: session.id, name, at, seen, token });
    }

    /// `batch` ends.
    #[inline]
    pub(crate) fn end_batch(&mut self, sessions: &mut Sessions<P>, batch: Batch) {
        if self.adding.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.adding) {
            if let Some(session) = sessions.get(id) {
                self.add(session, batch);
            }
        }
    }

    /// Batches up to `released` may leave: before they do, what they add is shared.
    #[inline]
    pub(crate) fn release(&mut self, sessions: &mut Sessions<P>, released: Batch) {
        while let Some(Addition { session, name, at, seen, token }) = self.gate.release(released) {
            let Some(shared) = self.pasts.get_mut(&name) else {
                self.keep(at, &token);
                continue;
            };
            let version = match shared.parts.iter_mut().find(|part| part.at == at) {
                Some(part) => {
                    part.add(seen, token);
                    part.version
                }
                None => {
                    shared.parts.push(Part { at, version: 1, old: None, new: token });
                    1
                }
            };
            let sharing = sessions.get(session).and_then(|session| session.sharing.as_mut());
            if let Some(sharing) = sharing
                && sharing.name == name
                && sharing.seen(at) + 1 == version
            {
                sharing.saw(at, version); // nobody else has added anything
            }
        }
    }

    /// Nothing that a session learnt in a batch that is not released will be, unless the session goes on: then it learnt nothing.
    pub(crate) fn take_back(&mut self, mut goes_on: impl FnMut(SessionId) -> bool) {
        self.gate.retain(|addition| goes_on(addition.session));
        self.adding.retain(|session| goes_on(*session));
    }

    /// The session shares the past of that name from now on, or none.
    pub(crate) fn share(&mut self, session: &mut Session<P>, name: Option<PastName>, batch: Batch) {
        self.add(session, batch);
        if let Some(sharing) = session.sharing.take() {
            self.leave(sharing.name);
        }
        if let Some(name) = name {
            let sharing = session.sharing.insert(Box::new(self.join(name)));
            self.note(sharing, session.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::Following;
    use tidemark_contract::Token;
    use tidemark_core::{Hlc, Vector};
    use tidemark_protocols::Tidemark;
    use tidemark_protocols::tidemark::Past;

    fn token(times: &[u64]) -> Token<Past> {
        let ds = Vector::from_entries(times.iter().map(|time| Hlc(*time)));
        Token { home: DcId(0), past: Past { ds, ..Past::default() } }
    }

    fn times(part: &Part<Tidemark>, seen: u64) -> Vec<u64> {
        part.beyond(seen)
            .map_or(Vec::new(), |token| token.past.ds.entries().iter().map(|time| time.0).collect())
    }

    #[test]
    fn a_part_has_what_a_session_lacks_and_nothing_that_something_newer_implies() {
        let mut part: Part<Tidemark> = Part { at: DcId(0), version: 1, old: None, new: token(&[1]) };
        assert_eq!((times(&part, 0), times(&part, 1)), (vec![1], vec![]));
        part.add(0, token(&[0, 2])); // knew nothing of 1
        part.add(0, token(&[0, 0, 3])); // nor of either
        assert_eq!((times(&part, 0), times(&part, 3)), (vec![1, 2, 3], vec![]));
        part.add(1, token(&[1, 0, 0, 4])); // knew the first, and not the others
        assert_eq!((times(&part, 0), times(&part, 3)), (vec![1, 2, 3, 4], vec![1, 0, 0, 4]));
        part.add(4, token(&[1, 2, 3, 5])); // knew all
        assert!(part.old.is_none());
        assert_eq!((times(&part, 0), times(&part, 4)), (vec![1, 2, 3, 5], vec![1, 2, 3, 5]));
    }

    #[test]
    fn few_pasts_that_nobody_has_are_kept_apart_and_a_new_name_begins_with_the_rest() {
        let mut pasts: SharedPasts<Tidemark> = SharedPasts { idle_max: 2, ..SharedPasts::default() };
        let mut sessions: Sessions<Tidemark> = Sessions::new(1);
        let id = sessions.open(DcId(0), Following::default());
        for n in 1..=5_u64 {
            let session = sessions.get(id).expect("it is open");
            pasts.share(session, Some(PastName(n)), Batch(n));
            pasts.end_batch(&mut sessions, Batch(n));
            let addition =
                Addition { session: id, name: PastName(n), at: DcId(0), seen: 0, token: token(&[n]) };
            pasts.gate.push(Batch(n), addition);
            pasts.release(&mut sessions, Batch(n));
        }
        let session = sessions.get(id).expect("it is open");
        pasts.share(session, None, Batch(6));
        assert_eq!((pasts.pasts.len(), pasts.idle.len()), (2, 2));
        assert_eq!(pasts.rest[0].1.past.ds.entries(), [Hlc(3)]);
        pasts.share(session, Some(PastName(9)), Batch(6));
        assert_eq!(times(&pasts.pasts[&PastName(9)].parts[0], 0), [3]);
    }
}
