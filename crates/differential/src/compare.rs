//! When two replies are the same.

use crate::Words;
use crate::generate::Command;
use crate::shapes::{Compare, Source};
use crate::side::{Answer, Side};
use anyhow::Result;
use tidemark_wire::resp::Reply;

/// Behind the value in what DUMP returns: the version of the format, and a checksum over it.
const DUMP_TRAILER: usize = 10;

/// Whether both servers have replied the same to `command`. Some comparisons ask the servers more; what SPOP has taken
/// from one, they take from the other.
pub fn same(
    command: &Command,
    theirs: &mut Side,
    ours: &mut Side,
    expected: &Answer,
    found: &Answer,
) -> Result<bool> {
    if expected.raw == found.raw && !matches!(command.compare, Compare::Pop | Compare::Estimate) {
        return Ok(true);
    }
    if expected.error().is_some() || found.error().is_some() {
        return Ok(same_bytes(expected, found));
    }
    Ok(match command.compare {
        Compare::Exact | Compare::Sorted | Compare::Lex => false,
        Compare::Dump => same_dump(&expected.reply, &found.reply),
        Compare::Count => {
            theirs.text(&["SCAN", "0", "COUNT", "100000"])?;
            theirs.ask(&command.words)?.raw == found.raw
        }
        Compare::Unordered => {
            let pairs = command.words[0].eq_ignore_ascii_case(b"HGETALL");
            same_unordered(expected, found, pairs)
        }
        Compare::Near(by) => near(&expected.reply, &found.reply, by),
        Compare::Described => described(&expected.reply, &found.reply),
        Compare::Scan => walked(command, theirs, expected)? == walked(command, ours, found)?,
        Compare::Random(source) => {
            let held = held(source, command, theirs)?;
            let elements = elements(&found.reply);
            header(expected) == header(found) && elements.iter().all(|element| held.contains(element))
        }
        Compare::Pop => popped(command, theirs, ours, expected, found)?,
        Compare::Estimate => {
            forget_estimate(command, theirs, ours)?;
            expected.raw == found.raw
        }
    })
}

/// Whether two replies are the same byte for byte. Tidemark's errors are text: of what a client has sent they show what is UTF-8.
pub fn same_bytes(expected: &Answer, found: &Answer) -> bool {
    let text = |answer: &Answer| String::from_utf8_lossy(&answer.raw).into_owned();
    let errors = expected.error().is_some() && found.error().is_some();
    expected.raw == found.raw || errors && text(expected) == text(found)
}

/// The type and the length of a reply; of a single element only its type.
fn header(answer: &Answer) -> &[u8] {
    let end = answer.raw.windows(2).position(|two| two == b"\r\n").unwrap_or(answer.raw.len());
    let aggregate = b"*~%>".contains(&answer.raw[0]) || answer.raw.starts_with(b"$-1");
    if aggregate { &answer.raw[..end] } else { &answer.raw[..1] }
}

/// The strings of a reply, however they are nested.
fn elements(reply: &Reply) -> Vec<Vec<u8>> {
    match reply {
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => {
            items.iter().flat_map(elements).collect()
        }
        Reply::Map(pairs) => {
            pairs.iter().flat_map(|(key, value)| [elements(key), elements(value)].concat()).collect()
        }
        Reply::Null => Vec::new(),
        Reply::Double(value) => vec![format!("{value}").into_bytes()],
        Reply::Integer(value) => vec![value.to_string().into_bytes()],
        other => other.bytes().map(|bytes| bytes.to_vec()).into_iter().collect(),
    }
}

/// Whether two replies are the same but for the order of their elements; `pairs` stay together.
pub fn same_unordered(expected: &Answer, found: &Answer, pairs: bool) -> bool {
    header(expected) == header(found) && sorted(expected, pairs) == sorted(found, pairs)
}

/// What a reply holds, in an order of its own; `pairs` stay together.
fn sorted(answer: &Answer, pairs: bool) -> Vec<String> {
    let shown = |reply: &Reply| format!("{reply:?}");
    let mut all: Vec<String> = match &answer.reply {
        Reply::Map(pairs) => pairs.iter().map(|(key, value)| shown(key) + &shown(value)).collect(),
        Reply::Array(items) | Reply::Set(items) if pairs => {
            items.chunks(2).map(|pair| pair.iter().map(shown).collect()).collect()
        }
        Reply::Array(items) | Reply::Set(items) => items.iter().map(shown).collect(),
        other => vec![shown(other)],
    };
    all.sort();
    all
}

