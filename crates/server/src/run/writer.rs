//! What is written to the sockets of clients: all replies that a batch has released to a client in one write.

use super::shard::{Core, Shard};
use std::rc::Rc;
use tidemark_node::SessionId;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::task::spawn_local;

impl Shard {
    /// Writes to the sockets of clients what was released to them.
    pub(super) fn write_released(self: &Rc<Self>, core: &mut Core) {
        let mut unwritten = std::mem::take(&mut core.unwritten);
        let now = core.engine.clock.mono();
        for session in unwritten.drain(..) {
            let Some(client) = core.clients.get(session) else { continue };
            if client.out.commands > 0 {
                core.engine.stats.latency(now.saturating_sub(client.out.since), client.out.commands);
                client.out.commands = 0;
            }
            if client.out.draining || client.out.writable().is_empty() {
                continue;
            }
            core.engine.stats.output_bytes += client.write_some();
            if client.out.bytes.is_empty() && client.wants_room {
                client.wake.notify_one();
            }
            if !client.out.writable().is_empty() {
                client.out.draining = true;
                spawn_local(self.clone().drain(session, client.write.clone()));
            }
        }
        core.unwritten = unwritten;
    }

    /// Writes the rest to a client that reads slowly, then wakes its task, which may wait for that.
    async fn drain(self: Rc<Self>, session: SessionId, write: Rc<OwnedWriteHalf>) {
        loop {
            let broken = write.writable().await.is_err();
            let mut core = self.core.borrow_mut();
            let core = &mut *core;
            let Some(client) = core.clients.get(session) else { return };
            if broken {
                client.out.give_up();
            } else {
                core.engine.stats.output_bytes += client.write_some();
            }
            if client.out.writable().is_empty() {
                client.out.draining = false;
                client.wake.notify_one();
                return;
            }
        }
    }
}
