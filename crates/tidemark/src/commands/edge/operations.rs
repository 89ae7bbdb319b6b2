//! Writes as operations of a transaction, and lines of text as writes.

use super::lists::Edit;
use super::verbs::{Side, Write, all_bytes, bytes};
use crate::Usage;
use anyhow::bail;
use bytes::Bytes;
use clap::Parser;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use tidemark_edge::frames::OperationKind::{
    self, Add, Delete, ListRemove, ListSet, MapAdd, MapDelete, MapSet, Set, SetAdd, SetRemove,
};
use tidemark_edge::frames::Value;

/// One write of `tx`.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    write: Write,
}

/// A change of a key.
pub(super) type Operation = (Bytes, Change);

/// What happens to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Whatever it holds.
    Plain(OperationKind),
    /// Depending on what it holds.
    List(Edit),
}

/// What a write does.
pub(super) fn operations(write: Write) -> anyhow::Result<Vec<Operation>> {
    let each = |key: OsString, all: Vec<OsString>, change: &dyn Fn(Bytes) -> Change| {
        let key = bytes(key);
        all_bytes(all).into_iter().map(|one| (key.clone(), change(one))).collect()
    };
    let one = |key: OsString, kind: OperationKind| vec![(bytes(key), Change::Plain(kind))];
    let edit = |key: OsString, edit: Edit| vec![(bytes(key), Change::List(edit))];
    let all: Vec<Operation> = match write {
        Write::Set { key, value } => one(key, Set(bytes(value))),
        Write::Del { keys } => keys.into_iter().flat_map(|key| one(key, Delete)).collect(),
        Write::Incr { key, amount } => one(key, Add(amount)),
        Write::Hset { key, fields } => {
            let (key, fields) = (bytes(key), all_bytes(fields));
            if !fields.len().is_multiple_of(2) {
                return Err(Usage("hset: each field is followed by its value".into()).into());
            }
            let set = |pair: &[Bytes]| Change::Plain(MapSet(pair[0].clone(), pair[1].clone()));
            fields.chunks(2).map(|pair| (key.clone(), set(pair))).collect()
        }
        Write::Hdel { key, fields } => each(key, fields, &|field| Change::Plain(MapDelete(field))),
        Write::Hincr { key, field, amount } => one(key, MapAdd(bytes(field), amount)),
        Write::Sadd { key, members } => each(key, members, &|member| Change::Plain(SetAdd(member))),
        Write::Srem { key, members } => each(key, members, &|member| Change::Plain(SetRemove(member))),
        Write::Rpush { key, elements } => each(key, elements, &|value| Change::List(Edit::Back(value))),
        Write::Lpush { key, elements } => each(key, elements, &|value| Change::List(Edit::Front(value))),
        Write::Linsert { key, place, pivot, element } => {
            let (behind, pivot, value) = (place == Side::After, bytes(pivot), bytes(element));
            edit(key, Edit::Beside { behind, pivot, value })
        }
        Write::Lset { key, index, element } => edit(key, Edit::Set(index, bytes(element))),
        Write::Lrem { key, count, element } => edit(key, Edit::Remove(count, bytes(element))),
    };
    if all.iter().any(|(key, _)| key.is_empty() || key.len() > tidemark_edge::frames::KEY_MAX) {
        return Err(Usage("a key has 1 to 4096 bytes".into()).into());
    }
    Ok(all)
}

/// The write that words say.
pub(super) fn of_words(words: Vec<Bytes>) -> anyhow::Result<Vec<Operation>> {
    let words = words.into_iter().map(|word| OsString::from_vec(word.into()));
    let line = Line::try_parse_from(words).map_err(|error| Usage(first_line(&error.to_string())))?;
    operations(line.write)
}

/// The first line of an error of the parser: what follows is about the command line.
pub(super) fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_string()
}