/// Integers may differ by `by` if neither is negative: those that the reply is, or, of lists within it, the third.
pub fn near(expected: &Reply, found: &Reply, by: i64) -> bool {
    let near_numbers = |a: &Reply, b: &Reply| match (a.integer(), b.integer()) {
        (Some(a), Some(b)) => a == b || (a >= 0 && b >= 0 && a.abs_diff(b) <= by.unsigned_abs()),
        _ => a == b,
    };
    let (Some(expected_items), Some(found_items)) = (expected.items(), found.items()) else {
        return near_numbers(expected, found);
    };
    let within = |(a, b): (&Reply, &Reply)| match (a.items(), b.items()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().all(|(at, (a, b))| if at == 2 { near_numbers(a, b) } else { a == b })
        }
        _ => a == b,
    };
    expected_items.len() == found_items.len() && expected_items.iter().zip(found_items).all(within)
}

/// A reply's parts, those of a map in turn.
fn parts(reply: &Reply) -> Option<Vec<&Reply>> {
    match reply {
        Reply::Map(pairs) => Some(pairs.iter().flat_map(|(name, value)| [name, value]).collect()),
        other => other.items().map(|items| items.iter().collect()),
    }
}

/// Whether two replies of XINFO are the same but for times, and for the nodes of a tree that only Redis has.
pub fn described(expected: &Reply, found: &Reply) -> bool {
    const NEAR_MS: u64 = 5_000;
    const SINCE_1970: i64 = 1_000_000_000_000;
    let (Some(ours), Some(theirs)) = (parts(found), parts(expected)) else {
        return match (expected.integer(), found.integer()) {
            (Some(a @ SINCE_1970..), Some(b @ SINCE_1970..)) => a.abs_diff(b) <= NEAR_MS,
            _ => expected == found,
        };
    };
    let differs = |at: usize| {
        let name = at.checked_sub(1).and_then(|before| theirs[before].bytes());
        match (name.map_or(&b""[..], |name| &name[..]), theirs[at].integer(), ours[at].integer()) {
            (b"radix-tree-keys" | b"radix-tree-nodes", Some(_), Some(_)) => false,
            (b"idle", Some(a), Some(b)) => a.abs_diff(b) > NEAR_MS,
            _ => !described(theirs[at], ours[at]),
        }
    };
    ours.len() == theirs.len() && !(0..ours.len()).any(differs)
}

/// All elements of a walk that has begun with `first`, sorted; those that come twice are one.
fn walked(command: &Command, side: &mut Side, first: &Answer) -> Result<Vec<Vec<u8>>> {
    // The cursor comes behind the key, if there is one.
    let at = if command.words[0].eq_ignore_ascii_case(b"SCAN") { 1 } else { 2 };
    let pairs = [&b"HSCAN"[..], b"ZSCAN"].iter().any(|name| command.words[0].eq_ignore_ascii_case(name));
    let scored = command.words[0].eq_ignore_ascii_case(b"ZSCAN");
    let (mut all, mut answer, mut words) = (Vec::new(), first.clone(), command.words.clone());
    for _ in 0..10_000 {
        let Some([cursor, Reply::Array(items)]) = answer.reply.items() else { break };
        let step = if pairs { 2 } else { 1 };
        let joined = |chunk: &[Reply]| {
            let mut words = chunk.iter().flat_map(elements).collect::<Vec<_>>();
            if scored {
                words[1] = plain_score(&words[1]);
            }
            words.join(&b'\0')
        };
        all.extend(items.chunks(step).map(joined));
        let cursor = cursor.bytes().map(|bytes| bytes.to_vec()).unwrap_or_default();
        if cursor == b"0" {
            all.sort();
            all.dedup();
            return Ok(all);
        }
        words[at] = cursor;
        answer = side.ask(&words)?;
    }
    Ok(vec![format!("a walk without end, or no walk: {}", answer.shown()).into_bytes()])
}

/// A score of ZSCAN without an exponent: whole scores have none in a listpack, and whether redis-server has the set in one
/// depends on how it came about. Of seventeen digits as few are left as tell the number, and
/// of -0 the 0.
fn plain_score(score: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(score);
    match text.parse::<f64>() {
        Ok(0.0) => b"0".to_vec(),
        Ok(number) if text.contains('e') || text.len() > 17 => format!("{number}").into_bytes(),
        _ => score.to_vec(),
    }
}

