//! Numbers as text: decimal, hexadecimal as C reads it, and shown as Redis shows them.

use super::{Dd, scaled};

/// Digits that are read; those behind them are too small to count.
const DIGITS_MAX: usize = 36;
/// The same of hexadecimal digits.
const HEX_DIGITS_MAX: usize = 26;

impl Dd {
    /// Reads a number as Redis does; none if it is not one. The word `inf` is a number, NaN is not, nor are digits beyond the range of
    /// 80 bits; what a double cannot hold of those within is infinite.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let number = match hexadecimal(text) {
            Some(number) => number,
            None => {
                let high = parse_double(text)?;
                let exact = decimal(text).filter(|_| high.is_finite());
                exact.unwrap_or(Self { high, low: 0.0 })
            }
        };
        (number.is_finite() || !is_beyond(text)).then_some(number)
    }

    /// As Redis shows what INCRBYFLOAT makes: in 80 bits, with at most 17 digits behind the point, without trailing zeros, and
    /// never with an exponent.
    pub fn show(self) -> String {
        let number = self.extended();
        let sign = if number.high < 0.0 { "-" } else { "" };
        let number = if number.high < 0.0 { number.negated() } else { number };
        if !number.is_finite() {
            return format!("{sign}inf");
        }
        // From 2^63 on there are no fractions in 80 bits.
        let limit = scaled(1.0, 63);
        if number.high > limit || number.high == limit && number.low >= 0.0 {
            return format!("{sign}{}", integer(number));
        }
        const UNIT: u128 = 100_000_000_000_000_000;
        let scaled = number.times(UNIT as f64);
        let whole = scaled.high as i128;
        let rest = (scaled.high - whole as f64) + scaled.low;
        let mut all = whole + rest.floor() as i128;
        let fraction = rest - rest.floor();
        // Half to even.
        if fraction > 0.5 || fraction == 0.5 && all % 2 == 1 {
            all += 1;
        }
        let all = all.unsigned_abs();
        let text = format!("{sign}{}.{:017}", all / UNIT, all % UNIT);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" { "0".to_string() } else { text.to_string() }
    }
}

/// Whether a number that is infinite as a double is so in 80 bits, too: about.
fn is_beyond(text: &str) -> bool {
    let (_, digits) = signed(text);
    let hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    let (mark, limit) = if hexadecimal { (['p', 'P'], 16_384) } else { (['e', 'E'], 4_932) };
    let (mantissa, exponent) = digits.split_once(mark).unwrap_or((digits, "0"));
    let whole = mantissa.trim_start_matches('0').split('.').next().unwrap_or_default();
    if hexadecimal {
        return exponent.parse().is_ok_and(|exponent: i32| exponent >= limit);
    }
    let is_number = mantissa.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    // An exponent that is no 32-bit number is a large one.
    is_number
        && exponent
            .parse()
            .map_or(true, |exponent: i32| whole.len() as i32 - 1 > limit.saturating_sub(exponent))
}

/// An integer of 64 bits times a power of two, in decimal digits.
fn integer(number: Dd) -> String {
    const LIMB: u64 = 1_000_000_000;
    let mut power = 0;
    while scaled(number.high, -power) > scaled(1.0, 64) {
        power += 1;
    }
    let mut rest = scaled(number.high, -power) as u128;
    rest = rest.wrapping_add_signed(scaled(number.low, -power) as i128);
    // Nine digits each, the lowest first.
    let mut limbs = Vec::new();
    while rest > 0 {
        limbs.push((rest % u128::from(LIMB)) as u64);
        rest /= u128::from(LIMB);
    }
    while power > 0 {
        let step = power.min(30);
        let mut carry = 0;
        for limb in &mut limbs {
            let product = (*limb << step) + carry;
            (*limb, carry) = (product % LIMB, product / LIMB);
        }
        while carry > 0 {
            limbs.push(carry % LIMB);
            carry /= LIMB;
        }
        power -= step;
    }
    let first = limbs.pop().unwrap_or_default();
    limbs.iter().rev().fold(first.to_string(), |text, limb| format!("{text}{limb:09}"))
}

/// What stands before the digits, and the digits.
fn signed(text: &str) -> (i128, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    }
}

/// A decimal number with its exponent, exact to about 100 bits.
fn decimal(text: &str) -> Option<Dd> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = signed(mantissa);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    let all = format!("0{whole}{fraction}");
    let read = &all[..all.len().min(DIGITS_MAX + 1)];
    let int: i128 = read.parse().ok()?;
    let mut places = exponent.checked_add(i32::try_from(whole.len()).ok()?)?;
    places = places.checked_sub(i32::try_from(read.len() - 1).ok()?)?;
    let mut value = Dd::from_int(sign * int);
    while places != 0 && value != Dd::default() && value.is_finite() {
        let step = places.clamp(-22, 22);
        let power = 10f64.powi(step.abs());
        value = if step > 0 { value.times(power) } else { value.over(power) };
        places -= step;
    }
    value.is_finite().then_some(value)
}

/// A hexadecimal number as C's `strtod` reads it, such as `0x1.8p3`.
fn hexadecimal(text: &str) -> Option<Dd> {
    let (sign, text) = signed(text);
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let (mantissa, exponent) = match text.find(['p', 'P']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let read = &digits[..digits.len().min(zeros + HEX_DIGITS_MAX)];
    let int = i128::from_str_radix(read, 16).ok()?;
    let places = i32::try_from(whole.len()).ok()? - i32::try_from(read.len()).ok()?;
    let power = places.checked_mul(4)?.checked_add(exponent)?.clamp(-4096, 4096);
    let value = Dd::from_int(sign * int);
    let high = scaled(value.high, power);
    Some(Dd { high, low: if high.is_finite() { scaled(value.low, power) } else { 0.0 } })
}

/// A double as C's `strtod` reads it, with nothing around it: decimal or hexadecimal; `inf` and `infinity` in any case. None for
/// NaN.
pub fn parse_double(text: &str) -> Option<f64> {
    if let Some(number) = hexadecimal(text) {
        return Some(number.high);
    }
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_whitespace() || byte == b'_') {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| !number.is_nan())
}
