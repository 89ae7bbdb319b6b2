//! SLAVEOF.

use super::replicaof::REPLICAOF;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec { name: "slaveof", ..REPLICAOF };
