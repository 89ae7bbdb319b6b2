//! Random commands of the shapes of the table: few keys and members, so that commands meet; values at the limits; and
//! now and then a command that is malformed.

use crate::Words;
use crate::shapes::{Compare, Part, Shape};
use crate::words::{BY, CHANNELS, DIGESTS, FAR, FLOATS, GARBAGE, GET, INTS, PAYLOADS, SCRIPTS, VALUES};
use fastrand::Rng;

/// A command, and how its replies are compared.
#[derive(Clone, Debug)]
pub struct Command {
    /// What is sent before, such as MULTI and what is queued; all replies are compared.
    pub before: Vec<Words>,
    /// What is sent.
    pub words: Words,
    /// The command that a script calls, if it does nothing else.
    pub called: Option<Words>,
    /// How the replies are compared.
    pub compare: Compare,
}

/// Draws commands; the same seed gives the same ones.
pub struct Generator<'a> {
    rng: Rng,
    shapes: &'a [Shape],
    group: &'static str,
}

impl<'a> Generator<'a> {
    /// A generator of commands of `shapes`.
    pub fn new(seed: u64, shapes: &'a [Shape]) -> Self {
        Self { rng: Rng::with_seed(seed), shapes, group: "" }
    }

    /// The next command.
    ///
    /// REQUIRES: there are shapes.
    pub fn command(&mut self) -> Command {
        let shape = &self.shapes[self.rng.usize(..self.shapes.len())];
        match &shape.name[..] {
            "MULTI" => self.transaction(),
            "EVAL" if shape.parts.len() == 1 => self.call(),
            _ => self.single(shape),
        }
    }

    /// A command whose reply is compared byte for byte, wherever it stands.
    fn exact(&mut self) -> Words {
        const NOT_QUEUED: [&str; 7] = ["MULTI", "EXEC", "DISCARD", "WATCH", "EVAL", "FLUSHALL", "FLUSHDB"];
        for _ in 0..1000 {
            let shape = &self.shapes[self.rng.usize(..self.shapes.len())];
            if shape.compare == Compare::Exact && !NOT_QUEUED.contains(&&shape.name[..]) {
                return self.single(shape).words;
            }
        }
        vec![b"PING".to_vec()]
    }

    /// MULTI, some commands, and EXEC, or rarely DISCARD.
    fn transaction(&mut self) -> Command {
        let mut before = vec![vec![b"MULTI".to_vec()]];
        for _ in 0..self.rng.usize(0..=5) {
            before.push(self.exact());
        }
        let last: &[u8] = if self.rng.u8(..10) == 0 { b"DISCARD" } else { b"EXEC" };
        Command { before, words: vec![last.to_vec()], called: None, compare: Compare::Exact }
    }

    /// A script that calls a command.
    fn call(&mut self) -> Command {
        let mut command = self.exact();
        if command.len() == 1 {
            command.push(Vec::new());
        }
        let script = if self.rng.bool() { "call" } else { "pcall" };
        let script = format!("return redis.{script}(ARGV[1], KEYS[1], unpack(ARGV, 2))");
        let mut words = vec![b"EVAL".to_vec(), script.into_bytes(), b"1".to_vec()];
        words.extend([command[1].clone(), command[0].clone()]);
        words.extend(command[2..].iter().cloned());
        Command { before: Vec::new(), words, called: Some(command), compare: Compare::Exact }
    }

    fn single(&mut self, shape: &Shape) -> Command {
        self.group = shape.group;
        let mut words = Words::new();
        self.expand(&shape.parts, &mut words);
        // Without its arguments FLUSHALL would become an asynchronous one.
        if shape.name != "FLUSHALL" && self.rng.u8(..100) < 8 {
            self.spoil(&mut words);
        }
        if self.rng.u8(..20) == 0 {
            words[0].make_ascii_lowercase();
        }
        Command { before: Vec::new(), words, called: None, compare: shape.compare }
    }

