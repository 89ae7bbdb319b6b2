//! CLIENT.

use super::{CONNECTION, printable};
use crate::redis::prelude::*;
use crate::redis::registry::Client;
use tidemark_wire::resp::parse_i64;

subcommands! {
    "client|help", caching, id, getname, getredir, setname, setinfo, info, list, kill, pause, reply, no_evict, no_touch,
    tracking, trackinginfo, unblock, unpause,
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

/// What CLIENT LIST and CLIENT KILL call the type of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Normal,
    Subscriber,
    /// Of Redis's replication: there is none here.
    Replication,
}

impl Type {
    fn parse(name: &[u8]) -> Result<Self, ErrorReply> {
        match &*name.to_ascii_lowercase() {
            b"normal" => Ok(Self::Normal),
            b"pubsub" => Ok(Self::Subscriber),
            b"master" | b"replica" | b"slave" => Ok(Self::Replication),
            _ => {
                let name = String::from_utf8_lossy(name);
                Err(ErrorReply::new(format!("ERR Unknown client type '{name}'")))
            }
        }
    }

    fn of(client: &Client) -> Self {
        if client.is_subscriber() { Self::Subscriber } else { Self::Normal }
    }
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
