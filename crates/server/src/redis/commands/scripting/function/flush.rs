//! FUNCTION FLUSH.

use super::{FUNCTION, too_many};
use crate::redis::commands::server::is_flush_mode;
use crate::redis::functions::{Libraries, manage};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|flush",
    arity: -2,
    flags: &["write", "noscript"],
    syntax: "[ASYNC | SYNC]",
    summary: "Deletes every library.",
    remark: "At once, those that this region sees.",
    handler: Handler::Operations(parse),
    ..FUNCTION
};

fn parse(request: &mut Request<'_>) -> Parsed {
    match request.len() {
        2 => {}
        3 if is_flush_mode(&request[2]) => {}
        3 => return Err(ErrorReply::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")),
        _ => return Err(too_many(request)),
    }
    Ok(manage(|_, _| Ok((vec![Libraries::flush()], Reply::Ok))))
}
