//! Numbers for people.

/// Microseconds with a unit that suits: `812 µs`, `1.23 ms`, `45.6 s`.
pub fn time(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 999_500.0 => format!("{} ms", three_digits(us / 1e3)),
        us => format!("{} s", three_digits(us / 1e6)),
    }
}

fn three_digits(number: f64) -> String {
    let decimals = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    format!("{number:.decimals$}")
}

/// A count with its thousands set apart: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Something a second.
pub fn rate(per_second: f64) -> String {
    if per_second < 99.95 { three_digits(per_second) } else { count(per_second.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        let times = [
            (0.4, "0 µs"),
            (812.4, "812 µs"),
            (999.6, "1.00 ms"),
            (1234.0, "1.23 ms"),
            (45_600_000.0, "45.6 s"),
        ];
        times.iter().for_each(|(us, text)| assert_eq!(time(*us), *text));
        assert_eq!(["7", "1,234", "1,234,567"], [7, 1234, 1_234_567].map(count));
        assert_eq!([rate(2.3456), rate(123_456.7)], ["2.35", "123,457"]);
    }
}
