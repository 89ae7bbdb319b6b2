//! Failures in the words of Redis: error replies whose first word says what they mean for the operation.

use tidemark_core::Failure;

/// A failure as the text of an error reply.
pub(super) fn in_words(failure: &Failure) -> String {
    match failure {
        Failure::Unavailable(why) => format!("UNAVAILABLE {why}"),
        Failure::Refused(why) => format!("ERR {why}"),
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
