//! Numbers that add up the same everywhere: integers in 128 bits, and fractions as a sum of two doubles.
//!
//! Redis computes `INCRBYFLOAT` in the processor's 80-bit format. Two doubles carry more digits and are the same on every
//! machine.

use serde::{Deserialize, Serialize};

/// What increments have added up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Integers.
    pub int: i128,
    /// Fractions.
    pub float: Dd,
}

impl Number {
    /// An integer.
    pub fn int(int: i64) -> Self {
        Self { int: i128::from(int), float: Dd::default() }
    }

    /// A fraction.
    pub fn float(float: Dd) -> Self {
        Self { int: 0, float }
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { int: self.int + other.int, float: self.float.plus(other.float) }
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { int: self.int - other.int, float: self.float.plus(other.float.negated()) }
    }

    /// Whether it has no fraction.
    pub fn is_whole(self) -> bool {
        self.float == Dd::default()
    }

    /// As a fraction.
    pub fn as_float(self) -> Dd {
        Dd::from_int(self.int).plus(self.float)
    }
}

/// A sum of two doubles, the second far smaller than the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dd {
    /// The nearest double.
    pub high: f64,
    /// The rest.
    pub low: f64,
}

impl Dd {
    fn of(high: f64, low: f64) -> Self {
        let sum = high + low;
        if !sum.is_finite() {
            return Self { high: sum, low: 0.0 };
        }
        Self { high: sum, low: low - (sum - high) }
    }

    /// An integer, exact up to 106 bits.
    pub fn from_int(int: i128) -> Self {
        let high = int as f64;
        Self::of(high, (int - high as i128) as f64)
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = self.high + other.high;
        if !sum.is_finite() {
            return Self { high: sum, low: 0.0 };
        }
        let part = sum - self.high;
        let error = (self.high - (sum - part)) + (other.high - part);
        Self::of(sum, error + self.low + other.low)
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }

    fn times(self, factor: f64) -> Self {
        let product = self.high * factor;
        let error = self.high.mul_add(factor, -product);
        Self::of(product, self.low.mul_add(factor, error))
    }

    fn over(self, divisor: f64) -> Self {
        let first = self.high / divisor;
        let rest = self.plus(Self { high: first, low: 0.0 }.times(divisor).negated());
        Self::of(first, (rest.high + rest.low) / divisor)
    }

    /// Reads a decimal number as Redis does; none if it is not one. Infinities are numbers, NaN is not.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let high = parse_double(text)?;
        let exact = decimal(text).filter(|_| high.is_finite());
        Some(exact.unwrap_or(Self { high, low: 0.0 }))
    }

    /// Whether it is a number that can be shown.
    pub fn is_finite(self) -> bool {
        self.high.is_finite()
    }

    /// The nearest double.
    pub fn to_double(self) -> f64 {
        self.high + self.low
    }

    /// As Redis shows what INCRBYFLOAT makes: at most 17 digits behind the point, without trailing zeros, and never with an exponent.
    pub fn show(self) -> String {
        let scaled = self.times(1e17);
        let text = if scaled.high.abs() < 1e37 {
            let whole = scaled.high as i128;
            let rest = (scaled.high - whole as f64) + scaled.low;
            let all = whole + rest.round() as i128;
            let (sign, all) = (if all < 0 { "-" } else { "" }, all.unsigned_abs());
            const UNIT: u128 = 100_000_000_000_000_000;
            format!("{sign}{}.{:017}", all / UNIT, all % UNIT)
        } else {
            format!("{:.17}", self.high)
        };
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" { "0".to_string() } else { text.to_string() }
    }
}

/// Up to 36 digits with a decimal exponent, exact to about 106 bits.
fn decimal(text: &str) -> Option<Dd> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match mantissa.as_bytes().first()? {
        b'-' => (-1, &mantissa[1..]),
        b'+' => (1, &mantissa[1..]),
        _ => (1, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() > 36 {
        return None;
    }
    let int: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let mut places = exponent - i32::try_from(fraction.len()).ok()?;
    let mut value = Dd::from_int(sign * int);
    while places != 0 {
        let step = places.clamp(-22, 22);
        let power = 10f64.powi(step.abs());
        value = if step > 0 { value.times(power) } else { value.over(power) };
        places -= step;
    }
    value.is_finite().then_some(value)
}

/// A double as C's `strtod` reads it, with nothing around it: decimal, hexadecimal is not supported; `inf` and `infinity` in any
/// case. None for NaN.
pub fn parse_double(text: &str) -> Option<f64> {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_whitespace() || byte == b'_') {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| !number.is_nan())
}

/// An integer as Redis's `string2ll` reads it: no plus, no leading zeros, nothing around it.
pub fn parse_int(text: &[u8]) -> Option<i64> {
    match text {
        [] | [b'+', ..] | [b'-', b'0', ..] => None,
        [b'0'] => Some(0),
        [b'0', ..] | [b'-'] => None,
        _ => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// A double as Redis shows scores (`%.17g`, the shortest text that reads the same).
pub fn show_double(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_string();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("Rust writes an exponent");
    let exponent: i32 = exponent.parse().expect("Rust writes a number");
    if (-5..17).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dd(text: &str) -> Dd {
        Dd::parse(text.as_bytes()).expect(text)
    }

    #[test]
    fn decimal_fractions_add_up_as_on_paper() {
        assert_eq!(dd("1").plus(dd("-1.1")).show(), "-0.1");
        assert_eq!(dd("0.1").plus(dd("0.2")).show(), "0.3");
        assert_eq!(dd("3.0e3").plus(dd("200")).show(), "3200");
        assert_eq!(dd("17179869184").plus(dd("1.5")).show(), "17179869185.5");
        assert_eq!(dd("-0.0").show(), "0");
        assert_eq!(dd("1e300").plus(dd("1")).show().len(), 301);
        assert_eq!(Dd::parse(b"1.5x"), None);
        assert_eq!(Dd::parse(b" 1"), None);
        assert_eq!(Dd::parse(b"nan"), None);
    }

    #[test]
    fn integers_are_read_as_redis_reads_them() {
        let read = ["0", "-1", "9223372036854775807", "00", "+1", "-0", "", "1 ", "9223372036854775808"];
        let parsed = read.map(|text| parse_int(text.as_bytes()));
        assert_eq!(parsed, [Some(0), Some(-1), Some(i64::MAX), None, None, None, None, None, None]);
    }

    #[test]
    fn scores_are_shown_as_redis_shows_them() {
        let shown = [1.0, -1.5, 3e20, 1e-7, 0.1, 1e17, 1e16].map(show_double);
        assert_eq!(shown, ["1", "-1.5", "3e+20", "1e-07", "0.1", "1e+17", "10000000000000000"]);
    }
}
