//! CLIENT: who is connected, under which name, and who must go.

use super::super::command::Call;
use super::super::connection::{Connection, Context, Next, Replies};
use super::super::error::ErrorReply;
use super::super::registry::Client;
use super::super::table::{Group, Handler, Spec};
use super::help;
use bytes::Bytes;
use tidemark_wire::resp::{Encoder, parse_i64};

type Answer = Result<Next, ErrorReply>;

const FLAGS: &[&str] = &["noscript", "loading", "stale"];
const ADMIN: &[&str] = &["admin", "noscript", "loading", "stale"];
const CLIENT: Spec = Spec { group: Group::Connection, flags: FLAGS, since: "2.4.0", ..Spec::DEFAULT };

pub(in super::super) const SPECS: &[Spec] = &[Spec {
    name: "client",
    arity: -2,
    flags: &[],
    summary: "Connections: this one and the others.",
    subcommands: SUBCOMMANDS,
    ..CLIENT
}];

const SUBCOMMANDS: &[Spec] = &[
    Spec {
        name: "client|id",
        arity: 2,
        since: "5.0.0",
        summary: "Returns the connection's number.",
        handler: Handler::Local(id),
        ..CLIENT
    },
    Spec {
        name: "client|getname",
        arity: 2,
        since: "2.6.9",
        summary: "Returns the connection's name.",
        handler: Handler::Local(get_name),
        ..CLIENT
    },
    Spec {
        name: "client|setname",
        arity: 3,
        since: "2.6.9",
        syntax: "connection-name",
        summary: "Names the connection.",
        handler: Handler::Local(set_name_command),
        ..CLIENT
    },
    Spec {
        name: "client|setinfo",
        arity: 4,
        since: "7.2.0",
        syntax: "<LIB-NAME libname | LIB-VER libver>",
        summary: "Notes which library the client uses.",
        handler: Handler::Local(set_info),
        ..CLIENT
    },
    Spec {
        name: "client|info",
        arity: 2,
        since: "6.2.0",
        summary: "Returns what is known about the connection.",
        remark: "Buffer and memory figures are 0.",
        handler: Handler::Local(info),
        ..CLIENT
    },
    Spec {
        name: "client|list",
        arity: -2,
        flags: ADMIN,
        syntax: "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
        summary: "Returns what is known about every connection.",
        remark: "Of this node.",
        handler: Handler::Local(list),
        ..CLIENT
    },
    Spec {
        name: "client|kill",
        arity: -3,
        flags: ADMIN,
        syntax: "<ip:port | [ID client-id] [TYPE type] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME yes/no]>",
        summary: "Closes connections.",
        remark: "Of this node.",
        handler: Handler::Local(kill),
        ..CLIENT
    },
    Spec {
        name: "client|reply",
        arity: 3,
        since: "3.2.0",
        syntax: "<ON | OFF | SKIP>",
        summary: "Turns replies on or off, or skips the next one.",
        handler: Handler::Local(reply),
        ..CLIENT
    },
    Spec {
        name: "client|no-evict",
        arity: 3,
        flags: ADMIN,
        since: "7.0.0",
        syntax: "<ON | OFF>",
        summary: "Protects the connection from eviction.",
        remark: "Accepted; no connection is ever evicted.",
        handler: Handler::Local(|connection, call, cx, out| {
            flag(connection, call, cx, out, |client| &mut client.no_evict)
        }),
        ..CLIENT
    },
    Spec {
        name: "client|no-touch",
        arity: 3,
        since: "7.2.0",
        syntax: "<ON | OFF>",
        summary: "Makes the connection's reads leave keys' ages alone.",
        remark: "Accepted; keys have no age.",
        handler: Handler::Local(|connection, call, cx, out| {
            flag(connection, call, cx, out, |client| &mut client.no_touch)
        }),
        ..CLIENT
    },
    help::row("client|help"),
];

fn id(connection: &mut Connection, _: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    out.integer(connection.id as i64);
    Ok(Next::Continue)
}

fn get_name(connection: &mut Connection, _: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    match cx.registry.get(connection.id) {
        Some(client) if !client.name.is_empty() => out.bulk(&client.name),
        _ => out.null(),
    }
    Ok(Next::Continue)
}

/// Names are shown in lists of one line a connection: printable, without spaces.
pub(super) fn check_attribute(text: &[u8], what: &str) -> Result<String, ErrorReply> {
    match std::str::from_utf8(text) {
        Ok(text) if text.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) => Ok(text.to_string()),
        _ => {
            Err(ErrorReply::new(format!("ERR {what} cannot contain spaces, newlines or special characters.")))
        }
    }
}

pub(super) fn set_name(connection: &Connection, cx: &mut Context<'_>, name: String) {
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.name = name;
    }
}

fn set_name_command(
    connection: &mut Connection,
    call: &Call,
    cx: &mut Context<'_>,
    out: &mut Encoder<'_>,
) -> Answer {
    let name = check_attribute(&call.arguments[0], "Client names")?;
    set_name(connection, cx, name);
    out.ok();
    Ok(Next::Continue)
}

