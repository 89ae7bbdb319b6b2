//! Numbers that add up the same everywhere: integers in 128 bits, and fractions as a sum of two doubles.
//!
//! Redis computes `INCRBYFLOAT` in the processor's 80-bit format. Two doubles carry more digits and are the same on every
//! machine; [`Dd::extended`] rounds them as that format does.

mod text;

use serde::{Deserialize, Serialize};
pub use text::parse_double;

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

    /// Rounded to the 64 bits that a number of 80 bits has for its digits, half to even.
    #[must_use]
    pub fn extended(self) -> Self {
        let biased = (self.high.to_bits() >> 52) & 0x7FF;
        if biased == 0 || biased == 0x7FF {
            return Self { high: self.high, low: 0.0 };
        }
        let mut exponent = biased as i32 - 1023;
        // Below a power of two the numbers are half as far apart.
        if self.high == scaled(self.high.signum(), exponent) && self.high * self.low < 0.0 {
            exponent -= 1;
        }
        let shift = 63 - exponent;
        // The first double is a multiple of 2^11 now, so the second one decides what is even.
        let (high, low) = (scaled(self.high, shift), scaled(self.low, shift).round_ties_even());
        Self::of(scaled(high, -shift), scaled(low, -shift))
    }

    /// What Redis makes of `self + by`.
    #[must_use]
    pub fn plus_extended(self, by: Self) -> Self {
        self.extended().plus(by.extended()).extended()
    }

    /// Whether it is a number that can be shown.
    pub fn is_finite(self) -> bool {
        self.high.is_finite()
    }

    /// The nearest double.
    pub fn to_double(self) -> f64 {
        self.high + self.low
    }
}

/// `number` times 2^`power`, in two steps: 2^`power` may be too large, or too small, for a double.
fn scaled(number: f64, power: i32) -> f64 {
    let half = power / 2;
    number * 2f64.powi(half) * 2f64.powi(power - half)
}

/// An integer as Redis's `string2ll` reads it: no plus, no leading zeros, nothing around it.
#[inline]
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
        assert_eq!(dd("0x10").plus(dd("-0X.8p+1")).show(), "15");
        assert_eq!(Dd::parse(b"1.5x"), None);
        assert_eq!(Dd::parse(b" 1"), None);
        assert_eq!(Dd::parse(b"nan"), None);
        assert_eq!(Dd::parse(b"1e29223372036854775807"), None);
        assert_eq!(Dd::parse(b"-0x1p20000"), None);
        for infinite in ["inf", "Infinity", "1e400", "1e4932", "0x1p16000"] {
            assert_eq!(Dd::parse(infinite.as_bytes()).map(Dd::to_double), Some(f64::INFINITY), "{infinite}");
        }
        assert_eq!(Dd::parse(b"-inf").map(Dd::to_double), Some(f64::NEG_INFINITY));
        assert_eq!(Dd::parse(b"100e4932"), None);
    }

    /// Each sum is what redis-server 7.0.15 answers on x86.
    #[test]
    fn sums_are_rounded_as_redis_rounds_them() {
        let sums = [
            ("0.1", "0.2", "0.3"),
            ("3.0e3", "200", "3200"),
            ("10.5", "0.1", "10.6"),
            ("100.1", "0.2", "100.3"),
            ("-9223372036854775808", "1e-7", "-9223372036854775808"),
            ("9223372036854775807", "0.5", "9223372036854775807.5"),
            ("9223372036854775807", "1.5", "9223372036854775808"),
            ("18446744073709551615", "2", "18446744073709551616"),
            ("18446744073709551615", "0", "18446744073709551615"),
            ("36893488147419103230", "0", "36893488147419103230"),
            ("0.1", "1e17", "100000000000000000.1015625"),
            ("100000000000000000.1015625", "-1e17", "0.1015625"),
            (
                "1e300",
                "1",
                "1000000000000000000008997324079559193870523944273290747938260082321265646596180935755849152083750497190350372508614274835903592556184672983913096260520748646287327135641843653294084255107606016789726652932370030551382947620994540294772781889620606179267611627097410650567187386105690089424915104006144",
            ),
            ("123456789012345678901234567890", "1", "123456789012345678899921813504"),
            ("1e22", "0.5", "10000000000000000000000"),
            ("0.000003814697265625", "0", "0.00000381469726562"),
            ("0x1.8p1", "1", "4"),
            ("65536.1", "0.2", "65536.30000000000000426"),
            ("4503599627370497.5", "0.1", "4503599627370497.60009765625"),
            ("-0.3", "0.1", "-0.2"),
            ("1e-17", "4e-18", "0.00000000000000001"),
            ("9007199254740993", "-0.25", "9007199254740992.75"),
        ];
        for (one, other, sum) in sums {
            assert_eq!(dd(one).plus_extended(dd(other)).show(), sum, "{one} + {other}");
        }
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
