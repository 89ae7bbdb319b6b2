//! CLIENT GETREDIR.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|getredir",
    arity: 2,
    flags: FLAGS,
    since: "6.0.0",
    summary: "Returns the connection that gets the messages of client-side caching.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let tracker = cx.shared.tracking.tracker(connection.id);
    cx.out.integer(tracker.map_or(-1, |tracker| tracker.redirect as i64));
    Ok(Next::Continue)
}