    fn expand(&mut self, parts: &[Part], words: &mut Words) {
        for part in parts {
            match part {
                Part::Word(word) => words.push(word.as_bytes().to_vec()),
                Part::Draw(kind) => self.draw(kind, words),
                Part::Optional(inner) => {
                    if self.rng.u8(..10) < 4 {
                        self.expand(inner, words);
                    }
                }
                Part::Choice(choices) => {
                    let choice = self.rng.usize(..choices.len());
                    self.expand(&choices[choice], words);
                }
                Part::Repeated(inner) => {
                    for _ in 0..self.rng.usize(1..=3) {
                        self.expand(inner, words);
                    }
                }
            }
        }
    }

    /// Makes a command malformed in one place.
    fn spoil(&mut self, words: &mut Words) {
        let at = self.rng.usize(..words.len());
        match self.rng.u8(..4) {
            0 if words.len() > 1 => {
                words.pop();
            }
            1 => words.push(self.of(&GARBAGE)),
            2 if at > 0 => words[at] = self.of(&GARBAGE),
            _ if at > 0 => words.insert(at, words[at].clone()),
            _ => words.push(b"extra".to_vec()),
        }
    }

    fn of(&mut self, choices: &[&[u8]]) -> Vec<u8> {
        choices[self.rng.usize(..choices.len())].to_vec()
    }

    fn text(&mut self, choices: &[&str]) -> Vec<u8> {
        choices[self.rng.usize(..choices.len())].as_bytes().to_vec()
    }

    fn draw(&mut self, kind: &str, words: &mut Words) {
        if kind == "numkeys" {
            return self.numbered_keys(words);
        }
        let word = match kind {
            "key" => self.key(),
            "even" => self.text(&["y1", "y2"]),
            "value" | "text" => self.value(),
            "garbage" => self.of(&GARBAGE),
            "field" | "member" => self.member(),
            "pattern" => self.text(&["*", "*1", "s*", "[hl]?", "nothing*", "m*", "\\*", "", "?", "[^s]*"]),
            "typename" => self.text(&["string", "hash", "set", "zset", "list", "stream", "STRING", "x"]),
            "by" => self.text(&BY),
            "get" => self.text(&GET),
            "script" => self.text(&SCRIPTS),
            "hex" => self.text(&DIGESTS),
            "payload" => self.of(&PAYLOADS),
            "channel" => self.text(&CHANNELS),
            "group" => self.text(&["g1", "g2"]),
            "consumer" => self.text(&["c1", "c2"]),
            "id" => self.id(),
            "newid" => {
                if self.rng.bool() {
                    b">".to_vec()
                } else {
                    self.id()
                }
            }
            "idbound" => self.text(&["-", "+", "1", "2-1", "(1-1", "(3", "3-2", "0", "x"]),
            "lex" => self.text(&["-", "+", "[m1", "(m1", "[m3", "(m2", "[", "(", "m1"]),
            "bits" => self.text(&["u8", "i8", "u1", "i5", "u63", "i64", "u64", "i65", "u0", "x8"]),
            other => self.number(other),
        };
        words.push(word);
    }

