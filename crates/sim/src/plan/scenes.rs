//! The motifs themselves.

use super::Act;
use super::motifs::Stage;
use crate::rng::{Draw, Rng};
use tidemark_core::DcId;

/// A read-only transaction of session `a` is held half-way · one of its keys is written · session `b` reads
/// that and writes another key of the transaction · the slices that are left run.
pub(super) fn held_transaction(s: &mut Stage<'_, '_>) {
    let (dc, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let (first, second) = (s.key(p), s.key(q));
    let a = s.session(dc, None);
    let b = s.session(dc, Some(a));
    let from = if s.c.rng.bool() { s.c.other_dc(dc) } else { dc };
    let writer = s.session(from, Some(a));
    // Who coordinates: the owner of one of the keys, or of a third one, which is read first.
    let partitions = s.c.layout.keys.len();
    let mut aside = s.aside();
    let sharp = aside.chance(40);
    let which = s.c.rng.usize(0..partitions);
    let third = (0..partitions).filter(|r| ![p, q].contains(r)).nth(if sharp { 0 } else { which });
    let (r, lead) = match third {
        Some(r) => (r, Some(s.key(r))),
        None => (p, None),
    };
    put_ahead(s, a, (dc, r), sharp.then_some(&mut aside));
    let long = s.while_held();
    let begin = s.now;
    s.hold_asked(dc, r, q, long);
    if sharp && from != dc && aside.chance(70) {
        // Nothing from there becomes stable: what is read is fresh.
        s.hold_stream(q, from, dc, long);
    }
    let written_before = s.c.rng.chance(40);
    if written_before {
        s.put(writer, &first);
        s.soon();
    }
    let keys: Vec<_> = lead.iter().chain([&first, &second]).collect();
    s.read(a, &keys);
    s.soon();
    if !written_before {
        s.put(writer, &first);
    }
    if from != dc {
        s.far()
    } else {
        s.soon()
    }
    let times = s.c.rng.u32(1..4);
    if sharp && lead.is_some() && aside.chance(40) {
        // What stands between the slice and whoever reads here later has to survive.
        s.restart(dc, p, &mut aside);
    }
    if s.c.rng.chance(25) {
        // A transaction that another server coordinates learns of it from its slices alone.
        let keys = [&second, &first];
        s.read(b, if sharp { &keys } else { &keys[1..] })
    } else {
        s.poll(b, &first, times, long / 3)
    }
    s.soon();
    s.update(b, &second);
    s.now = s.now.max(begin + long);
    s.soon();
    s.compare(a, &second, &first);
}

/// Session `a` writes where a clock is ahead, perhaps: there the fence of its transaction will lie. With `aside` the
/// server of partition `r` was restarted, and is far ahead, when what everybody knows has become stable.
fn put_ahead(s: &mut Stage<'_, '_>, a: usize, (dc, r): (DcId, usize), aside: Option<&mut Rng>) {
    let partition = if let Some(aside) = aside {
        s.quiet(aside);
        s.restart(dc, r, aside);
        r
    } else if s.c.rng.chance(50) {
        if s.c.rng.bool() { r } else { s.c.rng.usize(0..s.c.layout.keys.len()) }
    } else {
        return;
    };
    let key = s.key(partition);
    s.put(a, &key);
    s.soon();
}

/// The link of one partition is slow: a cause comes later than its effect.
pub(super) fn photo_album(s: &mut Stage<'_, '_>) {
    let (from, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let to = s.c.other_dc(from);
    let (cause, effect) = (s.key(q), s.key(p));
    let writer = s.session(from, None);
    let long = s.while_held();
    s.hold_stream(q, from, to, long);
    s.put(writer, &cause);
    if s.c.rng.chance(40) {
        let other = s.session(from, Some(writer));
        s.soon();
        s.get(other, &cause);
        s.soon();
        s.put(other, &effect);
    } else {
        s.soon();
        s.put(writer, &effect);
    }
    s.far();
    let reader = s.session(to, None);
    let times = s.c.rng.u32(1..4);
    s.poll(reader, &effect, times, long / 2);
    s.soon();
    s.compare(reader, &effect, &cause);
}

/// What siblings say to one server is late, or it restarts: it knows less than a session that has read
/// elsewhere, writes there, and is read by a third (erratum E-1; with the restart E-12).
pub(super) fn stale_sibling(s: &mut Stage<'_, '_>) {
    let (here, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let there = s.c.other_dc(here);
    let (deep, middle, top) = (s.key(q), s.key(p), s.key(q));
    let writer = s.session(there, None);
    let long = s.while_held() * 2;
    let held = s.c.rng.chance(75);
    if held {
        s.hold_siblings(here, q, long);
    }
    s.put(writer, &deep);
    s.soon();
    s.put(writer, &middle);
    if s.c.rng.bool() {
        s.soon();
        let more = s.key(q);
        s.put(writer, &more);
    }
    s.settle();
    let first = s.session(here, None);
    let times = s.c.rng.u32(1..5);
    s.poll(first, &middle, times, long / 4);
    if !held || s.c.rng.chance(30) {
        s.soon();
        s.crash(here, q);
    }
    s.soon();
    s.put(first, &top);
    s.soon();
    if s.c.rng.chance(25) {
        s.crash(here, q);
        s.soon();
    }
    let third = s.session(here, Some(first));
    s.compare(third, &top, &deep);
}

/// A chain over three data centres, the direct link of the last one held, a server restarting on the way.
pub(super) fn chain(s: &mut Stage<'_, '_>) {
    let (a, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let b = s.c.other_dc(a);
    let c = s.c.other_dc(b);
    let (cause, effect) = (s.key(p), s.key(q));
    let (writer, relay) = (s.session(a, None), s.session(b, None));
    let reader = s.session(c, Some(writer));
    let long = s.while_held();
    s.hold_stream(p, a, c, long);
    s.put(writer, &cause);
    s.far();
    let times = s.c.rng.u32(1..4);
    s.poll(relay, &cause, times, long / 4);
    if s.c.rng.chance(40) {
        let (dc, at) = if s.c.rng.bool() { (b, p) } else { (b, q) };
        s.crash(dc, at);
    }
    s.soon();
    s.put(relay, &effect);
    s.far();
    if s.c.rng.chance(30) {
        let at = if s.c.rng.bool() { p } else { q };
        s.crash(c, at);
    }
    let times = s.c.rng.u32(1..4);
    s.poll(reader, &effect, times, long / 4);
    s.soon();
    s.compare(reader, &effect, &cause);
}

/// Everybody writes and deletes one key, while another depends on it.
pub(super) fn tombstones(s: &mut Stage<'_, '_>) {
    let (p, q) = s.c.two_partitions();
    let (hot, other) = (s.key(p), s.key(q));
    for _ in 0..s.c.rng.u32(4..10) {
        let dc = s.c.dc();
        let session = s.session(dc, None);
        match s.c.rng.u32(0..6) {
            0 | 1 => s.put(session, &hot),
            2 => {
                let before = s.c.plan.config.mix.deletes;
                s.c.plan.config.mix.deletes = 100;
                s.update(session, &hot);
                s.c.plan.config.mix.deletes = before;
            }
            3 => s.update(session, &hot),
            4 => {
                s.get(session, &hot);
                s.soon();
                s.put(session, &other);
            }
            _ => s.compare(session, &other, &hot),
        }
        s.gap();
    }
}

/// A session moves to another data centre, and knows more of a third than that one does (erratum E-13).
pub(super) fn mover(s: &mut Stage<'_, '_>) {
    let (home, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let away = s.c.other_dc(home);
    let origin = if s.c.rng.bool() { home } else { s.c.other_dc(away) };
    let (cause, effect) = (s.key(q), s.key(p));
    let (writer, moving) = (s.session(origin, None), s.session(home, None));
    let arrives = s.session(away, Some(moving));
    s.put(writer, &effect);
    s.settle();
    let long = s.while_held() * 2;
    s.hold_stream(q, origin, away, long);
    s.put(writer, &cause);
    s.soon();
    s.put(writer, &effect);
    s.settle();
    let anything = s.c.rng.usize(0..s.c.layout.keys.len());
    let key = s.key(anything);
    if s.c.rng.chance(70) {
        s.get(moving, &key);
    } else {
        s.get(moving, &effect);
    }
    s.soon();
    s.c.step(arrives, s.now, Act::Adopt(moving));
    s.now += 1;
    let times = s.c.rng.u32(1..3);
    s.poll(arrives, &effect, times, long / 4);
    s.soon();
    s.compare(arrives, &effect, &cause);
}

/// A session reads something fresh and then writes: the server must not believe that all up to there has
/// arrived (erratum E-3).
pub(super) fn fresh_lift(s: &mut Stage<'_, '_>) {
    let (from, (p, q)) = (s.c.dc(), s.c.two_partitions());
    let to = s.c.other_dc(from);
    let (fresh, cause, effect) = (s.key(p), s.key(q), s.key(p));
    let (writer, other) = (s.session(from, None), s.session(from, None));
    let reader = s.session(to, None);
    let long = s.while_held();
    s.hold_stream(q, from, to, long);
    s.put(other, &cause);
    if s.c.rng.bool() {
        s.soon();
    }
    let independent = s.session(from, Some(writer));
    let by = if s.c.rng.bool() { independent } else { writer };
    s.put(by, &fresh);
    s.soon();
    s.get(writer, &cause);
    s.soon();
    s.put(writer, &effect);
    s.far();
    let times = s.c.rng.u32(1..3);
    s.poll(reader, &fresh, times, long / 4);
    s.soon();
    let anywhere = if s.c.rng.chance(70) { fresh } else { s.key(p) };
    s.put(reader, &anywhere);
    s.soon();
    let third = if s.c.rng.chance(60) { reader } else { s.session(to, Some(reader)) };
    s.compare(third, &effect, &cause);
}
