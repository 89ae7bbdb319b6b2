//! Scripts and functions.

pub(in crate::redis) mod eval;
pub(in crate::redis) mod fcall;

use crate::redis::prelude::*;
pub(in crate::redis::commands) use eval::ROWS;
pub(in crate::redis::commands) use fcall::ROWS as FUNCTION_ROWS;

commands! { function, script }

const SCRIPTING: Spec = Spec { group: Group::Scripting, since: "2.6.0", ..Spec::DEFAULT };
