//! AUTH.

use super::{BEFORE_AUTH, CONNECTION};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "auth",
    arity: -2,
    flags: BEFORE_AUTH,
    syntax: "[username] password",
    summary: "Authenticates the connection.",
    remark: "The only user is `default`.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [_] if cx.config.password().is_none() => {
            connection.authenticated = true;
            return Err(ErrorReply::fixed(
                "ERR AUTH <password> called without any password configured for the default user. Are you \
                 sure your configuration is correct?",
            ));
        }
        [password] => connection.authenticate(cx.config, b"default", password)?,
        [user, password] => connection.authenticate(cx.config, user, password)?,
        _ => return Err(ErrorReply::SYNTAX),
    }
    cx.out.ok();
    Ok(Next::Continue)
}
