//! Failures in the words of Redis: errors whose first word says what they mean for the operation.

use tidemark_core::Failure;
use tidemark_node::token::TokenError;
use tidemark_wire::resp::Encoder;

/// Writes a failure as an error whose first word says what it means for the operation.
pub(crate) fn write_failure(failure: &Failure, out: &mut Encoder<'_>) {
    out.error(in_words(failure));
}

/// Why a session's token was not taken over, as the text of an error reply.
pub(crate) fn token_in_words(error: &TokenError) -> String {
    match error {
        TokenError::Ahead(failure) => in_words(failure),
        error => format!("ERR {error}"),
    }
}

/// A failure as the text of an error reply.
pub(crate) fn in_words(failure: &Failure) -> String {
    match failure {
        Failure::Unavailable(why) => format!("UNAVAILABLE {why}"),
        Failure::StaleSession(why) => format!("STALESESSION {why}"),
        Failure::Elsewhere(regions) => match &regions[..] {
            [] => "ELSEWHERE no region holds all of these keys: name them one by one".to_string(),
            regions => {
                let regions: Vec<String> = regions.iter().map(ToString::to_string).collect();
                format!(
                    "ELSEWHERE this region does not hold what is asked for; region {} does",
                    regions.join(", ")
                )
            }
        },
        Failure::ClockSkew { ahead_us } => format!(
            "CLOCKSKEW the time is {:.3} s ahead of this server's clock; nothing was done. Check the clocks of all servers",
            *ahead_us as f64 / 1e6
        ),
        // The word with which Redis, too, refuses writes but not reads until an operator has done something.
        Failure::Misconfigured(why) => format!("MISCONF {why}"),
        Failure::Indefinite(why) => format!("INDEFINITE the operation may or may not have happened: {why}"),
    }
}
