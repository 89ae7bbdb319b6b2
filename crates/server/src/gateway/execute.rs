//! Commands of one connection, one after the other: parsed out of its read buffer, run against the node within the
//! call where that is possible, their replies appended to its outbound bytes.

use super::client::{Client, Resumption, Running};
use super::info;
use crate::redis::{Call, Command, ErrorReply, Family, Keyspace, Next, Pending, Spec, Step, Work};
use crate::run::shard::{Core, Engine};
use crate::stats::{outcome, outcome_of};
use bytes::BytesMut;
use tidemark_core::Outcome;
use tidemark_node::{SessionId, TokenError};
use tidemark_wire::resp::{Encoder, RequestParser};

/// With so many bytes of replies unwritten a client is not served until it has read some of them.
const OUT_BYTES_MAX: usize = 1 << 20;
/// Operations of one command in one batch: a long command does not keep the others waiting.
const SHARE: usize = 1_000;

/// What the connection's task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Read more.
    Read,
    /// Wait until it is woken.
    Wait,
    /// Let others have their turn, then go on.
    Yield,
    /// End.
    Close,
}

/// Runs what `buffer` holds for the client of `session`.
pub(crate) fn execute(
    core: &mut Core,
    session: SessionId,
    parser: &mut RequestParser,
    buffer: &mut BytesMut,
) -> Status {
    let engine = &mut core.engine;
    let Some(client) = core.clients.get(session) else { return Status::Close };
    engine.now = engine.clock.now();
    client.wants_room = false;
    if client.out.commands == 0 {
        client.out.since = engine.now.mono;
    }
    let status = run(engine, client, parser, buffer);
    if client.out.holds() {
        engine.touch(client);
    }
    status
}

fn run(
    engine: &mut Engine,
    client: &mut Client,
    parser: &mut RequestParser,
    buffer: &mut BytesMut,
) -> Status {
    if client.running.is_some()
        && let Some(status) = status_after(client, |client| resume(engine, client))
    {
        return status;
    }
    loop {
        if client.closing {
            return Status::Close;
        }
        if client.out.bytes.len() > OUT_BYTES_MAX {
            client.wants_room = true;
            return Status::Wait;
        }
        parser.set_authenticated(client.redis.is_authenticated());
        let command = match parser.parse(buffer) {
            Ok(None) => return Status::Read,
            Ok(Some(mut request)) => client.redis.parse(&mut request),
            Err(error) => {
                Encoder::new(&mut client.out.bytes, client.redis.version()).error(error.to_string());
                engine.stats.command(Family::Other, outcome::ERROR);
                client.closing = true;
                return Status::Close;
            }
        };
        client.out.commands += 1;
        let status = status_after(client, |client| match command {
            Ok(command) => start(engine, client, command),
            Err(error) => fail(engine, client, Family::Other, &error),
        });
        if let Some(status) = status {
            return status;
        }
    }
}

/// Goes on with a command, and drops its reply if the client asked for none; what to do next unless it has ended.
#[inline]
fn status_after(client: &mut Client, go_on: impl FnOnce(&mut Client) -> Progress) -> Option<Status> {
    let before = client.out.bytes.len();
    let progress = go_on(client);
    if client.redis.is_muted() {
        client.out.bytes.truncate(before);
    }
    match progress {
        Progress::Done => None,
        Progress::Waits => Some(Status::Wait),
        Progress::Share => Some(Status::Yield),
    }
}

/// How far a command came.
enum Progress {
    Done,
    /// For an outcome.
    Waits,
    /// It had its share of this batch.
    Share,
}

#[inline]
fn start(engine: &mut Engine, client: &mut Client, command: Command) -> Progress {
    if let Some(options) = client.redis.changed_options() {
        engine.node.configure(client.session, options);
    }
    match command.work {
        Work::Operations(task) => {
            let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
            match task.begin(&keyspace(engine), &mut out) {
                Ok((step, pending)) => perform(engine, client, command.spec, pending, step),
                Err(error) => fail(engine, client, command.spec.family, &error),
            }
        }
        Work::Local(call) => local(engine, client, command.spec, call),
    }
}

