//! FUNCTION RESTORE.

use super::{FUNCTION, too_many};
use crate::redis::functions::{Libraries, Library, Policy, load_payload, manage};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|restore",
    arity: -3,
    flags: &["write", "denyoom", "noscript"],
    syntax: "serialized-value [FLUSH | APPEND | REPLACE]",
    summary: "Loads the libraries of a payload, all of them or none.",
    handler: Handler::Operations(parse),
    ..FUNCTION
};

fn parse(request: &mut Request<'_>) -> Parsed {
    if request.len() > 4 {
        return Err(too_many(request));
    }
    let policy = request.get(3).map_or(Ok(Policy::default()), Policy::of)?;
    let payload = request.take(2);
    Ok(manage(move |libraries, now| {
        let mut added: Vec<Library> = Vec::new();
        for code in load_payload(&payload)? {
            let taken = |name: &str| added.iter().any(|library| library.name == name);
            let library = Library::of(&code, libraries.time(now), |name| {
                match taken(name) || (policy == Policy::Append && libraries.contains(name)) {
                    true => Err(ErrorReply::new(format!("ERR Library {name} already exists"))),
                    false => Ok(()),
                }
            })?;
            added.push(library);
        }
        let mut writes = libraries.add(&added, |_| policy != Policy::Flush)?;
        if policy == Policy::Flush {
            writes.insert(0, Libraries::flush());
        }
        Ok((writes, Reply::Ok))
    }))
}
