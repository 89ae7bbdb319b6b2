//! `<CONTAINER> HELP`, written from the table.

use super::super::command::Call;
use super::super::connection::{Connection, Context, Next};
use super::super::error::ErrorReply;
use super::super::table::{Handler, Spec, Table};
use tidemark_wire::resp::Encoder;

/// The row of a container's HELP.
pub(super) const fn row(name: &'static str) -> Spec {
    Spec {
        name,
        arity: 2,
        flags: &["loading", "stale"],
        since: "5.0.0",
        summary: "Lists the subcommands.",
        handler: Handler::Local(help),
        ..Spec::DEFAULT
    }
}

fn help(
    _: &mut Connection,
    call: &Call,
    _: &mut Context<'_>,
    out: &mut Encoder<'_>,
) -> Result<Next, ErrorReply> {
    let (name, _) = call.spec.name.split_once('|').unwrap_or((call.spec.name, ""));
    let container = Table::get().command(name.as_bytes()).expect("a HELP row stands in a container");
    out.array(1 + 2 * container.subcommands.len());
    let upper = name.to_ascii_uppercase();
    out.simple(&format!("{upper} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    for spec in container.subcommands {
        out.simple(format!("{} {}", spec.own_name().to_ascii_uppercase(), spec.syntax).trim_end());
        out.simple(&format!("    {}", spec.summary));
    }
    Ok(Next::Continue)
}
