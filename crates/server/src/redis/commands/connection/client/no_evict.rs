//! CLIENT NO-EVICT.

use super::{ADMIN, CLIENT, flag};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|no-evict",
    arity: 3,
    flags: ADMIN,
    since: "7.0.0",
    syntax: "<ON | OFF>",
    summary: "Protects the connection from eviction.",
    remark: "Accepted without effect: no connection is ever evicted.",
    handler: Handler::Local(|connection, call, cx| flag(connection, call, cx, |client| &mut client.no_evict)),
    ..CLIENT
};
