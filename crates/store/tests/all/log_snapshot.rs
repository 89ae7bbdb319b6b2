//! Snapshots and the manifest: whole or refused, the older one kept until the newer is durable, nobody else's data.

use std::sync::Arc;

use fastrand::Rng;
use tidemark_store::disk::{Disk, DiskErrorKind, Fault, RealDisk, SimDisk};
use tidemark_store::log::Position;
use tidemark_store::log::manifest::{DataDir, ManifestError};
use tidemark_store::log::snapshot::{
    LatestSnapshot, SnapshotError, SnapshotInfo, SnapshotReader, SnapshotResult, SnapshotWriter,
};

const LOG: u64 = 0xABCD;

fn write(disk: &dyn Fn() -> Arc<dyn Disk>, at: u64, records: u64) -> SnapshotResult<SnapshotInfo> {
    let mut writer = SnapshotWriter::create(disk(), LOG, Position(at))?;
    for i in 0..records {
        writer.append(i as u8 % 9, i as u16, at + i, |buffer| {
            buffer.extend(std::iter::repeat_n((at + i) as u8, i as usize % 40));
        })?;
    }
    writer.finish(Position(at))
}

fn check(mut reader: SnapshotReader, at: u64, records: u64) {
    assert_eq!(reader.info().replay_from, Position(at));
    assert_eq!(reader.info().records, records);
    for i in 0..records {
        let record = reader.read().unwrap().unwrap();
        assert_eq!((record.kind, record.partition, record.seq), (i as u8 % 9, i as u16, at + i));
        assert_eq!(record.payload, vec![(at + i) as u8; i as usize % 40]);
    }
    assert_eq!(reader.read().unwrap(), None);
}

fn sim(disk: &SimDisk) -> impl Fn() -> Arc<dyn Disk> + '_ {
    || Arc::new(disk.process())
}

/// Writes `bytes` as the whole of the file `name`, durably.
fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    if let Err(error) = disk.remove(name) {
        assert_eq!(error.kind, DiskErrorKind::NotFound);
    }
    let file = disk.create(name, 0).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
    disk.sync_dir().unwrap();
}

fn get(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_snapshot_replaces_the_one_before_it_on_real_files() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let real = || -> Arc<dyn Disk> { Arc::new(disk.clone()) };
    assert!(LatestSnapshot::find(&disk, LOG).unwrap().reader.is_none());
    for (at, records) in [(100, 3), (2000, 30_000), (30_000, 0)] {
        let info = write(&real, at, records).unwrap();
        assert_eq!(disk.list().unwrap(), std::slice::from_ref(&info.file));
        let latest = LatestSnapshot::find(&disk, LOG).unwrap();
        assert_eq!((latest.replay_from(), latest.refused.len()), (Position(at), 0));
        assert_eq!(*latest.reader.as_ref().unwrap().info(), info);
        check(latest.reader.unwrap(), at, records);
    }
}

#[test]
fn a_snapshot_torn_or_changed_at_any_byte_is_refused_and_the_one_before_it_used() {
    let disk = SimDisk::new();
    write(&sim(&disk), 100, 5).unwrap();
    let old = get(&disk, "00000000000000000100.snapshot");
    write(&sim(&disk), 200, 6).unwrap();
    let name = "00000000000000000200.snapshot";
    let new = get(&disk, name);
    put(&disk, "00000000000000000100.snapshot", &old);
    for at in 0..new.len() {
        let mut flipped = new.clone();
        flipped[at] ^= 0x04;
        for damaged in [&new[..at], &flipped] {
            put(&disk, name, damaged);
            let latest = LatestSnapshot::find(&disk, LOG).unwrap();
            assert_eq!(latest.refused.len(), 1, "byte {at}");
            assert!(!matches!(latest.refused[0], SnapshotError::Disk(_)));
            check(latest.reader.unwrap(), 100, 5);
        }
    }
    let mut longer = new.clone();
    longer.push(0);
    put(&disk, name, &longer);
    assert!(matches!(SnapshotReader::open(&disk, name, LOG), Err(SnapshotError::Corrupt { .. })));
    put(&disk, name, &new[..new.len() - 30]);
    assert!(matches!(SnapshotReader::open(&disk, name, LOG), Err(SnapshotError::Incomplete { .. })));
    put(&disk, name, &new);
    assert!(matches!(SnapshotReader::open(&disk, name, 1), Err(SnapshotError::Foreign { .. })));
    check(LatestSnapshot::find(&disk, LOG).unwrap().reader.unwrap(), 200, 6);
    put(&disk, name, b"something else that is longer than a header of sixty-four bytes....");
    assert!(matches!(SnapshotReader::open(&disk, name, LOG), Err(SnapshotError::NotASnapshot { .. })));
}

#[test]
fn random_crashes_leave_the_newest_finished_snapshot() {
    for seed in 0..2000 {
        let mut rng = Rng::with_seed(seed);
        let disk = SimDisk::new();
        let mut finished = None;
        let mut begun = 0;
        for _ in 0..rng.usize(1..8) {
            begun += 1 + rng.u64(0..100);
            let records = rng.u64(0..40);
            if rng.u8(0..3) == 0 {
                let fault =
                    [Fault::Write, Fault::Sync, Fault::SyncDir, Fault::CreateNoSpace][rng.usize(0..4)];
                disk.inject(fault, rng.u64(0..2));
            }
            let newest = match write(&sim(&disk), begun, records) {
                Ok(_) => {
                    finished = Some((begun, records));
                    true
                }
                Err(_) => false,
            };
            if rng.bool() {
                disk.crash(&mut rng);
            }
            let Ok(latest) = LatestSnapshot::find(&disk, LOG) else {
                // The fault was still waiting.
                disk.kill();
                continue;
            };
            assert_eq!(latest.refused, [], "seed {seed}: a crash leaves no broken snapshot");
            match (latest.reader, finished) {
                (Some(reader), _) if !newest && reader.info().replay_from == Position(begun) => {
                    // It had its name before the failure, and is whole.
                    check(reader, begun, records);
                    finished = Some((begun, records));
                }
                (Some(reader), Some((at, records))) => check(reader, at, records),
                (reader, finished) => assert!(reader.is_none() && finished.is_none(), "seed {seed}"),
            }
        }
    }
}

