//! Commands that are not begun yet: a pause holds them back, or their session lacks the past of a message.

use super::client::{Client, Held};
use super::ending::fail_as;
use super::execute::Progress;
use crate::redis::{Command, ErrorReply, Spec, Work, may_write};
use crate::run::shard::Engine;
use crate::stats::outcome_of;
use tidemark_core::Failure;

/// The session could not take over what publishers knew: the command is not begun.
#[cold]
pub(super) fn stale(
    engine: &mut Engine,
    client: &mut Client,
    (spec, times): (&'static Spec, usize),
    failure: &Failure,
) -> Progress {
    fail_as(engine, client, spec, (times, outcome_of(failure)), &ErrorReply::of(failure))
}

/// Whether a pause holds the command back.
#[inline]
pub(super) fn is_held(engine: &Engine, client: &Client, command: &Command) -> bool {
    let writes = || match &command.work {
        Work::Operations(task) if task.only_reads(&engine.shared.scripts) => false,
        _ if command.spec.name == "exec" => client.redis.queues_writes(),
        _ => may_write(command.spec),
    };
    engine.shared.pause.holds(engine.now.wall, writes)
}

/// A pause holds the command back.
#[cold]
pub(super) fn hold(engine: &mut Engine, client: &mut Client, command: Command) -> Progress {
    let noted = engine.shared.watch.put_aside();
    client.held = Some(Box::new(Held { command, noted }));
    block(engine, client, true);
    Progress::Waits
}

/// Notes whether a command of the client waits.
pub(super) fn block(engine: &mut Engine, client: &Client, blocked: bool) {
    if let Some(known) = engine.registry.get_mut(client.redis.id()) {
        known.blocked = blocked;
    }
}
