//! Keys that belong to the store itself. They are replicated as any others, and no client names or finds them.

use super::error::ErrorReply;
use super::key_places::key_places;
use super::table::{Handler, Table};
use tidemark_wire::resp::Request;

/// Reserved keys begin so.
const PREFIX: &[u8] = b"\0tidemark:";

const RESERVED: ErrorReply = ErrorReply::fixed("ERR keys that begin with '\\x00tidemark:' are reserved");

/// Whether a key is reserved.
#[inline]
pub(crate) fn is_reserved(key: &[u8]) -> bool {
    key.starts_with(PREFIX)
}

/// Whether a client may send the request: it names no reserved key. A command behind a prefix may not hold such a word at all.
///
/// # Errors
/// It may not.
#[inline]
pub(super) fn check(request: &Request<'_>) -> Result<(), ErrorReply> {
    if (1..request.len()).any(|at| is_reserved(&request[at])) { look_closer(request) } else { Ok(()) }
}

#[cold]
fn look_closer(request: &Request<'_>) -> Result<(), ErrorReply> {
    // Other errors are told where the request is understood.
    let Ok(spec) = Table::get().resolve(request) else { return Ok(()) };
    let Ok(places) = key_places(spec, request) else { return Ok(()) };
    let named = places.iter().any(|at| is_reserved(&request[*at]));
    if named || matches!(spec.handler, Handler::Prefix { .. }) { Err(RESERVED) } else { Ok(()) }
}
