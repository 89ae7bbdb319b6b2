//! A log that was killed while its disk was full opens again, with its ballast; writes are refused until there is ballast again.

use fastrand::Rng;
use tidemark_store::disk::{Disk, Fault, SimDisk};
use tidemark_store::log::{BALLAST, Log, LogError};

use crate::log_support::{SEGMENT, append, open, sequences};

/// A disk that is full to the last byte, with a log whose process was killed. Returns how many records it has.
fn killed_when_full(disk: &SimDisk) -> u64 {
    let (mut log, _) = open(disk).unwrap();
    disk.set_capacity(Some(disk.used()));
    let mut written = 0;
    while append(&mut log, written, 100).is_ok() {
        log.flush().unwrap();
        written += 1;
    }
    drop(log);
    disk.kill();
    disk.set_capacity(Some(disk.used()));
    written
}

fn is_there(disk: &SimDisk) -> bool {
    disk.list().unwrap().iter().any(|name| name == BALLAST)
}

/// As a driver does each second.
fn look(log: &mut Log) {
    if let Some(job) = log.ballast_job() {
        let done = job.run();
        log.ballast_made(done);
    }
}

#[test]
fn a_log_that_was_killed_on_a_full_disk_opens_and_refuses_writes_until_there_is_room() {
    let disk = SimDisk::new();
    let written = killed_when_full(&disk);
    assert!(is_there(&disk));
    let (mut log, _) = open(&disk).unwrap();
    assert_eq!(sequences(&log), (0..written).collect::<Vec<_>>());
    assert!(!is_there(&disk) && log.total_bytes() >= SEGMENT);
    assert!(matches!(log.reserve(1, 10), Err(LogError::Full(_))));
    append(&mut log, written, 10).expect("what keeps a server going is written");
    log.flush().unwrap();
    look(&mut log);
    assert!(matches!(log.reserve(1, 10), Err(LogError::Full(_))), "there is no room yet");
    disk.set_capacity(None);
    assert!(log.reserve(1, 10).is_err(), "nobody has looked");
    look(&mut log);
    log.reserve(1, 10).unwrap();
    assert!(is_there(&disk) && log.ballast_job().is_none());
    drop(log);
    disk.kill();
    assert_eq!(sequences(&open(&disk).unwrap().0), (0..=written).collect::<Vec<_>>());
}

#[test]
fn without_ballast_a_dead_segment_makes_room_and_nothing_else_does() {
    let disk = SimDisk::new();
    let written = killed_when_full(&disk);
    disk.remove(BALLAST).unwrap();
    disk.set_capacity(Some(disk.used()));
    assert!(matches!(open(&disk), Err(LogError::Full(_))));
    // An opening that is interrupted leaves a segment that nothing leads to.
    disk.set_capacity(None);
    disk.inject(Fault::Sync, 2);
    assert!(open(&disk).is_err() && !is_there(&disk));
    disk.kill();
    disk.set_capacity(Some(disk.used()));
    let (log, report) = open(&disk).unwrap();
    assert_eq!((sequences(&log).len() as u64, report.orphans), (written, 1));
}

/// Wherever an opening is interrupted that uses the ballast, the next one goes on: its segment is ballast still, or dead.
#[test]
fn an_opening_with_ballast_may_fail_anywhere() {
    let mut failed = 0;
    for seed in 0..400 {
        let mut rng = Rng::with_seed(seed);
        let disk = SimDisk::new();
        let written = killed_when_full(&disk);
        let fault = [Fault::Write, Fault::Sync, Fault::SyncDir][rng.usize(0..3)];
        disk.inject(fault, rng.u64(0..4));
        failed += u64::from(open(&disk).is_err());
        disk.kill();
        let (log, _) = open(&disk).unwrap_or_else(|error| panic!("seed {seed}, {fault:?}: {error}"));
        assert_eq!(sequences(&log).len() as u64, written);
    }
    assert!(failed > 100, "{failed} of 400 openings were interrupted");
}
