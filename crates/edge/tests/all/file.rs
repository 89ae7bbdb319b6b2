//! The file of a client: what a crash leaves at every byte of it, damage, locks, and writing it anew.

use crate::support::draw;
use bytes::Bytes;
use fastrand::Rng;
use std::io::ErrorKind;
use tidemark_edge::durable::{Durable, DurableBase, Row};
use tidemark_edge::file::{ClientFile, MAGIC, REWRITE_AFTER};
use tidemark_edge::frames::{Chain, Secret};

fn secret() -> Secret {
    Secret([7; 32])
}

/// In memory if possible: a disk takes its time to sync thousands of files.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("there is a place")
}

/// One of a few, so that changes find what they change.
fn key(rng: &mut Rng) -> Bytes {
    Bytes::from(vec![rng.u8(b'a'..b'e')])
}

fn batch(rng: &mut Rng) -> Vec<Row> {
    let row = |rng: &mut Rng| match rng.u8(..9) {
        0 => Row::Base(DurableBase {
            base: draw::base(rng),
            in_base: draw::number(rng),
            chain_k: draw::number(rng),
            chain: Chain([rng.u8(..); 32]),
        }),
        1 => Row::Drop(rng.u64(..10)),
        2 => Row::Regions(rng.u64(1..4)),
        6 => Row::Value(key(rng), draw::change(rng)),
        7 => Row::Forget(key(rng)),
        8 if rng.u8(..8) == 0 => Row::ForgetAll,
        3 if rng.u8(..4) == 0 => Row::Secret(Secret([rng.u8(..); 32])),
        _ => {
            let mut body = draw::body(rng, &[], &[]);
            body.k = rng.u64(1..10);
            Row::Entry(body)
        }
    };
    (0..rng.usize(1..4)).map(|_| row(rng)).collect()
}

#[test]
fn a_crash_at_every_byte_leaves_whole_batches() {
    let folder = folder();
    let (path, copy) = (folder.path().join("client"), folder.path().join("copy"));
    let rng = &mut Rng::with_seed(1);
    let mut file = ClientFile::open(&path, secret()).unwrap();
    let length = || std::fs::metadata(&path).unwrap().len();
    let mut states = vec![(length(), file.state().clone())];
    while length() < 1500 {
        file.append(&batch(rng)).unwrap();
        states.push((length(), file.state().clone()));
    }
    let bytes = std::fs::read(&path).unwrap();
    for end in 0..=bytes.len() {
        let whole = states.iter().any(|(length, _)| *length == end as u64);
        for zeros in [0, 20] {
            // A record may end with zeros; then those that a file system has left complete it.
            let padded = [&bytes[..end], &vec![0; zeros][..]].concat();
            let reached = |length: u64| padded.get(..length as usize) == bytes.get(..length as usize);
            let expected = states.iter().rev().find(|(length, _)| reached(*length));
            std::fs::write(&copy, &padded).unwrap();
            match (ClientFile::open(&copy, secret()), expected) {
                (Ok(mut opened), Some((length, state))) => {
                    assert_eq!((opened.state(), std::fs::metadata(&copy).unwrap().len()), (state, *length));
                    opened.append(&[Row::Regions(9)]).unwrap();
                    drop(opened);
                    assert_eq!(ClientFile::open(&copy, secret()).unwrap().state().regions, 9);
                }
                (Err(error), _) => {
                    // A file that is not begun yet, or zeros that a record has swallowed: then it is the last one, or an error.
                    assert_eq!(error.kind(), ErrorKind::InvalidData);
                    assert!(expected.is_none() || (zeros > 0 && !whole), "{end}");
                }
                (Ok(_), None) => panic!("{end}: nothing was whole"),
            }
        }
    }
}

#[test]
fn damage_before_the_end_is_an_error() {
    let folder = folder();
    let path = folder.path().join("client");
    let rng = &mut Rng::with_seed(2);
    let mut file = ClientFile::open(&path, secret()).unwrap();
    let before = std::fs::metadata(&path).unwrap().len() as usize;
    (0..20).for_each(|_| file.append(&batch(rng)).unwrap());
    drop(file);
    let bytes = std::fs::read(&path).unwrap();
    for at in (0..before).filter(|at| !(MAGIC.len()..MAGIC.len() + 4).contains(at)) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let error = ClientFile::open(&path, secret()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{at}");
    }
}

#[test]
fn one_process_has_a_client() {
    let folder = folder();
    let path = folder.path().join("client");
    let first = ClientFile::open(&path, secret()).unwrap();
    assert_eq!(ClientFile::open(&path, secret()).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(first);
    let again = ClientFile::open(&path, Secret([8; 32])).unwrap();
    assert_eq!(*again.state(), Durable::new(secret()), "it is the client that was there");
}

#[test]
fn a_long_file_is_written_anew() {
    let folder = folder();
    let path = folder.path().join("client");
    let mut file = ClientFile::open(&path, secret()).unwrap();
    for regions in 0..10_000 {
        file.append(&[Row::Regions(regions)]).unwrap();
    }
    assert!(std::fs::metadata(&path).unwrap().len() < REWRITE_AFTER * 2);
    drop(file);
    assert_eq!(ClientFile::open(&path, secret()).unwrap().state().regions, 9999);
}
