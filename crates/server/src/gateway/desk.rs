//! Operations that edge clients ask for, on the data thread. Each runs on a session of its own, which knows nothing of others: what an
//! edge client depends on is in what it asks.
//!
//! **Invariants**
//! - I1 An outcome leaves once the batch is released to others in which the operation ended: what an edge client was told outlives this
//!   machine.

use crate::run::shard::{Engine, Shard};
use std::collections::BTreeMap;
use std::rc::Rc;
use tidemark_core::{Failure, Op, Outcome};
use tidemark_node::{Batch, Gate, SessionId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

/// What takes the outcome of an operation.
pub(crate) type Answer = oneshot::Sender<Outcome>;

/// An operation, and what takes its outcome.
pub(crate) type Question = (Op, Answer);

/// So many sessions are kept for later operations.
const IDLE_MAX: usize = 64;

/// See above.
#[derive(Default)]
pub(crate) struct Desk {
    idle: Vec<SessionId>,
    running: BTreeMap<SessionId, Answer>,
    /// Operations that have ended in the batch that is being gathered.
    ended: Vec<(Answer, Outcome)>,
    gate: Gate<(Answer, Outcome)>,
}

impl Desk {
    /// An operation has ended that is no Redis client's.
    ///
    /// # Errors
    /// It was none of these; the outcome comes back.
    pub(crate) fn done(&mut self, session: SessionId, outcome: Outcome) -> Result<(), Outcome> {
        let Some(answer) = self.running.remove(&session) else { return Err(outcome) };
        self.idle.push(session);
        self.ended.push((answer, outcome));
        Ok(())
    }

    /// A session has ended that is no Redis client's: it has read what was never committed. False if it was none of these.
    pub(crate) fn close(&mut self, session: SessionId) -> bool {
        let idle = self.idle.iter().position(|one| *one == session).map(|place| self.idle.swap_remove(place));
        // Whoever waits hears nothing, and asks again.
        idle.is_some() || self.running.remove(&session).is_some()
    }

    /// Whether an answer waits.
    pub(crate) fn waits(&self) -> bool {
        !(self.ended.is_empty() && self.gate.is_empty())
    }

    /// A batch is closed, and these are released: answers whom that lets.
    pub(crate) fn seal(&mut self, batch: Batch, released: Batch) {
        for ended in self.ended.drain(..) {
            self.gate.push(batch, ended);
        }
        while let Some((answer, outcome)) = self.gate.release(released) {
            let _ = answer.send(outcome);
        }
    }
}

/// Begins an operation.
fn begin(engine: &mut Engine, (op, answer): Question) {
    engine.now = engine.clock.now();
    let session = match engine.desk.idle.pop() {
        Some(session) => session,
        None => engine.node.open(),
    };
    match engine.node.begin(engine.now, session, op) {
        Some(outcome) => {
            engine.desk.idle.push(session);
            engine.desk.ended.push((answer, outcome));
        }
        None => drop(engine.desk.running.insert(session, answer)),
    }
    while engine.desk.idle.len() > IDLE_MAX {
        engine.desk.idle.pop().into_iter().for_each(|session| engine.node.close(session));
    }
}

/// Takes questions until nobody asks any more.
pub(crate) fn serve(shard: &Rc<Shard>, mut questions: mpsc::Receiver<Question>) {
    let shard = shard.clone();
    spawn_local(async move {
        while let Some((op, answer)) = questions.recv().await {
            if shard.is_stopping() {
                let _ = answer.send(Outcome::Failed(Failure::Unavailable("the node stops".into())));
                continue;
            }
            begin(&mut shard.core.borrow_mut().engine, (op, answer));
            shard.want_batch();
        }
    });
}
