//! DEBUG.

use super::ADMIN;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "debug",
    arity: -2,
    flags: ADMIN,
    syntax: "subcommand",
    summary: "Debugs the server.",
    remark: "Refused.",
    handler: Handler::Local(|_, _, _| Err(ErrorReply::fixed("ERR DEBUG command not allowed."))),
    ..Spec::DEFAULT
};
