//! Differences that are meant, each with its reason. A sequence ends where one occurs.

use crate::Words;

/// A difference that is meant.
pub struct Intended {
    /// The command, in capitals.
    pub command: &'static str,
    /// A word that is among the arguments, in any case; empty if that does not matter.
    pub argument: &'static str,
    /// What is in the reply of redis-server.
    pub theirs: &'static str,
    /// What is in the reply of Tidemark.
    pub ours: &'static str,
    /// Why it differs.
    pub reason: &'static str,
}

/// All of them.
pub const INTENDED: &[Intended] = &[Intended {
    command: "SCAN",
    argument: "-1",
    theirs: "*",
    ours: "invalid cursor",
    reason: "redis-server takes -1 for 2^64 - 1; no cursor that SCAN gives is negative",
}];

/// The reason for a difference, if it is meant.
pub fn reason(words: &Words, theirs: &[u8], ours: &[u8]) -> Option<&'static str> {
    let holds = |reply: &[u8], part: &str| String::from_utf8_lossy(reply).contains(part);
    let matches = |intended: &&Intended| {
        let argument = |word: &Vec<u8>| word.eq_ignore_ascii_case(intended.argument.as_bytes());
        words[0].eq_ignore_ascii_case(intended.command.as_bytes())
            && (intended.argument.is_empty() || words[1..].iter().any(argument))
            && holds(theirs, intended.theirs)
            && holds(ours, intended.ours)
    };
    INTENDED.iter().find(matches).map(|intended| intended.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_difference_is_meant() {
        let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Words>();
        let reason =
            |line: &str, ours: &str| reason(&words(line), b"*2\r\n$1\r\n0\r\n*0\r\n", ours.as_bytes());
        assert!(reason("scan -1", "-ERR invalid cursor").is_some());
        assert!(reason("SCAN 1", "-ERR invalid cursor").is_none());
        assert!(reason("SCAN -1", "-ERR syntax error").is_none());
        assert!(reason("SSCAN -1", "-ERR invalid cursor").is_none());
    }
}
