//! CONFIG RESETSTAT.

use super::{CONFIG, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "config|resetstat",
    arity: 2,
    flags: FLAGS,
    summary: "Resets the counters of INFO.",
    handler: Handler::Local(answer),
    ..CONFIG
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.info.reset_statistics();
    cx.shared.commands.reset();
    cx.out.ok();
    Ok(Next::Continue)
}
