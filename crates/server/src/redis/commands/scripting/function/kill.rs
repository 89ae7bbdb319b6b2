//! FUNCTION KILL.

use super::FUNCTION;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|kill",
    arity: 2,
    flags: &["noscript", "allow_busy"],
    summary: "Stops the function that runs.",
    remark: "None ever runs when this is sent: a function that takes too long is stopped without it.",
    handler: Handler::Local(|_, _, _| Err(ErrorReply::fixed("NOTBUSY No scripts in execution right now."))),
    ..FUNCTION
};
