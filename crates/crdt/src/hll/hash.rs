//! Where an element goes: MurmurHash64A, with the seed of Redis.

use super::sketch::REGISTERS;

const SEED: u64 = 0xadc8_3b19;
const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
/// Bits of a hash that name its register.
const INDEX_BITS: u32 = REGISTERS.trailing_zeros();

fn murmur(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let mut word = u64::from_le_bytes(word.try_into().expect("eight bytes")).wrapping_mul(FACTOR);
        word ^= word >> 47;
        hash = (hash ^ word.wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(FACTOR);
    hash ^ hash >> 47
}

/// The register of an element, and the length of the run of zeros that it shows there, plus one.
pub(super) fn place(element: &[u8]) -> (usize, u8) {
    let hash = murmur(element);
    let run = (hash >> INDEX_BITS | 1 << (64 - INDEX_BITS)).trailing_zeros() + 1;
    ((hash & (REGISTERS as u64 - 1)) as usize, run as u8)
}
