//! CONFIG REWRITE.

use super::{CONFIG, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "config|rewrite",
    arity: 2,
    flags: FLAGS,
    since: "2.8.0",
    summary: "Writes the settings to the configuration file.",
    remark: "Refused: only people edit the cluster file.",
    handler: Handler::Local(|_, _, _| {
        Err(ErrorReply::fixed("ERR The server is running without a config file"))
    }),
    ..CONFIG
};
