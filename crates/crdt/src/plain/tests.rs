//! The structures against models of the standard library, and how much memory they take.

mod memory;
mod ranked;
mod sequence;
mod table;

use fastrand::Rng;

/// A key out of `distinct` ones; one in `long` of them is too long to be packed.
fn key(rng: &mut Rng, distinct: u32, long: u32) -> Vec<u8> {
    let number = rng.u32(0..distinct);
    let text = format!("k{}", number.wrapping_mul(0x9E37_79B1) % 10_007);
    if long > 0 && number % long == 1 { text.repeat(40).into_bytes() } else { text.into_bytes() }
}

/// Asserts that each of `counts` is near to what equal chances give.
fn assert_uniform(counts: &[u32]) {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    let chi_square: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    // Five standard deviations of the distribution.
    assert!(chi_square < freedom + 5.0 * (2.0 * freedom).sqrt(), "{chi_square} of {freedom}: {counts:?}");
}

#[test]
fn structures_print_their_contents() {
    use super::{Ranked, Sequence, ShortBytes, Table};
    let mut hash = Table::<ShortBytes>::new();
    hash.insert(b"key", b"\xff");
    assert_eq!(format!("{hash:?}"), "{\"key\": [255]}");
    let mut ranked = Ranked::new();
    ranked.insert(b"member", 1.5);
    assert_eq!(format!("{ranked:?}"), "{\"member\": 1.5}");
    let mut list = Sequence::new();
    list.insert(&[1, 0xab], b"value");
    assert_eq!(format!("{list:?}"), "{01ab: \"value\"}");
}
