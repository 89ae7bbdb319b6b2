//! Records that come over a third region.

use super::*;

type Item = StreamItem<Recorder>;

fn relaying(dc: u8, fsync: Fsync) -> HostConfig<Recorder> {
    HostConfig { relays: true, ..config(dc, 3, fsync) }
}

fn small(dc: u8) -> HostConfig<Recorder> {
    HostConfig { snapshot_every_bytes: 8 << 10, ..relaying(dc, Fsync::EverySec) }
}

fn three() -> [Host<Recorder>; 3] {
    [0, 1, 2].map(|dc| open(&SimDisk::new(), relaying(dc, Fsync::EverySec)).unwrap())
}

/// Opens the stream of `origin` from `from` to `to`.
fn begin(
    origin: u8,
    (from, to): (&mut Host<Recorder>, &mut Host<Recorder>),
    dc: u8,
) -> Result<(), StreamRefusal> {
    let incarnation = from.open_feed(server(origin), DcId(dc), to.resume_point(server(origin), P0))?;
    to.accept_stream(server(origin), P0, incarnation).unwrap();
    Ok(())
}

fn poll(from: &mut Host<Recorder>, origin: u8, dc: u8) -> Result<Vec<Item>, StreamRefusal> {
    let mut items = Vec::new();
    from.poll_feed(server(origin), DcId(dc), usize::MAX, &mut items).map(|()| items)
}

/// Moves all that is there of `origin`, and returns how much that was.
fn move_all(origin: u8, from: &mut Host<Recorder>, to: &mut Host<Recorder>, dc: u8) -> usize {
    let count = move_unsynced(origin, from, to, dc);
    tidy(to);
    count
}

fn move_unsynced(origin: u8, from: &mut Host<Recorder>, to: &mut Host<Recorder>, dc: u8) -> usize {
    begin(origin, (from, to), dc).unwrap();
    let items = poll(from, origin, dc).unwrap();
    let count = items.len();
    items.into_iter().for_each(|item| to.take_item(NOW, server(origin), P0, item).unwrap());
    to.commit().unwrap();
    count
}

/// The origin hears how far `dc` has come.
fn confirm(origin: &mut Host<Recorder>, of: u8, (receiver, dc): (&Host<Recorder>, u8)) {
    origin.confirm(P0, DcId(dc), receiver.received(server(of), P0));
}

fn write(host: &mut Host<Recorder>, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        put(host, number);
        tidy(host);
    }
}

