//! What only Tidemark has.

use crate::redis::prelude::*;

commands! { at, bcounter, checking, conflicts, doc, guarantee, session, snapshot }

const TIDEMARK: Spec =
    Spec { group: Group::Tidemark, family: Family::Session, since: "0.1.0", ..Spec::DEFAULT };
