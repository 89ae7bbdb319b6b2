//! CLIENT NO-TOUCH.

use super::{CLIENT, FLAGS, flag};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|no-touch",
    arity: 3,
    flags: FLAGS,
    since: "7.2.0",
    syntax: "<ON | OFF>",
    summary: "Keeps the connection's reads from changing the access times of keys.",
    remark: "Accepted without effect: keys have no access times.",
    handler: Handler::Local(|connection, call, cx| flag(connection, call, cx, |client| &mut client.no_touch)),
    ..CLIENT
};
