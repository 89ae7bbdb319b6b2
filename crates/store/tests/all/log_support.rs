//! What the tests of the log share: a small log whose payloads say what they should be.

use std::sync::Arc;

use tidemark_store::disk::{Disk, SimDisk};
use tidemark_store::log::{Log, LogConfig, LogResult, Position, RecoveryReport};

pub(crate) const SEGMENT: u64 = 1024;

pub(crate) fn config() -> LogConfig {
    LogConfig { segment_bytes: SEGMENT, ..LogConfig::new(0xFEED) }
}

pub(crate) fn open(disk: &SimDisk) -> LogResult<(Log, RecoveryReport)> {
    Log::open(Arc::new(disk.process()), config())
}

pub(crate) fn append(log: &mut Log, seq: u64, bytes: usize) -> LogResult<Position> {
    log.append(1, 2, seq, |buffer| buffer.extend((0..bytes).map(|i| (i as u64 * 31 + seq) as u8)))
}

pub(crate) fn sequences(log: &Log) -> Vec<u64> {
    sequences_from(log, Position::START)
}

pub(crate) fn sequences_from(log: &Log, from: Position) -> Vec<u64> {
    let mut cursor = log.cursor(from).unwrap();
    let mut found = Vec::new();
    while let Some(frame) = log.read(&mut cursor).unwrap() {
        for (i, &byte) in frame.payload.iter().enumerate() {
            assert_eq!(byte, (i as u64 * 31 + frame.seq) as u8, "a wrong byte");
        }
        found.push(frame.seq);
    }
    found
}

/// Copies all files of a disk, cutting or changing one of them.
pub(crate) fn copy(from: &SimDisk, change: impl Fn(&str, &mut Vec<u8>)) -> SimDisk {
    let to = SimDisk::new();
    for name in from.list().unwrap() {
        let file = from.open(&name).unwrap();
        let mut bytes = vec![0; file.size().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        change(&name, &mut bytes);
        let copy = to.create(&name, bytes.len() as u64).unwrap();
        copy.write_at(0, &bytes).unwrap();
        copy.sync().unwrap();
    }
    to.sync_dir().unwrap();
    to
}
