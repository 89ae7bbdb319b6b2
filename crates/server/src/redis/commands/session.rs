//! `TIDE.SESSION`: a session's past as a token, so that it can move between connections and regions.

use super::super::command::Command;
use super::super::table::{Group, Handler, Spec};
use super::help;

const TIDEMARK: Spec = Spec { group: Group::Tidemark, since: "0.1.0", ..Spec::DEFAULT };

pub(in super::super) const SPECS: &[Spec] = &[Spec {
    name: "tide.session",
    arity: -2,
    summary: "Moves a session between connections and regions.",
    subcommands: &[
        Spec {
            name: "tide.session|export",
            arity: 2,
            flags: &["readonly"],
            summary: "Returns a token of everything that this session has seen and done.",
            handler: Handler::Store(|_| Ok(Command::SessionExport)),
            ..TIDEMARK
        },
        Spec {
            name: "tide.session|import",
            arity: 3,
            flags: &["readonly"],
            syntax: "token",
            summary: "Continues the session of a token beside this one, once this region covers it.",
            remark: "Past a bound it answers STALESESSION and changes nothing.",
            handler: Handler::Store(|request| Ok(Command::SessionImport { token: request.take(2) })),
            ..TIDEMARK
        },
        help::row("tide.session|help"),
    ],
    ..TIDEMARK
}];
