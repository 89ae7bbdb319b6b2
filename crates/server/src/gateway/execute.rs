//! Commands of one connection, one after the other: parsed out of its read buffer, run against the node within the
//! call where that is possible, their replies appended to its outbound bytes.

use super::client::{Client, Resumption, Running};
use super::failures::token_in_words;
use super::plan::{Plan, Step};
use super::{asking, info};
use crate::redis::{Call, Command, ErrorReply, Next};
use crate::run::shard::{Core, Engine};
use crate::stats::{family, outcome, outcome_of};
use bytes::BytesMut;
use tidemark_core::{Op, Outcome, PartitionId};
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
    if client.running.is_some() {
        match resume(engine, client) {
            Progress::Done => end(engine, client),
            Progress::Waits => return Status::Wait,
            Progress::Share => return Status::Yield,
        }
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
                engine.stats.command(family::OTHER, outcome::ERROR);
                client.closing = true;
                return Status::Close;
            }
        };
        client.out.commands += 1;
        let progress = match command {
            Ok(command) => start(engine, client, command),
            Err(error) => {
                engine.stats.command(family::OTHER, outcome::ERROR);
                fail(client, &error)
            }
        };
        match progress {
            Progress::Done => end(engine, client),
            Progress::Waits => return Status::Wait,
            Progress::Share => return Status::Yield,
        }
    }
}

/// How far a command came.
pub(super) enum Progress {
    Done,
    /// For an answer.
    Waits,
    /// It had its share of this batch.
    Share,
}

/// A command has ended.
#[inline]
fn end(engine: &mut Engine, client: &mut Client) {
    if client.asks_apart {
        client.asks_apart = false;
        client.configure(&mut *engine.node);
    }
}

#[inline]
pub(super) fn start(engine: &mut Engine, client: &mut Client, command: Command) -> Progress {
    let family = family_of(&command);
    match Plan::of(command, engine.topology(), engine.about.atomic_writes) {
        Ok((plan, op)) => perform(engine, client, plan, op, family),
        Err(Command::Local(call)) => local(engine, client, &call),
        Err(Command::SessionExport) => {
            let text = engine.node.export(engine.now, client.session);
            answer(client, |out| out.bulk(text));
            engine.stats.command(family, outcome::OK);
            Progress::Done
        }
        Err(Command::SessionImport { token }) => import(engine, client, &token),
        Err(Command::Guarantee { levels, command }) => asking::guarantee(engine, client, levels, command),
        Err(Command::Checking { groups, command }) => asking::checking(engine, client, groups, command),
        Err(Command::Scan { .. }) => fail(client, &ErrorReply::INVALID_CURSOR),
        Err(_) => fail(client, &ErrorReply::SYNTAX),
    }
}

/// Runs the operations of a plan from `op` on.
#[inline]
fn perform(engine: &mut Engine, client: &mut Client, mut plan: Plan, mut op: Op, family: usize) -> Progress {
    for _ in 0..SHARE {
        let walked = match &op {
            Op::Scan { partition, .. } => *partition,
            _ => PartitionId(0),
        };
        let Some(outcome) = engine.node.begin(engine.now, client.session, op) else {
            client.running = Some(Running { plan, walked, next: Resumption::Waits, family });
            return Progress::Waits;
        };
        match take(engine, client, &mut plan, walked, outcome, family) {
            None => return Progress::Done,
            Some(next) => op = next,
        }
    }
    let walked = PartitionId(0);
    client.running = Some(Running { plan, walked, next: Resumption::Op(op), family });
    Progress::Share
}

