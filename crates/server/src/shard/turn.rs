//! The end of a turn: one commit for all that was done, then everything leaves that may.

use super::disk::{Done, Job};
use super::seat::Broken;
use super::{Core, Shard};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tidemark_contract::Protocol;
use tidemark_node::link::frame::FrameBuffer;
use tidemark_store::log::{Fsync, Position};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{spawn_local, yield_now};
use tokio::time::Instant;

/// What a turn left behind, until its commit is durable.
struct Turn {
    position: Position,
    /// Clients, and up to where their replies may be written then.
    clients: Vec<(u64, u64)>,
    /// Messages, by node.
    batches: Vec<(usize, FrameBuffer)>,
}

/// Turns that wait for the disk.
#[derive(Default)]
pub(crate) struct Turns {
    waiting: VecDeque<Turn>,
    spare: Vec<u64>,
}

/// Ends turns until the node stops.
pub(crate) async fn run<P: Protocol>(shard: Rc<Shard<P>>) {
    let spin = Duration::from_micros(shard.core.borrow().engine.config.spin_us);
    loop {
        shard.turn.notified().await;
        let served = match shard.end_turn() {
            Ok(served) => served,
            Err(broken) => return shard.fail(&broken),
        };
        shard.send_copies();
        if served && !spin.is_zero() {
            let start = Instant::now();
            while !shard.wants_turn() && start.elapsed() < spin {
                yield_now().await;
            }
        }
    }
}

/// Takes what the disk thread did until the node stops.
pub(crate) async fn take_from_disk<P: Protocol>(shard: Rc<Shard<P>>, mut results: UnboundedReceiver<Done>) {
    while let Some(done) = results.recv().await {
        let mut core = shard.core.borrow_mut();
        match done {
            Done::Sync(done) => {
                if let Err(broken) = core.engine.seat.synced(done) {
                    return shard.fail(&broken);
                }
                shard.want_turn();
            }
            Done::Upkeep(opened, done) if opened == core.engine.seat.opened() => {
                core.engine.seat.upkept(done);
            }
            // Of a time that the member has forgotten.
            Done::Upkeep(..) => {}
        }
    }
}

impl<P: Protocol> Shard<P> {
    /// Commits, and lets leave what may. Returns whether clients were answered.
    pub(crate) fn end_turn(self: &Rc<Self>) -> Result<bool, Broken> {
        self.turn_wanted.set(false);
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        core.engine.settle(&mut core.clients);
        let now = core.engine.clock.now();
        let position = core.engine.seat.commit(now)?;
        core.engine.stats.turns += 1;
        core.speak_to_group();
        if core.engine.see_who_leads(&mut core.clients) {
            core.change_role();
            self.changes.send_modify(|version| *version += 1);
            self.met.send_modify(|count| *count += 1);
            self.want_turn();
        }
        for output in core.engine.seat.take_outputs(now) {
            core.engine.send(output);
        }
        let durable = core.engine.seat.released(now);
        core.seal(position, position <= durable);
        while core.turns.waiting.front().is_some_and(|turn| turn.position <= durable) {
            let turn = core.turns.waiting.pop_front().expect("just seen");
            core.release(turn);
        }
        let served = !core.turns.spare.is_empty();
        self.write_released(core);
        for outgoing in &mut core.engine.outgoing {
            match &outgoing.outbox {
                Some(outbox) => outbox.push(&mut outgoing.free),
                None => outgoing.free = FrameBuffer::default(),
            }
        }
        if core.engine.config.fsync == Fsync::Always
            && !self.is_stopping()
            && let Some(job) = core.engine.seat.sync_job()
        {
            self.disk.run(Job::Sync(job));
        }
        if core.links.has_feeds() {
            self.pump.notify_one();
        }
        if core.engine.seat.next_timer().is_some_and(|due| due < self.ticks_at.get()) {
            self.sooner.notify_one();
        }
        Ok(served)
    }

