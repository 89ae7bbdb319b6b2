//! Numbers as text: the strict integers of RESP and of command arguments, and the shortest doubles.

use std::fmt::Write as _;

/// Reads a decimal integer as Redis does: an optional minus sign, no plus sign, no leading zeros, no spaces,
/// nothing but digits, within 64 bits. `-0` is no number.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude = 0u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Nineteen digits always fit.
        magnitude = magnitude * 10 + u64::from(digit);
    }
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Reads the whole line `?<digits>\r.` at `at` if it has at most eight digits and no leading zero: the number and
/// where the next line begins. None for anything else, complete or not: a slower look decides.
#[inline]
pub(super) fn short_length(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let line = bytes.get(at + 1..)?;
    let first = line.first()?.wrapping_sub(b'0');
    if first > 9 {
        return None;
    }
    let mut value = usize::from(first);
    for digits in 1..9 {
        let byte = *line.get(digits)?;
        if byte == b'\r' {
            return (line.len() > digits + 1).then_some((value, at + digits + 3));
        }
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || value == 0 {
            return None;
        }
        value = value * 10 + usize::from(digit);
    }
    None
}

/// Appends the shortest decimal that reads back as `value`: `3.14`, `1e+100`, `inf`, `-inf`, `nan`.
///
/// Plain notation is kept for up to seven padding zeros behind the digits and six before them, else the exponent
/// is written with its sign, as Redis 7.2 does.
pub fn format_f64(value: f64, out: &mut String) {
    if value.is_nan() {
        return out.push_str("nan");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    }
    if value == 0.0 {
        return out.push_str(if value.is_sign_negative() { "-0" } else { "0" });
    }
    // `{:e}` prints the shortest digits as d.ddde±x.
    let mut scientific = String::with_capacity(32);
    let _ = write!(scientific, "{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a whole exponent");
    let digits = mantissa.len() as i32 - i32::from(mantissa.contains('.')) - i32::from(value < 0.0);
    let padding = exponent + 1 - digits;
    if (padding < 7 && exponent >= 0) || (-7..0).contains(&exponent) {
        let _ = write!(out, "{value}");
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{}", exponent.unsigned_abs());
    }
}
