//! Whether two servers hold the same: their keys, and of each key its type, its contents and whether it has a deadline.

use crate::campaign::Difference;
use crate::compare;
use crate::side::{Answer, Side, is_unknown};
use anyhow::Result;

/// How the contents of a type are read, and whether in an order that counts.
const CONTENTS: [(&str, &[&str], bool); 6] = [
    ("string", &["GET", "KEY"], true),
    ("hash", &["HGETALL", "KEY"], false),
    ("set", &["SMEMBERS", "KEY"], false),
    ("zset", &["ZRANGE", "KEY", "0", "-1", "WITHSCORES"], true),
    ("list", &["LRANGE", "KEY", "0", "-1"], true),
    ("stream", &["XRANGE", "KEY", "-", "+"], true),
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
    for key in expected {
        if let Some(difference) = of_key(&key, theirs, ours)? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

fn of_key(key: &[u8], theirs: &mut Side, ours: &mut Side) -> Result<Option<Difference>> {
    let words = |words: &[&str]| -> Vec<Vec<u8>> {
        let word = |word: &&str| if *word == "KEY" { key.to_vec() } else { word.as_bytes().to_vec() };
        words.iter().map(word).collect()
    };
    let mut both = |asked: &[&str]| -> Result<(Answer, Answer)> {
        Ok((theirs.ask(&words(asked))?, ours.ask(&words(asked))?))
    };
    let differ = |what: &str, expected: &Answer, found: &Answer| {
        let what = format!("{what} of {}", crate::line(&[key.to_vec()]));
        Some(Difference::of_state(&what, &expected.shown(), &found.shown()))
    };
    let (expected, found) = both(&["TYPE", "KEY"])?;
    if expected.raw != found.raw {
        return Ok(differ("type", &expected, &found));
    }
    let kind =
        expected.reply.bytes().map(|kind| String::from_utf8_lossy(kind).into_owned()).unwrap_or_default();
    if let Some((_, asked, ordered)) = CONTENTS.iter().find(|(known, ..)| *known == kind) {
        let (expected, found) = both(asked)?;
        let same = if *ordered {
            expected.raw == found.raw
        } else {
            compare::same_unordered(&expected, &found, kind == "hash")
        };
        if !same {
            return Ok(differ(&format!("contents ({kind})"), &expected, &found));
        }
    }
    if kind == "stream" {
        let (expected, found) = both(&["XINFO", "STREAM", "KEY", "FULL", "COUNT", "0"])?;
        if !compare::described(&expected.reply, &found.reply) {
            return Ok(differ("groups", &expected, &found));
        }
    }
    let (expected, found) = both(&["PTTL", "KEY"])?;
    let unknown = found.error().is_some_and(|error| is_unknown(&error));
    if !unknown && !compare::near(&expected.reply, &found.reply, NEAR_MS) {
        return Ok(differ("deadline", &expected, &found));
    }
    let (expected, found) = both(&["DUMP", "KEY"])?;
    let unknown = found.error().is_some_and(|error| is_unknown(&error));
    if !unknown && !compare::same_dump(&expected.reply, &found.reply) {
        return Ok(differ("dump", &expected, &found));
    }
    Ok(None)
}
