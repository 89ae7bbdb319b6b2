//! FUNCTION LIST.

use super::FUNCTION;
use crate::redis::functions::{described, manage};
use crate::redis::prelude::*;
use tidemark_core::glob::glob_matches;

pub(super) static SPEC: Spec = Spec {
    name: "function|list",
    arity: -2,
    flags: &["noscript"],
    syntax: "[LIBRARYNAME library-name-pattern] [WITHCODE]",
    summary: "Lists the libraries and their functions.",
    handler: Handler::Operations(parse),
    ..FUNCTION
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let (mut pattern, mut with_code, mut at) = (None, false, 2);
    while at < request.len() {
        if !with_code && request.is(at, "withcode") {
            with_code = true;
        } else if pattern.is_none() && request.is(at, "libraryname") {
            at += 1;
            let given =
                request.get(at).ok_or(ErrorReply::fixed("ERR library name argument was not given"))?;
            pattern = Some(Bytes::copy_from_slice(given));
        } else {
            return Err(ErrorReply::new([b"ERR Unknown argument ", &request[at]].concat()));
        }
        at += 1;
    }
    Ok(manage(move |libraries, _| {
        let wanted =
            |name: &str| pattern.as_ref().is_none_or(|pattern| glob_matches(pattern, name.as_bytes(), true));
        let listed = libraries.iter().filter(|library| wanted(&library.name));
        Ok((Vec::new(), Reply::Array(listed.map(|library| described(library, with_code)).collect())))
    }))
}
