//! FUNCTION DELETE.

use super::FUNCTION;
use crate::redis::functions::manage;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|delete",
    arity: 3,
    flags: &["write", "noscript"],
    syntax: "library-name",
    summary: "Deletes a library and its functions.",
    remark: "A load of it at the same time in another region stays.",
    handler: Handler::Operations(|request| {
        let name = request.take(2);
        Ok(manage(move |libraries, _| Ok((vec![libraries.delete(&name)?], Reply::Ok))))
    }),
    ..FUNCTION
};
