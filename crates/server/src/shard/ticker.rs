//! One timer for everything that happens by itself: the protocols' timers of all partitions, deadlines, syncs, upkeep.

use super::Shard;
use super::disk::Job;
use std::rc::Rc;
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tidemark_store::log::Fsync;

/// The longest sleep: an operation may begin to wait while the ticker sleeps. A timer that is armed meanwhile wakes it.
const SLEEP_MAX_US: Micros = 10_000;
/// Between two pieces of upkeep.
const UPKEEP_US: Micros = 20_000;
/// Between two syncs of policy `everysec`.
const SYNC_US: Micros = 1_000_000;

/// Ticks until the node stops.
pub(crate) async fn run<P: Protocol>(shard: Rc<Shard<P>>) {
    let clock = shard.core.borrow().engine.clock.clone();
    let (mut upkeep_at, mut sync_at) = (clock.mono() + UPKEEP_US, clock.mono() + SYNC_US);
    loop {
        let next = shard.core.borrow().engine.seat.next_timer().unwrap_or(Micros::MAX);
        let due = next.min(clock.mono() + SLEEP_MAX_US);
        shard.ticks_at.set(due);
        tokio::select! {
            () = tokio::time::sleep_until(clock.instant(due)) => {}
            () = shard.sooner.notified() => continue,
        }

        let mut core = shard.core.borrow_mut();
        let core = &mut *core;
        let now = clock.now();
        core.engine.now = now;
        if next <= now.mono {
            core.engine.seat.fire_timers(now);
            shard.want_turn();
        }
        if core.engine.expire(&mut core.clients) {
            shard.want_turn();
        }
        if upkeep_at <= now.mono {
            upkeep_at = now.mono + UPKEEP_US;
            if let Some(job) = core.engine.seat.upkeep(now) {
                shard.disk.run(Job::Upkeep(core.engine.seat.opened(), job));
            }
            core.look_after_members();
            if core.engine.seat.wants_sync()
                && let Some(job) = core.engine.seat.sync_job()
            {
                shard.disk.run(Job::Sync(job));
            }
            if core.engine.place.is_some() {
                // What upkeep brings about leaves with a turn.
                shard.want_turn();
            }
        }
        if sync_at <= now.mono {
            sync_at = now.mono + SYNC_US;
            if core.engine.config.fsync == Fsync::EverySec
                && let Some(job) = core.engine.seat.sync_job()
            {
                shard.disk.run(Job::Sync(job));
            }
        }
    }
}
