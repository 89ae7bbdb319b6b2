//! What a connection says about itself: HELLO, AUTH, PING, ECHO, SELECT, RESET, QUIT.

use super::super::command::Call;
use super::super::connection::{Connection, Context, Next, Replies};
use super::super::error::ErrorReply;
use super::super::table::{Group, Handler, Spec};
use super::super::{Config, REDIS_VERSION};
use super::client::{check_attribute, set_name};
use tidemark_wire::resp::{Encoder, Version, parse_i64};

type Answer = Result<Next, ErrorReply>;

const FAST: &[&str] = &["noscript", "loading", "stale", "fast"];
const BEFORE_AUTH: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"];
const CONNECTION: Spec = Spec { group: Group::Connection, flags: FAST, ..Spec::DEFAULT };

pub(in super::super) const SPECS: &[Spec] = &[
    Spec {
        name: "hello",
        arity: -1,
        flags: BEFORE_AUTH,
        since: "6.0.0",
        syntax: "[protover [AUTH username password] [SETNAME clientname]]",
        summary: "Chooses the protocol version; tells about the server.",
        handler: Handler::Local(hello),
        ..CONNECTION
    },
    Spec {
        name: "auth",
        arity: -2,
        flags: BEFORE_AUTH,
        syntax: "[username] password",
        summary: "Authenticates the connection.",
        remark: "The only user is default.",
        handler: Handler::Local(auth),
        ..CONNECTION
    },
    Spec {
        name: "ping",
        arity: -1,
        flags: &["fast"],
        syntax: "[message]",
        summary: "Returns PONG, or the message.",
        handler: Handler::Local(ping),
        ..CONNECTION
    },
    Spec {
        name: "echo",
        arity: 2,
        flags: &["loading", "stale", "fast"],
        syntax: "message",
        summary: "Returns the message.",
        handler: Handler::Local(|_, call, _, out| {
            out.bulk(&call.arguments[0]);
            Ok(Next::Continue)
        }),
        ..CONNECTION
    },
    Spec {
        name: "select",
        arity: 2,
        flags: &["loading", "stale", "fast"],
        syntax: "index",
        summary: "Chooses the database.",
        remark: "The only one is 0.",
        handler: Handler::Local(select),
        ..CONNECTION
    },
    Spec {
        name: "reset",
        flags: BEFORE_AUTH,
        since: "6.2.0",
        summary: "Puts the connection back into the state of a new one.",
        remark: "The session stays: what it has seen it goes on seeing.",
        handler: Handler::Local(reset),
        ..CONNECTION
    },
    Spec {
        name: "quit",
        arity: -1,
        flags: BEFORE_AUTH,
        summary: "Closes the connection.",
        handler: Handler::Local(|_, _, _, out| {
            out.ok();
            Ok(Next::Close)
        }),
        ..CONNECTION
    },
];

/// What browsers send, when a page makes them talk to this server.
static ATTACK: Spec = Spec {
    name: "post|host:",
    arity: -1,
    flags: &["no_auth"],
    handler: Handler::Local(|_, _, _, _| Ok(Next::Close)),
    ..Spec::DEFAULT
};

/// The row that closes the connection without a word, if `name` is one that only HTTP has: requests that a browser
/// was tricked into sending must not go on into its body, where commands may stand.
pub(in super::super) fn attack(name: &[u8]) -> Option<&'static Spec> {
    (name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")).then_some(&ATTACK)
}

