//! The log in short: append, flush, sync, read back, reopen; on real files and on the simulated disk.

use std::sync::Arc;

use tidemark_store::disk::{Disk, RealDisk, SimDisk};
use tidemark_store::log::{Log, LogConfig, Position};

fn config() -> LogConfig {
    LogConfig { segment_bytes: 4096, ..LogConfig::new(7) }
}

fn all(log: &Log, from: Position) -> Vec<(u8, u16, u64, Vec<u8>)> {
    let mut cursor = log.cursor(from).unwrap();
    let mut records = Vec::new();
    while let Some(frame) = log.read(&mut cursor).unwrap() {
        records.push((frame.kind, frame.partition, frame.seq, frame.payload.to_vec()));
    }
    records
}

fn append_flush_sync_reopen(disk: Arc<dyn Disk>) {
    let (mut log, report) = Log::open(disk.clone(), config()).unwrap();
    assert!(report.created);
    let mut expected = Vec::new();
    for round in 0..200_u64 {
        for i in 0..round % 5 {
            let payload = vec![round as u8; (round * 7 % 300) as usize];
            log.append(i as u8, 3, round, |buffer| buffer.extend_from_slice(&payload)).unwrap();
            expected.push((i as u8, 3, round, payload));
        }
        let flushed = log.flush().unwrap();
        if round % 3 == 0 {
            assert_eq!(log.sync().unwrap(), flushed);
        }
    }
    assert_eq!(all(&log, Position::START), expected);
    let end = log.flushed();
    drop(log);
    let (log, report) = Log::open(disk.clone(), config()).unwrap();
    assert!(!report.created);
    assert_eq!(report.cut, None);
    assert_eq!(report.end, end);
    assert_eq!(report.records, expected.len() as u64);
    assert!(log.flushed() > end, "positions are not reused");
    assert_eq!(all(&log, Position::START), expected);
    assert_eq!(all(&log, end), []);
    log.close().unwrap();
    let (log, _) = Log::open(disk, config()).unwrap();
    assert_eq!(all(&log, Position::START), expected);
}

#[test]
fn on_real_files() {
    let directory = tempfile::tempdir().unwrap();
    append_flush_sync_reopen(Arc::new(RealDisk::open(directory.path()).unwrap()));
}

#[test]
fn on_the_simulated_disk() {
    append_flush_sync_reopen(Arc::new(SimDisk::new()));
}

/// Through several segments: one cursor waits for what is durable, another skips every other batch.
#[test]
fn a_cursor_waits_where_it_is_told_and_skips_what_is_of_no_interest() {
    let (mut log, _) = Log::open(Arc::new(SimDisk::new()), config()).unwrap();
    let (mut waits, mut skips) = (log.cursor(Position::START).unwrap(), log.cursor(Position::START).unwrap());
    let (mut waited, mut taken) = (Vec::new(), Vec::new());
    for batch in 0..200_u64 {
        for seq in [2 * batch, 2 * batch + 1] {
            log.append(1, 0, seq, |buffer| buffer.extend([seq as u8; 40])).unwrap();
        }
        let flushed = log.flush().unwrap();
        while let Some(frame) = log.read_before(&mut waits, log.durable()).unwrap() {
            assert!(frame.end <= log.durable());
            waited.push(frame.seq);
        }
        assert_eq!(waited.len() as u64, batch / 3 * 6, "what was synced, and no more");
        if batch % 3 == 2 {
            log.sync().unwrap();
        }
        if batch % 2 == 1 {
            log.skip(&mut skips, flushed).unwrap();
        }
        while let Some(frame) = log.read(&mut skips).unwrap() {
            taken.push(frame.seq);
        }
    }
    assert!(log.total_bytes() > 3 * config().segment_bytes);
    assert_eq!(waited, (0..waited.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        taken,
        (0..200).filter(|batch| batch % 2 == 0).flat_map(|b| [2 * b, 2 * b + 1]).collect::<Vec<u64>>()
    );
}
