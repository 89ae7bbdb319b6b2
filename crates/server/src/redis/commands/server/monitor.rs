//! MONITOR.

use crate::redis::connection::Mode;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "monitor",
    flags: &["admin", "noscript", "loading", "stale"],
    summary: "Sends a line for each command that this node carries out.",
    remark: "Ends with RESET or the connection. Commands of administrators are not shown, and no passwords. \
             A connection that does not read is closed by the limit for subscribers.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    connection.mode = Mode::Monitor;
    cx.shared.monitor(connection.id);
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.monitor = true;
    }
    cx.out.ok();
    Ok(Next::Continue)
}
