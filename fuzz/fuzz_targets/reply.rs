//! Any bytes as replies: no panic, the same however they are cut, and a fixed point once written anew.
//! The first two bytes choose the cuts.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/wire/tests/all/checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let [first, second, input @ ..] = data {
        let mut cuts = [*first, *second].into_iter().cycle();
        checks::check_replies(input, |_| cuts.next().map_or(1, usize::from));
    }
});
