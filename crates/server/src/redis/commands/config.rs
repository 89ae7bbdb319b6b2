//! CONFIG: the server's settings while it runs.

use super::super::command::Call;
use super::super::connection::{Connection, Context, Next};
use super::super::error::ErrorReply;
use super::super::glob::glob_matches;
use super::super::table::{Handler, Spec};
use super::help;
use tidemark_wire::resp::Encoder;

type Answer = Result<Next, ErrorReply>;

const CONFIG: Spec =
    Spec { flags: &["admin", "noscript", "loading", "stale"], since: "2.0.0", ..Spec::DEFAULT };

pub(in super::super) const SPECS: &[Spec] = &[Spec {
    name: "config",
    arity: -2,
    flags: &[],
    summary: "The server's settings.",
    subcommands: &[
        Spec {
            name: "config|get",
            arity: -3,
            syntax: "parameter [parameter ...]",
            summary: "Returns the settings whose names match one of the patterns.",
            handler: Handler::Local(get),
            ..CONFIG
        },
        Spec {
            name: "config|set",
            arity: -4,
            syntax: "parameter value [parameter value ...]",
            summary: "Changes settings until the server stops.",
            remark: "Those that Tidemark does not use are checked and kept, and change nothing.",
            handler: Handler::Local(set),
            ..CONFIG
        },
        Spec {
            name: "config|resetstat",
            arity: 2,
            summary: "Resets the counters of INFO.",
            handler: Handler::Local(|_, _, cx, out| {
                cx.info.reset_statistics();
                out.ok();
                Ok(Next::Continue)
            }),
            ..CONFIG
        },
        Spec {
            name: "config|rewrite",
            arity: 2,
            since: "2.8.0",
            summary: "Writes the settings into the configuration file.",
            remark: "Refused: the cluster file is written by people.",
            handler: Handler::Local(|_, _, _, _| {
                Err(ErrorReply::fixed("ERR The server is running without a config file"))
            }),
            ..CONFIG
        },
        help::row("config|help"),
    ],
    ..CONFIG
}];

fn get(_: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    let wanted =
        |name: &str| call.arguments.iter().any(|pattern| glob_matches(pattern, name.as_bytes(), true));
    let found: Vec<(&str, &str)> = cx.config.iter().filter(|(name, _)| wanted(name)).collect();
    out.map(found.len());
    for (name, value) in found {
        out.bulk(name);
        out.bulk(value);
    }
    Ok(Next::Continue)
}

fn set(_: &mut Connection, call: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    if call.arguments.len() % 2 == 1 {
        return Err(ErrorReply::arity(call.spec.name));
    }
    let pairs: Vec<(&[u8], &[u8])> =
        call.arguments.chunks_exact(2).map(|pair| (&pair[0][..], &pair[1][..])).collect();
    cx.config.set(&pairs).map_err(ErrorReply::new)?;
    out.ok();
    Ok(Next::Continue)
}
