//! QUIT.

use super::{BEFORE_AUTH, CONNECTION};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "quit",
    arity: -1,
    flags: BEFORE_AUTH,
    summary: "Closes the connection.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.ok();
    Ok(Next::Close)
}
