//! Transactions of edge clients (004; `docs/edge.md`).
//!
//! **Idea.** A client commits without a data centre and sends its transactions later, in order, to any: to another one if it does not know
//! whether the first took them. So several may accept one. Who it is (client, number, digest), when it wins (`h`, the client's time)
//! and where it shows are three things. Its versions have the same stamp everywhere, `(h, edge, digest)`; each data centre that accepts
//! it adds a *copy*: the stamp and the dependencies that a transaction of its own would have. A version shows where one of its copies
//! would.
//!
//! - D17 A client's *guard* is a key that says how far its transactions were accepted. The server that holds it coordinates them, one
//!   after the other: each writes the guard, too, and depends on what the one before wrote. So all data centres have of each
//!   client a beginning of what it sent, and whatever shows of a transaction shows with its guard.
//! - D18 A transaction is accepted up to `retain` after `h`: `ct ≤ h + retain`. Therefore, when all have passed `h + retain`, every
//!   copy is here, and none comes any more. Until then its versions, and what is above them, are not collected, and no floor passes
//!   them. One that was not accepted by then will not be with that time: the client is asked for another one.
//! - D19 What a client does to keys is evaluated at the partition of each key when it is prepared, in what the client saw: V(dep) and
//!   what it wrote itself before. So whoever accepts it writes the same. V(dep) can be read for twice `retain`; a transaction
//!   that has seen less is too late, as in D18, and gets another `dep`, too; at once if nobody else can have it.

use super::failures::lags;
use super::*;
use tidemark_contract::core::{Acceptance, ClientId, EdgeTransaction, Found, Guard, Write};
use tidemark_contract::cx::edge::{WithoutEffect, number_of};
use tidemark_contract::extensions;
use tidemark_contract::two_phase::{Adds, Updates};

/// What all participants of a transaction are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snap {
    /// What its session remembers.
    pub past: Past,
    /// If an edge client made it.
    pub edge: Option<Box<OfEdge>>,
}

/// What they are told of an edge client's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct OfEdge {
    pub client: ClientId,
    pub k: u64,
    /// The stamp of its versions.
    pub stamp: Stamp,
    /// What the client saw.
    pub dep: Vector,
    /// What tells its counters from those of others.
    number: u64,
    /// See [`EdgeTransaction::new`].
    pub new: bool,
}

/// What a participant adds to a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// What was seen there.
    pub past: Past,
    /// Of an edge client's: what had no effect there.
    pub without: WithoutEffect,
}

impl Adds for Added {
    fn add(&mut self, other: Self) {
        self.past.add(other.past);
        self.without.extend(other.without);
    }
}

impl Snap {
    /// Of a session's transaction.
    pub(super) fn of(past: Past) -> Self {
        Self { past, edge: None }
    }
}

impl OfEdge {
    /// The stamp of its versions, and what is said of the copy of this data centre, in which a transaction of its own would have the
    /// stamp `at`.
    pub(super) fn copy(&self, at: Stamp) -> (Stamp, Option<Box<Edge>>) {
        let Self { client, k, stamp, .. } = self;
        let stamp = if ONE_STAMP_EVERYWHERE.kept() { *stamp } else { at };
        (stamp, Some(Box::new(Edge { client: *client, k: *k, at, others: Vec::new() })))
    }
}

/// How copies are kept (D17).
pub(super) const COPIES: extensions::Edge<Tidemark> = extensions::Edge {
    at: |stamp, meta| meta.at(stamp),
    choose: |view, _, meta| meta.choose(|at, copy| view.shows_copy(at, copy)),
    copies: extensions::Copies {
        join: |meta, copy| meta.join(copy),
        any: |meta| meta.edge.as_ref().is_some_and(|edge| !edge.others.is_empty()),
    },
};

/// So much later.
pub(super) fn later(time: Hlc, by: Micros) -> Hlc {
    Hlc(time.0.saturating_add(Hlc::at(by).0))
}

/// How long before its end, at most, the time in which a transaction can be accepted counts as over: it has to commit within it.
const MARGIN_US: Micros = 1_000_000;

impl Tidemark {
    /// So much earlier that no version from there on is of a transaction that can still be accepted (D18).
    pub(super) fn lagged(&self, time: Hlc) -> Hlc {
        let lag = if EDGE_IS_KEPT_APART.kept() { self.retain } else { 0 };
        Hlc(time.0.saturating_sub(Hlc::at(lag).0))
    }

    /// Whether every copy of a version of an edge client is here (D18).
    pub(super) fn is_over(&self, stamp: Stamp, safe: &Vector) -> bool {
        stamp.ts <= self.lagged(safe.min())
    }

