//! CLIENT UNPAUSE.

use super::{ADMIN, CLIENT};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|unpause",
    arity: 2,
    flags: ADMIN,
    since: "6.2.0",
    summary: "Ends a pause.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.shared.pause.end();
    cx.out.ok();
    Ok(Next::Continue)
}
