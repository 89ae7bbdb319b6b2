//! Scripts and functions.

mod eval;

use crate::redis::prelude::*;
pub(in crate::redis::commands) use eval::ROWS;

commands! { function, script }

const SCRIPTING: Spec = Spec { group: Group::Scripting, since: "2.6.0", ..Spec::DEFAULT };
