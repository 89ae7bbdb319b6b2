//! What only Tidemark has.

use crate::redis::prelude::*;

commands! { at, bcounter, begin, checking, commit, conflicts, doc, guarantee, rollback, session, snapshot }

const TIDEMARK: Spec =
    Spec { group: Group::Tidemark, family: Family::Session, since: "0.1.0", ..Spec::DEFAULT };
