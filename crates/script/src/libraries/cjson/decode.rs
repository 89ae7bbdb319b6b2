//! Text as values.

use super::super::Fault;
use super::Config;
use mlua::{Lua, Value};

pub(super) fn run(lua: &Lua, text: &[u8], config: Config) -> Result<Value, Fault> {
    if text.starts_with(&[0]) || text.get(1) == Some(&0) {
        return Err(Fault::text("JSON parser does not support UTF-16 or UTF-32"));
    }
    let mut parser = Parser { lua, text, at: 0, config };
    let first = parser.token();
    let value = parser.value(first, 0)?;
    match parser.token() {
        (Token::End, _) => Ok(value),
        other => Err(unexpected("the end", &other)),
    }
}

enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Wrong(&'static str),
}

/// A token, and where it begins: the first character is 1.
type Placed = (Token, usize);

fn unexpected(expected: &str, (token, at): &Placed) -> Fault {
    let found = match token {
        Token::ObjectBegin => "T_OBJ_BEGIN",
        Token::ObjectEnd => "T_OBJ_END",
        Token::ArrayBegin => "T_ARR_BEGIN",
        Token::ArrayEnd => "T_ARR_END",
        Token::String(_) => "T_STRING",
        Token::Number(_) => "T_NUMBER",
        Token::Boolean(_) => "T_BOOLEAN",
        Token::Null => "T_NULL",
        Token::Colon => "T_COLON",
        Token::Comma => "T_COMMA",
        Token::End => "T_END",
        Token::Wrong(why) => why,
    };
    Fault::text(format!("Expected {expected} but found {found} at character {at}"))
}

struct Parser<'a> {
    lua: &'a Lua,
    text: &'a [u8],
    at: usize,
    config: Config,
}