fn hello(connection: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let mut arguments = call.arguments.iter();
    let version = match arguments.next().map(|text| parse_i64(text)) {
        None => connection.version,
        Some(None) => {
            return Err(ErrorReply::fixed("ERR Protocol version is not an integer or out of range"));
        }
        Some(Some(2)) => Version::Resp2,
        Some(Some(3)) => Version::Resp3,
        Some(Some(_)) => return Err(ErrorReply::fixed("NOPROTO unsupported protocol version")),
    };
    let (mut credentials, mut name) = (None, None);
    while let Some(option) = arguments.next() {
        let left = arguments.len();
        if option.eq_ignore_ascii_case(b"auth") && left >= 2 {
            credentials = arguments.next().zip(arguments.next());
        } else if option.eq_ignore_ascii_case(b"setname") && left >= 1 {
            name = arguments.next();
        } else {
            let mut text = b"ERR Syntax error in HELLO option '".to_vec();
            text.extend_from_slice(option);
            text.push(b'\'');
            return Err(ErrorReply::new(text));
        }
    }
    let name = name.map(|name| check_attribute(name, "Client names")).transpose()?;
    if let Some((user, password)) = credentials {
        authenticate(connection, cx.config, user, password)?;
    } else if cx.config.password().is_none() {
        connection.authenticated = true;
    }
    if !connection.authenticated {
        return Err(ErrorReply::fixed(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
             AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol \
             version at the same time",
        ));
    }
    if let Some(name) = name {
        set_name(connection, cx, name);
    }
    speak(connection, cx, out, version);
    greet(connection, out);
    Ok(Next::Continue)
}

fn speak(connection: &mut Connection, cx: &mut Context<'_>, out: &mut Encoder<'_>, version: Version) {
    connection.version = version;
    out.set_version(version);
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.version = version;
    }
}

/// All seven pairs: clients fail on a missing one.
fn greet(connection: &Connection, out: &mut Encoder<'_>) {
    out.map(7);
    out.bulk("server");
    out.bulk("redis");
    out.bulk("version");
    out.bulk(REDIS_VERSION);
    out.bulk("proto");
    out.integer(connection.version.number());
    out.bulk("id");
    out.integer(connection.id as i64);
    out.bulk("mode");
    out.bulk("standalone");
    out.bulk("role");
    out.bulk("master");
    out.bulk("modules");
    out.array(0);
}

fn auth(connection: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    match &call.arguments[..] {
        [_] if cx.config.password().is_none() => {
            connection.authenticated = true;
            return Err(ErrorReply::fixed(
                "ERR AUTH <password> called without any password configured for the default user. Are you \
                 sure your configuration is correct?",
            ));
        }
        [password] => authenticate(connection, cx.config, b"default", password)?,
        [user, password] => authenticate(connection, cx.config, user, password)?,
        _ => return Err(ErrorReply::SYNTAX),
    }
    out.ok();
    Ok(Next::Continue)
}

fn authenticate(
    connection: &mut Connection,
    config: &Config,
    user: &[u8],
    password: &[u8],
) -> Result<(), ErrorReply> {
    let good = user == b"default"
        && config.password().is_none_or(|expected| equal_in_constant_time(expected.as_bytes(), password));
    if !good {
        return Err(ErrorReply::WRONGPASS);
    }
    connection.authenticated = true;
    Ok(())
}

/// Whether they are equal, in a time that tells nothing about where they differ.
fn equal_in_constant_time(expected: &[u8], given: &[u8]) -> bool {
    let difference = expected.iter().zip(given).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0 && expected.len() == given.len()
}

fn ping(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    match &call.arguments[..] {
        [] => out.simple("PONG"),
        [message] => out.bulk(message),
        _ => return Err(ErrorReply::arity("ping")),
    }
    Ok(Next::Continue)
}

fn select(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    match parse_i64(&call.arguments[0]) {
        Some(0) => out.ok(),
        Some(_) => return Err(ErrorReply::fixed("ERR DB index is out of range")),
        None => return Err(ErrorReply::NOT_AN_INTEGER),
    }
    Ok(Next::Continue)
}

fn reset(connection: &mut Connection, _: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    *connection = Connection { replies: Replies::On, ..Connection::new(connection.id, cx.config) };
    speak(connection, cx, out, Version::Resp2);
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.name.clear();
        (client.no_evict, client.no_touch) = (false, false);
    }
    out.simple("RESET");
    Ok(Next::Continue)
}
