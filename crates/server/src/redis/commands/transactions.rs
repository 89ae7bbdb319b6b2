//! Transactions: MULTI, EXEC, DISCARD, WATCH and UNWATCH.

use crate::redis::prelude::*;
use crate::redis::transaction::{Exec, Watch};

const FAST: &[&str] = &["noscript", "loading", "stale", "fast", "allow_busy"];
const BASE: Spec = Spec { group: Group::Transactions, flags: FAST, ..Spec::DEFAULT };

pub(super) static COMMANDS: &[&Spec] = &[
    &Spec {
        name: "multi",
        since: "1.2.0",
        summary: "Begins a transaction: commands are queued until EXEC.",
        handler: Handler::Local(|connection, _, cx| {
            if connection.interactive.is_open() {
                return Err(ErrorReply::IN_TRANSACTION);
            }
            connection.transaction.open()?;
            cx.out.ok();
            Ok(Next::Continue)
        }),
        ..BASE
    },
    &Spec {
        name: "exec",
        flags: &["noscript", "loading", "stale", "skip_slowlog"],
        since: "1.2.0",
        summary: "Carries out the queued commands as one.",
        remark: "Keys of several partitions: under `tidemark` alone. Elsewhere `CONFIG SET tidemark-multi loose` lets commands on keys of \
                 several partitions be carried out one by one. No other command of this region comes between, and no other region sees a \
                 part of what is written.",
        handler: Handler::Local(|connection, _, cx| {
            let loose = cx.config.get("tidemark-multi") == Some("loose");
            Ok(Next::Begin(Task::several(Exec::new(connection.transaction.close()?, loose))))
        }),
        ..BASE
    },
    &Spec {
        name: "discard",
        since: "2.0.0",
        summary: "Forgets the queued commands, and what is watched.",
        handler: Handler::Local(|connection, _, cx| {
            connection.transaction.discard()?;
            cx.out.ok();
            Ok(Next::Continue)
        }),
        ..BASE
    },
    &Spec {
        name: "watch",
        arity: -2,
        keys: Keys::ALL,
        since: "2.2.0",
        syntax: "key [key ...]",
        summary: "Lets the next EXEC fail if one of the keys changes before.",
        remark: "Changes of other regions count once they are visible here. Two regions may both succeed.",
        handler: Handler::Local(|connection, call, _| {
            if connection.interactive.is_open() {
                return Err(ErrorReply::IN_TRANSACTION);
            }
            connection.transaction.may_watch()?;
            let keys = call.arguments.iter().cloned().map(Key).collect();
            Ok(Next::Begin(Task::several(Watch::new(keys, connection.transaction.watched()))))
        }),
        ..BASE
    },
    &Spec {
        name: "unwatch",
        since: "2.2.0",
        summary: "Forgets which keys are watched.",
        handler: Handler::Local(|connection, _, cx| {
            connection.transaction.unwatch();
            cx.out.ok();
            Ok(Next::Continue)
        }),
        ..BASE
    },
];