impl Parser<'_> {
    fn token(&mut self) -> Placed {
        while self.text.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        let begin = self.at + 1;
        let Some(byte) = self.text.get(self.at).copied() else { return (Token::End, begin) };
        self.at += 1;
        let token = match byte {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b':' => Token::Colon,
            b',' => Token::Comma,
            b'"' => match self.string() {
                Ok(string) => Token::String(string),
                Err(why) => return (Token::Wrong(why), self.at + 1),
            },
            _ => {
                self.at -= 1;
                self.word()
            }
        };
        (token, begin)
    }

    fn word(&mut self) -> Token {
        let rest = &self.text[self.at..];
        let words = [("true", Token::Boolean(true)), ("false", Token::Boolean(false)), ("null", Token::Null)];
        for (word, token) in words {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return token;
            }
        }
        match number(rest) {
            Some((_, _, true)) if !self.config.decode_invalid => Token::Wrong("invalid number"),
            Some((number, len, _)) => {
                self.at += len;
                Token::Number(number)
            }
            None => Token::Wrong("invalid token"),
        }
    }

    /// What stands behind a quote, up to the next one.
    fn string(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut string = Vec::new();
        loop {
            let Some(byte) = self.text.get(self.at).copied() else { return Err("unexpected end of string") };
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(string);
                }
                b'\\' => self.escape(&mut string)?,
                byte => {
                    string.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self, string: &mut Vec<u8>) -> Result<(), &'static str> {
        let byte = match self.text.get(self.at + 1) {
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                const WRONG: &str = "invalid unicode escape code";
                let first = self.unit(self.at).ok_or(WRONG)?;
                let (code, len) = match first {
                    0xd800..0xdc00 => {
                        let low = self
                            .unit(self.at + 6)
                            .filter(|low| (0xdc00..0xe000).contains(low))
                            .ok_or(WRONG)?;
                        (0x10000 + ((first & 0x3ff) << 10) + (low & 0x3ff), 12)
                    }
                    other => (other, 6),
                };
                let character = char::from_u32(code).ok_or(WRONG)?;
                string.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                self.at += len;
                return Ok(());
            }
            _ => return Err("invalid escape code"),
        };
        string.push(byte);
        self.at += 2;
        Ok(())
    }

    /// The number that `\u` and four digits at this place mean.
    fn unit(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }

    fn value(&mut self, token: Placed, depth: u32) -> Result<Value, Fault> {
        match token {
            (Token::String(string), _) => Ok(Value::String(self.lua.create_string(string)?)),
            (Token::Number(number), _) => Ok(Value::Number(number)),
            (Token::Boolean(yes), _) => Ok(Value::Boolean(yes)),
            (Token::Null, _) => Ok(Value::NULL),
            (Token::ObjectBegin, at) => self.nested(depth, at).and_then(|depth| self.object(depth)),
            (Token::ArrayBegin, at) => self.nested(depth, at).and_then(|depth| self.array(depth)),
            other => Err(unexpected("value", &other)),
        }
    }

    fn nested(&self, depth: u32, at: usize) -> Result<u32, Fault> {
        let depth = depth + 1;
        if depth > self.config.decode_depth {
            let why = format!("Found too many nested data structures ({depth}) at character {at}");
            return Err(Fault::text(why));
        }
        Ok(depth)
    }

    fn object(&mut self, depth: u32) -> Result<Value, Fault> {
        let table = self.lua.create_table()?;
        let mut token = self.token();
        if matches!(token.0, Token::ObjectEnd) {
            return Ok(Value::Table(table));
        }
        loop {
            let key = match token {
                (Token::String(key), _) => key,
                other => return Err(unexpected("object key string", &other)),
            };
            match self.token() {
                (Token::Colon, _) => {}
                other => return Err(unexpected("colon", &other)),
            }
            let next = self.token();
            let value = self.value(next, depth)?;
            table.raw_set(self.lua.create_string(key)?, value)?;
            match self.token() {
                (Token::ObjectEnd, _) => return Ok(Value::Table(table)),
                (Token::Comma, _) => token = self.token(),
                other => return Err(unexpected("comma or object end", &other)),
            }
        }
    }

    fn array(&mut self, depth: u32) -> Result<Value, Fault> {
        let table = self.lua.create_table()?;
        let mut token = self.token();
        if matches!(token.0, Token::ArrayEnd) {
            return Ok(Value::Table(table));
        }
        for at in 1.. {
            table.raw_set(at, self.value(token, depth)?)?;
            match self.token() {
                (Token::ArrayEnd, _) => break,
                (Token::Comma, _) => token = self.token(),
                other => return Err(unexpected("comma or array end", &other)),
            }
        }
        Ok(Value::Table(table))
    }
}

/// The number that `text` begins with, its length, and whether JSON has no form for it.
fn number(text: &[u8]) -> Option<(f64, usize, bool)> {
    let signed = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let factor = if text.first() == Some(&b'-') { -1.0 } else { 1.0 };
    let rest = &text[signed..];
    let starts =
        |word: &str| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()));
    let words = [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)];
    if let Some((word, value)) = words.into_iter().find(|(word, _)| starts(word)) {
        return Some((factor * value, signed + word.len(), true));
    }
    if starts("0x") {
        let digits = rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit());
        let (value, len) = digits.fold((0.0, 0), |(value, len), digit| {
            (value * 16.0 + f64::from(char::from(*digit).to_digit(16).unwrap_or(0)), len + 1)
        });
        return (len > 0).then_some((factor * value, signed + 2 + len, true));
    }
    let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut len = whole;
    if rest.get(len) == Some(&b'.') {
        len += 1 + digits(len + 1);
    }
    if len == 0 || whole == 0 && len == 1 {
        return None;
    }
    if matches!(rest.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(len + 1), Some(b'-' | b'+')));
        let exponent = digits((len + 1 + sign).min(rest.len()));
        len += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let number: f64 = std::str::from_utf8(&rest[..len]).ok()?.parse().ok()?;
    let leading_zero = whole > 1 && rest[0] == b'0';
    Some((factor * number, signed + len, leading_zero || text[0] == b'+'))
}