/// What random replies may hold.
fn held(source: Source, command: &Command, theirs: &mut Side) -> Result<Vec<Vec<u8>>> {
    let key = command.words.get(1).cloned().unwrap_or_default();
    let words: Vec<&[u8]> = match source {
        Source::Set => vec![b"SMEMBERS", &key],
        Source::Hash => vec![b"HGETALL", &key],
        Source::Zset => vec![b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"],
        Source::Keys => vec![b"KEYS", b"*"],
    };
    let words: Vec<Vec<u8>> = words.into_iter().map(<[u8]>::to_vec).collect();
    Ok(elements(&theirs.ask(&words)?.reply))
}

/// Whether redis-server draws lots for the reply to a command: then nothing is compared.
pub fn is_random(command: &Command, theirs: &mut Side) -> Result<bool> {
    match command.compare {
        Compare::Sorted => is_unordered(&command.words, theirs),
        Compare::Lex => is_uneven(&command.words, theirs),
        _ => Ok(false),
    }
}

/// SORT of a set or a sorted set: as text, elements of the same weight come in the order in which redis-server walks it, and
/// so do all of a set if there are no weights. Without weights it compares text only up to the first zero byte.
fn is_unordered(words: &Words, theirs: &mut Side) -> Result<bool> {
    let [_, key, options @ ..] = &words[..] else { return Ok(false) };
    let alpha = options.iter().any(|option| option.eq_ignore_ascii_case(b"ALPHA"));
    let by = options.windows(2).filter(|two| two[0].eq_ignore_ascii_case(b"BY"));
    let weighed = by.map(|two| two[1].contains(&b'*')).next_back();
    let kind = theirs.ask(&[b"TYPE".to_vec(), key.clone()])?;
    let (all, most): ([&[u8]; 4], usize) = match kind.reply.bytes().map(|kind| &kind[..]) {
        Some(b"set") if weighed.is_some_and(|weighed| !weighed || alpha) => return Ok(true),
        Some(b"zset") if weighed == Some(true) && alpha => return Ok(true),
        Some(b"set") if alpha => ([b"SUNION", key, key, key], 0),
        Some(b"zset") if alpha => ([b"ZRANGE", key, b"0", b"-1"], 0),
        // Of more than six its algorithm changes the order of those that are the same.
        Some(b"list") if alpha => ([b"LRANGE", key, b"0", b"-1"], 6),
        _ => return Ok(false),
    };
    let held = elements(&theirs.ask(&all.map(<[u8]>::to_vec))?.reply);
    let same = weighed == Some(true) || held.iter().any(|element| element.contains(&0));
    Ok(same && held.len() > most)
}

/// A command that looks at text in a sorted set, the first or the second argument, that has several scores.
fn is_uneven(words: &Words, theirs: &mut Side) -> Result<bool> {
    for key in words.iter().skip(1).take(2) {
        let mut end = |name: &[u8]| -> Result<_> {
            let asked: [&[u8]; 5] = [name, key, b"0", b"0", b"WITHSCORES"];
            Ok(elements(&theirs.ask(&asked.map(<[u8]>::to_vec))?.reply).pop())
        };
        if end(b"ZRANGE")? != end(b"ZREVRANGE")? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// After SPOP: both have taken as many; each server loses what the other has taken, and must have had it.
fn popped(
    command: &Command,
    theirs: &mut Side,
    ours: &mut Side,
    expected: &Answer,
    found: &Answer,
) -> Result<bool> {
    if header(expected) != header(found) {
        return Ok(false);
    }
    let (from_theirs, from_ours) = (elements(&expected.reply), elements(&found.reply));
    let key = command.words.get(1).cloned().unwrap_or_default();
    let mut same = from_theirs.len() == from_ours.len();
    for (side, mine, other) in [(theirs, &from_theirs, &from_ours), (ours, &from_ours, &from_theirs)] {
        let rest: Vec<_> = other.iter().filter(|member| !mine.contains(member)).cloned().collect();
        if !rest.is_empty() {
            let removed = side.ask(&[vec![b"SREM".to_vec(), key.clone()], rest.clone()].concat())?;
            same &= removed.reply.integer() == i64::try_from(rest.len()).ok();
        }
    }
    Ok(same)
}

/// After PFCOUNT of one key: redis-server keeps the estimate in the value, at these bytes, and Tidemark does not.
fn forget_estimate(command: &Command, theirs: &mut Side, ours: &mut Side) -> Result<()> {
    const ESTIMATE: std::ops::Range<usize> = 8..16;
    let [_, key] = &command.words[..] else { return Ok(()) };
    let get = [b"GET".to_vec(), key.clone()];
    let (expected, found) = (theirs.ask(&get)?, ours.ask(&get)?);
    if expected.raw != found.raw
        && let Some(own) = found.reply.bytes().and_then(|value| value.get(ESTIMATE))
    {
        theirs.ask(&[b"SETRANGE".to_vec(), key.clone(), b"8".to_vec(), own.to_vec()])?;
    }
    Ok(())
}

/// Strings are dumped alike but for the version and the checksum; other types may be encoded and ordered otherwise.
pub fn same_dump(expected: &Reply, found: &Reply) -> bool {
    let (Some(expected), Some(found)) = (expected.bytes(), found.bytes()) else { return expected == found };
    let value = |dump: &[u8]| dump[..dump.len().saturating_sub(DUMP_TRAILER)].to_vec();
    let (expected, found) = (value(expected), value(found));
    let string = |dump: &[u8]| dump.first() == Some(&0);
    if string(&expected) { expected == found } else { !string(&found) }
}

/// Whether two replies are the same but for the form of scores with seventeen digits, as redis-server 7.0 shows them:
/// Tidemark shows as few as tell the number, as 7.2 does. A score of -0 is 0 in Tidemark, and in a listpack of redis-server.
pub fn same_scores(expected: &[u8], found: &[u8]) -> bool {
    let lines = |raw: &[u8]| raw.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (expected, found) = (lines(expected), lines(found));
    let length = |line: &[u8]| line.first() == Some(&b'$') && line.ends_with(b"\r");
    let same = |at: usize| {
        let (expected, found) = (&expected[at], &found[at]);
        expected == found || length(expected) && length(found) || same_score(expected, found)
    };
    expected.len() == found.len() && (0..expected.len()).all(same)
}

fn same_score(expected: &[u8], found: &[u8]) -> bool {
    let text = |line: &[u8]| String::from_utf8_lossy(line).trim_start_matches(',').trim_end().to_string();
    let (expected, found) = (text(expected), text(found));
    let (Ok(a), Ok(b)) = (expected.parse::<f64>(), found.parse::<f64>()) else { return false };
    let digits = expected.split('e').next().unwrap_or_default().trim_start_matches(['-', '0', '.']);
    let digits = digits.bytes().filter(u8::is_ascii_digit).count();
    a == b && (expected == "-0" || digits == 17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_digits_of_scores_may_differ() {
        let same = |a: &str, b: &str| same_scores(a.as_bytes(), b.as_bytes());
        assert!(same("$19\r\n0.10000000000000001\r\n", "$3\r\n0.1\r\n"));
        assert!(same(",9.9999999999999995e+33\r\n", ",1e+34\r\n"));
        assert!(same("$2\r\n-0\r\n", "$1\r\n0\r\n"));
        assert!(!same("$19\r\n0.10000000000000001\r\n", "$3\r\n0.2\r\n"));
        assert!(same("$22\r\n4.6616806983962844e-05\r\n", "$23\r\n0.000046616806983962844\r\n"));
        assert!(!same("$3\r\n0.1\r\n", "$4\r\n0.10\r\n"));
        assert!(!same("$1\r\n0\r\n", "$2\r\n-0\r\n"));
        assert!(!same("$2\r\nm1\r\n", "$2\r\nm2\r\n"));
    }

    fn array(items: &[&'static str]) -> Reply {
        Reply::Array(items.iter().map(|item| Reply::from(*item)).collect())
    }

    #[test]
    fn pairs_stay_together() {
        let answer = |items: &[&'static str]| Answer { raw: b"*4\r\n".to_vec(), reply: array(items) };
        let (a, b) = (answer(&["f", "1", "g", "2"]), answer(&["g", "2", "f", "1"]));
        let swapped = answer(&["f", "2", "g", "1"]);
        assert_eq!(sorted(&a, true), sorted(&b, true));
        assert_ne!(sorted(&a, true), sorted(&swapped, true));
        assert_eq!(sorted(&a, false), sorted(&swapped, false));
    }

    #[test]
    fn only_clocks_may_be_near() {
        let number = Reply::Integer;
        assert!(near(&number(1000), &number(999), 1));
        assert!(!near(&number(1000), &number(998), 1));
        assert!(!near(&number(-1), &number(0), 1));
        let pending = |idle: i64, times: i64| {
            let entry = vec![Reply::from("1-1"), Reply::from("c1"), number(idle), number(times)];
            Reply::Array(vec![Reply::Array(entry)])
        };
        assert!(near(&pending(5, 1), &pending(9, 1), 10));
        assert!(!near(&pending(5, 1), &pending(5, 2), 10));
    }

    #[test]
    fn dumps_of_strings_are_the_same_but_for_their_trailer() {
        let dump = |bytes: &'static [u8]| Reply::Bulk(bytes.into());
        assert!(same_dump(&dump(b"\x00\x01a0123456789"), &dump(b"\x00\x01a9876543210")));
        assert!(!same_dump(&dump(b"\x00\x01a0123456789"), &dump(b"\x00\x01b0123456789")));
        assert!(!same_dump(&dump(b"\x00\x01a0123456789"), &Reply::Null));
        assert!(same_dump(&Reply::Null, &Reply::Null));
    }
}
