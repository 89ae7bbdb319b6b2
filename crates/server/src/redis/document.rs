//! `docs/commands.md`, written from the command table.

use super::REDIS_VERSION;
use super::table::{Group, Spec, Table};
use std::fmt::Write as _;

/// The document, as Markdown.
pub fn command_document() -> String {
    let mut text = format!(
        "# Commands\n\n<!-- Written from the command table. Do not edit: `TIDEMARK_WRITE_DOCS=1 cargo test -p \
         tidemark-server document`. -->\n\nTidemark speaks RESP2 and RESP3 and answers as Redis {REDIS_VERSION} \
         does, except as remarked. Commands that are not listed are answered with `ERR unknown command`.\n"
    );
    let mut groups: Vec<Group> = Table::get().iter().map(|spec| spec.group).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        let name = group.name();
        let _ = write!(text, "\n## {}{}\n\n", name[..1].to_ascii_uppercase(), &name[1..]);
        text.push_str("| command | what it does | remarks |\n|---|---|---|\n");
        for spec in Table::get().iter().filter(|spec| spec.group == group) {
            if spec.subcommands.is_empty() || spec.arity == -1 {
                row(&mut text, spec);
            }
            for subcommand in spec.subcommands.iter().filter(|spec| spec.own_name() != "help") {
                row(&mut text, subcommand);
            }
        }
    }
    text
}

fn row(text: &mut String, spec: &Spec) {
    let name = spec.name.to_ascii_uppercase().replace('|', " ");
    let usage = format!("{name} {}", spec.syntax).replace('|', "\\|");
    let _ = writeln!(text, "| `{}` | {} | {} |", usage.trim_end(), spec.summary, spec.remark);
}
