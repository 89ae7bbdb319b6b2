//! FUNCTION DUMP.

use super::FUNCTION;
use crate::redis::functions::{manage, save_payload};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|dump",
    arity: 2,
    flags: &["noscript"],
    summary: "Returns the libraries as a payload.",
    remark: "It is Redis's own: a payload of either can be restored in the other.",
    handler: Handler::Operations(|_| {
        Ok(manage(|libraries, _| {
            let payload = save_payload(libraries.iter().map(|library| &library.code[..]));
            Ok((Vec::new(), Reply::Bulk(payload)))
        }))
    }),
    ..FUNCTION
};
