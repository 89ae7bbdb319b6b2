//! FLUSHDB.

use super::flushall::FLUSH;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec =
    Spec { name: "flushdb", summary: "The same as FLUSHALL: there is only one database.", ..FLUSH };
