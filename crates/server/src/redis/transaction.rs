//! Transactions: the commands that a connection has queued since MULTI, and the keys that it watches.
//!
//! **Idea.** Commands are queued as they came, and understood when EXEC comes. All that name keys become one program, which the
//! partition of these keys interprets: on one view, with what the transaction has written on top, and as one version of each key
//! ([`tidemark_contract::programs`]). The others are carried out around it ([`exec`]).
//!
//! WATCH asks the partition for a mark of each key, which is another one after each change. EXEC brings the marks along: if
//! one differs, nothing happens.

mod exec;
mod program;

pub(super) use exec::Exec;
pub(super) use program::{compose, interpret};

use super::command::{Command, Work};
use super::connection::flushes;
use super::error::ErrorReply;
use super::pause::may_write;
use super::prelude::*;
use super::scripts::says_no_writes;
use super::table::Table;
use std::cell::RefCell;
use std::rc::Rc;
use tidemark_wire::resp::encode_request;

/// A transaction may queue so many bytes.
const BYTES_MAX: usize = 64 << 20;

/// Keys that are watched, each with its mark.
pub(super) type Watched = Rc<RefCell<Vec<(Key, Bytes)>>>;

/// What a connection has queued, and watches.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Since MULTI.
    queue: Option<Queued>,
    watched: Watched,
}

/// A transaction that EXEC carries out.
pub(super) struct Closed {
    requests: Vec<(&'static Spec, Bytes)>,
    watched: Vec<(Key, Bytes)>,
}

/// Requests, each as it came, with its row.
#[derive(Debug, Default)]
struct Queued {
    requests: Vec<(&'static Spec, Bytes)>,
    bytes: usize,
    /// One may change something.
    writes: bool,
    /// One flushes the database.
    flushes: bool,
    /// One may add data.
    adds: bool,
    /// One could not be queued: EXEC will fail.
    failed: bool,
}

/// What answers a command that was queued.
static QUEUED: Spec =
    Spec { name: "queued", handler: Handler::Local(|_, _, _| Err(ErrorReply::UNEXPECTED)), ..Spec::DEFAULT };

fn queued(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.simple("QUEUED");
    Ok(Next::Continue)
}

impl Transaction {
    /// Whether commands are queued.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether a command that may change something is queued.
    pub(super) fn writes(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.writes)
    }

    /// Whether a command that flushes the database is queued.
    pub(super) fn flushes(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.flushes)
    }

    /// Whether a command that may add data is queued.
    pub(super) fn may_add_data(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.adds)
    }

    /// A command was refused before it was queued: EXEC will fail. Nothing if there is no MULTI.
    pub(super) fn fail(&mut self) {
        self.queue.iter_mut().for_each(|queue| queue.failed = true);
    }

    /// MULTI.
    pub(super) fn open(&mut self) -> Result<(), ErrorReply> {
        if self.is_open() {
            return Err(ErrorReply::fixed("ERR MULTI calls can not be nested"));
        }
        self.queue = Some(Queued::default());
        Ok(())
    }

    /// DISCARD.
    pub(super) fn discard(&mut self) -> Result<(), ErrorReply> {
        self.queue.take().ok_or(ErrorReply::fixed("ERR DISCARD without MULTI"))?;
        self.unwatch();
        Ok(())
    }

    /// UNWATCH. A WATCH that is under way watches nothing.
    pub(super) fn unwatch(&mut self) {
        self.watched = Watched::default();
    }

    /// Whether a key may be watched now.
    pub(super) fn may_watch(&self) -> Result<(), ErrorReply> {
        match self.is_open() {
            true => Err(ErrorReply::fixed("ERR WATCH inside MULTI is not allowed")),
            false => Ok(()),
        }
    }

    /// Where WATCH leaves marks.
    pub(super) fn watched(&self) -> Watched {
        Rc::clone(&self.watched)
    }

    /// EXEC: what was queued, and what is watched. Both are forgotten.
    pub(super) fn close(&mut self) -> Result<Closed, ErrorReply> {
        let queue = self.queue.take().ok_or(ErrorReply::fixed("ERR EXEC without MULTI"))?;
        let watched = std::mem::take(&mut self.watched).take();
        if queue.failed {
            return Err(ErrorReply::fixed("EXECABORT Transaction discarded because of previous errors."));
        }
        Ok(Closed { requests: queue.requests, watched })
    }

    /// Queues a request; none if it is one that is carried out at once. REQUIRES: [`Self::is_open`].
    pub(super) fn queue(&mut self, request: &Request<'_>) -> Result<Option<Command>, ErrorReply> {
        let result = self.try_queue(request);
        match &result {
            // An EXEC that fails ends the transaction, too.
            Err(error) if *error == ErrorReply::ABORTED_BY_ARITY => self.discard()?,
            Err(_) => self.fail(),
            Ok(_) => {}
        }
        result
    }

    fn try_queue(&mut self, request: &Request<'_>) -> Result<Option<Command>, ErrorReply> {
        let spec = Table::get().resolve(request)?;
        if ["multi", "exec", "discard", "watch", "quit", "reset"].contains(&spec.name) {
            return Ok(None);
        }
        // WAIT counts what earlier commands have written, and nothing has been written yet.
        let waits = ["wait", "waitaof"].contains(&spec.name);
        if spec.has("no_multi") || matches!(spec.handler, Handler::Prefix { .. }) || waits {
            return Err(ErrorReply::fixed("ERR Command not allowed inside a transaction"));
        }
        let mut bytes = Vec::new();
        encode_request(&mut bytes, &request.iter().collect::<Vec<_>>());
        let queue = self.queue.get_or_insert_default();
        queue.bytes += bytes.len();
        let only_reads = spec.name == "eval" && says_no_writes(&request[1]);
        queue.flushes |= flushes(spec);
        queue.adds |= spec.has("denyoom");
        queue.writes |= may_write(spec) && !only_reads;
        if queue.bytes > BYTES_MAX {
            return Err(ErrorReply::new(format!("ERR a transaction is limited to {BYTES_MAX} bytes")));
        }
        queue.requests.push((spec, bytes.into()));
        let call = Call { answer: queued, arguments: Vec::new(), command: None };
        Ok(Some(Command { spec: &QUEUED, work: Work::Local(call) }))
    }
}

/// The operation that asks for the mark of a key.
pub(super) fn mark_of(key: Key) -> Op {
    typed::call(key, tidemark_core::Command::new(Verb::Watch, Vec::new()))
}

/// WATCH: asks for the mark of one key after the other.
pub(super) struct Watch {
    /// Those that are left, in reverse order.
    keys: Vec<Key>,
    watched: Watched,
}

impl Watch {
    pub(super) fn new(mut keys: Vec<Key>, watched: Watched) -> Self {
        keys.reverse();
        Self { keys, watched }
    }

    fn next(&mut self, out: &mut Encoder<'_>) -> Step {
        let known = |key: &Key| self.watched.borrow().iter().any(|(watched, _)| watched == key);
        while self.keys.last().is_some_and(known) {
            self.keys.pop();
        }
        match self.keys.last() {
            Some(key) => Step::Op(mark_of(key.clone())),
            None => {
                out.ok();
                Step::Done
            }
        }
    }
}

impl Steps for Watch {
    fn begin(&mut self, _: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(self.next(out))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let Reply::Bulk(mark) = typed::answer(outcome)? else { return Err(ErrorReply::UNEXPECTED) };
        let key = self.keys.pop().ok_or(ErrorReply::UNEXPECTED)?;
        self.watched.borrow_mut().push((key, mark));
        Ok(self.next(out))
    }
}
