//! CLIENT TRACKINGINFO.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|trackinginfo",
    arity: 2,
    flags: FLAGS,
    since: "6.2.0",
    summary: "Returns how the connection uses client-side caching.",
    remark: "Always off: CLIENT TRACKING is not supported.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.map(3);
    cx.out.bulk("flags");
    cx.out.set(1);
    cx.out.bulk("off");
    cx.out.bulk("redirect");
    cx.out.integer(-1);
    cx.out.bulk("prefixes");
    cx.out.array(0);
    Ok(Next::Continue)
}
