//! HELLO.

use super::{BEFORE_AUTH, CONNECTION, printable};
use crate::redis::REDIS_VERSION;
use crate::redis::prelude::*;
use tidemark_wire::resp::{Version, parse_i64};

pub(super) static SPEC: Spec = Spec {
    name: "hello",
    arity: -1,
    flags: BEFORE_AUTH,
    since: "6.0.0",
    syntax: "[protover [AUTH username password] [SETNAME clientname]]",
    summary: "Selects the version of RESP and returns properties of the server.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
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
        if is(option, "auth") && left >= 2 {
            credentials = arguments.next().zip(arguments.next());
        } else if is(option, "setname") && left >= 1 {
            name = arguments.next();
        } else {
            let mut text = b"ERR Syntax error in HELLO option '".to_vec();
            text.extend_from_slice(option);
            text.push(b'\'');
            return Err(ErrorReply::new(text));
        }
    }
    let name = name.map(|name| printable(name, "Client names")).transpose()?;
    if let Some((user, password)) = credentials {
        connection.authenticate(cx.config, user, password)?;
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
    if let (Some(name), Some(client)) = (name, cx.registry.get_mut(connection.id)) {
        client.name = name;
    }
    connection.speak(version, cx);
    properties(connection, &mut cx.out);
    Ok(Next::Continue)
}

/// All seven pairs: clients fail on a missing one.
fn properties(connection: &Connection, out: &mut Encoder<'_>) {
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
