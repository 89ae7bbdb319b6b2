//! COMMAND LIST.

use super::{COMMAND, categories};
use crate::redis::prelude::*;
use crate::redis::table::Table;
use tidemark_core::glob::glob_matches;

type Filter = Box<dyn Fn(&Spec) -> bool>;

pub(super) static SPEC: Spec = Spec {
    name: "command|list",
    arity: -2,
    since: "7.0.0",
    syntax: "[FILTERBY <MODULE name | ACLCAT category | PATTERN pattern>]",
    summary: "Returns the names of the commands.",
    handler: Handler::Local(answer),
    ..COMMAND
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let filter: Filter = match &call.arguments[..] {
        [] => Box::new(|_| true),
        [word, by, value] if is(word, "filterby") => filter(by, value.clone())?,
        _ => return Err(ErrorReply::SYNTAX),
    };
    let found: Vec<&Spec> = Table::get().every().filter(|spec| filter(spec)).collect();
    cx.out.set(found.len());
    found.iter().for_each(|spec| cx.out.bulk(spec.name));
    Ok(Next::Continue)
}

fn filter(by: &[u8], value: Bytes) -> Result<Filter, ErrorReply> {
    if is(by, "module") {
        Ok(Box::new(|_| false))
    } else if is(by, "aclcat") {
        Ok(Box::new(move |spec| categories(spec).iter().any(|category| is(&value, &category[1..]))))
    } else if is(by, "pattern") {
        Ok(Box::new(move |spec| glob_matches(&value, spec.name.as_bytes(), true)))
    } else {
        Err(ErrorReply::SYNTAX)
    }
}
