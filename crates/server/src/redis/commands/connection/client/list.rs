//! CLIENT LIST.

use super::{ADMIN, CLIENT, Type, client_id};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|list",
    arity: -2,
    flags: ADMIN,
    syntax: "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
    summary: "Describes the connections of this node.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let mut ids = None;
    let mut wanted = None;
    match &call.arguments[..] {
        [] => {}
        [option, kind] if is(option, "type") => wanted = Some(Type::parse(kind)?),
        [option, numbers @ ..] if is(option, "id") && !numbers.is_empty() => {
            let numbers: Option<Vec<u64>> = numbers.iter().map(|text| client_id(text)).collect();
            ids = Some(numbers.ok_or(ErrorReply::fixed("ERR Invalid client ID"))?);
        }
        _ => return Err(ErrorReply::SYNTAX),
    }
    let mut text = String::new();
    for client in cx.registry.iter() {
        if wanted.is_none_or(|wanted| wanted == Type::of(client))
            && ids.as_ref().is_none_or(|ids| ids.contains(&client.id))
        {
            client.describe(cx.now, &mut text);
        }
    }
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}
