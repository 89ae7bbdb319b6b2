//! Bitmaps answer as Redis 7.0.15 does.

mod typed;

use tidemark_core::Reply;
use tidemark_crdt::bitmap::combine;
use typed::Region;

#[test]
fn commands_and_errors_of_bitmaps_are_those_of_redis() {
    Region::replay(include_str!("transcripts/bitmap.txt"));
}

#[test]
fn random_commands_on_bitmaps_answer_as_redis_does() {
    Region::replay(include_str!("transcripts/bitmap_random.txt"));
}

#[test]
fn random_bit_fields_answer_as_redis_does() {
    Region::replay(include_str!("transcripts/bitfield_random.txt"));
}

#[test]
fn bitop_pads_shorter_strings_with_zeros() {
    let (a, b): (&[u8], &[u8]) = (b"\xff\x0f\xaa", b"\x0f\xff");
    assert_eq!(combine(b"and", &[a, b]), Ok(b"\x0f\x0f\x00".to_vec()));
    assert_eq!(combine(b"OR", &[a, b]), Ok(b"\xff\xff\xaa".to_vec()));
    assert_eq!(combine(b"xor", &[a, b, b]), Ok(a.to_vec()));
    assert_eq!(combine(b"not", &[a]), Ok(b"\x00\xf0\x55".to_vec()));
    assert_eq!(combine(b"and", &[a, b""]), Ok(b"\x00\x00\x00".to_vec()));
    assert_eq!(combine(b"or", &[b"", b""]), Ok(Vec::new()));
    let single = Reply::error("ERR BITOP NOT must be called with a single source key.");
    assert_eq!(combine(b"not", &[a, b]), Err(single));
    assert_eq!(combine(b"nand", &[a, b]), Err(Reply::error("ERR syntax error")));
}
