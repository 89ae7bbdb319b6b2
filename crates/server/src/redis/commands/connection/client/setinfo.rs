//! CLIENT SETINFO.

use super::{CLIENT, FLAGS, printable};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|setinfo",
    arity: 4,
    flags: FLAGS,
    since: "7.2.0",
    syntax: "<LIB-NAME libname | LIB-VER libver>",
    summary: "Sets the name or the version of the client's library.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let option = &call.arguments[0];
    let is_name = is(option, "lib-name");
    if !is_name && !is(option, "lib-ver") {
        let option = String::from_utf8_lossy(option);
        return Err(ErrorReply::new(format!("ERR Unrecognized option '{option}'")));
    }
    let value = printable(&call.arguments[1], if is_name { "lib-name" } else { "lib-ver" })?;
    if let Some(client) = cx.registry.get_mut(connection.id) {
        *(if is_name { &mut client.library } else { &mut client.library_version }) = value;
    }
    cx.out.ok();
    Ok(Next::Continue)
}
