//! Which arguments of a request are keys.

use super::arguments::{Arguments, integer};
use super::error::ErrorReply;
use super::table::{Handler, Keys, Spec};
use tidemark_wire::resp::Request;

/// Where the keys of a request stand; none if it names none. REQUIRES: it has the right length, and no argument was taken.
pub(super) fn key_places(spec: &Spec, request: &Request<'_>) -> Result<Vec<usize>, ErrorReply> {
    match (spec.handler, spec.name) {
        (Handler::Group(_, places), _) => Ok(places(request, spec)?.0),
        (_, "xread" | "xreadgroup") => streams(request),
        (_, "blmpop" | "bzmpop" | "eval" | "evalsha" | "eval_ro" | "evalsha_ro" | "fcall" | "fcall_ro") => {
            counted(request)
        }
        (_, "sort") => {
            let word = |at: &usize| request.is(*at, "store");
            let stored = (2..request.len().saturating_sub(1)).rfind(word).map(|at| at + 1);
            Ok(std::iter::once(1).chain(stored).collect())
        }
        _ if spec.keys == Keys::NONE => Ok(Vec::new()),
        _ => {
            let last =
                if spec.keys.last < 0 { request.len() as i32 + spec.keys.last } else { spec.keys.last };
            Ok((spec.keys.first..=last).step_by(spec.keys.step as usize).map(|at| at as usize).collect())
        }
    }
}

/// The second argument says how many keys are behind it.
fn counted(request: &Request<'_>) -> Result<Vec<usize>, ErrorReply> {
    let count = usize::try_from(integer(&request[2])?).ok().filter(|count| *count <= request.len() - 3);
    Ok((3..3 + count.ok_or(ErrorReply::SYNTAX)?).collect())
}

/// Half of what is behind STREAMS.
fn streams(request: &Request<'_>) -> Result<Vec<usize>, ErrorReply> {
    let first = (1..request.len()).find(|at| request.is(*at, "streams")).ok_or(ErrorReply::SYNTAX)? + 1;
    Ok((first..first + (request.len() - first) / 2).collect())
}
