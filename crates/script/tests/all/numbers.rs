//! Numbers as text: JSON has 14 digits of them, and commands get 17.

use crate::support::Fixture;
use tidemark_core::Reply;

/// Returns what a script writes for `number`, which C's `strtod` reads.
fn shown(number: &str, digits: usize) -> String {
    let write = match digits {
        14 => "cjson.encode_invalid_numbers(true) return cjson.encode(number)",
        17 => "return redis.call('echo', number)",
        other => panic!("nothing has {other} digits"),
    };
    match Fixture::new().run(&format!("local number = tonumber('{number}') {write}")) {
        Reply::Bulk(text) => String::from_utf8(text.to_vec()).expect("it is text"),
        other => panic!("{number}: {other:?}"),
    }
}

#[test]
fn numbers_are_shown_as_printf_does() {
    let cases = [
        ("3.1", "3.1"),
        ("1e100", "1e+100"),
        ("0.1", "0.1"),
        ("-0.0", "-0"),
        ("1e14", "1e+14"),
        ("1e13", "10000000000000"),
    ];
    for (value, text) in cases {
        assert_eq!(shown(value, 14), text);
    }
    assert_eq!(shown("3.1", 17), "3.1000000000000001");
    assert_eq!(shown("0.00001", 14), "1e-05");
    assert_eq!(shown("12345678901234567890.0", 14), "1.2345678901235e+19");
    assert_eq!(shown("-inf", 14), "-inf");
}
