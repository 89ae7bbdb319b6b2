//! The gateway between its connections and the data thread.

use crate::gateway::desk::Question;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tidemark_contract::cx::edge::shown;
use tidemark_core::{Failure, Hlc};
use tidemark_edge::gateway::{Answer, Ask, AskId, ConnectionId, Gateway, Output, Settings};
use tokio::sync::{mpsc, oneshot};

/// So many frames wait for one client; one that reads more slowly is disconnected.
const FRAMES_MAX: usize = 1024;

/// The gateway, and what its connections are sent.
pub(super) struct Hub {
    state: Mutex<State>,
    ask: mpsc::Sender<Question>,
    most: usize,
    period: Duration,
}

struct State {
    gateway: Gateway,
    outboxes: HashMap<ConnectionId, mpsc::Sender<Bytes>>,
    connections: ConnectionId,
}

/// Microseconds since 1970.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as u64
}

impl Hub {
    pub(super) fn new(settings: Settings, most: usize, ask: mpsc::Sender<Question>) -> Arc<Self> {
        let period = Duration::from_millis(settings.period_ms);
        let state = State { gateway: Gateway::new(settings), outboxes: HashMap::new(), connections: 0 };
        Arc::new(Self { state: Mutex::new(state), ask, most, period })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client has connected: its name, and what it is to be sent. None if there are too many.
    pub(super) fn open(&self) -> Option<(ConnectionId, mpsc::Receiver<Bytes>)> {
        let mut state = self.state();
        if state.outboxes.len() >= self.most {
            return None;
        }
        state.connections += 1;
        let (outbox, frames) = mpsc::channel(FRAMES_MAX);
        let id = state.connections;
        state.outboxes.insert(id, outbox);
        state.gateway.opened(id);
        Some((id, frames))
    }

    /// It is gone.
    pub(super) fn close(self: &Arc<Self>, id: ConnectionId) {
        let mut state = self.state();
        state.outboxes.remove(&id);
        state.gateway.closed(id);
        self.carry_out(&mut state);
    }

    /// It has sent a frame.
    pub(super) fn frame(self: &Arc<Self>, id: ConnectionId, frame: &[u8]) {
        let mut state = self.state();
        state.gateway.frame(id, frame, now_us());
        self.carry_out(&mut state);
    }

    /// Looks for new bases, for ever.
    pub(super) async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(self.period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let mut state = self.state();
            state.gateway.tick(now_us());
            self.carry_out(&mut state);
        }
    }

    fn carry_out(self: &Arc<Self>, state: &mut State) {
        for output in state.gateway.outputs() {
            match output {
                Output::Send(id, frame) => {
                    let Some(outbox) = state.outboxes.get(&id) else { continue };
                    if outbox.try_send(frame.into()).is_err() {
                        tracing::warn!("an edge client is disconnected: it reads too slowly");
                        state.outboxes.remove(&id);
                    }
                }
                // What was sent before is written: the end of the outbox comes behind it.
                Output::Close(id) => drop(state.outboxes.remove(&id)),
                Output::Ask(id, ask) => {
                    tokio::spawn(self.clone().answer(id, ask));
                }
            }
        }
    }

    /// Asks the data thread, and tells the gateway.
    async fn answer(self: Arc<Self>, id: AskId, ask: Ask) {
        let (answers, answered) = oneshot::channel();
        let asked = async {
            self.ask.send((ask.operation(), answers)).await.ok()?;
            answered.await.ok()
        };
        let answer = match asked.await {
            Some(outcome) => {
                let now = Hlc::at(now_us());
                let answer = ask.answer(outcome, |found| shown(found, now));
                answer.unwrap_or_else(|| Answer::Failed(Failure::Refused("it cannot be read".into())))
            }
            None => Answer::Failed(Failure::Unavailable("the node stops, or has a new leader".into())),
        };
        let mut state = self.state();
        state.gateway.answered(id, answer, now_us());
        self.carry_out(&mut state);
    }
}
