//! The table of command shapes, and how it is read.
//!
//! A line is a command. Words in capitals are sent as they are; words in small letters are drawn, as [`crate::generate`]
//! says. `[x]` is x or nothing, `<x|y>` is one of them, `(x)+` is x once to three times. Behind `~` stands how replies are
//! compared, if not byte for byte. Two lines stand for more: `MULTI` is a transaction of commands of other lines, and `EVAL` alone a
//! script that calls one.
//!
//! Left out, because their replies depend on the time or on the process: TIME, INFO, OBJECT IDLETIME, XADD with `*` as ID,
//! LASTSAVE, MEMORY, and what configures or describes a server. Commands that wait do so for a millisecond.

use anyhow::{Context, Result, bail};

/// How the replies to a command are compared. Error replies are always compared byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Byte for byte.
    Exact,
    /// Elements in any order; with pairs in RESP2, pairs in any order.
    Unordered,
    /// The same number of elements, each from what the server holds.
    Random(Source),
    /// The same, and what either server has taken out is taken out of the other too.
    Pop,
    /// The same, and what redis-server notes in the value when it counts goes: here a read writes nothing.
    Estimate,
    /// The walk to its end gives the same elements.
    Scan,
    /// The same once redis-server has deleted what has expired: until then it counts that too.
    Count,
    /// Strings are dumped alike; other types may be encoded and ordered otherwise.
    Dump,
    /// Byte for byte, but left out if the reply depends on the order in which redis-server walks a set: it is random.
    Sorted,
    /// Byte for byte, but left out for a sorted set with several scores: what redis-server finds there by text is random.
    Lex,
    /// Integers may differ by this much: a clock goes on between the two servers.
    Near(i64),
    /// But for times, and for what only one of them has: a description.
    Described,
}

/// The elements that a random reply may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Those of the set that is named by the first argument.
    Set,
    /// The fields of a hash, and its values.
    Hash,
    /// The members of a sorted set, and their scores.
    Zset,
    /// All keys.
    Keys,
}

/// A part of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Sent as it is.
    Word(String),
    /// Drawn: the name of its kind.
    Draw(String),
    /// Sent or not.
    Optional(Vec<Part>),
    /// One of them.
    Choice(Vec<Vec<Part>>),
    /// Once or more.
    Repeated(Vec<Part>),
}

/// A command shape.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The group in the table.
    pub group: &'static str,
    /// The command, with its subcommand if it is a container.
    pub name: String,
    /// The command and its arguments.
    pub parts: Vec<Part>,
    /// How replies are compared.
    pub compare: Compare,
}

const TABLE: [(&str, &str); 14] = [
    ("string", include_str!("../shapes/string.txt")),
    ("bitmap", include_str!("../shapes/bitmap.txt")),
    ("hll", include_str!("../shapes/hll.txt")),
    ("hash", include_str!("../shapes/hash.txt")),
    ("set", include_str!("../shapes/set.txt")),
    ("zset", include_str!("../shapes/zset.txt")),
    ("geo", include_str!("../shapes/geo.txt")),
    ("list", include_str!("../shapes/list.txt")),
    ("stream", include_str!("../shapes/stream.txt")),
    ("generic", include_str!("../shapes/generic.txt")),
    ("expire", include_str!("../shapes/expire.txt")),
    ("connection", include_str!("../shapes/connection.txt")),
    ("transaction", include_str!("../shapes/transaction.txt")),
    ("script", include_str!("../shapes/script.txt")),
];

/// Commands whose second word is a subcommand.
const CONTAINERS: [&str; 8] =
    ["OBJECT", "XGROUP", "XINFO", "SCRIPT", "CLIENT", "PUBSUB", "COMMAND", "FUNCTION"];

/// The groups of the table.
pub fn groups() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(group, _)| *group)
}

/// All shapes of the groups.
pub fn of(groups: &[String]) -> Result<Vec<Shape>> {
    let mut shapes = Vec::new();
    for wanted in groups {
        let group = TABLE.iter().find(|(group, _)| group == wanted);
        let (group, text) = group.with_context(|| format!("{wanted}: no such group"))?;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            shapes.push(shape(group, line).with_context(|| line.to_string())?);
        }
    }
    Ok(shapes)
}

