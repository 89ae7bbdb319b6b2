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

const ENCODING: &str = "the encoding of a value in Redis depends on how it came about, and never goes back; Tidemark says what \
    Redis 7.2 would choose for what the value is now";
const RANK: &str = "WITHSCORE is of Redis 7.2, which Tidemark follows";
const RANGE: &str =
    "the numbers of Tidemark are sums of two doubles, and end at 1.8e308; those of 80 bits end at 1.1e4932";

const fn encoding(theirs: &'static str, ours: &'static str) -> Intended {
    Intended { command: "OBJECT", argument: "ENCODING", theirs, ours, reason: ENCODING }
}

const fn rank(command: &'static str, ours: &'static str) -> Intended {
    Intended { command, argument: "", theirs: "wrong number of arguments", ours, reason: RANK }
}

const WATCHED: &str = "WATCH compares what is there: a key that was made and deleted since has not changed";
const PLACE: &str =
    "scripts call commands on data; what describes the node, or its subscribers, is not among them";

const fn watched(theirs: &'static str) -> Intended {
    Intended { command: "EXEC", argument: "", theirs, ours: "*", reason: WATCHED }
}

const fn place(argument: &'static str) -> Intended {
    let ours = "This Redis command is not allowed from script";
    Intended { command: "EVAL", argument, theirs: "", ours, reason: PLACE }
}

/// All of them.
pub const INTENDED: &[Intended] = &[
    Intended {
        command: "SCAN",
        argument: "-1",
        theirs: "*",
        ours: "invalid cursor",
        reason: "redis-server takes -1 for 2^64 - 1; no cursor that SCAN gives is negative",
    },
    encoding("raw", "int"),
    encoding("raw", "embstr"),
    encoding("embstr", "int"),
    encoding("hashtable", "listpack"),
    encoding("hashtable", "intset"),
    encoding("skiplist", "listpack"),
    // Lists are listpacks from 7.2 on.
    encoding("quicklist", "listpack"),
    rank("ZRANK", "ERR syntax error"),
    rank("ZRANK", "QUEUED"),
    rank("ZREVRANK", "ERR syntax error"),
    rank("ZREVRANK", "QUEUED"),
    watched("*-1\r\n"),
    watched("_\r\n"),
    place("COMMAND"),
    place("PUBSUB"),
    place("CLIENT"),
    place("WAIT"),
    Intended {
        command: "WAIT",
        argument: "",
        theirs: "QUEUED",
        ours: "Command not allowed inside a transaction",
        reason: "WAIT counts regions that have received earlier writes; in a transaction nothing has been written yet",
    },
    Intended {
        command: "PUBSUB",
        argument: "",
        theirs: "unknown subcommand or wrong number of arguments",
        ours: "unknown subcommand or wrong number of arguments",
        reason: "the error repeats the subcommand in small letters",
    },
    Intended {
        command: "INCRBYFLOAT",
        argument: "1e400",
        theirs: "0",
        ours: "increment would produce NaN or Infinity",
        reason: RANGE,
    },
    Intended {
        command: "HINCRBYFLOAT",
        argument: "1e400",
        theirs: "0",
        ours: "value is NaN or Infinity",
        reason: RANGE,
    },
];

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
