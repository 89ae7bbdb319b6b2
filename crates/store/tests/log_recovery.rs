//! What a restart does with every kind of damage: a torn tail is cut, damage to durable records is refused, and each
//! thing that can be wrong with the files has an error of its own.

use std::sync::Arc;

use tidemark_store::disk::{Disk, Fault, SimDisk};
use tidemark_store::log::{Log, LogConfig, LogError, LogResult, Position, RecoveryReport};

const SEGMENT: u64 = 1024;

fn config() -> LogConfig {
    LogConfig { segment_bytes: SEGMENT, ..LogConfig::new(0xFEED) }
}

fn open(disk: &SimDisk) -> LogResult<(Log, RecoveryReport)> {
    Log::open(Arc::new(disk.process()), config())
}

fn append(log: &mut Log, seq: u64, bytes: usize) -> LogResult<Position> {
    log.append(1, 2, seq, |buffer| buffer.extend((0..bytes).map(|i| (i as u64 * 31 + seq) as u8)))
}

fn sequences(log: &Log) -> Vec<u64> {
    sequences_from(log, Position::START)
}

fn sequences_from(log: &Log, from: Position) -> Vec<u64> {
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
fn copy(from: &SimDisk, change: impl Fn(&str, &mut Vec<u8>)) -> SimDisk {
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
fn a_full_disk_is_found_before_anything_is_appended_and_the_log_goes_on() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    disk.set_capacity(Some(SEGMENT));
    let mut written = 0;
    let error = loop {
        match append(&mut log, written, 100) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LogError::Full(_)), "{error}");
    assert!(matches!(log.reserve(1, 500), Err(LogError::Full(_))));
    append(&mut log, written, 10).expect("a smaller one still fits");
    log.flush().unwrap();
    log.sync().unwrap();
    assert_eq!(sequences(&log).len() as u64, written + 1);
    disk.set_capacity(None);
    append(&mut log, written + 1, 100).expect("there is room again");
    log.flush().unwrap();
    assert_eq!(sequences(&log).len() as u64, written + 2);
}

#[test]
fn a_full_disk_does_not_prevent_a_start() {
    let disk = SimDisk::new();
    three_batches(&disk);
    let full = copy(&disk, |_, _| {});
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

#[test]
fn what_was_reserved_is_not_refused() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    for seq in 0..8 {
        append(&mut log, seq, 80).unwrap();
    }
    log.reserve(4, 4 * 100).unwrap();
    disk.set_capacity(Some(0));
    for seq in 8..12 {
        append(&mut log, seq, 100).unwrap();
    }
    log.flush().unwrap();
    assert_eq!(sequences(&log).len(), 12);
}

#[test]
fn a_failed_write_poisons_and_a_restart_recovers_what_is_whole() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    append(&mut log, 0, 10).unwrap();
    log.flush().unwrap();
    append(&mut log, 1, 10).unwrap();
    disk.inject(Fault::Write, 0);
    let error = log.flush().unwrap_err();
    assert!(matches!(error, LogError::Poisoned { .. }), "{error}");
    assert_eq!(append(&mut log, 2, 10).unwrap_err(), error);
    assert_eq!(log.sync().unwrap_err(), error);
    drop(log);
    assert_eq!(sequences(&open(&disk).unwrap().0), [0]);
}

/// The kernel marks pages clean when a sync fails, so the next sync succeeds though they are not on the disk. A log that
/// had tried again, or that had trusted the page cache after its restart, would lose the record here.
#[test]
fn a_failed_sync_is_not_tried_again_and_its_records_are_written_anew() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    append(&mut log, 0, 10).unwrap();
    log.flush().unwrap();
    disk.inject(Fault::Sync, 0);
    let error = log.sync().unwrap_err();
    assert!(matches!(error, LogError::Poisoned { .. }), "{error}");
    assert_eq!(log.sync().unwrap_err(), error);
    assert_eq!(append(&mut log, 1, 10).unwrap_err(), error);
    disk.kill();
    assert_eq!(sequences(&open(&disk).unwrap().0), [0]);
    disk.crash(&mut fastrand::Rng::with_seed(1));
    assert_eq!(sequences(&open(&disk).unwrap().0), [0]);
}

#[test]
fn dropped_segments_stay_away_and_readers_behind_are_told() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    let positions: Vec<Position> = (0..40)
        .map(|seq| {
            let position = append(&mut log, seq, 100).unwrap();
            log.flush().unwrap();
            position
        })
        .collect();
    let mut behind = log.cursor(positions[0]).unwrap();
    log.read(&mut behind).unwrap();
    assert_eq!(log.drop_before(positions[30]).unwrap(), 0, "nothing is dropped that is not durable");
    log.sync().unwrap();
    let before = log.total_bytes();
    let freed = log.drop_before(positions[30]).unwrap();
    assert_eq!(log.total_bytes(), before - freed);
    assert!(freed >= 3 * SEGMENT);
    assert!(matches!(log.cursor(positions[0]), Err(LogError::Dropped { .. })));
    let mut read = 1;
    let error = loop {
        match log.read(&mut behind) {
            Ok(Some(_)) => read += 1,
            Ok(None) => panic!("the segment after the first is gone"),
            Err(error) => break error,
        }
    };
    assert!(read < 10 && matches!(error, LogError::Dropped { .. }), "{error}");
    drop(log);
    let config = LogConfig { replay_from: positions[30], ..config() };
    let (log, report) = Log::open(Arc::new(disk), config).unwrap();
    assert_eq!(report.oldest, log.oldest());
    assert_eq!(sequences_from(&log, positions[30]), (30..40).collect::<Vec<_>>());
    let oldest = positions.partition_point(|&position| position < log.oldest());
    assert_eq!(
        sequences_from(&log, log.oldest()).len(),
        40 - oldest,
        "older segments are kept for the links"
    );
}

#[test]
fn a_record_larger_than_a_segment_is_refused() {
    let (mut log, _) = open(&SimDisk::new()).unwrap();
    assert!(matches!(append(&mut log, 0, 1024), Err(LogError::TooLarge { bytes: 1024, .. })));
    let LogError::TooLarge { limit, .. } = append(&mut log, 0, 2000).unwrap_err() else { panic!() };
    append(&mut log, 1, limit).unwrap();
    append(&mut log, 2, limit).unwrap();
    assert!(append(&mut log, 3, limit + 1).is_err());
    log.flush().unwrap();
    assert_eq!(sequences(&log), [1, 2]);
}

#[test]
fn a_sync_covers_what_was_flushed_when_it_was_asked_for() {
    let disk = SimDisk::new();
    let (mut log, _) = open(&disk).unwrap();
    assert!(log.sync_job().is_none(), "there is nothing to sync");
    append(&mut log, 0, 10).unwrap();
    let flushed = log.flush().unwrap();
    let job = log.sync_job().unwrap();
    append(&mut log, 1, 10).unwrap();
    let later = log.flush().unwrap();
    assert!(log.sync_job().is_none(), "one at a time");
    let done = std::thread::spawn(move || job.run()).join().unwrap();
    assert_eq!(log.synced(done).unwrap(), flushed);
    assert_eq!(log.sync().unwrap(), later);
    assert_eq!(log.flush().unwrap(), later, "a sync alone causes no write");
    assert!(log.sync_job().is_none());
}
