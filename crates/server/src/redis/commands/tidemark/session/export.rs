//! TIDE.SESSION EXPORT.

use super::TIDEMARK;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "tide.session|export",
    arity: 2,
    flags: &["readonly"],
    summary: "Returns a token of everything that this session has read and written.",
    handler: Handler::Local(answer),
    ..TIDEMARK
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.bulk(cx.info.session_token());
    Ok(Next::Continue)
}
