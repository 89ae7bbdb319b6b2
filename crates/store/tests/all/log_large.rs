//! Records that are larger than a segment: each gets one of its own.

use crate::log_support::{SEGMENT, append, copy, open, sequences, sequences_from};
use std::sync::Arc;
use tidemark_store::disk::{Disk, Fault, SimDisk};
use tidemark_store::log::{Log, LogError, Position};

/// The largest payload that a segment of the usual size holds.
const FITS: usize = SEGMENT as usize - 64 - 4 * 20;

fn segments(disk: &SimDisk) -> Vec<u64> {
    let names = disk.list().unwrap().into_iter().filter(|name| name.ends_with(".log"));
    names.map(|name| disk.open(&name).unwrap().size().unwrap()).collect()
}

#[test]
fn only_a_record_beyond_the_capacity_gets_a_segment_of_its_own() {
    for (bytes, largest) in [(FITS - 1, SEGMENT), (FITS, SEGMENT), (FITS + 1, 4096), (100_000, 102_400)] {
        let disk = SimDisk::new();
        let (mut log, _) = open(&disk).unwrap();
        for (seq, bytes) in [(1, 10), (2, bytes), (3, 10), (4, bytes), (5, bytes)] {
            append(&mut log, seq, bytes).unwrap();
        }
        log.flush().unwrap();
        assert_eq!(segments(&disk).into_iter().max(), Some(largest), "{bytes} bytes");
        assert_eq!(sequences(&log), [1, 2, 3, 4, 5]);
        drop(log);
        let (mut log, report) = open(&disk).unwrap();
        assert!(report.cut.is_none() && report.records == 5, "{report:?}");
        assert_eq!(sequences(&log), [1, 2, 3, 4, 5]);
        append(&mut log, 6, bytes).unwrap();
        log.close().unwrap();
        let (log, _) = open(&disk).unwrap();
        assert_eq!(sequences(&log), [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn a_cursor_goes_into_a_large_segment_and_out_of_it() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    let mut positions = Vec::new();
    for seq in 0..6 {
        positions.push(append(&mut log, seq, if seq % 2 == 1 { 5_000 } else { 20 }).unwrap());
        log.flush().unwrap();
    }
    for (seq, position) in (0..6).zip(&positions) {
        assert_eq!(sequences_from(&log, *position), (seq..6).collect::<Vec<u64>>());
    }
    log.sync().unwrap();
    log.drop_before(positions[4]).unwrap();
    assert!(matches!(log.cursor(positions[1]), Err(LogError::Dropped { .. })));
    assert_eq!(sequences_from(&log, positions[4]), [4, 5]);
}

/// A loss of power may leave any part of a large record: then it is a torn tail, as any other.
#[test]
fn a_torn_large_record_is_cut() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    append(&mut log, 1, 20).unwrap();
    log.flush().unwrap();
    log.sync().unwrap();
    append(&mut log, 2, 5_000).unwrap();
    log.flush().unwrap();
    let large = disk.list().unwrap().into_iter().filter(|name| name.ends_with(".log")).max().unwrap();
    for kept in [64, 70, 84, 100, 2_000, 5_000] {
        let torn = copy(&disk, |name, bytes| {
            if name == large {
                bytes[kept..].fill(0);
            }
        });
        let (mut log, _) = open(&torn).unwrap();
        assert_eq!(sequences(&log), [1], "{kept} bytes of the file are left");
        append(&mut log, 3, 5_000).unwrap();
        log.flush().unwrap();
        assert_eq!(sequences(&log), [1, 3]);
    }
    let whole = copy(&disk, |_, _| ());
    assert_eq!(sequences(&open(&whole).unwrap().0), [1, 2]);
}

/// The segment that was made ahead is of the usual size: the large one takes its place, and its file goes.
#[test]
fn a_segment_made_ahead_makes_room_for_a_larger_one() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    for seq in 0..8 {
        append(&mut log, seq, 60).unwrap();
    }
    log.flush().unwrap();
    let made = log.spare_job().unwrap().run(); // more than half is used
    log.spared(made);
    assert_eq!(segments(&disk), [SEGMENT, SEGMENT]);
    append(&mut log, 8, 3_000).unwrap();
    log.flush().unwrap();
    assert_eq!(segments(&disk), [SEGMENT, 4096]);
    assert_eq!(sequences(&log), (0..9).collect::<Vec<u64>>());
}

/// The same, if the making ends when the large one is there already, reserved or written.
#[test]
fn a_segment_made_ahead_may_come_behind_a_larger_one() {
    for reserved_only in [true, false] {
        let disk = SimDisk::new();
        let (mut log, _) = open(&disk).unwrap();
        for seq in 0..8 {
            append(&mut log, seq, 60).unwrap();
        }
        log.flush().unwrap();
        let job = log.spare_job().unwrap();
        log.reserve(1, 3_000).unwrap();
        if !reserved_only {
            append(&mut log, 8, 3_000).unwrap();
            log.flush().unwrap();
        }
        log.spared(job.run());
        assert_eq!(segments(&disk), [SEGMENT, 4096]);
        if reserved_only {
            append(&mut log, 8, 3_000).unwrap();
            log.flush().unwrap();
        }
        let done = log.sync_job().unwrap().run();
        assert_eq!(log.synced(done).unwrap(), log.flushed(), "one sync is of all segments");
        append(&mut log, 9, 60).unwrap();
        log.flush().unwrap();
        let (log, report) = open(&copy(&disk, |_, _| ())).unwrap();
        assert_eq!(sequences(&log), (0..10).collect::<Vec<u64>>());
        assert!(report.cut.is_none(), "{report:?}");
    }
}

#[test]
fn room_for_a_large_record_is_reserved_before_anything_changes() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    log.reserve(1, 100).unwrap();
    append(&mut log, 1, 100).unwrap();
    disk.inject(Fault::CreateNoSpace, 0);
    assert!(matches!(log.reserve(1, 9_000), Err(LogError::Full(_))));
    append(&mut log, 2, 100).unwrap();
    log.flush().unwrap();
    log.reserve(1, 9_000).unwrap();
    disk.inject(Fault::CreateNoSpace, 0);
    append(&mut log, 3, 9_000).unwrap(); // no file is made
    log.flush().unwrap();
    assert_eq!(sequences(&log), [1, 2, 3]);
}

#[test]
fn a_full_disk_leaves_the_segment_that_was_made_ahead() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    for seq in 0..10 {
        append(&mut log, seq, 60).unwrap();
    }
    log.reserve(1, FITS).unwrap();
    disk.inject(Fault::CreateNoSpace, 0);
    assert!(matches!(append(&mut log, 10, 9_000), Err(LogError::Full(_))));
    append(&mut log, 10, FITS).unwrap();
    log.flush().unwrap();
    assert_eq!(sequences(&log), (0..11).collect::<Vec<u64>>());
}

/// Only the usual size is bounded by the setting: a log is opened with another as well.
#[test]
fn positions_go_on_above_a_large_segment() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    let before = append(&mut log, 1, 10).unwrap();
    let large = append(&mut log, 2, 70_000).unwrap();
    let after = append(&mut log, 3, 10).unwrap();
    assert!(before < large && large.0 + 70_000 < after.0 && before > Position::START);
    log.close().unwrap();
    let (log, _) = Log::open(Arc::new(disk.process()), super::log_support::config()).unwrap();
    assert_eq!(sequences(&log), [1, 2, 3]);
}
