//! Connections: what clients say about themselves, and about each other.

use crate::redis::prelude::*;

commands! { auth, client, echo, hello, ping, quit, reset, select }

const FAST: &[&str] = &["loading", "stale", "fast"];
const BEFORE_AUTH: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"];
const CONNECTION: Spec = Spec { group: Group::Connection, ..Spec::DEFAULT };

/// What browsers send, when a page makes them talk to this server.
static ATTACK: Spec = Spec {
    name: "post|host:",
    arity: -1,
    flags: &["no_auth"],
    handler: Handler::Local(|_, _, _| Ok(Next::Close)),
    ..Spec::DEFAULT
};

/// The row that closes the connection without a reply, if `name` is one that only HTTP has: requests that a browser
/// was tricked into sending must not go on into its body, where commands may stand.
pub(in crate::redis) fn attack(name: &[u8]) -> Option<&'static Spec> {
    (is(name, "post") || is(name, "host:")).then_some(&ATTACK)
}

/// A name that a client gives. Lists show one connection a line, so it is printable, without spaces.
fn printable(text: &[u8], what: &str) -> Result<String, ErrorReply> {
    match std::str::from_utf8(text) {
        Ok(text) if text.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) => Ok(text.to_string()),
        _ => {
            Err(ErrorReply::new(format!("ERR {what} cannot contain spaces, newlines or special characters.")))
        }
    }
}
