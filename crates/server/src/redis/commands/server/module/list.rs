//! MODULE LIST.

use super::{EMPTY, MODULE, empty};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "module|list",
    arity: 2,
    summary: "Returns the modules that are loaded.",
    remark: EMPTY,
    handler: Handler::Local(empty),
    ..MODULE
};
