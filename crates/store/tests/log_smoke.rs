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
