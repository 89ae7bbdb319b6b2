//! TIDE.SESSION.

use super::TIDEMARK;
use crate::redis::prelude::*;

subcommands! { "tide.session|help", export, import }

pub(super) static SPEC: Spec = Spec {
    name: "tide.session",
    arity: -2,
    summary: "Moves a session between connections and regions.",
    subcommands: COMMANDS,
    ..TIDEMARK
};
