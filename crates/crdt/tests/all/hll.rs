//! HyperLogLogs are those of Redis 7.0.15, byte for byte.

use crate::typed::{Region, moment};
use bytes::Bytes;
use std::borrow::Cow;
use tidemark_core::{Command, DcId, Hlc, Reply, Stamp, Verb};
use tidemark_crdt::draft::Draft;
use tidemark_crdt::{Effect, State, hll};

#[test]
fn commands_and_errors_of_sketches_are_those_of_redis() {
    Region::replay(include_str!("../transcripts/hll.txt"));
}

#[test]
fn random_additions_give_the_bytes_of_redis() {
    Region::replay(include_str!("../transcripts/hll_random.txt"));
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn bytes(region: &mut Region, key: &[u8]) -> Vec<u8> {
    let state = region.keys.get(key).expect("a key");
    let command = Command::new(Verb::Get, Vec::new());
    match tidemark_crdt::evaluate(&command, state, moment(Hlc::at(u64::MAX >> 14), DcId(0))).reply {
        Reply::Bulk(bytes) => bytes.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn add(region: &mut Region, key: &str, numbers: std::ops::Range<usize>) {
    let numbers: Vec<usize> = numbers.collect();
    for part in numbers.chunks(100) {
        let elements: Vec<String> = part.iter().map(|number| format!("e{number}")).collect();
        region.run(&format!("PFADD {key} {}", elements.join(" ")));
    }
}

/// Elements, length, digest and estimate, as Redis has them.
const GROWTH: [(usize, usize, u64, &str); 9] = [
    (1, 21, 0xfffb_6fae_ff77_f7cd, "1"),
    (10, 48, 0x4afc_b65d_27f7_d346, "10"),
    (100, 285, 0xb8de_76da_b4a4_065e, "100"),
    (500, 1068, 0xae68_01a0_53be_0586, "506"),
    (1000, 1906, 0x5935_de02_3280_6824, "1008"),
    (2000, 12304, 0x1b55_76fa_1f6b_8092, "2000"),
    (5000, 12304, 0x8052_4675_3a1c_dada, "4968"),
    (20000, 12304, 0x075d_2639_6862_b2bf, "19901"),
    (100000, 12304, 0xafbf_1713_dc5b_a3c8, "100853"),
];

#[test]
fn a_sketch_grows_as_that_of_redis() {
    let (mut region, mut added) = (Region::default(), 0);
    for (elements, len, hash, estimate) in GROWTH {
        add(&mut region, "k", added..elements);
        added = elements;
        let bytes = bytes(&mut region, b"k");
        assert_eq!((bytes.len(), digest(&bytes)), (len, hash), "{elements} elements");
        assert_eq!(region.run("PFCOUNT k"), estimate);
    }
}

fn merge(region: &mut Region, key: &[u8], sources: &[&[u8]]) -> (usize, u64) {
    let state = region.keys.entry(key.to_vec()).or_default();
    let time = Hlc::at(u64::MAX >> 14);
    let mut draft = Draft::new(state, &Command::new(Verb::PfAdd, Vec::new()), moment(time, DcId(0)));
    assert_eq!(hll::merge(&mut draft, sources), Ok(Reply::Ok));
    let effect = Effect { floor: Hlc::ZERO, changes: draft.finish() };
    state.apply(Stamp::new(time, DcId(0)), &effect, None);
    let bytes = bytes(region, key);
    (bytes.len(), digest(&bytes))
}

#[test]
fn sketches_merge_as_those_of_redis() {
    let mut region = Region::default();
    add_all(&mut region);
    let [x, y, z] = [b"x", b"y", b"z"].map(|key| bytes(&mut region, key));
    assert_eq!(hll::count(&[&x, &y]), Ok(Reply::Int(606)));
    assert_eq!(hll::count(&[&x, &y, &z]), Ok(Reply::Int(4968)));
    assert_eq!(hll::count(&[]), Ok(Reply::Int(0)));
    assert_eq!(merge(&mut region, b"x", &[&y]), (1238, 0x46dd_94e0_f079_9ddc));
    assert_eq!(merge(&mut region, b"new", &[&y]), (882, 0x635c_d7a7_acf5_114f));
    assert_eq!(merge(&mut region, b"y", &[&z]), (12304, 0x78d7_6e5a_3208_c3a0));
}

fn add_all(region: &mut Region) {
    add(region, "x", 0..300);
    add(region, "y", 200..600);
    add(region, "z", 500..5000);
}

#[test]
fn merging_requires_sketches() {
    let wrong = Reply::Error(Cow::Borrowed("WRONGTYPE Key is not a valid HyperLogLog string value."));
    assert_eq!(hll::count(&[b"abc"]), Err(wrong.clone()));
    let state = State::default();
    let mut draft =
        Draft::new(&state, &Command::new(Verb::PfAdd, Vec::<Bytes>::new()), moment(Hlc::at(1), DcId(0)));
    assert_eq!(hll::merge(&mut draft, &[b"abc"]), Err(wrong));
    let cut = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7f\xf0";
    let corrupt = Reply::Error(Cow::Borrowed("INVALIDOBJ Corrupted HLL object detected"));
    assert_eq!(hll::count(&[cut]), Err(corrupt));
}
