//! Commands that wait until a key has something: they begin to wait, try again, and end.
//!
//! They learn that something may have become available in two ways. A write that a command of this node has carried out
//! gives those a turn that wait for its keys, behind that command and before the next one. Whatever else changes the
//! region's keys (records from other regions, commands at other nodes, versions that were hidden) is found by
//! looking: while anybody waits, every [`PROBE_US`] the first of each queue tries again, of [`PROBED_KEYS`] keys at most.

use super::bus;
use super::client::{Client, Resumption, Running};
use super::confirming::{self, Found};
use super::deliver::deliver;
use super::ending::{fail, finish};
use super::execute::{Progress, keyspace, perform, status_after};
use super::tracked::end_reads;
use super::waiting::Ending;
use crate::redis::{ErrorReply, Pending, Spec, may_write};
use crate::run::shard::{Core, Engine, Shard};
use std::rc::Rc;
use std::time::Duration;
use tidemark_core::Micros;
use tidemark_node::SessionId;
use tidemark_store::log::Fsync;
use tidemark_wire::resp::Encoder;

/// How often the keys are looked at for which somebody waits, and how many at once.
const PROBE_US: Micros = 10_000;
const PROBED_KEYS: usize = 64;
/// How often confirmations are looked at for which somebody waits.
const CONFIRM_US: Micros = 2_000;

/// A command has found nothing: it waits, unless its wait was ended meanwhile.
#[cold]
pub(super) fn wait(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    pending: Pending,
) -> Progress {
    let Some(wanted) = pending.wanted() else { return fail(engine, client, spec, &ErrorReply::UNEXPECTED) };
    if wanted.confirmed.is_some() {
        return wait_for_confirmations(engine, client, spec, pending);
    }
    if let Some(ending) = engine.waiters.wait(client.session, wanted, engine.now.mono) {
        return give_up(engine, client, spec, &pending, ending);
    }
    stay(engine, client, spec, pending)
}

/// It is kept until it is served.
fn stay(engine: &mut Engine, client: &mut Client, spec: &'static Spec, pending: Pending) -> Progress {
    let noted = engine.shared.watch.put_aside();
    client.running = Some(Running { spec, pending, next: Resumption::Blocks, change: None, noted });
    mark(engine, client, true);
    Progress::Waits
}

/// WAIT, WAITAOF: answers at once if all is confirmed that was asked for.
fn wait_for_confirmations(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    pending: Pending,
) -> Progress {
    let Some((wanted, asks)) = pending.wanted().and_then(|wanted| Some((wanted, wanted.confirmed?))) else {
        return fail(engine, client, spec, &ErrorReply::UNEXPECTED);
    };
    if asks.local == Some(true) && engine.config.fsync == Fsync::No {
        let why = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
        return fail(engine, client, spec, &ErrorReply::fixed(why));
    }
    let mut confirming = confirming::begin(engine);
    let own = confirming::own(engine);
    // This batch is not in the log yet.
    let found = confirming::look(engine, &mut confirming, own.as_ref(), false);
    if asks.local.is_none() && asks.is_met(found.synced, found.regions) {
        return confirm(engine, client, spec, &pending, found);
    }
    engine.waiters.wait(client.session, wanted, engine.now.mono);
    engine.waiters.confirm(client.session, confirming);
    confirming::ask(engine);
    stay(engine, client, spec, pending)
}

/// Answers WAIT or WAITAOF.
fn confirm(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    pending: &Pending,
    found: Found,
) -> Progress {
    let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
    pending.confirmed(found.synced, found.regions, &mut out);
    finish(engine, client, spec)
}

/// Looks at the confirmations, and answers those who have what they want.
fn check_confirmations(core: &mut Core) {
    if !core.engine.waiters.has_confirming() {
        return;
    }
    let own = confirming::own(&mut core.engine);
    for (session, mut confirming) in core.engine.waiters.take_confirming() {
        let engine = &mut core.engine;
        let Some(client) = core.clients.get(session) else { continue };
        // Its batch has ended if nothing of it waits to be sealed.
        let found = confirming::look(engine, &mut confirming, own.as_ref(), !client.out.dirty);
        engine.waiters.confirm(session, confirming);
        let Some(Running { next: Resumption::Blocks, pending, .. }) = &client.running else { continue };
        let asks = pending.wanted().and_then(|wanted| wanted.confirmed);
        if asks.is_some_and(|asks| asks.is_met(found.synced, found.regions)) {
            take_up(engine, client, |engine, client, running| {
                confirm(engine, client, running.spec, &running.pending, found)
            });
        }
    }
    if core.engine.waiters.has_confirming() {
        confirming::ask(&mut core.engine);
    }
}

/// Others see whether the client waits.
fn mark(engine: &mut Engine, client: &Client, waits: bool) {
    if let Some(known) = engine.registry.get_mut(client.redis.id()) {
        (known.blocked, known.waits) = (waits, waits);
    }
}