    /// A transaction of an edge client, at the server that holds its guard (D17).
    pub(super) fn accept(&mut self, ticket: Ticket, all: EdgeTransaction, cx: &mut Cx<'_, Self>) {
        if cx.params.edge_retain_us == 0 || cx.params.base_regions == 0 {
            return cx.fail(ticket, failures::no_edge());
        }
        let guard = all.guard();
        if self.is_disturbed(&guard, cx) {
            let request = Request::Transact(Transact::Accept(Box::new(all)), Past::default());
            return self.hold_request(ticket, request, cx); // the one before is not done with
        }
        let (found, known, mut past) = self.found_guard(&guard, cx);
        let m = cx.me.dc;
        if let Some(what) = self.verdict(&all, known, cx) {
            return cx.answer(ticket, Outcome::Accepted(Box::new(what)), Past::default());
        }
        let before = found.stamp.filter(|_| all.k > known.k).map_or(Hlc::ZERO, |stamp| stamp.ts);
        let causes = all.dep.max().max(before);
        if all.h <= causes || all.dep.entries().len() > self.l.index() {
            return cx.fail(ticket, failures::not_after());
        }
        if self.lags(cx) {
            return cx.fail(ticket, lags()); // D10
        }
        if !GUARDS_GO_FIRST.kept() || !GUARDS_ARE_CAUSES.kept() {
            past = Past::default();
        }
        if DEP_IS_A_CAUSE.kept() {
            past.ds.merge(&all.dep);
        }
        past.l = past.l.max(all.dep[m]);
        past.dsv = self.need(&past.ds, m);
        let written = Guard { k: all.k, digest: all.digest }.encode();
        let edge = OfEdge {
            client: all.client,
            k: all.k,
            stamp: all.stamp(),
            number: number_of(&all),
            new: all.new,
            dep: all.dep,
        };
        let writes = vec![(guard, Write::Assign(written.into()))];
        let part = Part { writes, watched: Vec::new(), updates: all.updates };
        let snap = Snap { past, edge: Some(Box::new(edge)) };
        self.begin(ticket, part, snap, cx.mono + cx.params.wait_limit_us, cx);
        self.save(cx);
    }

    /// How far the transactions of a client show here, and what the last one depends on.
    fn found_guard(&mut self, guard: &Key, cx: &mut Cx<'_, Self>) -> (Found, Guard, Past) {
        let m = cx.me.dc;
        let view = if GUARDS_SHOW.kept() { self.fresh(cx) } else { View::At(Hlc(u64::MAX), None) };
        let (mut past, mut origin) = (Past::default(), m);
        let found = cx.get(guard, &view, |d| {
            origin = d.meta.at(d.stamp).origin;
            past.saw(d, m);
        });
        let counts = origin == m || GUARDS_TRAVEL.kept();
        let found = if counts { found } else { Found::default() };
        let known = Guard::decode(found.value.as_deref());
        (found, known, past)
    }

    /// Why a transaction is not accepted, if it is not.
    fn verdict(&self, all: &EdgeTransaction, guard: Guard, cx: &Cx<'_, Self>) -> Option<Acceptance> {
        if all.k <= guard.k && GUARDS_ARE_ASKED.kept() {
            let other = all.k == guard.k && all.digest != guard.digest && DIGESTS_TELL_APART.kept();
            return Some(if other { Acceptance::Forked(guard.k) } else { Acceptance::Known });
        }
        let resumes = all.after_loss && LOGS_GO_ON.kept();
        let follows = GUARDS_GO_FIRST.kept() && !resumes && all.k > guard.k;
        if follows && all.k != guard.k + 1 {
            return Some(Acceptance::Missing(guard.k));
        }
        if follows && all.before != guard.digest && DIGESTS_TELL_APART.kept() {
            return Some(Acceptance::Forked(guard.k));
        }
        if self.excluded.doubts(&all.dep) {
            return Some(Acceptance::Retime); // D21: no survivor accepts it, and what its data centre has is hidden
        }
        if let Some(ahead_us) = cx.too_far_ahead(all.h) {
            return Some(Acceptance::Later(ahead_us));
        }
        let soon = later(all.h, self.retain - MARGIN_US.min(self.retain / 4));
        if self.clock(cx).max(Hlc::at(cx.now)) > soon && TIMES_ARE_NEW.kept() {
            return Some(self.too_late(all.h, all.new));
        }
        let covered =
            all.dep.le_elsewhere(&self.st.stable, self.m) && all.dep[self.m] <= self.st.stable[self.l];
        (!covered && DEP_IS_COVERED.kept()).then_some(Acceptance::Behind)
    }

    /// What becomes of a transaction of this time that came too late (D18).
    pub(super) fn too_late(&self, h: Hlc, new: bool) -> Acceptance {
        let until = later(h, self.retain);
        let mut others = self.st.stable.iter().filter(|(dc, _)| *dc != self.m);
        let given_up = others.all(|(_, entry)| entry > until) || !GIVEN_UP_BY_ALL.kept();
        if new || given_up { Acceptance::Retime } else { Acceptance::Behind }
    }

    /// Whether a participant can see what the client saw (D19).
    pub(super) fn sees_dep(&self, edge: &OfEdge) -> bool {
        let at = self.seen_at(self.snapshot_of(&edge.dep));
        self.collected().le(&at.dsv) || !DEP_IS_READ.kept()
    }

    /// What an edge client's transaction writes here (D19).
    pub(super) fn carried_out(
        &self,
        edge: &OfEdge,
        mut writes: Writes,
        updates: Updates,
        cx: &mut Cx<'_, Self>,
    ) -> (Writes, WithoutEffect) {
        let at = self.seen_at(self.snapshot_of(&edge.dep));
        let floor = self.lagged(at.dsv.min()).max(cx.store().floor());
        let view = View::Own(at, edge.client, edge.k);
        let (written, without) = cx.carried_out(updates, &view, (edge.stamp.ts, floor), edge.number);
        writes.extend(written);
        (writes, without)
    }
}
