//! Whether two servers hold the same: their keys, and of each key its type, its contents and whether it has a deadline.

use crate::campaign::Difference;
use crate::side::{Answer, Side, is_unknown};
use crate::{Words, compare};
use anyhow::Result;

/// How the contents of a type are read.
const CONTENTS: [(&str, &[&str]); 6] = [
    ("string", &["GET", "KEY"]),
    ("hash", &["HGETALL", "KEY"]),
    ("set", &["SMEMBERS", "KEY"]),
    ("zset", &["ZRANGE", "KEY", "0", "-1", "WITHSCORES"]),
    ("list", &["LRANGE", "KEY", "0", "-1"]),
    ("stream", &["XRANGE", "KEY", "-", "+"]),
];

/// Deadlines are this near, in milliseconds.
const NEAR_MS: i64 = 5_000;

/// The first difference between what two servers hold, if there is one.
pub fn difference(theirs: &mut Side, ours: &mut Side) -> Result<Option<Difference>> {
    let keys = |side: &mut Side| -> Result<Vec<Vec<u8>>> {
        let answer = side.text(&["KEYS", "*"])?;
        let items = answer.reply.items().unwrap_or_default();
        let mut keys: Vec<Vec<u8>> =
            items.iter().filter_map(|key| key.bytes()).map(|key| key.to_vec()).collect();
        keys.sort();
        Ok(keys)
    };
    let (expected, found) = (keys(theirs)?, keys(ours)?);
    if expected != found {
        let shown = |keys: &[Vec<u8>]| crate::line(keys);
        return Ok(Some(Difference::of_state("keys", &shown(&expected), &shown(&found))));
    }
    let types =
        both(theirs, ours, &expected.iter().map(|key| of(&["TYPE", "KEY"], key)).collect::<Vec<_>>())?;
    let asked: Vec<Vec<Words>> =
        expected.iter().zip(&types).map(|(key, (kind, _))| questions(key, &name(kind))).collect();
    let mut answers = both(theirs, ours, &asked.concat())?.into_iter();
    for ((key, kind), asked) in expected.iter().zip(&types).zip(&asked) {
        let answers: Vec<_> = answers.by_ref().take(asked.len()).collect();
        if let Some(difference) = of_key(key, kind, asked, &answers) {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// The reply of redis-server, and of Tidemark.
type Two = (Answer, Answer);

fn both(theirs: &mut Side, ours: &mut Side, asked: &[Words]) -> Result<Vec<Two>> {
    Ok(theirs.ask_all(asked)?.into_iter().zip(ours.ask_all(asked)?).collect())
}

fn of(words: &[&str], key: &[u8]) -> Words {
    let word = |word: &&str| if *word == "KEY" { key.to_vec() } else { word.as_bytes().to_vec() };
    words.iter().map(word).collect()
}

/// The type that TYPE has answered.
fn name(kind: &Answer) -> String {
    kind.reply.bytes().map(|kind| String::from_utf8_lossy(kind).into_owned()).unwrap_or_default()
}

/// What is asked of a key of a type.
fn questions(key: &[u8], kind: &str) -> Vec<Words> {
    let contents = CONTENTS.iter().filter(|(known, _)| *known == kind).map(|(_, asked)| of(asked, key));
    let groups = (kind == "stream").then(|| of(&["XINFO", "STREAM", "KEY", "FULL", "COUNT", "0"], key));
    contents.chain(groups).chain([of(&["PTTL", "KEY"], key), of(&["DUMP", "KEY"], key)]).collect()
}

fn of_key(key: &[u8], kind: &Two, asked: &[Words], answers: &[Two]) -> Option<Difference> {
    let differ = |what: &str, (expected, found): &Two| {
        let what = format!("{what} of {}", crate::line(&[key.to_vec()]));
        Some(Difference::of_state(&what, &expected.shown(), &found.shown()))
    };
    if kind.0.raw != kind.1.raw {
        return differ("type", kind);
    }
    let kind = name(&kind.0);
    for (words, two) in asked.iter().zip(answers) {
        let (expected, found) = two;
        let unknown = found.error().is_some_and(|error| is_unknown(&error));
        let (what, same) = match &words[0][..] {
            b"PTTL" => {
                ("deadline".to_string(), unknown || compare::near(&expected.reply, &found.reply, NEAR_MS))
            }
            b"DUMP" => ("dump".to_string(), unknown || compare::same_dump(&expected.reply, &found.reply)),
            b"XINFO" => ("groups".to_string(), compare::described(&expected.reply, &found.reply)),
            b"HGETALL" | b"SMEMBERS" => {
                (format!("contents ({kind})"), compare::same_unordered(expected, found, kind == "hash"))
            }
            b"ZRANGE" => (format!("contents ({kind})"), compare::same_scores(&expected.raw, &found.raw)),
            _ => (format!("contents ({kind})"), expected.raw == found.raw),
        };
        if !same {
            return differ(&what, two);
        }
    }
    None
}
