//! Numbers as text.

use tidemark_wire::resp::{format_f64, parse_i64};

#[test]
fn integers_are_strict() {
    for (text, value) in [
        ("0", 0),
        ("7", 7),
        ("-1", -1),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(parse_i64(text.as_bytes()), Some(value), "{text}");
    }
    for text in [
        "",
        "-",
        "+1",
        "01",
        "-0",
        "00",
        " 1",
        "1 ",
        "1x",
        "0x1",
        "1.0",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
    ] {
        assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn doubles_are_short_and_read_back() {
    let table = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (3.25, "3.25"),
        (0.1 + 0.2, "0.30000000000000004"),
        (100.0, "100"),
        (1e6, "1000000"),
        (1e7, "1e+7"),
        (1e100, "1e+100"),
        (1.5e-9, "1.5e-9"),
        (0.000123, "0.000123"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
    ];
    for (value, text) in table {
        let mut out = String::new();
        format_f64(value, &mut out);
        assert_eq!(out, text);
        let back: f64 = out.parse().unwrap();
        assert!(back.to_bits() == value.to_bits() || value.is_nan());
    }
}
