//! CLIENT.

use super::{CONNECTION, printable};
use crate::redis::prelude::*;
use crate::redis::registry::Client;
use tidemark_wire::resp::parse_i64;

subcommands! {
    "client|help", id, getname, setname, setinfo, info, list, kill, reply, no_evict, no_touch,
}

const FLAGS: &[&str] = &["noscript", "loading", "stale"];
const ADMIN: &[&str] = &["admin", "noscript", "loading", "stale"];
const CLIENT: Spec = Spec { since: "2.4.0", ..CONNECTION };

pub(super) static SPEC: Spec = Spec {
    name: "client",
    arity: -2,
    summary: "Shows and controls connections.",
    subcommands: COMMANDS,
    ..CLIENT
};

/// Whether the type is that of every connection here.
fn is_normal(kind: &[u8]) -> Result<bool, ErrorReply> {
    if ["master", "replica", "slave", "pubsub"].iter().any(|name| is(kind, name)) {
        return Ok(false);
    }
    if is(kind, "normal") {
        return Ok(true);
    }
    let kind = String::from_utf8_lossy(kind);
    Err(ErrorReply::new(format!("ERR Unknown client type '{kind}'")))
}

fn client_id(text: &[u8]) -> Option<u64> {
    parse_i64(text).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0)
}

/// Sets a flag of the connection to ON or OFF.
fn flag(
    connection: &Connection,
    call: &Call,
    cx: &mut Context<'_>,
    which: fn(&mut Client) -> &mut bool,
) -> Answer {
    let on = is(&call.arguments[0], "on");
    if !on && !is(&call.arguments[0], "off") {
        return Err(ErrorReply::SYNTAX);
    }
    if let Some(client) = cx.registry.get_mut(connection.id) {
        *which(client) = on;
    }
    cx.out.ok();
    Ok(Next::Continue)
}
