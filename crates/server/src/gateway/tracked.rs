//! What commands of connections that cache have read: it is remembered before the command runs, and confirmed when it has ended.

use super::client::Client;
use crate::redis::{By, Command};
use crate::run::shard::Engine;

/// A command begins.
#[inline]
pub(super) fn begin_reads(engine: &mut Engine, client: &mut Client, command: Option<&Command>) {
    if engine.shared.tracking.is_any() {
        begin_reads_now(engine, client, command);
    }
}

#[cold]
fn begin_reads_now(engine: &mut Engine, client: &mut Client, command: Option<&Command>) {
    let shared = &mut engine.shared;
    let id = client.redis.id();
    if command.is_some_and(|command| client.redis.flushes(command.spec)) {
        shared.tracking.flush(By(Some(id)), &engine.registry, &mut shared.mail);
    }
    client.reads = client.redis.take_reads();
    if !client.reads.is_empty() {
        shared.script_has_read = false;
        shared.tracking.remember(id, &client.reads);
    }
}

/// A command has ended, unless it waits: what its connection is to be told behind the reply is left for delivery.
#[inline]
pub(super) fn end_reads(engine: &mut Engine, client: &mut Client) {
    if engine.shared.tracking.is_any() {
        end_reads_now(engine, client);
    }
}

#[cold]
fn end_reads_now(engine: &mut Engine, client: &mut Client) {
    let shared = &mut engine.shared;
    shared.hear_scripts();
    shared.tracking.release(&mut shared.mail);
    if client.running.is_none() && client.held.is_none() && !client.reads.is_empty() {
        let (reads, scripts_read) = (std::mem::take(&mut client.reads), shared.script_has_read);
        let id = client.redis.id();
        shared.tracking.confirm(id, (&reads, scripts_read), &engine.registry, &mut shared.mail);
    }
}
