//! Differences that are meant, each with its reason. A sequence ends where one occurs.

use crate::side::Answer;
use crate::{Words, compare};
use tidemark_wire::resp::Reply;

/// A difference that is meant.
pub struct Intended {
    /// The command, in capitals; empty if it is any.
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
const WATCHED: &str = "WATCH compares what is there: a key that was made and deleted since has not changed";
const GROUPS: &str = "what XREADGROUP, XSETID and their kin note of a stream is a change of the key that WATCH sees, and no change in Redis";
const ESTIMATED: &str =
    "redis-server stores the estimate of PFCOUNT in the key, and takes that for a change of a watched key";
const PLACE: &str =
    "scripts call commands on data; what describes the node, or its subscribers, is not among them";
const ORDER: &str = "a command without keys stands first or last in a transaction";
const WAITS: &str =
    "WAIT counts regions that have received earlier writes; in a transaction nothing has been written yet";
const LETTERS: &str = "the error repeats the subcommand in small letters";
const CURSOR: &str = "redis-server takes -1 for 2^64 - 1; no cursor that SCAN and its kin give is negative";
const TIMEOUT: &str = "redis-server takes a timeout beyond 64 bits for a negative one; Tidemark says that it is out of range, as Redis 7.2";
const SCORES: &str = "scores are shown with as few digits as tell the number, as in Redis 7.2; -0 is 0";

const fn of(
    command: &'static str,
    argument: &'static str,
    theirs: &'static str,
    ours: &'static str,
    reason: &'static str,
) -> Intended {
    Intended { command, argument, theirs, ours, reason }
}

/// All of them.
pub const INTENDED: &[Intended] = &[
    of("SCAN", "-1", "", "ERR invalid cursor", CURSOR),
    of("HSCAN", "-1", "", "ERR invalid cursor", CURSOR),
    of("SSCAN", "-1", "", "ERR invalid cursor", CURSOR),
    of("ZSCAN", "-1", "", "ERR invalid cursor", CURSOR),
    of("OBJECT", "ENCODING", "raw", "int", ENCODING),
    of("OBJECT", "ENCODING", "raw", "embstr", ENCODING),
    of("OBJECT", "ENCODING", "embstr", "int", ENCODING),
    of("OBJECT", "ENCODING", "hashtable", "listpack", ENCODING),
    of("OBJECT", "ENCODING", "hashtable", "intset", ENCODING),
    of("OBJECT", "ENCODING", "skiplist", "listpack", ENCODING),
    // Lists are listpacks from 7.2 on.
    of("OBJECT", "ENCODING", "quicklist", "listpack", ENCODING),
    of("OBJECT", "REFCOUNT", ":1\r\n", ":2147483647\r\n", ENCODING),
    of("ZRANK", "", "wrong number of arguments", "ERR syntax error", RANK),
    of("ZRANK", "", "wrong number of arguments", "QUEUED", RANK),
    of("ZRANK", "", "Wrong number of args", "ERR syntax error", RANK),
    of("ZREVRANK", "", "wrong number of arguments", "ERR syntax error", RANK),
    of("ZREVRANK", "", "wrong number of arguments", "QUEUED", RANK),
    of("ZREVRANK", "", "Wrong number of args", "ERR syntax error", RANK),
    of("COMMAND", "GETKEYS", "", "This Redis command is not allowed from script", PLACE),
    of("PUBSUB", "", "", "This Redis command is not allowed from script", PLACE),
    of("EVAL_RO", "", "", "a command that names no key cannot stand between commands that do", ORDER),
    of("EVALSHA", "", "", "a command that names no key cannot stand between commands that do", ORDER),
    of("WAIT", "", "QUEUED", "Command not allowed inside a transaction", WAITS),
    of("PUBSUB", "", "unknown subcommand or wrong number", "unknown subcommand or wrong number", LETTERS),
    of("", "", "ERR timeout is negative", "ERR timeout is out of range", TIMEOUT),
];

/// What was sent since keys are watched.
#[derive(Debug, Default)]
pub struct Watch {
    /// Keys that were not there when WATCH named them.
    pub absent: Words,
    /// Commands since the last transaction.
    pub commands: Vec<Words>,
    /// The last command was a transaction.
    pub ended: bool,
}

impl Watch {
    /// The reason for which one server has carried out an EXEC and the other has not, if it is meant.
    pub fn reason(&self, theirs: &Answer, ours: &Answer) -> Option<&'static str> {
        const NAMES: [&[u8]; 6] = [b"XREADGROUP", b"XACK", b"XCLAIM", b"XAUTOCLAIM", b"XGROUP", b"XSETID"];
        let named = |name: &[u8]| self.commands.iter().any(|words| words.iter().any(|word| word == name));
        let carried_out = |answer: &Answer| answer.reply.items().is_some();
        match (&theirs.reply, &ours.reply) {
            (Reply::Null, _) if carried_out(ours) && self.absent.iter().any(|key| named(key)) => {
                Some(WATCHED)
            }
            (Reply::Null, _) if carried_out(ours) && named(b"PFCOUNT") => Some(ESTIMATED),
            (_, Reply::Null) if carried_out(theirs) && NAMES.iter().any(|name| named(name)) => Some(GROUPS),
            _ => None,
        }
    }
}

/// The reason for a difference, if it is meant.
pub fn reason(words: &Words, theirs: &[u8], ours: &[u8]) -> Option<&'static str> {
    let holds = |reply: &[u8], part: &str| String::from_utf8_lossy(reply).contains(part);
    let matches = |intended: &&Intended| {
        let argument = |word: &Vec<u8>| word.eq_ignore_ascii_case(intended.argument.as_bytes());
        (intended.command.is_empty() || words[0].eq_ignore_ascii_case(intended.command.as_bytes()))
            && (intended.argument.is_empty() || words[1..].iter().any(argument))
            && holds(theirs, intended.theirs)
            && holds(ours, intended.ours)
    };
    if let Some(intended) = INTENDED.iter().find(matches) {
        return Some(intended.reason);
    }
    let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
    let scored = ["Z", "BZ", "GEO"].iter().any(|family| name.starts_with(family));
    (scored && compare::same_scores(theirs, ours)).then_some(SCORES)
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
        assert!(reason("GET -1", "-ERR invalid cursor").is_none());
    }

    #[test]
    fn an_exec_may_fail_for_what_was_watched() {
        let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Words>();
        let null = Answer { raw: b"_\r\n".to_vec(), reply: Reply::Null };
        let done = Answer { raw: b"*0\r\n".to_vec(), reply: Reply::Array(Vec::new()) };
        let watch = |absent: &str, command: &str| Watch {
            absent: words(absent),
            commands: vec![words(command)],
            ended: false,
        };
        assert_eq!(watch("k", "SET k v").reason(&null, &done), Some(WATCHED));
        assert_eq!(watch("k", "SET l v").reason(&null, &done), None);
        assert_eq!(watch("k", "SET k v").reason(&done, &null), None);
        assert_eq!(watch("l", "XACK k g 1-1").reason(&done, &null), Some(GROUPS));
        assert_eq!(watch("l", "XSETID k 1-1").reason(&done, &null), Some(GROUPS));
        assert_eq!(watch("l", "XADD k 1-1 f v").reason(&done, &null), None);
        assert_eq!(watch("l", "PFCOUNT k").reason(&null, &done), Some(ESTIMATED));
        assert_eq!(watch("l", "PFCOUNT k").reason(&done, &null), None);
        assert_eq!(watch("k", "SET k v").reason(&done, &done), None);
    }
}
