//! What a restart does with every kind of damage: a torn tail is cut, damage to durable records is refused, and each
//! thing that can be wrong with the files has an error of its own.

use std::sync::Arc;

use tidemark_store::disk::{Disk, SimDisk};
use tidemark_store::log::{BALLAST, Log, LogConfig, LogError, Position};

use crate::log_support::{SEGMENT, append, config, copy, open, sequences};

/// Three batches of two records, the first two of which a commit frame calls durable. Returns where the batches end.
fn three_batches(disk: &SimDisk) -> [usize; 3] {
    let (mut log, _) = open(disk).unwrap();
    let mut ends = [0; 3];
    for (i, end) in ends.iter_mut().enumerate() {
        append(&mut log, i as u64 * 2, 10).unwrap();
        append(&mut log, i as u64 * 2 + 1, 23).unwrap();
        *end = log.flush().unwrap().0 as usize;
        log.sync().unwrap();
    }
    ends
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_to_the_last_whole_batch() {
    let disk = SimDisk::new();
    let ends = three_batches(&disk);
    // The last byte of a commit frame is zero anyway.
    for at in ends[1]..ends[2] - 1 {
        for garbage in [0, 0xFF] {
            let torn = copy(&disk, |_, bytes| bytes[at..].fill(garbage));
            let (log, report) = open(&torn).unwrap();
            assert_eq!(sequences(&log), [0, 1, 2, 3], "torn at {at}");
            assert_eq!(report.end, Position(ends[1] as u64));
            let written = if garbage == 0 { at > ends[1] } else { true };
            assert_eq!(report.cut.is_some(), written, "torn at {at}: {:?}", report.cut);
        }
        let short = copy(&disk, |_, bytes| bytes.truncate(at));
        assert_eq!(sequences(&open(&short).unwrap().0), [0, 1, 2, 3], "cut short at {at}");
    }
}

#[test]
fn what_was_cut_does_not_come_back_and_what_follows_is_kept() {
    let disk = SimDisk::new();
    let ends = three_batches(&disk);
    let torn = copy(&disk, |_, bytes| bytes[ends[1] + 5] ^= 1);
    for life in 0..5 {
        let (mut log, report) = open(&torn).unwrap();
        assert_eq!(report.cut.is_some(), life == 0);
        append(&mut log, 100 + life, 10).unwrap();
        log.flush().unwrap();
        log.sync().unwrap();
    }
    assert_eq!(sequences(&open(&torn).unwrap().0), [0, 1, 2, 3, 100, 101, 102, 103, 104]);
}

#[test]
fn a_bit_flipped_before_the_mark_is_corruption_and_after_it_a_cut() {
    let disk = SimDisk::new();
    let ends = three_batches(&disk);
    for at in 64..ends[2] {
        for bit in 0..8 {
            let flipped = copy(&disk, |_, bytes| bytes[at] ^= 1 << bit);
            match open(&flipped) {
                // The third batch's commit frame says that the first two were durable.
                Err(LogError::Corrupt { file, offset, synced, .. }) => {
                    assert!(at < ends[1], "bit {bit} of byte {at}");
                    assert_eq!(file, "00000001.log");
                    assert!(offset as usize <= at && at < offset as usize + 43 + 20);
                    assert!(synced.0 as usize > at && ends.contains(&(synced.0 as usize)));
                }
                Err(error) => panic!("bit {bit} of byte {at}: {error}"),
                Ok((log, report)) => {
                    assert!(at >= ends[1], "bit {bit} of byte {at} was dropped without a word");
                    assert!(report.cut.is_some());
                    assert_eq!(sequences(&log), [0, 1, 2, 3]);
                }
            }
        }
    }
}

#[test]
fn zeros_over_durable_records_are_corruption_not_the_end() {
    let disk = SimDisk::new();
    let ends = three_batches(&disk);
    let zeroed = copy(&disk, |_, bytes| bytes[64..ends[1]].fill(0));
    assert!(matches!(open(&zeroed), Err(LogError::Corrupt { offset: 64, .. })));
}

#[test]
fn after_close_no_damage_to_a_record_goes_unnoticed() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    append(&mut log, 7, 30).unwrap();
    let end = log.close().unwrap();
    for at in 64..end.0 as usize {
        let flipped = copy(&disk, |_, bytes| bytes[at] ^= 0x10);
        assert!(matches!(open(&flipped), Err(LogError::Corrupt { .. })), "byte {at}");
    }
    assert_eq!(sequences(&open(&disk).unwrap().0), [7]);
}

#[test]
fn damage_in_an_earlier_segment_is_found_by_marks_in_later_ones() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    for seq in 0..30 {
        append(&mut log, seq, 100).unwrap();
        log.flush().unwrap();
        log.sync().unwrap();
    }
    assert!(disk.list().unwrap().len() > 3);
    for at in [64, 100, 500, 900] {
        let flipped = copy(&disk, |name, bytes| {
            if name == "00000001.log" {
                bytes[at..at + 8].fill(0xAA);
            }
        });
        let error = open(&flipped).unwrap_err();
        assert!(matches!(&error, LogError::Corrupt { file, .. } if file == "00000001.log"), "{error}");
        assert!(error.to_string().contains("00000001.log is corrupt at offset"), "{error}");
    }
}