/// The command of a client has ended: it waits no more.
#[inline]
pub(super) fn settle(engine: &mut Engine, client: &Client) {
    if !engine.waiters.is_empty() && engine.waiters.remove(client.session) {
        mark(engine, client, false);
        // Others may have let it go on.
        client.wake.notify_one();
    }
}

/// The command has waited in vain.
fn give_up(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    pending: &Pending,
    ending: Ending,
) -> Progress {
    if ending == Ending::Error {
        return fail(engine, client, spec, &ErrorReply::UNBLOCKED);
    }
    if let Some(mut confirming) = engine.waiters.take_confirming_of(client.session) {
        let own = confirming::own(engine);
        let found = confirming::look(engine, &mut confirming, own.as_ref(), true);
        return confirm(engine, client, spec, pending, found);
    }
    pending.give_up(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
    finish(engine, client, spec)
}

/// Whether there is something for [`serve`] to do.
#[inline]
pub(super) fn has_work(engine: &Engine) -> bool {
    engine.waiters.has_ready() || !engine.shared.unblocked.is_empty()
}

/// Lets those try again whose turn has come, and ends the waits that CLIENT UNBLOCK has named.
#[cold]
pub(super) fn serve(core: &mut Core) {
    for (id, error) in std::mem::take(&mut core.engine.shared.unblocked) {
        let ending = if error { Ending::Error } else { Ending::Timeout };
        if let Some(session) = core.clients.connection(id).map(|client| client.session) {
            end(core, session, ending);
        }
    }
    while let Some(session) = core.engine.waiters.next() {
        let engine = &mut core.engine;
        let client = core.clients.get(session);
        let Some(client) = client.filter(|client| !is_gone(engine, client)) else {
            engine.waiters.remove(session);
            continue;
        };
        let Some(Running { next: Resumption::Blocks, spec, .. }) = &client.running else {
            engine.waiters.remove(session);
            continue;
        };
        if engine.shared.pause.holds(engine.now.wall, || may_write(spec)) {
            break; // They keep their turns.
        }
        engine.waiters.begin(session);
        take_up(engine, client, |engine, client, running| {
            let Running { spec, mut pending, .. } = running;
            let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
            match pending.again(&keyspace(engine), &mut out) {
                Ok(step) => perform(engine, client, spec, pending, step),
                Err(error) => fail(engine, client, spec, &error),
            }
        });
    }
    core.engine.shared.watch.begun = core.engine.clock.mono();
}

/// An element that a killed client takes would be lost.
fn is_gone(engine: &Engine, client: &Client) -> bool {
    client.closing || engine.registry.is_killed(client.redis.id())
}

/// Goes on with the command of a client that waits, on behalf of that client's task.
fn take_up(
    engine: &mut Engine,
    client: &mut Client,
    go_on: impl FnOnce(&mut Engine, &mut Client, Running) -> Progress,
) {
    let Some(mut running) = client.running.take() else { return };
    engine.shared.watch.take_up(running.noted.take());
    // The time that it has waited is not its fault.
    engine.now = engine.clock.now();
    engine.shared.watch.begun = engine.now.mono;
    client.out.since = engine.now.mono;
    status_after(client, |client| go_on(engine, client, running));
    if !engine.shared.published.is_empty() {
        bus::publish(engine, client.session);
    }
    end_reads(engine, client);
    if client.out.holds() {
        engine.touch(client);
    }
}

/// Ends a wait.
fn end(core: &mut Core, session: SessionId, ending: Ending) {
    let engine = &mut core.engine;
    let Some(client) = core.clients.get(session) else { return };
    if engine.waiters.end(session, ending)
        && let Some(Running { next: Resumption::Blocks, .. }) = &client.running
    {
        take_up(engine, client, |engine, client, running| {
            give_up(engine, client, running.spec, &running.pending, ending)
        });
    }
}

/// Looks after those who wait until nobody does: their deadlines, and what becomes available without a command here.
pub(super) async fn tend(shard: Rc<Shard>) {
    while !shard.is_stopping() {
        let pause_us = {
            let mut core = shard.core.borrow_mut();
            let core = &mut *core;
            core.engine.now = core.engine.clock.now();
            let now = core.engine.now.mono;
            for session in core.engine.waiters.expired(now) {
                end(core, session, Ending::Timeout);
            }
            check_confirmations(core);
            core.engine.waiters.probe(PROBED_KEYS, (now, PROBE_US));
            serve(core);
            deliver(core);
            if core.engine.waiters.rest() {
                None
            } else {
                let due = core.engine.waiters.next_deadline().unwrap_or(Micros::MAX);
                let most = if core.engine.waiters.has_confirming() { CONFIRM_US } else { PROBE_US };
                Some(due.saturating_sub(now).clamp(1_000, most))
            }
        };
        shard.want_batch();
        let Some(pause_us) = pause_us else { return };
        tokio::time::sleep(Duration::from_micros(pause_us)).await;
    }
}