fn set_info(connection: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let option = &call.arguments[0];
    let is_name = option.eq_ignore_ascii_case(b"lib-name");
    if !is_name && !option.eq_ignore_ascii_case(b"lib-ver") {
        let option = String::from_utf8_lossy(option);
        return Err(ErrorReply::new(format!("ERR Unrecognized option '{option}'")));
    }
    let what = if is_name { "lib-name" } else { "lib-ver" };
    let value = check_attribute(&call.arguments[1], what)?;
    if let Some(client) = cx.registry.get_mut(connection.id) {
        *(if is_name { &mut client.library } else { &mut client.library_version }) = value;
    }
    out.ok();
    Ok(Next::Continue)
}

fn info(connection: &mut Connection, _: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let mut text = String::new();
    if let Some(client) = cx.registry.get(connection.id) {
        client.describe(cx.now, &mut text);
    }
    out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}

fn list(_: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let mut ids = None;
    let mut normal = true;
    match &call.arguments[..] {
        [] => {}
        [option, kind] if option.eq_ignore_ascii_case(b"type") => normal = is_normal(kind)?,
        [option, numbers @ ..] if option.eq_ignore_ascii_case(b"id") && !numbers.is_empty() => {
            let numbers: Option<Vec<u64>> = numbers.iter().map(|text| client_id(text)).collect();
            ids = Some(numbers.ok_or(ErrorReply::fixed("ERR Invalid client ID"))?);
        }
        _ => return Err(ErrorReply::SYNTAX),
    }
    let mut text = String::new();
    for client in cx.registry.iter() {
        if normal && ids.as_ref().is_none_or(|ids| ids.contains(&client.id)) {
            client.describe(cx.now, &mut text);
        }
    }
    out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}

/// Whether the type is that of every connection here.
fn is_normal(kind: &[u8]) -> Result<bool, ErrorReply> {
    let is = |name: &str| kind.eq_ignore_ascii_case(name.as_bytes());
    if ["master", "replica", "slave", "pubsub"].iter().any(|name| is(name)) {
        return Ok(false);
    }
    let kind = String::from_utf8_lossy(kind);
    if is("normal") { Ok(true) } else { Err(ErrorReply::new(format!("ERR Unknown client type '{kind}'"))) }
}

fn client_id(text: &[u8]) -> Option<u64> {
    parse_i64(text).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0)
}

fn kill(connection: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    if let [address] = &call.arguments[..] {
        if cx.registry.kill(|client| client.address.as_bytes() == address) == 0 {
            return Err(ErrorReply::fixed("ERR No such client"));
        }
        out.ok();
    } else {
        let filter = Filter::parse(&call.arguments)?;
        let this = connection.id;
        out.integer(cx.registry.kill(|client| filter.picks(client, this)) as i64);
    }
    Ok(if cx.registry.is_killed(connection.id) { Next::Close } else { Next::Continue })
}

/// Which connections CLIENT KILL means: those that fulfil every condition given.
struct Filter<'a> {
    id: Option<u64>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    of_type: bool,
    skip_me: bool,
}

impl<'a> Filter<'a> {
    fn parse(arguments: &'a [Bytes]) -> Result<Self, ErrorReply> {
        let mut filter = Self { id: None, address: None, local_address: None, of_type: true, skip_me: true };
        for pair in arguments.chunks(2) {
            let [option, value] = pair else { return Err(ErrorReply::SYNTAX) };
            let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
            if is("id") {
                let id = client_id(value);
                filter.id = Some(id.ok_or(ErrorReply::fixed("ERR client-id should be greater than 0"))?);
            } else if is("type") {
                filter.of_type = is_normal(value)?;
            } else if is("addr") {
                filter.address = Some(value);
            } else if is("laddr") {
                filter.local_address = Some(value);
            } else if is("user") && value != "default" {
                let user = String::from_utf8_lossy(value);
                return Err(ErrorReply::new(format!("ERR No such user '{user}'")));
            } else if is("skipme") && value.eq_ignore_ascii_case(b"no") {
                filter.skip_me = false;
            } else if is("skipme") && value.eq_ignore_ascii_case(b"yes") {
                filter.skip_me = true;
            } else if !is("user") {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(filter)
    }

    fn picks(&self, client: &Client, this: u64) -> bool {
        self.of_type
            && self.id.is_none_or(|id| client.id == id)
            && self.address.is_none_or(|address| client.address.as_bytes() == address)
            && self.local_address.is_none_or(|address| client.local_address.as_bytes() == address)
            && !(self.skip_me && client.id == this)
    }
}

fn reply(connection: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let mode = &call.arguments[0];
    if mode.eq_ignore_ascii_case(b"on") {
        connection.replies = Replies::On;
        out.ok();
    } else if mode.eq_ignore_ascii_case(b"off") {
        connection.replies = Replies::Off;
    } else if mode.eq_ignore_ascii_case(b"skip") {
        if connection.replies != Replies::Off {
            connection.replies = Replies::SkipNext;
        }
    } else {
        return Err(ErrorReply::SYNTAX);
    }
    Ok(Next::Continue)
}

fn flag(
    connection: &mut Connection,
    call: &Call,
    cx: &mut Context<'_>,
    out: &mut Encoder<'_>,
    which: fn(&mut Client) -> &mut bool,
) -> Answer {
    let on = call.arguments[0].eq_ignore_ascii_case(b"on");
    if !on && !call.arguments[0].eq_ignore_ascii_case(b"off") {
        return Err(ErrorReply::SYNTAX);
    }
    if let Some(client) = cx.registry.get_mut(connection.id) {
        *which(client) = on;
    }
    out.ok();
    Ok(Next::Continue)
}
