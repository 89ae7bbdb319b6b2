//! CLIENT KILL.

use super::{ADMIN, CLIENT, Type, client_id};
use crate::redis::prelude::*;
use crate::redis::registry::Client;

pub(super) static SPEC: Spec = Spec {
    name: "client|kill",
    arity: -3,
    flags: ADMIN,
    syntax: "<ip:port | [ID client-id] [TYPE type] [USER username] [ADDR ip:port] \
             [LADDR ip:port] [SKIPME yes/no]>",
    summary: "Closes connections of this node.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    if let [address] = &call.arguments[..] {
        if cx.registry.kill(|client| client.address.as_bytes() == address) == 0 {
            return Err(ErrorReply::fixed("ERR No such client"));
        }
        cx.out.ok();
    } else {
        let filter = Filter::parse(&call.arguments)?;
        let this = connection.id;
        let killed = cx.registry.kill(|client| filter.picks(client, this));
        cx.out.integer(killed as i64);
    }
    Ok(if cx.registry.is_killed(connection.id) { Next::Close } else { Next::Continue })
}

/// Which connections are meant: those that fulfil every condition given.
struct Filter<'a> {
    id: Option<u64>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    of_type: Option<Type>,
    skip_me: bool,
}

impl<'a> Filter<'a> {
    fn parse(arguments: &'a [Bytes]) -> Result<Self, ErrorReply> {
        let mut filter = Self { id: None, address: None, local_address: None, of_type: None, skip_me: true };
        for pair in arguments.chunks(2) {
            let [option, value] = pair else { return Err(ErrorReply::SYNTAX) };
            if is(option, "id") {
                let id = client_id(value);
                filter.id = Some(id.ok_or(ErrorReply::fixed("ERR client-id should be greater than 0"))?);
            } else if is(option, "type") {
                filter.of_type = Some(Type::parse(value)?);
            } else if is(option, "addr") {
                filter.address = Some(value);
            } else if is(option, "laddr") {
                filter.local_address = Some(value);
            } else if is(option, "user") && value != "default" {
                let user = String::from_utf8_lossy(value);
                return Err(ErrorReply::new(format!("ERR No such user '{user}'")));
            } else if is(option, "skipme") && is(value, "no") {
                filter.skip_me = false;
            } else if is(option, "skipme") && is(value, "yes") {
                filter.skip_me = true;
            } else if !is(option, "user") {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(filter)
    }

    fn picks(&self, client: &Client, this: u64) -> bool {
        self.of_type.is_none_or(|of_type| of_type == Type::of(client))
            && self.id.is_none_or(|id| client.id == id)
            && self.address.is_none_or(|address| client.address.as_bytes() == address)
            && self.local_address.is_none_or(|address| client.local_address.as_bytes() == address)
            && !(self.skip_me && client.id == this)
    }
}