#[inline]
fn keyspace(engine: &Engine) -> Keyspace<'_> {
    Keyspace {
        topology: engine.topology(),
        write_transactions: engine.about.atomic_writes,
        now: engine.now.wall,
    }
}

/// Carries a command out from `step` on.
#[inline]
fn perform(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    mut pending: Pending,
    mut step: Step,
) -> Progress {
    for _ in 0..SHARE {
        let outcome = match step {
            Step::Op(op) => engine.node.begin(engine.now, client.session, op),
            Step::Import(text) => match engine.node.import(engine.now, client.session, &text) {
                Ok(outcome) => outcome,
                Err(TokenError::Ahead(failure)) => Some(Outcome::Failed(failure)),
                Err(error) => {
                    let error = ErrorReply::new(format!("ERR {error}"));
                    return fail(engine, client, spec.family, &error);
                }
            },
            Step::Done => return finish(engine, spec),
        };
        let Some(outcome) = outcome else {
            client.running = Some(Running { spec, pending, next: Resumption::Waits });
            return Progress::Waits;
        };
        match take(engine, client, spec, &mut pending, outcome) {
            Some(next) => step = next,
            None => return Progress::Done,
        }
    }
    client.running = Some(Running { spec, pending, next: Resumption::Step(step) });
    Progress::Share
}

/// Takes an outcome; the next step, unless the command has ended.
#[inline]
fn take(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    pending: &mut Pending,
    outcome: Outcome,
) -> Option<Step> {
    if let Outcome::Failed(failure) = outcome {
        fail_as(engine, client, spec.family, outcome_of(&failure), &pending.failed(&failure));
        return None;
    }
    let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
    match pending.step(outcome, &keyspace(engine), &mut out) {
        Ok(Step::Done) => finish(engine, spec),
        Ok(step) => return Some(step),
        Err(error) => fail(engine, client, spec.family, &error),
    };
    None
}

/// Goes on with the command that waited.
fn resume(engine: &mut Engine, client: &mut Client) -> Progress {
    let Some(Running { spec, mut pending, next }) = client.running.take() else { return Progress::Done };
    let step = match next {
        Resumption::Waits => {
            client.running = Some(Running { spec, pending, next });
            return Progress::Waits;
        }
        Resumption::Step(step) => Some(step),
        Resumption::Outcome(outcome) => take(engine, client, spec, &mut pending, outcome),
    };
    match step {
        Some(step) => perform(engine, client, spec, pending, step),
        None => Progress::Done,
    }
}

/// The reply was written.
#[inline]
fn finish(engine: &mut Engine, spec: &Spec) -> Progress {
    engine.stats.command(spec.family, outcome::OK);
    Progress::Done
}

/// The reply is an error.
#[cold]
fn fail(engine: &mut Engine, client: &mut Client, family: Family, error: &ErrorReply) -> Progress {
    fail_as(engine, client, family, outcome::ERROR, error)
}

#[cold]
fn fail_as(
    engine: &mut Engine,
    client: &mut Client,
    family: Family,
    outcome: usize,
    error: &ErrorReply,
) -> Progress {
    error.write(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
    engine.stats.command(family, outcome);
    Progress::Done
}

/// A command that needs no operation, and then the one behind it.
fn local(engine: &mut Engine, client: &mut Client, spec: &'static Spec, call: Call) -> Progress {
    let Client { redis, session, out, .. } = client;
    let out = Encoder::new(&mut out.bytes, redis.version());
    let next = info::with_context(engine, *session, spec, out, |cx| redis.handle(&call, cx));
    match (next, call.command) {
        (Err(error), _) => fail(engine, client, spec.family, &error),
        (Ok(Next::Continue), Some(command)) => start(engine, client, *command),
        (Ok(next), _) => {
            client.closing |= next == Next::Close;
            finish(engine, spec)
        }
    }
}
