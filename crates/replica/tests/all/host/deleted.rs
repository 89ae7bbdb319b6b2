//! What was deleted stays deleted. A snapshot takes a while; a key that went meanwhile, with a tombstone that was there when
//! it was begun, is not in it, and the log that is replayed over it does not know the tombstone. What the log has of that
//! key is older, if it had been on its way here for long: found by the simulator, on a copy that a member of a group had got.

use super::*;
use tidemark_contract::Version;
use tidemark_contract::core::{Hlc, Key, Stamp, Write};

/// What arrives late: the first record of data centre 1.
fn late() -> StreamItem<Recorder> {
    let write = Write::Assign(b"deleted".as_slice().into());
    let version = Version { stamp: Stamp::new(Hlc(1), DcId(1)), meta: 1, write };
    StreamItem::Record { seq: 1, key: Key::from("shared"), version }
}

fn upkeep(host: &mut Host<Recorder>) {
    if let Some(job) = host.upkeep() {
        host.upkept(job.run());
    }
    host.commit().unwrap();
    sync(host);
}

#[test]
fn a_key_that_goes_while_a_snapshot_is_taken_does_not_come_back() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 2, Fsync::EverySec)).unwrap();
    host.accept_stream(server(1), P0, 9).unwrap();
    put(&mut host, 1);
    ask(&mut host, 2, Request::Share(2, false));
    host.commit().unwrap();
    host.want_snapshot();
    upkeep(&mut host);
    assert!(host.is_taking_snapshot());
    host.take_item(NOW, server(1), P0, late()).unwrap();
    ask(&mut host, 3, Request::Collect(2));
    for _ in 0..8 {
        upkeep(&mut host);
    }
    assert!(host.status().replay_from > 0, "the snapshot counts");
    ask(&mut host, 4, Request::Collect(2));
    assert_eq!(host.store(P0).chain(b"shared").count(), 0, "nobody can tell that it was there");
    disk.kill();
    let mut host = open(&disk, config(0, 2, Fsync::EverySec)).unwrap();
    let alive = |host: &Host<Recorder>| {
        host.store(P0).chain(b"shared").next().is_some_and(|newest| newest.write != Write::Remove)
    };
    assert!(!alive(&host), "it was deleted");
    ask(&mut host, 5, Request::Collect(2));
    assert!(!alive(&host));
}