fn shape(group: &'static str, line: &str) -> Result<Shape> {
    let (syntax, compare) = line.split_once('~').unwrap_or((line, ""));
    let compare = match compare.trim() {
        "" => Compare::Exact,
        "unordered" => Compare::Unordered,
        "random set" => Compare::Random(Source::Set),
        "random hash" => Compare::Random(Source::Hash),
        "random zset" => Compare::Random(Source::Zset),
        "random keys" => Compare::Random(Source::Keys),
        "pop" => Compare::Pop,
        "estimate" => Compare::Estimate,
        "scan" => Compare::Scan,
        "count" => Compare::Count,
        "dump" => Compare::Dump,
        "sorted" => Compare::Sorted,
        "lex" => Compare::Lex,
        "near seconds" => Compare::Near(1),
        "near milliseconds" => Compare::Near(1000),
        "described" => Compare::Described,
        other => bail!("{other}: no such comparison"),
    };
    let tokens = tokens(syntax);
    let mut rest = &tokens[..];
    let parts = sequence(&mut rest, &[])?;
    let words: Vec<&str> = syntax.split_whitespace().collect();
    let count = if CONTAINERS.contains(&words[0]) { 2 } else { 1 };
    Ok(Shape { group, name: words[..count].join(" "), parts, compare })
}

/// Words, and marks each for itself.
fn tokens(syntax: &str) -> Vec<String> {
    let mut spaced = String::new();
    for letter in syntax.chars() {
        if "[]<>|()+".contains(letter) {
            spaced.extend([' ', letter, ' ']);
        } else {
            spaced.push(letter);
        }
    }
    spaced.split_whitespace().map(String::from).collect()
}

/// Parts up to one of `ends`, which is taken too.
fn sequence(rest: &mut &[String], ends: &[&str]) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    while let Some((token, after)) = rest.split_first() {
        if ends.contains(&token.as_str()) {
            return Ok(parts);
        }
        *rest = after;
        parts.push(match token.as_str() {
            "[" => {
                let inner = sequence(rest, &["]"])?;
                expect(rest, "]")?;
                Part::Optional(inner)
            }
            "(" => {
                let inner = sequence(rest, &[")"])?;
                expect(rest, ")")?;
                expect(rest, "+")?;
                Part::Repeated(inner)
            }
            "<" => {
                let mut choices = vec![sequence(rest, &["|", ">"])?];
                while rest.first().is_some_and(|token| token == "|") {
                    *rest = &rest[1..];
                    choices.push(sequence(rest, &["|", ">"])?);
                }
                expect(rest, ">")?;
                Part::Choice(choices)
            }
            word if word.chars().all(|letter| letter.is_ascii_lowercase()) => {
                if !crate::words::KINDS.contains(&word) {
                    bail!("{word}: nothing says how it is drawn");
                }
                Part::Draw(word.to_string())
            }
            word => Part::Word(word.to_string()),
        });
    }
    if ends.is_empty() { Ok(parts) } else { bail!("{} is missing", ends.join(" or ")) }
}

fn expect(rest: &mut &[String], token: &str) -> Result<()> {
    match rest.split_first() {
        Some((found, after)) if found == token => {
            *rest = after;
            Ok(())
        }
        _ => bail!("{token} is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let all: Vec<String> = groups().map(String::from).collect();
        let shapes = of(&all).unwrap();
        for group in groups() {
            assert!(shapes.iter().filter(|shape| shape.group == group).count() >= 4, "{group}");
        }
        assert!(of(&["other".to_string()]).is_err());
    }

    #[test]
    fn shapes_nest() {
        let shape = shape("x", "SET key [<EX seconds|NX>] (value)+ ~unordered").unwrap();
        let draw = |name: &str| Part::Draw(name.into());
        let word = |word: &str| Part::Word(word.into());
        let choice = Part::Choice(vec![vec![word("EX"), draw("seconds")], vec![word("NX")]]);
        let expected =
            [word("SET"), draw("key"), Part::Optional(vec![choice]), Part::Repeated(vec![draw("value")])];
        assert_eq!(shape.parts, expected);
        assert_eq!((&shape.name[..], shape.compare), ("SET", Compare::Unordered));
    }

    #[test]
    fn mistakes_in_the_table_are_found() {
        for line in ["GET [key", "GET <key|", "GET (key)", "GET nothing", "GET key ~perhaps"] {
            assert!(shape("x", line).is_err(), "{line}");
        }
    }
}
