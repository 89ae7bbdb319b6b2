//! What a loss of power takes, and what has left by then.

use super::*;
use tidemark_replica::Waits;

fn stream(from: &mut Host<Recorder>) -> Vec<StreamItem<Recorder>> {
    from.open_stream(P0, DcId(1), Resume { incarnation: 77, received: 0 }).unwrap();
    let mut items = Vec::new();
    from.poll_stream(P0, DcId(1), usize::MAX, &mut items).unwrap();
    items
}

fn named(boot: &str, fsync: Fsync) -> HostConfig<Recorder> {
    HostConfig { boot: boot.to_string(), ..config(0, 2, fsync) }
}

#[test]
fn clients_are_told_what_is_written_and_peers_what_is_synced() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 2, Fsync::EverySec)).unwrap();
    put(&mut host, 1);
    let end = host.commit().unwrap();
    assert_eq!(answered(&mut host), [1]);
    assert!(host.for_clients() >= end && host.durable() < end);
    assert_eq!(stream(&mut host).len(), 0);
    assert_eq!(host.waits_for_sync(true, false), Some(Waits::ForStream));
    assert_eq!(host.waits_for_sync(false, false), None, "nobody is there to be told");
    sync(&mut host);
    assert_eq!(stream(&mut host).len(), 1);
    assert_eq!(host.waits_for_sync(true, false), None);
}

#[test]
fn without_syncs_nothing_waits_and_with_them_always_all_does() {
    let mut host = open(&SimDisk::new(), config(0, 2, Fsync::No)).unwrap();
    put(&mut host, 1);
    host.commit().unwrap();
    assert_eq!((answered(&mut host).len(), stream(&mut host).len()), (1, 1));
    let mut host = open(&SimDisk::new(), config(0, 2, Fsync::Always)).unwrap();
    put(&mut host, 1);
    host.commit().unwrap();
    assert_eq!((answered(&mut host).len(), stream(&mut host).len()), (0, 0));
    assert_eq!(host.waits_for_sync(false, false), Some(Waits::ForAnswer));
}

#[test]
fn a_receiver_asks_for_what_it_has_synced_and_takes_the_rest_once() {
    let (here, there) = (SimDisk::new(), SimDisk::new());
    let mut from = open(&here, config(0, 2, Fsync::EverySec)).unwrap();
    let mut to = open(&there, config(1, 2, Fsync::EverySec)).unwrap();
    (1..=3).for_each(|number| put(&mut from, number));
    from.commit().unwrap();
    assert_eq!(pump(&mut from, &mut to, (0, 1), 3), 3);
    to.commit().unwrap();
    assert_eq!(to.resume_point(server(0), P0).received, 0);
    assert_eq!(pump(&mut from, &mut to, (0, 1), 3), 3, "again, for it could still lose them");
    to.commit().unwrap();
    sync(&mut to);
    assert_eq!((to.resume_point(server(0), P0).received, numbers(&to)), (3, vec![1, 2, 3]));
}

/// In a region of several nodes, what came is given to the protocol once it is synced; and a snapshot that was begun before does not
/// count it as contained.
#[test]
fn where_others_of_the_region_could_build_on_it_a_record_is_given_when_it_is_synced() {
    let (here, there) = (SimDisk::new(), SimDisk::new());
    let several = || HostConfig { several: true, ..config(1, 2, Fsync::EverySec) };
    let mut from = open(&here, config(0, 2, Fsync::EverySec)).unwrap();
    let mut to = open(&there, several()).unwrap();
    (1..=4).for_each(|number| put(&mut from, number));
    from.commit().unwrap();
    pump(&mut from, &mut to, (0, 1), 2);
    to.commit().unwrap();
    assert_eq!(numbers(&to), []);
    assert_eq!(to.waits_for_sync(false, false), Some(Waits::ForAnswer));
    to.want_snapshot();
    assert!(to.upkeep().is_none(), "it begins");
    sync(&mut to);
    assert_eq!(numbers(&to), [1, 2]);
    for _ in 0..6 {
        tidy(&mut to);
    }
    assert!(!to.is_taking_snapshot(), "{:?}", to.status());
    there.kill();
    assert_eq!(numbers(&open(&there, several()).unwrap()), [1, 2]);
}

/// The clock of the machine was set back while it was off: no time is given out twice.
#[test]
fn another_start_of_the_machine_begins_above_all_that_was_given_out() {
    let (disk, later) = (SimDisk::new(), Now { wall: 9_000_000, mono: 2_000 });
    let mut host = open(&disk, named("one", Fsync::EverySec)).unwrap();
    host.request(later, P0, Ticket { node: 0, session: 0, ask: AskId(1) }, Request::Put(1), Some(30));
    host.commit().unwrap();
    assert_eq!(host.take_outputs().len(), 0, "a ceiling above it has to be synced first");
    assert_eq!(host.waits_for_sync(false, false), Some(Waits::ForAnswer));
    sync(&mut host);
    host.commit().unwrap();
    assert_eq!(answered(&mut host), [1]);
    disk.crash(&mut Rng::with_seed(1));
    let host = open(&disk, named("one", Fsync::EverySec)).unwrap();
    assert_eq!((host.partition(P0).started, host.status().since), (NOW.wall, 1), "the machine went on");
    disk.kill();
    let host = open(&disk, named("two", Fsync::EverySec)).unwrap();
    assert!(host.partition(P0).started > later.wall, "{}", host.partition(P0).started);
    assert_eq!(host.status().since, 3);
}

/// Nothing was synced, so others may hold what is missing here: it does not go on as if nothing were, however often it starts.
#[test]
fn a_machine_that_lost_power_without_syncs_takes_no_writes() {
    let disk = SimDisk::new();
    let mut host = open(&disk, named("one", Fsync::No)).unwrap();
    put(&mut host, 1);
    host.commit().unwrap();
    disk.kill();
    assert_eq!(open(&disk, named("one", Fsync::No)).unwrap().disowned(), None, "its process died");
    disk.kill();
    for fsync in [Fsync::EverySec, Fsync::No] {
        let mut host = open(&disk, named("two", fsync)).unwrap();
        assert!(host.disowned().is_some_and(|why| why.contains("lost power")));
        put(&mut host, 2);
        assert!(matches!(&host.replies()[..], [Output::Reply { reply: Err(Failure::Misconfigured(_)), .. }]));
        disk.kill();
    }
    let disk = SimDisk::new();
    open(&disk, named("one", Fsync::No)).unwrap().close().unwrap();
    assert_eq!(open(&disk, named("two", Fsync::No)).unwrap().disowned(), None, "it had ended well");
    let disk = SimDisk::new();
    let alone = |boot: &str| HostConfig { topology: Topology::new(1, 1), ..named(boot, Fsync::No) };
    open(&disk, alone("one")).unwrap();
    disk.kill();
    assert_eq!(open(&disk, alone("two")).unwrap().disowned(), None, "nobody has anything else");
}
