//! Commands of one connection, one after the other: parsed out of its read buffer, run against the node within the
//! call where that is possible, their replies appended to its outbound bytes.

use super::ahead::{self, Next};
use super::blocked::{self, settle};
use super::bus;
use super::client::{Adoption, Client, Resumption, Running};
use super::deliver::{MAIL_MAX, deliver_own};
use super::ending::{fail, fail_as, finish, finish_all};
use super::held::{block, hold, is_held, stale};
use super::interactive;
use super::local::{answer_inside, local};
use super::memory;
use super::notes::{broken, refused, show};
use super::tracked::{begin_reads, end_reads};
use super::visible::look_at_outcome;
use crate::redis::{Command, ErrorReply, Keyspace, Pending, Spec, Step, Task, Work};
use crate::run::shard::{Core, Engine};
use crate::stats::{outcome, outcome_of};
use bytes::BytesMut;
use tidemark_contract::info::Transactions;
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
    /// The same; the client may leave meanwhile, which ends its command.
    Block,
    /// Let those have their turn who wait for what a command has written, then go on.
    Serve,
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
    core.engine.now = core.engine.clock.now();
    core.engine.shared.watch.begun = core.engine.now.mono;
    loop {
        let engine = &mut core.engine;
        let Some(client) = core.clients.get(session) else { return Status::Close };
        client.wants_room = false;
        if client.out.commands == 0 {
            client.out.since = engine.now.mono;
        }
        let status = run(engine, client, parser, buffer);
        if engine.shared.has_news() {
            bus::publish(engine, session);
        }
        if client.out.holds() {
            engine.touch(client);
        }
        let blocks = matches!(client.running, Some(Running { next: Resumption::Blocks, .. }));
        if blocked::has_work(engine) {
            blocked::serve(core);
        }
        match status {
            Status::Serve => {}
            Status::Wait if blocks => return Status::Block,
            status => return status,
        }
    }
}

fn run(
    engine: &mut Engine,
    client: &mut Client,
    parser: &mut RequestParser,
    buffer: &mut BytesMut,
) -> Status {
    if let Some(status) = go_on(engine, client) {
        return status;
    }
    let mut next = Next::default();
    loop {
        if client.closing {
            return Status::Close;
        }
        if client.out.bytes.len() > OUT_BYTES_MAX {
            client.wants_room = true;
            return Status::Wait;
        }
        next.begin(engine, buffer);
        parser.set_authenticated(client.redis.is_authenticated());
        memory::judge(engine, client);
        let command = match parser.parse(buffer) {
            Ok(None) => return Status::Read,
            Ok(Some(mut request)) => {
                engine.shared.watch.keep(&request);
                client.redis.parse(&mut request)
            }
            Err(error) => {
                broken(engine, client, &error.to_string());
                return Status::Close;
            }
        };
        client.out.commands += 1;
        let command =
            command.map(|command| ahead::join(engine, client, (parser, buffer), command, &mut next));
        next.pass();
        if let Some(status) = carry_out(engine, client, command) {
            return status;
        }
    }
}

/// Goes on with what was begun before; what to do next unless the client can have its next command.
#[inline]
fn go_on(engine: &mut Engine, client: &mut Client) -> Option<Status> {
    if client.closing && matches!(client.running, Some(Running { next: Resumption::Blocks, .. })) {
        client.running = None;
        settle(engine, client);
    }
    if client.running.is_some() {
        if let Some(status) = resumed(engine, client) {
            return Some(status);
        }
        if blocked::has_work(engine) {
            return Some(Status::Serve);
        }
    }
    if client.closing {
        return Some(Status::Close);
    }
    if matches!(client.adoption, Adoption::Waits(_)) {
        return Some(Status::Wait);
    }
    if let Adoption::Failed(node, failure) = std::mem::replace(&mut client.adoption, Adoption::None) {
        client.heard.push(node);
        if let Some(held) = client.held.take() {
            engine.shared.watch.take_up(held.noted);
            let which = (held.command.spec, held.command.times());
            status_after(client, |client| stale(engine, client, which, &failure));
        }
    }
    if let Some(held) = client.held.take() {
        block(engine, client, false);
        engine.shared.watch.take_up(held.noted);
        // The pause is not the command's fault.
        engine.shared.watch.begun = engine.now.mono;
        return carry_out(engine, client, Ok(held.command));
    }
    None
}

/// Carries a command out, and delivers its messages to its own client; what to do next unless it has ended.
#[inline]
fn carry_out(
    engine: &mut Engine,
    client: &mut Client,
    command: Result<Command, ErrorReply>,
) -> Option<Status> {
    let mail = engine.shared.mail.len();
    begin_reads(engine, client, command.as_ref().ok());
    let times = command.as_ref().map_or(1, Command::times);
    let status = status_after(client, |client| match command {
        Ok(command) if is_held(engine, client, &command) => hold(engine, client, command),
        Ok(command) => match bus::catch_up(engine, client, command) {
            Ok(command) => {
                show(engine, client, command.spec);
                start(engine, client, command)
            }
            Err(None) => Progress::Waits,
            Err(Some((spec, failure))) => stale(engine, client, (spec, times), &failure),
        },
        Err(error) => {
            refused(engine, client, &error);
            Progress::Done
        }
    });
    if engine.shared.has_news() {
        bus::publish(engine, client.session);
    }
    end_reads(engine, client);
    if engine.shared.mail.len() > mail {
        deliver_own(engine, client, mail);
        if engine.shared.mail.len() > MAIL_MAX && status.is_none() {
            return Some(Status::Yield);
        }
    }
    if status.is_none() && blocked::has_work(engine) { Some(Status::Serve) } else { status }
}

