//! What tools ask of a server: the time, logs that stay empty, and features that it does not have.

use super::super::command::Call;
use super::super::connection::{Connection, Context, Next};
use super::super::error::ErrorReply;
use super::super::table::{Group, Handler, LocalFn, Spec};
use super::generic::is_flush_mode;
use super::help;
use tidemark_wire::resp::{Encoder, parse_i64};

type Answer = Result<Next, ErrorReply>;

const FLAGS: &[&str] = &["admin", "loading", "stale"];
const SERVER: Spec = Spec { flags: FLAGS, ..Spec::DEFAULT };
const LATENCY: Spec = Spec { flags: FLAGS, since: "2.8.13", ..Spec::DEFAULT };
const EMPTY: &str = "Always empty.";

const fn empty() -> Handler {
    Handler::Local(|_, _, _, out| {
        out.array(0);
        Ok(Next::Continue)
    })
}

const fn zero() -> Handler {
    Handler::Local(|_, _, _, out| {
        out.integer(0);
        Ok(Next::Continue)
    })
}

pub(in super::super) const SPECS: &[Spec] = &[
    Spec {
        name: "time",
        flags: &["loading", "stale", "fast"],
        since: "2.6.0",
        summary: "Returns the server's time: seconds and microseconds.",
        handler: Handler::Local(time),
        ..Spec::DEFAULT
    },
    Spec { name: "slowlog", arity: -2, summary: "Slow commands.", subcommands: SLOWLOG, ..SERVER },
    Spec { name: "latency", arity: -2, summary: "Latency spikes.", subcommands: LATENCIES, ..LATENCY },
    Spec {
        name: "module",
        arity: -2,
        since: "4.0.0",
        summary: "Modules.",
        subcommands: &[
            Spec {
                name: "module|list",
                arity: 2,
                since: "4.0.0",
                summary: "Returns the modules that are loaded.",
                remark: EMPTY,
                handler: empty(),
                ..SERVER
            },
            help::row("module|help"),
        ],
        ..SERVER
    },
    Spec {
        name: "function",
        arity: -2,
        group: Group::Scripting,
        since: "7.0.0",
        summary: "Functions.",
        subcommands: FUNCTION,
        ..SERVER
    },
    Spec {
        name: "cluster",
        arity: -2,
        group: Group::Cluster,
        since: "3.0.0",
        syntax: "subcommand",
        summary: "Redis Cluster.",
        remark: "Refused: clients need not know where keys live.",
        handler: refuse(|_, _, _, _| {
            Err(ErrorReply::fixed("ERR This instance has cluster support disabled"))
        }),
        ..SERVER
    },
    Spec {
        name: "debug",
        arity: -2,
        syntax: "subcommand",
        summary: "Debugging.",
        remark: "Refused.",
        handler: refuse(|_, _, _, _| Err(ErrorReply::fixed("ERR DEBUG command not allowed."))),
        ..SERVER
    },
];

const fn refuse(answer: LocalFn) -> Handler {
    Handler::Local(answer)
}

const SLOWLOG: &[Spec] = &[
    Spec {
        name: "slowlog|get",
        arity: -2,
        since: "2.2.12",
        syntax: "[count]",
        summary: "Returns the slowest commands of late.",
        remark: EMPTY,
        handler: Handler::Local(slowlog_get),
        ..SERVER
    },
    Spec {
        name: "slowlog|len",
        arity: 2,
        since: "2.2.12",
        summary: "Returns how many slow commands are kept.",
        remark: EMPTY,
        handler: zero(),
        ..SERVER
    },
    Spec {
        name: "slowlog|reset",
        arity: 2,
        since: "2.2.12",
        summary: "Forgets them.",
        handler: Handler::Local(|_, _, _, out| {
            out.ok();
            Ok(Next::Continue)
        }),
        ..SERVER
    },
    help::row("slowlog|help"),
];

const LATENCIES: &[Spec] = &[
    Spec {
        name: "latency|latest",
        arity: 2,
        summary: "Returns the latest latency spikes.",
        remark: EMPTY,
        handler: empty(),
        ..LATENCY
    },
    Spec {
        name: "latency|history",
        arity: 3,
        syntax: "event",
        summary: "Returns the spikes of one kind.",
        remark: EMPTY,
        handler: empty(),
        ..LATENCY
    },
    Spec {
        name: "latency|histogram",
        arity: -2,
        since: "7.0.0",
        syntax: "[command [command ...]]",
        summary: "Returns the distribution of commands' durations.",
        remark: "Always empty: see the metrics endpoint.",
        handler: Handler::Local(|_, _, _, out| {
            out.map(0);
            Ok(Next::Continue)
        }),
        ..LATENCY
    },
    Spec {
        name: "latency|reset",
        arity: -2,
        syntax: "[event [event ...]]",
        summary: "Forgets spikes; returns of how many kinds.",
        handler: zero(),
        ..LATENCY
    },
    help::row("latency|help"),
];

const FUNCTION: &[Spec] = &[
    Spec {
        name: "function|flush",
        arity: -2,
        flags: &["write", "noscript"],
        group: Group::Scripting,
        since: "7.0.0",
        syntax: "[ASYNC | SYNC]",
        summary: "Deletes every function.",
        remark: "There are none.",
        handler: Handler::Local(function_flush),
        ..SERVER
    },
    help::row("function|help"),
];

fn time(_: &mut Connection, _: &Call, cx: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    out.array(2);
    out.bulk((cx.now / 1_000_000).to_string());
    out.bulk((cx.now % 1_000_000).to_string());
    Ok(Next::Continue)
}

fn slowlog_get(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    match &call.arguments[..] {
        [] => {}
        [count] if parse_i64(count).is_some_and(|count| count >= -1) => {}
        [_] => return Err(ErrorReply::fixed("ERR count should be greater than or equal to -1")),
        _ => return Err(ErrorReply::arity(call.spec.name)),
    }
    out.array(0);
    Ok(Next::Continue)
}

fn function_flush(_: &mut Connection, call: &Call, _: &mut Context<'_>, out: &mut Encoder<'_>) -> Answer {
    match &call.arguments[..] {
        [] => {}
        [mode] if is_flush_mode(mode) => {}
        _ => return Err(ErrorReply::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")),
    }
    out.ok();
    Ok(Next::Continue)
}
