//! The end of a batch: one commit for all that was done, then everything leaves that may.

use super::shard::{Core, Shard};
use crate::gateway::client::{Adoption, Resumption};
use crate::gateway::{bus, memory, rights, visible};
use std::rc::Rc;
use std::time::Duration;
use tidemark_core::Outcome;
use tidemark_node::{Batch, Fatal, Level, Notice, Output, Released};
use tokio::task::yield_now;
use tokio::time::Instant;

/// Ends batches until the node stops.
pub(super) async fn run(shard: Rc<Shard>) {
    let spin = Duration::from_micros(shard.core.borrow().engine.config.spin_us);
    loop {
        shard.batch.notified().await;
        let served = match shard.end_batch() {
            Ok(served) => served,
            Err(fatal) => return shard.fail(&fatal),
        };
        if served && !spin.is_zero() {
            let start = Instant::now();
            while !shard.wants_batch() && start.elapsed() < spin {
                yield_now().await;
            }
        }
    }
}

/// Ends batches until nothing is left of what was done before the node began to stop.
pub(super) async fn run_last(shard: &Rc<Shard>) -> Result<(), Fatal> {
    loop {
        shard.end_batch()?;
        if shard.disk.is_idle() {
            return Ok(());
        }
        shard.batch.notified().await;
    }
}

impl Shard {
    /// Commits, and lets leave what may. Returns whether clients were answered.
    fn end_batch(self: &Rc<Self>) -> Result<bool, Fatal> {
        self.begin_batch();
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        bus::work(core);
        if core.engine.rights.has_work() {
            core.engine.now = core.engine.clock.now();
            rights::work(&mut core.engine);
        }
        memory::work(&mut core.engine);
        let now = core.engine.clock.now();
        // The runtime's timers come up to a millisecond late. Under load somebody is awake before.
        if core.engine.node.next_timeout() <= now.mono {
            core.engine.node.tick(now);
        }
        visible::look_around(core);
        let batch = core.engine.node.commit(now, core.waits_for_sync())?;
        while let Some(output) = core.engine.node.poll() {
            self.carry_out(core, output);
        }
        let released = core.engine.node.released();
        core.seal(batch, released);
        let served = !core.unwritten.is_empty();
        core.engine.stats.rate(now.mono);
        self.write_released(core);
        if core.transmit(now) || core.engine.node.wants_commit() || core.engine.has_work() {
            self.want_batch();
        }
        if core.engine.node.next_timeout() < self.ticks_at.get() {
            self.sooner.notify_one();
        }
        Ok(served)
    }

    fn carry_out(self: &Rc<Self>, core: &mut Core, output: Output) {
        match output {
            Output::Done { session, outcome } => {
                let Some(client) = core.clients.get(session) else {
                    let engine = &mut core.engine;
                    let left = engine.rights.done(session, outcome).err();
                    let left = left.and_then(|outcome| engine.desk.done(session, outcome).err());
                    let left = left.and_then(|outcome| engine.memory.done(session, outcome).err());
                    left.into_iter().for_each(|outcome| engine.bus.done(session, outcome));
                    return;
                };
                if let Some(running) = &mut client.running {
                    running.next = Resumption::Outcome(outcome);
                } else if let Adoption::Waits(node) = client.adoption {
                    client.adoption = match outcome {
                        Outcome::Failed(failure) => Adoption::Failed(node, failure),
                        _ => Adoption::None,
                    };
                }
                client.wake.notify_one();
            }
            Output::Ended { session } => {
                if let Some(client) = core.clients.get(session) {
                    client.break_off();
                    return;
                }
                let engine = &mut core.engine;
                let others = engine.memory.close(session) || engine.bus.ended(session);
                if others || engine.rights.close(session) || engine.desk.close(session) {
                    engine.node.close(session);
                }
            }
            // What leaves a mute node would be forgotten.
            Output::Dial { .. } if core.engine.mute.is_some() => {}
            Output::Dial { link, to, .. } => self.dial(core, link, to),
            Output::Up { link, node, kind } => core.link_is_up(link, node, kind),
            Output::Close { link } => core.close_link(link),
            Output::Ready { link } => core.links.is_ready(link),
            Output::Resume { link } => core.links.resume(link),
            Output::Job(job) => self.run_job(job),
            Output::Ordered { id, answer } => core.orders.answer(id, answer),
            Output::Broadcast { node, content } => core.engine.bus.hear(node, content),
            Output::Notice(notice) => log(&notice),
        }
    }
}

/// Where log filters find what the node says.
const NODE: &str = "tidemark_node";

fn log(notice: &Notice) {
    match notice.level {
        Level::Error => tracing::error!(target: NODE, "{notice}"),
        Level::Warn => tracing::warn!(target: NODE, "{notice}"),
        Level::Info => tracing::info!(target: NODE, "{notice}"),
        Level::Debug => tracing::debug!(target: NODE, "{notice}"),
    }
}

impl Core {
    /// Whether somebody is not told before what was done is synced.
    fn waits_for_sync(&self) -> bool {
        !self.engine.exported.is_empty() || !self.synced.is_empty() || self.engine.desk.waits()
    }

    /// Closes `batch`: its replies may be written once it is released, those with what clients keep once it is to others.
    fn seal(&mut self, batch: Batch, released: Released) {
        while let Some((session, end)) = self.gate.release(released.clients) {
            if let Some(client) = self.clients.get(session) {
                client.out.release(end);
                self.unwritten.push(session);
            }
        }
        self.engine.desk.seal(batch, released.others);
        for session in self.engine.exported.drain(..) {
            self.clients.get(session).into_iter().for_each(|client| client.out.keeps = true);
        }
        // The usual way: no list is made.
        let at_once = batch <= released.clients;
        for session in self.engine.dirty.drain(..) {
            let Some(client) = self.clients.get(session) else { continue };
            client.out.dirty = false;
            let end = client.out.end();
            if client.out.keeps {
                self.synced.push(batch, (session, end));
            } else if at_once {
                client.out.release(end);
                self.unwritten.push(session);
            } else {
                self.gate.push(batch, (session, end));
            }
        }
        while let Some((session, end)) = self.synced.release(released.others) {
            let Some(client) = self.clients.get(session) else { continue };
            client.out.release(end);
            client.out.keeps = client.out.holds();
            self.unwritten.push(session);
        }
    }
}