    /// Writes to the sockets of clients what was released to them.
    fn write_released(self: &Rc<Self>, core: &mut Core<P>) {
        let mut ready = std::mem::take(&mut core.turns.spare);
        let now = core.engine.clock.mono();
        for key in ready.drain(..) {
            let Some(client) = core.clients.get(key) else { continue };
            if client.out.commands > 0 {
                core.engine.stats.latency(now.saturating_sub(client.out.since), client.out.commands);
                client.out.commands = 0;
            }
            if client.out.draining || client.out.writable().is_empty() {
                continue;
            }
            match client.write.try_write(client.out.writable()) {
                Ok(count) => client.out.written(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // The task that reads will find the connection closed.
                Err(_) => {
                    let count = client.out.writable().len();
                    client.out.written(count);
                }
            }
            if client.out.bytes.is_empty() && client.wants_room {
                client.wake.notify_one();
            }
            if !client.out.writable().is_empty() {
                client.out.draining = true;
                let (shard, write) = (self.clone(), client.write.clone());
                spawn_local(async move { shard.drain(key, write).await });
            }
        }
        core.turns.spare = ready;
    }

    /// Writes the rest to a client that reads slowly, then wakes its task, which may wait for that.
    async fn drain(self: Rc<Self>, key: u64, write: Rc<OwnedWriteHalf>) {
        loop {
            let broken = write.writable().await.is_err();
            let mut core = self.core.borrow_mut();
            let Some(client) = core.clients.get(key) else { return };
            let result =
                if broken { Ok(client.out.writable().len()) } else { write.try_write(client.out.writable()) };
            match result {
                Ok(count) => client.out.written(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    let count = client.out.writable().len();
                    client.out.written(count);
                }
            }
            if client.out.writable().is_empty() {
                client.out.draining = false;
                client.wake.notify_one();
                return;
            }
        }
    }
}

impl<P: Protocol> Core<P> {
    /// This node has begun or ceased to lead its group. Whoever was told, within this process, of something that nobody has
    /// agreed on must not go on with it, and does not know what became of what he asked: his connection ends.
    fn change_role(&mut self) {
        if self.engine.life().is_some() {
            return;
        }
        self.turns.waiting.clear();
        self.engine.dirty.clear();
        for client in self.clients.iter() {
            client.out.dirty = false;
            if client.out.end() > client.out.released || client.running.is_some() {
                client.break_off();
            }
        }
    }

    /// Closes the turn that ends at `position`: what it did leaves when that is durable.
    fn seal(&mut self, position: Position, durable: bool) {
        if durable && self.turns.waiting.is_empty() {
            // The usual way: no list is made.
            for key in self.engine.dirty.drain(..) {
                if let Some(client) = self.clients.get(key) {
                    client.out.dirty = false;
                    client.out.released = client.out.end();
                    self.turns.spare.push(key);
                }
            }
            for outgoing in &mut self.engine.outgoing {
                if !outgoing.held.is_empty() {
                    outgoing.free.append(std::mem::take(&mut outgoing.held));
                }
            }
            return;
        }
        let mut clients = Vec::with_capacity(self.engine.dirty.len());
        for key in self.engine.dirty.drain(..) {
            if let Some(client) = self.clients.get(key) {
                client.out.dirty = false;
                clients.push((key, client.out.end()));
            }
        }
        let held =
            self.engine.outgoing.iter_mut().enumerate().filter(|(_, outgoing)| !outgoing.held.is_empty());
        let batches: Vec<_> =
            held.map(|(node, outgoing)| (node, std::mem::take(&mut outgoing.held))).collect();
        if !clients.is_empty() || !batches.is_empty() {
            self.turns.waiting.push_back(Turn { position, clients, batches });
        }
    }

    /// What a turn did is durable.
    fn release(&mut self, turn: Turn) {
        for (key, end) in turn.clients {
            if let Some(client) = self.clients.get(key) {
                client.out.released = client.out.released.max(end);
                self.turns.spare.push(key);
            }
        }
        for (node, batch) in turn.batches {
            self.engine.outgoing[node].free.append(batch);
        }
    }
}
