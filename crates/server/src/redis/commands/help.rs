//! `<CONTAINER> HELP`, written from the table.

use crate::redis::prelude::*;
use crate::redis::table::Table;

/// The row of a container's HELP.
pub(super) const fn row(name: &'static str) -> Spec {
    Spec {
        name,
        arity: 2,
        flags: &["loading", "stale"],
        since: "5.0.0",
        summary: "Lists the subcommands.",
        handler: Handler::Local(answer),
        ..Spec::DEFAULT
    }
}

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let (name, _) = cx.spec.name.split_once('|').unwrap_or((cx.spec.name, ""));
    let container = Table::get().command(name.as_bytes()).expect("a HELP row stands in a container");
    cx.out.array(1 + 2 * container.subcommands.len());
    let upper = name.to_ascii_uppercase();
    cx.out.simple(&format!("{upper} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    for spec in container.subcommands {
        cx.out.simple(format!("{} {}", spec.own_name().to_ascii_uppercase(), spec.syntax).trim_end());
        cx.out.simple(&format!("    {}", spec.summary));
    }
    Ok(Next::Continue)
}