/// That an operation fits what is known of its key. A region would refuse it; so it is not even written down.
pub(super) fn fits(key: &[u8], kind: &OperationKind, value: &Value) -> anyhow::Result<()> {
    let wants = match kind {
        Set(_) | Delete => return Ok(()),
        Add(_) => "a number of 64 bits",
        MapSet(..) | MapDelete(_) | MapAdd(..) => "a hash",
        SetAdd(_) | SetRemove(_) => "a set",
        ListSet(..) | ListRemove(_) => "a list",
    };
    let number = |bytes: &[u8], amount: i64| {
        let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<i64>().ok());
        number.is_some_and(|number| number.checked_add(amount).is_some())
    };
    let fits = match (kind, value) {
        (_, Value::Absent) => true,
        (Add(amount), Value::String(there)) => number(&there.bytes, *amount),
        (MapAdd(field, amount), Value::Map(fields)) => {
            fields.get(field).is_none_or(|there| number(&there.bytes, *amount))
        }
        (MapSet(..) | MapDelete(_), Value::Map(_)) | (SetAdd(_) | SetRemove(_), Value::Set(_)) => true,
        _ => false,
    };
    if !fits {
        let (key, is) = (String::from_utf8_lossy(key), super::show::kind(value));
        bail!("{key} is {is}, and this wants {wants}; nothing was written");
    }
    Ok(())
}

/// Divides a line into words as redis-cli does: words in quotes may contain blanks, and those in double quotes `\n`, `\xff` and the like.
pub(super) fn words(line: &[u8]) -> anyhow::Result<Vec<Bytes>> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii();
    while !rest.is_empty() {
        let (word, behind) = match rest[0] {
            b'"' => quoted(&rest[1..])?,
            b'\'' => {
                let end = rest[1..].iter().position(|byte| *byte == b'\'');
                let Some(end) = end else { bail!("a quote without its end") };
                (rest[1..=end].to_vec(), &rest[end + 2..])
            }
            _ => {
                let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                (rest[..end].to_vec(), &rest[end..])
            }
        };
        if !behind.is_empty() && !behind[0].is_ascii_whitespace() {
            bail!("a blank has to follow a quote");
        }
        words.push(word.into());
        rest = behind.trim_ascii_start();
    }
    Ok(words)
}

/// The word up to its closing quote, and what follows.
fn quoted(text: &[u8]) -> anyhow::Result<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut rest = text;
    loop {
        match rest {
            [b'"', behind @ ..] => return Ok((word, behind)),
            [b'\\', b'x', high, low, behind @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or_default() as u8;
                word.push(digit(*high) << 4 | digit(*low));
                rest = behind;
            }
            [b'\\', escaped, behind @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                });
                rest = behind;
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                rest = behind;
            }
            [] => bail!("a quote without its end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_divided_as_in_redis_cli() {
        let divided = |line: &str| words(line.as_bytes()).map(|words| words.join(&b'|')).map_err(drop);
        assert_eq!(divided("  set a  b ").unwrap(), b"set|a|b");
        assert_eq!(divided(r#"set a "two words" 'it "is"' """#).unwrap(), b"set|a|two words|it \"is\"|");
        assert_eq!(divided(r#""\x00\xff\n\"\\""#).unwrap(), b"\x00\xff\n\"\\");
        for bad in [r#"set "a"#, "set 'a", r#"set "a"b"#] {
            assert!(divided(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_of_a_transaction_is_a_write() {
        let read = |line: &str| of_words(words(line.as_bytes()).unwrap());
        let key = Bytes::from_static(b"k");
        assert_eq!(read("incr k -5").unwrap(), [(key.clone(), Change::Plain(Add(-5)))]);
        let set = |field: &'static str| (key.clone(), Change::Plain(MapSet(field.into(), "1".into())));
        assert_eq!(read("hset k a 1 b 1").unwrap(), [set("a"), set("b")]);
        let list = |edit| [(key.clone(), Change::List(edit))];
        assert_eq!(read("lset k -1 x").unwrap(), list(Edit::Set(-1, "x".into())));
        assert_eq!(read("lrem k -2 x").unwrap(), list(Edit::Remove(-2, "x".into())));
        let beside = Edit::Beside { behind: true, pivot: "p".into(), value: "x".into() };
        assert_eq!(read("linsert k after p x").unwrap(), list(beside));
        for bad in
            ["linsert k beside p x", "lset k one x", "get k", "hset k a", "incr k x", "set", "nonsense", ""]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
