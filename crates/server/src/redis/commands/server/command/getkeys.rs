//! COMMAND GETKEYS.

use super::COMMAND;
use crate::redis::key_places::key_places;
use crate::redis::prelude::*;
use crate::redis::table::Table;
use bytes::BytesMut;
use tidemark_wire::resp::{RequestParser, encode_request};

const INVALID: ErrorReply = ErrorReply::fixed("ERR Invalid arguments specified for command");

pub(super) static SPEC: Spec = Spec {
    name: "command|getkeys",
    arity: -4,
    syntax: "command [arg [arg ...]]",
    summary: "Returns the keys of a command.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let (_, keys) = keys(&call.arguments)?;
    cx.out.array(keys.len());
    keys.iter().for_each(|key| cx.out.bulk(key));
    Ok(Next::Continue)
}

/// The row of a command, and its keys.
pub(super) fn keys(arguments: &[Bytes]) -> Result<(&'static Spec, Vec<Bytes>), ErrorReply> {
    let (mut wire, mut parser) = (Vec::new(), RequestParser::default());
    encode_request(&mut wire, arguments);
    let mut buffer = BytesMut::from(&wire[..]);
    parser.set_authenticated(true);
    let Ok(Some(request)) = parser.parse(&mut buffer) else { return Err(INVALID) };
    let spec = Table::get().meant(&request).ok_or(ErrorReply::fixed("ERR Invalid command specified"))?;
    if spec.keys == Keys::NONE && !spec.has("movablekeys") && !matches!(spec.handler, Handler::Group(..)) {
        return Err(ErrorReply::fixed("ERR The command has no key arguments"));
    }
    if !spec.takes(request.len()) {
        return Err(ErrorReply::fixed("ERR Invalid number of arguments specified for command"));
    }
    let places = key_places(spec, &request).map_err(|_| INVALID)?;
    Ok((spec, places.into_iter().map(|at| arguments[at].clone()).collect()))
}
