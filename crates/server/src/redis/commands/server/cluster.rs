//! CLUSTER.

use super::ADMIN;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "cluster",
    arity: -2,
    flags: ADMIN,
    group: Group::Cluster,
    since: "3.0.0",
    syntax: "subcommand",
    summary: "Shows and controls a Redis Cluster.",
    remark: "Refused: clients need not know which node holds a key.",
    handler: Handler::Local(|_, _, _| {
        Err(ErrorReply::fixed("ERR This instance has cluster support disabled"))
    }),
    ..Spec::DEFAULT
};
