//! One timer for everything that happens by itself: when a node's next timeout comes, it is told the time.

use super::shard::Shard;
use std::rc::Rc;
use tidemark_core::Micros;

/// The longest sleep: the runtime's timers do not count for ever.
const SLEEP_MAX_US: Micros = 3_600_000_000;

/// Ticks until the node stops.
pub(super) async fn run(shard: Rc<Shard>) {
    let clock = shard.core.borrow().engine.clock.clone();
    loop {
        let due = shard.core.borrow().engine.node.next_timeout().min(clock.mono() + SLEEP_MAX_US);
        shard.ticks_at.set(due);
        tokio::select! {
            () = tokio::time::sleep_until(clock.instant(due)) => {}
            // A timeout was set meanwhile that comes earlier.
            () = shard.sooner.notified() => continue,
        }
        let node = &mut shard.core.borrow_mut().engine.node;
        node.tick(clock.now());
        if node.wants_commit() {
            shard.want_batch();
        }
    }
}