#[test]
fn a_batch_over_two_segments_comes_back_whole_or_not_at_all() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    append(&mut log, 0, 10).unwrap();
    log.flush().unwrap();
    log.sync().unwrap();
    for seq in 1..13 {
        append(&mut log, seq, 100).unwrap();
    }
    let end = log.flush().unwrap();
    drop(log);
    disk.kill();
    assert!(end.0 > SEGMENT);
    let torn = copy(&disk, |name, bytes| {
        if name == "00000002.log" {
            bytes[(end.0 - SEGMENT) as usize - 1] ^= 1;
        }
    });
    let (log, report) = open(&torn).unwrap();
    assert_eq!(sequences(&log), [0]);
    let cut = report.cut.unwrap();
    assert_eq!((cut.file.as_str(), report.orphans), ("00000001.log", 1));
    assert_eq!(sequences(&open(&disk).unwrap().0), (0..13).collect::<Vec<_>>());
}

#[test]
fn each_wrong_file_has_its_own_error() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    for seq in 0..30 {
        append(&mut log, seq, 100).unwrap();
    }
    log.flush().unwrap();
    drop(log);
    let with = |at: usize, to: u8| {
        let changed = copy(&disk, |name, bytes| {
            if name == "00000002.log" {
                bytes[at] = to;
            }
        });
        open(&changed).unwrap_err()
    };
    assert!(matches!(with(0, b'X'), LogError::NotALog { .. }));
    assert!(matches!(with(8, 9), LogError::WrongVersion { found: 9, expected: 1, .. }));
    assert!(matches!(with(30, 1), LogError::HeaderDamaged { .. }));
    assert!(matches!(
        Log::open(Arc::new(disk.clone()), LogConfig { incarnation: 1, ..config() }),
        Err(LogError::Foreign { found: 0xFEED, expected: 1, .. })
    ));

    let missing = copy(&disk, |_, _| {});
    missing.remove("00000002.log").unwrap();
    let error = open(&missing).unwrap_err();
    assert!(matches!(&error, LogError::MissingSegment { file, .. } if file == "00000002.log"), "{error}");

    let first_missing = copy(&disk, |_, _| {});
    first_missing.remove("00000001.log").unwrap();
    let error = open(&first_missing).unwrap_err();
    assert!(matches!(&error, LogError::MissingSegment { file, .. } if file == "00000001.log"), "{error}");

    let swapped = copy(&disk, |_, _| {});
    swapped.rename("00000002.log", "00000003.log").unwrap();
    assert!(matches!(open(&swapped), Err(LogError::HeaderDamaged { .. })));

    let lost = SimDisk::new();
    let no_first_start = LogConfig { may_create: false, ..config() };
    assert_eq!(Log::open(Arc::new(lost.clone()), no_first_start).unwrap_err(), LogError::NoLog);
    let with_snapshot = LogConfig { replay_from: Position(500), ..config() };
    assert_eq!(Log::open(Arc::new(lost), with_snapshot).unwrap_err(), LogError::NoLog);
    let far = LogConfig { replay_from: Position(1 << 40), ..config() };
    assert!(matches!(Log::open(Arc::new(disk), far), Err(LogError::EndsBeforeSnapshot { .. })));
}

#[test]
fn a_reader_that_holds_what_the_log_lost_is_told_so() {
    let disk = SimDisk::new();
    let ends = three_batches(&disk);
    let torn = copy(&disk, |_, bytes| bytes[ends[1]..].fill(0));
    let (mut log, _) = open(&torn).unwrap();
    append(&mut log, 50, 400).unwrap();
    log.flush().unwrap();
    let lost = Position(ends[2] as u64);
    let mut cursor = log.cursor(lost).unwrap();
    let error = log.read(&mut cursor).unwrap_err();
    assert!(matches!(error, LogError::NoRecordAt { position, .. } if position == lost), "{error}");
    let beyond = Position(log.end().0 + 1);
    assert!(matches!(log.cursor(beyond), Err(LogError::BeyondEnd { .. })));
}

#[test]
fn a_full_disk_does_not_prevent_a_start() {
    let disk = SimDisk::new();
    three_batches(&disk);
    let full = copy(&disk, |_, _| {});
    full.remove(BALLAST).unwrap();
    full.set_capacity(Some(full.used() + 100));
    assert!(matches!(open(&full), Err(LogError::Full(_))));
    let large = LogConfig { segment_bytes: 64 << 20, ..config() };
    full.set_capacity(Some(full.used() + 8192));
    let (mut log, _) = Log::open(Arc::new(full), large).unwrap();
    assert_eq!(sequences(&log).len(), 6);
    append(&mut log, 6, 100).unwrap();
    log.flush().unwrap();
    assert!(matches!(append(&mut log, 7, 100_000), Err(LogError::Full(_))));
}
