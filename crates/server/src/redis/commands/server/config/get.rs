//! CONFIG GET.

use super::{CONFIG, FLAGS};
use crate::redis::prelude::*;
use tidemark_core::glob::glob_matches;

pub(super) static SPEC: Spec = Spec {
    name: "config|get",
    arity: -3,
    flags: FLAGS,
    syntax: "parameter [parameter ...]",
    summary: "Returns the settings whose names match one of the patterns.",
    handler: Handler::Local(answer),
    ..CONFIG
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let wanted =
        |name: &str| call.arguments.iter().any(|pattern| glob_matches(pattern, name.as_bytes(), true));
    let found: Vec<(&str, &str)> = cx.config.iter().filter(|(name, _)| wanted(name)).collect();
    cx.out.map(found.len());
    for (name, value) in found {
        cx.out.bulk(name);
        cx.out.bulk(value);
    }
    Ok(Next::Continue)
}
