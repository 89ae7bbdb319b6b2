//! Arguments of commands, and the errors that Redis answers.

use crate::number::{parse_double, parse_int};
use bytes::Bytes;
use tidemark_core::Reply;

/// An option or argument that is not understood.
pub const SYNTAX: Reply = Reply::error("ERR syntax error");
/// Not an integer.
pub const NOT_AN_INTEGER: Reply = Reply::error("ERR value is not an integer or out of range");
/// Not a number.
pub const NOT_A_FLOAT: Reply = Reply::error("ERR value is not a valid float");
/// A number that must not be negative.
pub const NEGATIVE: Reply = Reply::error("ERR value is out of range, must be positive");

/// An integer.
///
/// # Errors
/// It is none.
pub fn int(argument: &[u8]) -> Result<i64, Reply> {
    parse_int(argument).ok_or(NOT_AN_INTEGER)
}

/// A number. Infinity is one, but not a number that is too large or too small for a double.
///
/// # Errors
/// It is none.
pub fn float(argument: &[u8]) -> Result<f64, Reply> {
    let number = std::str::from_utf8(argument).ok().and_then(parse_double).ok_or(NOT_A_FLOAT)?;
    let mantissa = || argument.iter().take_while(|byte| !byte.eq_ignore_ascii_case(&b'e'));
    let lost = match number {
        0.0 => mantissa().any(|byte| (b'1'..=b'9').contains(byte)),
        _ => number.is_infinite() && argument.iter().any(u8::is_ascii_digit),
    };
    if lost { Err(NOT_A_FLOAT) } else { Ok(number) }
}

/// Whether an argument is this word, in any case.
pub fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// The error of a command with too few or too many arguments.
pub fn arity(name: &str) -> Reply {
    Reply::Error(format!("ERR wrong number of arguments for '{name}' command").into())
}

/// Requires that there are exactly `count` arguments behind the key.
///
/// # Errors
/// There are not.
pub fn exactly<'a, const N: usize>(args: &'a [Bytes], name: &str) -> Result<&'a [Bytes; N], Reply> {
    args.try_into().map_err(|_| arity(name))
}
