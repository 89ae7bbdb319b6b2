//! Clients that keep nothing: each transaction is a round trip for what it reads, and another one for what it writes.

use super::super::Cluster;
use super::Happening;
use super::gateway::Purpose;
use tidemark_core::{Op, Outcome};
use tidemark_workload::Object;

impl Cluster<'_> {
    /// A client's transaction begins: what it reads is asked for.
    pub(super) fn user_asks(&mut self, number: usize) {
        let Some(running) = self.crowd.as_mut().and_then(|world| world.users[number].running.as_mut()) else {
            return;
        };
        running.missing = running.transaction.reads.len();
        self.user_asks_all(number);
    }

    /// Requests leave together.
    fn user_asks_all(&mut self, number: usize) {
        let Some(world) = &self.crowd else { return };
        let user = &world.users[number];
        let Some(running) = &user.running else { return };
        let (begun, count, process) = (user.begun, running.missing, user.endpoints[0]);
        let delay = self.user_delay(number, process);
        for at in 0..count {
            self.crowd_later(delay, Happening::Asks(number, begun, at));
        }
    }

    /// A request arrives at the node.
    pub(super) fn node_is_asked(&mut self, number: usize, transaction: u64, at: usize) {
        let Some(world) = &self.crowd else { return };
        let user = &world.users[number];
        let Some(running) = user.running.as_ref().filter(|_| user.begun == transaction) else { return };
        let op: Op = if running.writes {
            let (object, change) = running.transaction.changes[at].clone();
            change.op(object.key)
        } else {
            Object::read(&running.transaction.reads[at])
        };
        let process = user.endpoints[0];
        if let Some(world) = &mut self.crowd {
            world.sockets.0 += 1;
        }
        self.ask(process, op, Purpose::User(number, transaction));
    }

    /// The node has answered.
    pub(super) fn node_answers(&mut self, number: usize, transaction: u64, outcome: &Outcome) {
        let Some(world) = &mut self.crowd else { return };
        world.sockets.1 += 1;
        let process = world.users[number].endpoints[0];
        let delay = self.user_delay(number, process);
        let ok = !matches!(outcome, Outcome::Failed(_));
        self.crowd_later(delay, Happening::Hears(number, transaction, ok));
    }

    /// The client hears that.
    pub(super) fn user_is_answered(&mut self, number: usize, transaction: u64, ok: bool) {
        let Some(world) = &mut self.crowd else { return };
        world.meter.lost += u64::from(!ok);
        let user = &mut world.users[number];
        let Some(running) = user.running.as_mut().filter(|_| user.begun == transaction) else { return };
        running.missing -= 1;
        if running.missing > 0 {
            return;
        }
        let writes = running.transaction.changes.len();
        if running.writes || writes == 0 {
            return self.user_has_ended(number);
        }
        (running.writes, running.missing) = (true, writes);
        self.user_asks_all(number);
    }
}
