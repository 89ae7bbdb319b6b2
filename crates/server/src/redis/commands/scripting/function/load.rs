//! FUNCTION LOAD.

use super::FUNCTION;
use crate::redis::functions::{Library, manage};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|load",
    arity: -3,
    flags: &["write", "denyoom", "noscript"],
    syntax: "[REPLACE] function-code",
    summary: "Loads a library of functions, and returns its name.",
    remark: "All nodes of all regions have it once it is visible to them, and after a restart. It may compute as long as a script.",
    handler: Handler::Operations(parse),
    ..FUNCTION
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let code = request.len() - 1;
    let unknown = (2..code).find(|at| !request.is(*at, "replace"));
    if let Some(at) = unknown {
        return Err(ErrorReply::new([b"ERR Unknown option given: ", &request[at]].concat()));
    }
    let (replace, code) = (code > 2, request.take(code));
    Ok(manage(move |libraries, now| {
        let library =
            Library::of(&code, libraries.time(now), |name| match libraries.contains(name) && !replace {
                true => Err(ErrorReply::new(format!("ERR Library '{name}' already exists"))),
                false => Ok(()),
            })?;
        let name = Reply::bulk(library.name.as_bytes());
        Ok((libraries.add(&[library], |_| true)?, name))
    }))
}