/// Takes an outcome; the next operation, unless the command has ended.
#[inline]
fn take(
    engine: &mut Engine,
    client: &mut Client,
    plan: &mut Plan,
    walked: PartitionId,
    outcome: Outcome,
    family: usize,
) -> Option<Op> {
    let mut end = outcome::OK;
    if let Outcome::Failed(failure) = &outcome {
        end = outcome_of(failure);
    }
    let before = client.out.bytes.len();
    let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
    let step = if plan.is_walk() {
        plan.walk_step(outcome, walked, engine.topology(), &mut out)
    } else {
        plan.step(outcome, engine.topology(), &mut out)
    };
    match step {
        Step::Op(op) => return Some(op),
        Step::Done(true) => engine.stats.command(family, outcome::OK),
        Step::Done(false) => engine.stats.command(family, end.max(outcome::ERROR)),
    }
    if client.redis.is_muted() {
        client.out.bytes.truncate(before);
    }
    None
}

/// Goes on with the command that waited.
fn resume(engine: &mut Engine, client: &mut Client) -> Progress {
    let Some(mut running) = client.running.take() else { return Progress::Done };
    let op = match running.next {
        Resumption::Waits => {
            client.running = Some(running);
            return Progress::Waits;
        }
        Resumption::Op(op) => Some(op),
        Resumption::Outcome(outcome) => {
            take(engine, client, &mut running.plan, running.walked, outcome, running.family)
        }
    };
    match op {
        Some(op) => perform(engine, client, running.plan, op, running.family),
        None => Progress::Done,
    }
}

/// Writes a reply, unless the client asked for none.
pub(super) fn answer(client: &mut Client, write: impl FnOnce(&mut Encoder<'_>)) {
    if !client.redis.is_muted() {
        write(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
    }
}

pub(super) fn fail(client: &mut Client, error: &ErrorReply) -> Progress {
    answer(client, |out| error.write(out));
    Progress::Done
}

fn import(engine: &mut Engine, client: &mut Client, text: &[u8]) -> Progress {
    let (walked, family) = (PartitionId(0), family::SESSION);
    match engine.node.import(engine.now, client.session, text) {
        Ok(None) => {
            client.running = Some(Running { plan: Plan::Import, walked, next: Resumption::Waits, family });
            Progress::Waits
        }
        Ok(Some(outcome)) => {
            take(engine, client, &mut Plan::Import, walked, outcome, family);
            Progress::Done
        }
        Err(error) => {
            let ahead =
                if let TokenError::Ahead(failure) = &error { Some(outcome_of(failure)) } else { None };
            engine.stats.command(family, ahead.unwrap_or(outcome::ERROR));
            fail(client, &ErrorReply::new(token_in_words(&error)))
        }
    }
}

/// A command that needs no store.
fn local(engine: &mut Engine, client: &mut Client, call: &Call) -> Progress {
    let before = client.out.bytes.len();
    let asked = (client.redis.asks(), client.redis.checking().clone());
    let mut out = Encoder::new(&mut client.out.bytes, client.redis.version());
    if info::with_context(engine, |cx| client.redis.handle(call, cx, &mut out)) == Next::Close {
        client.closing = true;
    }
    if client.redis.is_muted() {
        client.out.bytes.truncate(before);
    }
    // RESET takes both back.
    if asked != (client.redis.asks(), client.redis.checking().clone()) {
        client.configure(&mut *engine.node);
    }
    engine.stats.command(family::OTHER, outcome::OK);
    Progress::Done
}

#[inline]
fn family_of(command: &Command) -> usize {
    match command {
        Command::Get { .. }
        | Command::StrLen { .. }
        | Command::Type { .. }
        | Command::MemoryUsage { .. }
        | Command::ObjectEncoding { .. } => family::GET,
        Command::Set { .. } | Command::SetNx { .. } | Command::GetSet { .. } => family::SET,
        Command::MGet { .. } => family::MGET,
        Command::MSet { .. } => family::MSET,
        Command::Del { .. } => family::DEL,
        Command::Exists { .. } => family::EXISTS,
        Command::DbSize | Command::Keys { .. } | Command::Scan { .. } => family::SCAN,
        Command::Flush => family::FLUSH,
        Command::SessionExport
        | Command::SessionImport { .. }
        | Command::Guarantee { .. }
        | Command::Checking { .. } => family::SESSION,
        Command::Local(_) => family::OTHER,
    }
}
