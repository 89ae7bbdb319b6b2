//! MODULE.

use super::{ADMIN, EMPTY, empty};
use crate::redis::prelude::*;

subcommands! { "module|help", list, load, loadex, unload }

const MODULE: Spec = Spec { flags: ADMIN, since: "4.0.0", ..Spec::DEFAULT };
/// Of the subcommands that would change which modules are loaded.
const REFUSED: Spec = Spec {
    flags: &["admin", "noscript", "no_async_loading"],
    remark: "Refused.",
    handler: Handler::Local(|_, _, cx| {
        let name = cx.spec.own_name().to_ascii_uppercase();
        Err(ErrorReply::new(format!("ERR MODULE {name} is not supported: the server cannot run modules")))
    }),
    ..MODULE
};

pub(super) static SPEC: Spec =
    Spec { name: "module", arity: -2, summary: "Shows modules.", subcommands: COMMANDS, ..MODULE };
