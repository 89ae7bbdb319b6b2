//! What the simulated disk says of its own changes: which of them a power failure may take.

use tidemark_store::disk::{Disk, Fault, SimDisk};

#[test]
fn a_change_is_durable_once_its_file_and_its_name_are_synced() {
    let disk = SimDisk::new();
    let durable = || (disk.durable_changes(), disk.changes());
    let first = disk.create("a", 8).unwrap();
    first.write_at(0, b"one").unwrap();
    first.sync().unwrap();
    assert_eq!(durable(), (0, 2), "its name may be lost");
    disk.sync_dir().unwrap();
    assert_eq!(durable(), (2, 2));
    first.write_at(3, b"two").unwrap();
    first.write_at(6, b"3").unwrap();
    assert_eq!(durable(), (2, 4));
    first.sync().unwrap();
    assert_eq!(durable(), (4, 4));
}

#[test]
fn what_a_failed_sync_has_forgotten_is_not_durable_after_another_one() {
    let disk = SimDisk::new();
    let file = disk.create("a", 8).unwrap();
    file.sync().unwrap();
    disk.sync_dir().unwrap();
    file.write_at(0, b"one").unwrap();
    disk.inject(Fault::Sync, 0);
    assert!(file.sync().is_err());
    file.write_at(3, b"two").unwrap();
    file.sync().unwrap();
    assert_eq!((disk.durable_changes(), disk.changes()), (1, 3));
    // With the power what was written is gone, and nothing is left that could go.
    disk.crash(&mut fastrand::Rng::with_seed(1));
    assert_eq!(disk.durable_changes(), disk.changes());
}

#[test]
fn a_file_that_is_removed_has_nothing_to_lose() {
    let disk = SimDisk::new();
    disk.create("a", 8).unwrap().write_at(0, b"one").unwrap();
    disk.sync_dir().unwrap();
    disk.remove("a").unwrap();
    assert_eq!((disk.durable_changes(), disk.changes()), (3, 3));
}