#[test]
fn a_snapshot_ahead_of_the_durable_log_gets_no_name() {
    let disk = SimDisk::new();
    let writer = SnapshotWriter::create(Arc::new(disk.clone()), LOG, Position(500)).unwrap();
    assert!(matches!(writer.finish(Position(499)), Err(SnapshotError::NotDurable { .. })));
    assert_eq!(disk.list().unwrap(), [""; 0]);
}

#[test]
fn a_full_disk_fails_the_snapshot_and_gives_the_space_back() {
    let disk = SimDisk::new();
    write(&sim(&disk), 100, 5).unwrap();
    let used = disk.used();
    disk.set_capacity(Some(used + 600_000));
    assert!(
        matches!(write(&sim(&disk), 200, 100_000), Err(SnapshotError::Disk(error)) if error.is_no_space())
    );
    assert_eq!(disk.used(), used);
    check(LatestSnapshot::find(&disk, LOG).unwrap().reader.unwrap(), 100, 5);
}

fn open(disk: &SimDisk, protocol: &str, topology: &str) -> Result<DataDir, ManifestError> {
    DataDir::open(Arc::new(disk.process()), protocol, topology, 77)
}

#[test]
fn a_data_directory_knows_whose_it_is() {
    let disk = SimDisk::new();
    let mut directory = open(&disk, "causal", "a1").unwrap();
    assert_eq!((directory.manifest().incarnation, directory.manifest().initialised), (77, false));
    assert!(matches!(open(&disk, "causal", "a1"), Err(ManifestError::InUse(_))));
    directory
        .update(|manifest| {
            manifest.initialised = true;
            manifest.extra.insert("seeded-from".to_owned(), "dc2 = the north".to_owned());
        })
        .unwrap();
    let manifest = directory.manifest().clone();
    drop(directory);
    disk.crash(&mut Rng::with_seed(0));
    let again = DataDir::open(Arc::new(disk.process()), "causal", "a1", 78).unwrap();
    assert_eq!(*again.manifest(), manifest);
    drop(again);
    let error = open(&disk, "eventual", "a1").unwrap_err();
    assert!(matches!(error, ManifestError::Different { key: "protocol", .. }), "{error}");
    let error = open(&disk, "causal", "b2").unwrap_err();
    assert!(matches!(error, ManifestError::Different { key: "topology", .. }), "{error}");
}

#[test]
fn a_manifest_that_is_not_understood_is_refused() {
    let disk = SimDisk::new();
    drop(open(&disk, "causal", "a1").unwrap());
    let text = String::from_utf8(get(&disk, "MANIFEST")).unwrap();
    let with = |from: &str, to: &str| {
        put(&disk, "MANIFEST", text.replace(from, to).as_bytes());
        open(&disk, "causal", "a1").unwrap_err()
    };
    assert!(matches!(with("format = 1", "format = 2"), ManifestError::WrongFormat { expected: 1, .. }));
    assert!(matches!(with("protocol = causal", "protocol"), ManifestError::Damaged { line: 3, .. }));
    assert!(matches!(with("topology = a1", "protocol = a1"), ManifestError::Damaged { line: 4, .. }));
    assert!(matches!(with("incarnation = ", "incarnation = x"), ManifestError::Damaged { .. }));
    assert!(matches!(with("initialised = no\n", ""), ManifestError::Damaged { .. }));
    disk.remove("MANIFEST").unwrap();
    put(&disk, "00000001.log", b"");
    assert!(matches!(open(&disk, "causal", "a1"), Err(ManifestError::Unclaimed { .. })));
}

#[test]
fn a_crash_leaves_the_old_manifest_or_the_new_one() {
    for seed in 0..500 {
        let mut rng = Rng::with_seed(seed);
        let disk = SimDisk::new();
        let mut durable = None;
        for i in 0..rng.u64(1..6) {
            let mut directory = open(&disk, "causal", "a1").unwrap();
            let found = directory.manifest().extra.get("n").map(|n| n.parse::<u64>().unwrap());
            assert!(found >= durable, "seed {seed}");
            let fault = [Fault::Write, Fault::Sync, Fault::SyncDir][rng.usize(0..3)];
            if rng.bool() {
                disk.inject(fault, 0);
            }
            if directory.update(|manifest| drop(manifest.extra.insert("n".into(), i.to_string()))).is_ok() {
                durable = Some(i);
            }
            drop(directory);
            disk.crash(&mut rng);
        }
    }
}

#[test]
fn a_real_directory_is_opened_by_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path().join("deep/er")).unwrap());
    let first = DataDir::open(disk.clone(), "causal", "a1", 1).unwrap();
    assert!(matches!(DataDir::open(disk.clone(), "causal", "a1", 1), Err(ManifestError::InUse(_))));
    drop(first);
    DataDir::open(disk, "causal", "a1", 1).unwrap();
}
