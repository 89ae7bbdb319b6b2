//! Any bytes as requests: no panic, the same however they are cut, and what the naive parser says.
//! The first two bytes choose the cuts.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/wire/tests/all/checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let [first, second, input @ ..] = data {
        let mut cuts = [*first, *second].into_iter().cycle();
        checks::check_requests(input, |_| cuts.next().map_or(1, usize::from));
    }
});
