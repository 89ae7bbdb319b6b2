//! SLOWLOG LEN.

use super::{EMPTY, SLOWLOG, zero};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "slowlog|len",
    arity: 2,
    summary: "Returns the number of slow commands in the log.",
    remark: EMPTY,
    handler: Handler::Local(zero),
    ..SLOWLOG
};
