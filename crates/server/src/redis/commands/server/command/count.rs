//! COMMAND COUNT.

use super::COMMAND;
use crate::redis::prelude::*;
use crate::redis::table::Table;

pub(super) static SPEC: Spec = Spec {
    name: "command|count",
    arity: 2,
    summary: "Returns the number of commands.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.integer(Table::get().iter().len() as i64);
    Ok(Next::Continue)
}