    /// Numbers of each kind.
    fn number(&mut self, kind: &str) -> Vec<u8> {
        match kind {
            "int" => self.text(&INTS),
            "float" => self.text(&FLOATS),
            "score" => {
                self.text(&["0", "1", "2", "-1", "1.5", "2", "3", "inf", "-inf", "1e17", "nan", "x", "-0"])
            }
            "bound" => self.text(&["-inf", "+inf", "0", "(1", "1", "(2", "2", "3", "(inf", "x", "(-inf"]),
            "index" => {
                self.text(&["0", "1", "-1", "2", "-2", "3", "-100", "100", "x", "9223372036854775807"])
            }
            "offset" => self.text(&["0", "1", "5", "7", "8", "31", "#1", "-1", "100", "4294967296", "x"]),
            "small" => self.text(&["1", "2", "3", "0", "10", "-1", "x"]),
            "count" => self.text(&["1", "2", "5", "0", "-1", "-3", "-9223372036854775808", "x"]),
            "many" => self.text(&["1000", "1", "10", "0", "-1", "x"]),
            "bit" => self.text(&["0", "1", "1", "0", "2", "x"]),
            "seconds" => self.text(&[
                "1000",
                "100000",
                "5000",
                "0",
                "-1",
                "9223372036854775807",
                "9223372036854776",
                "x",
            ]),
            "ms" => self.text(&["1000000", "7000000", "0", "-1", "9223372036854775807", "x"]),
            "at" => self.text(&[FAR, "4102444900", "1", "0", "-1", "9223372036854775807", "x"]),
            "atms" => {
                self.text(&["4102444800000", "4102444900000", "1", "0", "-1", "9223372036854775807", "x"])
            }
            "longitude" => self.text(&["13.361389", "15.087269", "-122.4", "0", "180", "181", "x"]),
            "latitude" => self.text(&["38.115556", "37.502669", "0", "85", "86", "x"]),
            "distance" => self.text(&["200", "100", "0", "1000000", "-1", "x"]),
            other => unreachable!("KINDS holds {other}, and nothing draws it"),
        }
    }

    /// A key: mostly one of the group's own, so that a command finds its type.
    fn key(&mut self) -> Vec<u8> {
        let own = match self.group {
            "string" => "s",
            "bitmap" => "b",
            "hll" => "p",
            "hash" => "h",
            "set" => "m",
            "zset" => "z",
            "geo" => "g",
            "list" => "l",
            "stream" => "x",
            _ => self.rng.choice(["s", "b", "p", "h", "m", "z", "g", "l", "x"]).expect("there are some"),
        };
        match self.rng.u8(..100) {
            0..10 => self.text(&["s1", "h1", "m1", "z1", "l1", "x1"]),
            10..12 => self.of(&[b"", b"\x00k\xff", b"missing"]),
            _ => format!("{own}{}", self.rng.u8(1..=3)).into_bytes(),
        }
    }

    fn value(&mut self) -> Vec<u8> {
        match self.rng.u8(..50) {
            0 => vec![b'v'; self.rng.usize(40..100)],
            1 => vec![b'w'; 5000],
            _ => self.of(&VALUES),
        }
    }

    fn member(&mut self) -> Vec<u8> {
        match self.rng.u8(..20) {
            0 => self.value(),
            _ => format!("m{}", self.rng.u8(1..=5)).into_bytes(),
        }
    }

    fn id(&mut self) -> Vec<u8> {
        match self.rng.u8(..10) {
            0 => {
                self.text(&["0", "0-0", "x", "1-x", "18446744073709551615-18446744073709551615", "5-*", "-"])
            }
            _ => format!("{}-{}", self.rng.u8(1..=6), self.rng.u8(1..=4)).into_bytes(),
        }
    }

    /// A number of keys, and as many keys; sometimes another number.
    fn numbered_keys(&mut self, words: &mut Words) {
        let count = self.rng.usize(1..=2);
        let said =
            if self.rng.u8(..12) == 0 { self.text(&["0", "-1", "3", "x"]) } else { count.to_string().into() };
        words.push(said);
        for _ in 0..count {
            let key = self.key();
            words.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{shapes, words::KINDS};

    #[test]
    fn a_seed_gives_the_same_commands() {
        let all: Vec<String> = shapes::groups().map(String::from).collect();
        let shapes = shapes::of(&all).unwrap();
        let draw = |seed: u64| {
            let mut generator = Generator::new(seed, &shapes);
            (0..20_000).map(|_| generator.command().words).collect::<Vec<_>>()
        };
        let first = draw(1);
        assert!(first == draw(1) && first != draw(2));
    }

    #[test]
    fn everything_can_be_drawn() {
        let mut generator = Generator::new(1, &[]);
        for kind in KINDS {
            for _ in 0..200 {
                generator.draw(kind, &mut Words::new());
            }
        }
    }
}