/// Goes on with a command, and drops its reply if the client asked for none; what to do next unless it has ended.
#[inline]
pub(super) fn status_after(
    client: &mut Client,
    go_on: impl FnOnce(&mut Client) -> Progress,
) -> Option<Status> {
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
pub(super) enum Progress {
    Done,
    /// For an outcome.
    Waits,
    /// It had its share of this batch.
    Share,
}

#[inline]
pub(super) fn start(engine: &mut Engine, client: &mut Client, command: Command) -> Progress {
    if let Some(options) = client.redis.changed_options() {
        engine.node.configure(client.session, options);
    }
    match command.work {
        Work::Operations(task) => begin(engine, client, command.spec, task),
        Work::Local(call) => local(engine, client, command.spec, call),
    }
}

#[inline]
pub(super) fn begin(engine: &mut Engine, client: &mut Client, spec: &'static Spec, task: Task) -> Progress {
    let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
    match task.begin(&keyspace(engine), &mut out) {
        Ok((step, pending)) => perform(engine, client, spec, pending, step),
        Err(error) => fail(engine, client, spec, &error),
    }
}

#[inline]
pub(super) fn keyspace(engine: &Engine) -> Keyspace<'_> {
    Keyspace {
        topology: engine.topology(),
        write_transactions: engine.about.transactions >= Transactions::Writes,
        types: engine.about.types,
        now: engine.now.wall,
        scripts: &engine.shared.scripts,
    }
}

/// Carries a command out from `step` on.
#[inline]
pub(super) fn perform(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    mut pending: Pending,
    mut step: Step,
) -> Progress {
    let mut change = None;
    for _ in 0..SHARE {
        let outcome = match step {
            Step::Op(op) => interactive::begin(engine, client, op, &mut change),
            Step::Import(_) if client.redis.interactive.is_open() => {
                return fail(engine, client, spec, &ErrorReply::IN_TRANSACTION);
            }
            Step::Import(text) => match engine.node.import(engine.now, client.session, &text) {
                Ok(outcome) => outcome,
                Err(TokenError::Ahead(failure)) => Some(Outcome::Failed(failure)),
                Err(error) => {
                    let error = ErrorReply::new(format!("ERR {error}"));
                    return fail(engine, client, spec, &error);
                }
            },
            Step::Local(command) => {
                let reply = answer_inside(engine, client, *command);
                let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
                match pending.answered(&reply, &keyspace(engine), &mut out) {
                    Ok(next) => step = next,
                    Err(error) => return fail(engine, client, spec, &error),
                }
                continue;
            }
            Step::Block if client.redis.interactive.is_open() => {
                pending.find_nothing(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
                return finish(engine, client, spec);
            }
            Step::Block => return blocked::wait(engine, client, spec, pending),
            Step::Done => return finish(engine, client, spec),
        };
        let Some(outcome) = outcome else {
            let noted = engine.shared.watch.put_aside();
            client.running = Some(Running { spec, pending, next: Resumption::Waits, change, noted });
            return Progress::Waits;
        };
        match take(engine, client, spec, &mut pending, outcome) {
            Some(next) => step = next,
            None => return Progress::Done,
        }
    }
    let noted = engine.shared.watch.put_aside();
    client.running = Some(Running { spec, pending, next: Resumption::Step(step), change: None, noted });
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
    let outcome = interactive::found(engine, client, outcome);
    if !client.redis.interactive.is_open() {
        look_at_outcome(engine, client, &outcome);
    }
    if spec.has_key_reads() {
        engine.stats.read(&outcome);
    }
    let errors = pending.errors(&outcome);
    let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
    let next = match outcome {
        Outcome::Failed(failure) => {
            let Some(next) = pending.after_failure(&failure, &keyspace(engine), &mut out).transpose() else {
                let how = (pending.times(), outcome_of(&failure));
                fail_as(engine, client, spec, how, &pending.failed(&failure));
                return None;
            };
            next
        }
        outcome => pending.step(outcome, &keyspace(engine), &mut out),
    };
    match next {
        Ok(Step::Done) => finish_all(engine, client, spec, (pending.times(), &errors)),
        Ok(step) => return Some(step),
        Err(error) => fail_as(engine, client, spec, (pending.times(), outcome::ERROR), &error),
    };
    None
}

/// Goes on with the command that waited; what to do next unless it has ended.
fn resumed(engine: &mut Engine, client: &mut Client) -> Option<Status> {
    let status = status_after(client, |client| resume(engine, client));
    end_reads(engine, client);
    status
}

fn resume(engine: &mut Engine, client: &mut Client) -> Progress {
    let Some(Running { spec, mut pending, next, change, noted }) = client.running.take() else {
        return Progress::Done;
    };
    let step = match next {
        Resumption::Waits | Resumption::Blocks => {
            client.running = Some(Running { spec, pending, next, change, noted });
            return Progress::Waits;
        }
        Resumption::Step(step) => {
            engine.shared.watch.take_up(noted);
            Some(step)
        }
        Resumption::Outcome(outcome) => {
            engine.shared.watch.take_up(noted);
            if let Some(change) = change {
                change.ended(engine, &outcome);
            }
            take(engine, client, spec, &mut pending, outcome)
        }
    };
    match step {
        Some(step) => perform(engine, client, spec, pending, step),
        None => Progress::Done,
    }
}