#[test]
fn records_come_over_a_third_region_and_the_own_stream_goes_on_after_them() {
    let [mut a, mut b, mut c] = three();
    write(&mut a, 1..=5);
    assert_eq!(move_all(0, &mut a, &mut b, 1), 5);
    assert_eq!(move_all(0, &mut b, &mut c, 2), 5);
    assert_eq!(numbers(&c), [1, 2, 3, 4, 5]);
    write(&mut a, 6..=7);
    assert_eq!(move_all(0, &mut a, &mut c, 2), 2, "neither again nor with a gap");
    assert_eq!(move_all(0, &mut b, &mut c, 2), 0, "this one has no more");
    assert_eq!(numbers(&c), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn what_comes_twice_is_taken_once() {
    let [mut a, mut b, mut c] = three();
    write(&mut a, 1..=3);
    move_all(0, &mut a, &mut b, 1);
    begin(0, (&mut b, &mut c), 2).unwrap();
    let relayed = poll(&mut b, 0, 2).unwrap();
    move_all(0, &mut a, &mut c, 2);
    relayed.into_iter().for_each(|item| c.take_item(NOW, server(0), P0, item).unwrap());
    assert_eq!((numbers(&c), c.received(server(0), P0)), (vec![1, 2, 3], 3));
}

/// A heartbeat says that all records up to its time are there.
#[test]
fn a_relay_hands_a_heartbeat_on_after_the_last_record_before_it() {
    let disk = SimDisk::new();
    let [mut a, _, _] = three();
    let mut b = open(&disk, relaying(1, Fsync::Always)).unwrap();
    write(&mut a, 1..=1);
    move_all(0, &mut a, &mut b, 1);
    sync(&mut b);
    b.open_feed(server(0), DcId(2), Resume::default()).unwrap();
    assert!(matches!(&poll(&mut b, 0, 2).unwrap()[..], [StreamItem::Record { seq: 1, .. }]));
    write(&mut a, 2..=2);
    ask(&mut a, 0, Request::Beat(9));
    tidy(&mut a);
    assert_eq!(move_unsynced(0, &mut a, &mut b, 1), 2);
    assert!(
        !b.has_for_feed(server(0), DcId(2)) && poll(&mut b, 0, 2).unwrap().is_empty(),
        "it is not synced"
    );
    sync(&mut b);
    assert!(b.has_for_feed(server(0), DcId(2)));
    let items = poll(&mut b, 0, 2).unwrap();
    assert!(
        matches!(&items[..], [StreamItem::Record { seq: 2, .. }, StreamItem::Heartbeat { after_seq: 2, .. }]),
        "{items:?}"
    );
}

#[test]
fn records_are_kept_for_a_third_region_until_all_have_them() {
    let disk = SimDisk::new();
    let [mut a, _, mut c] = three();
    let mut b = open(&disk, small(1)).unwrap();
    let round = |a: &mut Host<Recorder>, b: &mut Host<Recorder>| {
        move_all(0, a, b, 1);
        confirm(a, 0, (b, 1));
        tidy(b);
    };
    for number in 1..=2_000 {
        write(&mut a, number..=number);
        round(&mut a, &mut b);
    }
    let kept = b.status().log_bytes;
    assert!(kept > 100 << 10, "C may ask for all of it: {kept}");
    // Where records stand is found again after a restart.
    disk.kill();
    let mut b = open(&disk, small(1)).unwrap();
    let resume = |received| Resume { incarnation: 77, received };
    b.open_feed(server(0), DcId(2), resume(1_500)).unwrap();
    assert_eq!(poll(&mut b, 0, 2).unwrap().len(), 500);
    assert_eq!(move_all(0, &mut b, &mut c, 2), 2_000);
    // All have it now, and A hears of it.
    move_all(0, &mut a, &mut c, 2);
    round(&mut a, &mut b);
    let items = poll(&mut a, 0, 1).unwrap();
    assert!(items.is_empty(), "it was told once: {items:?}");
    for number in 1..=1_000 {
        write(&mut b, number..=number);
        move_all(1, &mut b, &mut c, 2);
        confirm(&mut b, 1, (&c, 2));
        move_all(1, &mut b, &mut a, 0);
        confirm(&mut b, 1, (&a, 0));
        b.has_for_feed(server(0), DcId(2));
        tidy(&mut b);
    }
    assert!(b.status().log_bytes < 64 << 10, "{:?}", b.status());
}

#[test]
fn a_relay_that_has_given_records_up_says_so() {
    let [mut a, _, mut c] = three();
    let settings = HostConfig { log_retain_bytes: 32 << 10, ..small(1) };
    let mut b = open(&SimDisk::new(), settings).unwrap();
    assert_eq!(begin(0, (&mut b, &mut c), 2), Err(StreamRefusal::NotRelayed), "it has met nobody");
    for number in 1..=2_000 {
        write(&mut a, number..=number);
        move_all(0, &mut a, &mut b, 1);
        tidy(&mut b);
    }
    assert!(b.status().log_bytes < 96 << 10, "{:?}", b.status());
    assert_eq!(begin(0, (&mut b, &mut c), 2), Err(StreamRefusal::NotRelayed));
    // Nothing of A is left in the log at all.
    for number in 1..=2_000 {
        write(&mut b, number..=number);
    }
    assert_eq!(begin(0, (&mut b, &mut c), 2), Err(StreamRefusal::NotRelayed));
    b.open_feed(server(0), DcId(2), Resume { incarnation: 77, received: 2_000 }).unwrap();
    let other = b.open_feed(server(0), DcId(2), Resume { incarnation: 5, received: 0 });
    assert_eq!(other, Err(StreamRefusal::OtherIncarnation { known: 5, found: 77 }));
    assert_eq!(move_all(0, &mut a, &mut c, 2), 2_000, "the origin itself has kept it");
}

/// A and C never meet. Random writes, streams, relays, syncs, snapshots and crashes; what arrives is 1, 2, 3, … in each life, and at the
/// end both have what the other has written.
#[test]
fn records_go_around_a_cut_once_and_in_order_whatever_crashes() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let fsync = if rng.bool() { Fsync::Always } else { Fsync::EverySec };
        let settings = |dc: usize, rng: &mut Rng| HostConfig {
            snapshot_every_bytes: rng.u64(2 << 10..16 << 10),
            ..relaying(dc as u8, fsync)
        };
        let disks = [SimDisk::new(), SimDisk::new(), SimDisk::new()];
        let mut hosts: Vec<_> = (0..3).map(|dc| open(&disks[dc], settings(dc, &mut rng)).unwrap()).collect();
        for _ in 0..400 {
            let (a, b) = (rng.usize(0..3), rng.usize(0..3));
            match rng.u32(0..10) {
                0..4 => {
                    let number = hosts[a].partition(P0).written + 1;
                    put(&mut hosts[a], number);
                    hosts[a].commit().unwrap();
                }
                4 => sync(&mut hosts[a]),
                5 => hosts[a].upkeep().into_iter().for_each(|job| hosts[a].upkept(job.run())),
                6..9 if a != b && a + b != 2 => {
                    let origin = if rng.bool() { a } else { 3 - a - b };
                    let [from, to] = hosts.get_disjoint_mut([a, b]).unwrap();
                    match begin(origin as u8, (from, to), b as u8) {
                        Ok(()) => {}
                        Err(StreamRefusal::NotRelayed) if origin != a && origin != b => continue,
                        Err(refusal) => panic!("seed {seed}: {refusal}"),
                    }
                    let items = poll(from, origin as u8, b as u8).unwrap();
                    for item in items.into_iter().take(rng.usize(0..5)) {
                        to.take_item(NOW, server(origin as u8), P0, item).unwrap();
                    }
                    to.commit().unwrap();
                    if origin == a {
                        confirm(from, a as u8, (to, b as u8));
                    }
                }
                9 if rng.bool() => {
                    match fsync {
                        Fsync::Always => disks[a].crash(&mut rng),
                        _ => disks[a].kill(),
                    }
                    let settings = settings(a, &mut rng);
                    hosts[a] =
                        open(&disks[a], settings).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                }
                _ => {}
            }
        }
        for (origin, a, b) in [(0, 0, 1), (2, 2, 1), (1, 1, 0), (1, 1, 2), (0, 1, 2), (2, 1, 0)] {
            hosts[a].commit().unwrap();
            sync(&mut hosts[a]);
            let written = hosts[origin].partition(P0).written;
            let [from, to] = hosts.get_disjoint_mut([a, b]).unwrap();
            if written > 0 {
                move_all(origin as u8, from, to, b as u8);
            }
            sync(to);
            assert_eq!(
                to.received(server(origin as u8), P0),
                written,
                "seed {seed}: {origin} over {a} to {b}"
            );
        }
    }
}
