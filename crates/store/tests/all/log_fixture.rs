//! The format on disk: a data directory written by format version 1 opens for ever, and today's code still writes the
//! same bytes. When the format changes, its version is raised, this fixture stays, and a new one is added beside it.

use std::path::PathBuf;
use std::sync::Arc;

use tidemark_store::disk::{Disk, RealDisk, SimDisk};
use tidemark_store::log::manifest::DataDir;
use tidemark_store::log::snapshot::{LatestSnapshot, SnapshotWriter};
use tidemark_store::log::{BALLAST, Log, LogConfig, Position};

const INCARNATION: u64 = 0x0123_4567_89AB_CDEF;
const RECORDS: u64 = 12;
const SNAPSHOT_RECORDS: u64 = 3;

fn payload(seq: u64) -> Vec<u8> {
    (0..seq * 9).map(|i| (i * 7 + seq) as u8).collect()
}

fn config(replay_from: Position) -> LogConfig {
    LogConfig { segment_bytes: 512, replay_from, may_create: true, ..LogConfig::new(INCARNATION) }
}

/// A small life: records over several segments, a restart, a snapshot.
fn write(disk: &Arc<dyn Disk>) {
    let mut directory = DataDir::open(disk.clone(), "causal", "3x2", INCARNATION).unwrap();
    let (mut log, _) = Log::open(disk.clone(), config(Position::START)).unwrap();
    directory.update(|manifest| manifest.initialised = true).unwrap();
    for seq in 0..RECORDS {
        log.append(seq as u8, 2, seq, |buffer| buffer.extend_from_slice(&payload(seq))).unwrap();
        if seq % 3 == 2 {
            log.flush().unwrap();
            log.sync().unwrap();
            if let Some(job) = log.spare_job() {
                log.spared(job.run());
            }
        }
    }
    let durable = log.close().unwrap();
    let mut snapshot = SnapshotWriter::create(disk.clone(), INCARNATION, Position(64)).unwrap();
    for seq in 0..SNAPSHOT_RECORDS {
        snapshot.append(9, 1, seq, |buffer| buffer.extend_from_slice(&payload(seq))).unwrap();
    }
    snapshot.finish(durable).unwrap();
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/log-v1")
}

fn bytes(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_directory_of_format_1_opens() {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(copy.path()).unwrap());
    let directory = DataDir::open(disk.clone(), "causal", "3x2", 1).unwrap();
    assert!(directory.manifest().initialised);
    assert_eq!(directory.manifest().incarnation, INCARNATION);

    let latest = LatestSnapshot::find(&*disk, INCARNATION).unwrap();
    assert_eq!(latest.refused, []);
    let mut snapshot = latest.reader.unwrap();
    for seq in 0..SNAPSHOT_RECORDS {
        let record = snapshot.read().unwrap().unwrap();
        assert_eq!((record.kind, record.partition, record.seq), (9, 1, seq));
        assert_eq!(record.payload, payload(seq));
    }
    assert_eq!(snapshot.read().unwrap(), None);

    let (log, report) = Log::open(disk, config(snapshot.info().replay_from)).unwrap();
    assert_eq!((report.records, report.cut), (RECORDS, None));
    let mut cursor = log.cursor(snapshot.info().replay_from).unwrap();
    for seq in 0..RECORDS {
        let frame = log.read(&mut cursor).unwrap().unwrap();
        assert_eq!((frame.kind, frame.partition, frame.seq), (seq as u8, 2, seq));
        assert_eq!(frame.payload, payload(seq));
    }
    assert_eq!(log.read(&mut cursor).unwrap(), None);
}

#[test]
fn the_same_bytes_are_written_today() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
    write(&disk);
    let fixture = RealDisk::open(fixture()).unwrap();
    // Ballast is empty.
    let names: Vec<String> = disk.list().unwrap().into_iter().filter(|name| name != BALLAST).collect();
    assert_eq!(names, fixture.list().unwrap());
    for name in names {
        assert_eq!(
            bytes(&*disk, &name),
            bytes(&fixture, &name),
            "{name} is written otherwise than in format 1"
        );
    }
}

/// Writes the fixture. Only if you understand why the bytes changed, and never for a format that was released:
/// `cargo test -p tidemark-store --test all write_the_fixture -- --ignored`.
#[test]
#[ignore = "writes the fixture"]
fn write_the_fixture() {
    let simulated: Arc<dyn Disk> = Arc::new(SimDisk::new());
    write(&simulated);
    std::fs::create_dir_all(fixture()).unwrap();
    for name in simulated.list().unwrap() {
        std::fs::write(fixture().join(&name), bytes(&*simulated, &name)).unwrap();
    }
}
