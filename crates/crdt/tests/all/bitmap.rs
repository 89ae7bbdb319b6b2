//! Bitmaps answer as Redis 7.0.15 does.

use crate::typed::Region;
use bytes::Bytes;
use tidemark_core::{Command, DcId, Hlc, Key, Reply, Stamp, Verb};
use tidemark_crdt::bitmap::combine;
use tidemark_crdt::{Effect, Moment, State, evaluate, evaluate_many};

#[test]
fn commands_and_errors_of_bitmaps_are_those_of_redis() {
    Region::replay(include_str!("../transcripts/bitmap.txt"));
}

#[test]
fn random_commands_on_bitmaps_answer_as_redis_does() {
    Region::replay(include_str!("../transcripts/bitmap_random.txt"));
}

#[test]
fn random_bit_fields_answer_as_redis_does() {
    Region::replay(include_str!("../transcripts/bitfield_random.txt"));
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

#[test]
fn bitop_looks_at_its_operation_before_its_keys() {
    let moment = Moment {
        time: Hlc(1000),
        origin: DcId(0),
        floor: Hlc::ZERO,
        expiring: false,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let (none, mut set) = (State::default(), State::default());
    let add = Command::new(Verb::SAdd, vec![Bytes::from("m")]);
    let effect = Effect { floor: Hlc::ZERO, changes: evaluate(&add, &set, moment).changes };
    set.apply(Stamp::new(Hlc(999), DcId(0)), &effect, None);
    let keys = ["to", "none", "set"].map(|key| Key(Bytes::from(key)));
    for (operation, error) in [
        ("not", "ERR BITOP NOT must be called with a single source key."),
        ("nand", "ERR syntax error"),
        ("and", "WRONGTYPE Operation against a key holding the wrong kind of value"),
    ] {
        let command = Command::new(Verb::BitOp, vec![Bytes::from(operation)]);
        let (reply, _) = evaluate_many(&command, &keys.each_ref(), &[&none, &none, &set], moment);
        assert_eq!(reply, Reply::error(error), "{operation}");
    }
}
