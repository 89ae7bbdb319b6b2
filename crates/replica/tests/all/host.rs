//! Hosts on simulated disks: what survives, what travels, and what is refused.

mod deleted;
mod followers;
mod power;
mod recorder;
mod relays;
mod sizes;
mod streaming;
mod timers;

use fastrand::Rng;
use recorder::{Recorder, Request};
use std::sync::Arc;
use tidemark_contract::core::{DcId, Failure, PartitionId, ServerId};
use tidemark_contract::{AskId, Ticket, Topology};
use tidemark_replica::{
    Host, HostConfig, Now, OpenError, Output, Resume, StreamError, StreamItem, StreamRefusal,
};
use tidemark_store::disk::{Fault, SimDisk};
use tidemark_store::log::Fsync;

const P0: PartitionId = PartitionId(0);
const NOW: Now = Now { wall: 1_000, mono: 1_000 };

fn server(dc: u8) -> ServerId {
    ServerId::new(DcId(dc), P0)
}

fn config(dc: u8, dcs: usize, fsync: Fsync) -> HostConfig<Recorder> {
    HostConfig {
        dc: DcId(dc),
        partitions: vec![P0],
        topology: Topology::new(dcs, 1),
        params: (),
        fsync,
        boot: "boot".to_string(),
        ceiling_us: 3_000_000,
        several: false,
        max_skew_us: 1_000_000,
        limit: tidemark_contract::core::SharedLimit::default(),
        log_segment_bytes: 4 << 10,
        log_retain_bytes: 1 << 20,
        relays: false,
        snapshot_every_bytes: 1 << 30,
        new_incarnation: 77 + dc as u64,
    }
}

fn open(disk: &SimDisk, config: HostConfig<Recorder>) -> Result<Host<Recorder>, OpenError> {
    Host::open(config, Arc::new(disk.process()), NOW)
}

fn ask(host: &mut Host<Recorder>, number: u64, request: Request) {
    let ticket = Ticket { node: 0, session: 0, ask: AskId(number) };
    host.request(NOW, P0, ticket, request, Some(30));
}

fn put(host: &mut Host<Recorder>, number: u64) {
    ask(host, number, Request::Put(number));
}

fn sync(host: &mut Host<Recorder>) {
    if let Some(job) = host.sync_job() {
        host.synced(NOW, job.run()).unwrap();
    }
}

/// Writes what is buffered, and syncs it; what may be done with the disk now is done.
fn tidy(host: &mut Host<Recorder>) {
    host.commit().unwrap();
    sync(host);
    if let Some(job) = host.upkeep() {
        host.upkept(job.run());
    }
}

/// The asks that were answered.
fn answered(host: &mut Host<Recorder>) -> Vec<u64> {
    let ask = |output| match output {
        Output::Reply { ticket, reply: Ok(_), .. } => ticket.ask.0,
        other => panic!("{other:?}"),
    };
    host.take_outputs().into_iter().map(ask).collect()
}

fn numbers(host: &Host<Recorder>) -> Vec<u64> {
    let mut numbers: Vec<u64> = host.store(P0).versions().map(|version| version.meta).collect();
    numbers.sort_unstable();
    numbers
}

/// Opens the stream from `from` to `to` and moves up to `items` of it.
fn pump(from: &mut Host<Recorder>, to: &mut Host<Recorder>, dcs: (u8, u8), items: usize) -> usize {
    let (sender, receiver) = dcs;
    sync(from);
    let resume = to.resume_point(server(sender), P0);
    let incarnation = from.open_stream(P0, DcId(receiver), resume).unwrap_or_else(|e| panic!("{dcs:?} {e}"));
    to.accept_stream(server(sender), P0, incarnation).unwrap();
    let mut out = Vec::new();
    from.poll_stream(P0, DcId(receiver), usize::MAX, &mut out).unwrap();
    let count = out.len().min(items);
    for item in out.into_iter().take(items) {
        to.take_item(NOW, server(sender), P0, item).unwrap();
    }
    count
}

#[test]
fn what_is_committed_survives_the_process_and_what_is_synced_the_power() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 1, Fsync::EverySec)).unwrap();
    put(&mut host, 1);
    host.commit().unwrap();
    assert_eq!(answered(&mut host), [1], "everysec: an answer leaves once it is written");
    put(&mut host, 2);
    disk.kill();
    let mut host = open(&disk, config(0, 1, Fsync::EverySec)).unwrap();
    assert_eq!((numbers(&host), host.life()), (vec![1], 2), "the turn of the second was not committed");
    put(&mut host, 2);
    host.commit().unwrap();
    sync(&mut host);
    disk.crash(&mut Rng::with_seed(1));
    assert_eq!(numbers(&open(&disk, config(0, 1, Fsync::EverySec)).unwrap()), [1, 2]);
}

#[test]
fn under_always_nothing_leaves_before_it_is_synced() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 2, Fsync::Always)).unwrap();
    host.open_stream(P0, DcId(1), Resume::default()).unwrap();
    put(&mut host, 1);
    let position = host.commit().unwrap();
    let mut out = Vec::new();
    host.poll_stream(P0, DcId(1), usize::MAX, &mut out).unwrap();
    assert!(answered(&mut host).is_empty() && out.is_empty() && host.durable() < position);
    sync(&mut host);
    host.poll_stream(P0, DcId(1), usize::MAX, &mut out).unwrap();
    assert_eq!((answered(&mut host), out.len()), (vec![1], 1));
}

#[test]
fn an_answer_that_depends_on_an_earlier_batch_waits_for_it() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 1, Fsync::Always)).unwrap();
    put(&mut host, 1);
    host.commit().unwrap();
    let ticket = Ticket { node: 0, session: 0, ask: AskId(2) };
    host.request(NOW, P0, ticket, Request::Read, None);
    host.commit().unwrap();
    assert!(answered(&mut host).is_empty(), "what was read could still be lost");
    sync(&mut host);
    assert_eq!(answered(&mut host), [1, 2]);
}

#[test]
fn a_receiver_that_knows_another_log_or_more_of_this_one_is_refused() {
    let disk = SimDisk::new();
    let mut host = open(&disk, config(0, 2, Fsync::EverySec)).unwrap();
    let refused = host.open_stream(P0, DcId(1), Resume { incarnation: 5, received: 0 });
    assert_eq!(refused, Err(StreamRefusal::OtherIncarnation { known: 5, found: 77 }));
    let mut host = open(&SimDisk::new(), config(0, 2, Fsync::EverySec)).unwrap();
    let refused = host.open_stream(P0, DcId(1), Resume { incarnation: 77, received: 3 });
    assert_eq!(refused, Err(StreamRefusal::LostLog { theirs: 3, mine: 0 }));
    assert!(host.disowned().is_some_and(|why| why.contains("ends at 0")));
    put(&mut host, 1);
    host.commit().unwrap();
    let outputs = host.take_outputs();
    let refused =
        |output: &Output<_>| matches!(output, Output::Reply { reply: Err(Failure::Misconfigured(_)), .. });
    assert!(outputs.iter().all(refused) && outputs.len() == 1, "{outputs:?}");
    host.accept_stream(server(1), P0, 8).unwrap();
    let refused = host.accept_stream(server(1), P0, 9);
    assert_eq!(refused, Err(StreamRefusal::OtherIncarnation { known: 8, found: 9 }));
}

#[test]
fn a_feed_takes_repeats_and_refuses_gaps_and_the_far_future() {
    let (here, there) = (SimDisk::new(), SimDisk::new());
    let mut from = open(&here, config(0, 2, Fsync::EverySec)).unwrap();
    let mut to = open(&there, config(1, 2, Fsync::EverySec)).unwrap();
    (1..=4).for_each(|number| put(&mut from, number));
    from.commit().unwrap();
    assert_eq!(pump(&mut from, &mut to, (0, 1), 2), 2);
    to.commit().unwrap();
    assert_eq!(to.received(server(0), P0), 0, "not durable before the sync");
    sync(&mut to);
    assert_eq!(to.received(server(0), P0), 2);
    let mut items = Vec::new();
    from.open_stream(P0, DcId(1), Resume { incarnation: 77, received: 0 }).unwrap();
    from.poll_stream(P0, DcId(1), usize::MAX, &mut items).unwrap();
    to.take_item(NOW, server(0), P0, items[0].clone()).unwrap();
    let gap = to.take_item(NOW, server(0), P0, items[3].clone());
    assert_eq!(gap, Err(StreamError::Gap { expected: 3, got: 4 }));
    let StreamItem::Record { seq, key, mut version } = items[2].clone() else { panic!() };
    version.stamp.ts = tidemark_contract::core::Hlc::at(NOW.wall + 1_000_001);
    let ahead = to.take_item(NOW, server(0), P0, StreamItem::Record { seq, key, version });
    assert_eq!(ahead, Err(StreamError::Ahead { by_us: 1_000_001 }));
    to.take_item(NOW, server(0), P0, items[2].clone()).unwrap();
    assert_eq!(numbers(&to), [1, 2, 3]);
}

#[test]
fn a_failed_write_or_sync_stops_the_server_and_lets_nothing_out() {
    for fault in [Fault::Write, Fault::Sync] {
        let disk = SimDisk::new();
        let mut host = open(&disk, config(0, 1, Fsync::Always)).unwrap();
        put(&mut host, 1);
        disk.inject(fault, 0);
        let failed = host.commit().is_err() || sync_fails(&mut host);
        assert!(failed && host.commit().is_err(), "{fault:?}");
        assert!(answered(&mut host).is_empty());
    }
}

fn sync_fails(host: &mut Host<Recorder>) -> bool {
    let done = host.sync_job().expect("something was written").run();
    host.synced(NOW, done).is_err()
}

#[test]
fn a_snapshot_bounds_the_log_and_recovery_goes_on_after_it() {
    let disk = SimDisk::new();
    let small = HostConfig { snapshot_every_bytes: 8 << 10, ..config(0, 1, Fsync::EverySec) };
    let mut host = open(&disk, small.clone()).unwrap();
    for number in 1..=2_000 {
        put(&mut host, number);
        tidy(&mut host);
    }
    let status = host.status();
    assert_eq!(status.snapshot_failure, None);
    assert!(status.replay_from > 0 && status.log_bytes < 64 << 10, "{status:?}");
    disk.kill();
    let host = open(&disk, small).unwrap();
    assert_eq!(numbers(&host), (1..=2_000).collect::<Vec<_>>());
    assert_eq!((host.partition(P0).written, &host.partition(P0).records[..]), (2_000, &[2_000][..]));
}

#[test]
fn what_stands_beside_a_version_is_as_it_was_last_revised_and_committed() {
    let disk = SimDisk::new();
    let small = HostConfig { snapshot_every_bytes: 4 << 10, ..config(0, 1, Fsync::EverySec) };
    let mut host = open(&disk, small.clone()).unwrap();
    let revise = |host: &mut Host<Recorder>, number| {
        let ticket = Ticket { node: 0, session: 0, ask: AskId(0) };
        host.request(NOW, P0, ticket, Request::Revise(number), None);
    };
    put(&mut host, 1);
    revise(&mut host, 1);
    revise(&mut host, 77);
    for number in 2..=200 {
        put(&mut host, number);
        tidy(&mut host);
    }
    assert!(host.status().replay_from > 0, "the first revision is in a snapshot");
    revise(&mut host, 100);
    host.commit().unwrap();
    revise(&mut host, 101);
    disk.kill();
    let host = open(&disk, small).unwrap();
    let left: Vec<u64> = (1..=200).filter(|number| !numbers(&host).contains(number)).collect();
    assert_eq!((left, numbers(&host).len()), (vec![1, 100], 200));
}

#[test]
fn a_peer_that_stays_away_too_long_is_given_up_and_told_so() {
    let disk = SimDisk::new();
    let mut settings = config(0, 2, Fsync::EverySec);
    settings.snapshot_every_bytes = 8 << 10;
    settings.log_retain_bytes = 32 << 10;
    let mut host = open(&disk, settings).unwrap();
    for number in 1..=5_000 {
        put(&mut host, number);
        tidy(&mut host);
    }
    let status = host.status();
    assert!(status.partitions[0].peers[0].needs_seeding, "{status:?}");
    assert!(status.log_bytes < 96 << 10, "{status:?}");
    let refused = host.open_stream(P0, DcId(1), Resume::default());
    assert!(matches!(refused, Err(StreamRefusal::Truncated { needed: 1, .. })), "{refused:?}");
    // What follows what is gone is of this turn, and not in the log yet.
    for _ in 0..5_000 {
        ask(&mut host, 0, Request::Revise(5_000));
        tidy(&mut host);
    }
    put(&mut host, 5_001);
    let resume = |received| Resume { incarnation: 77, received };
    let refused = host.open_stream(P0, DcId(1), resume(4_999));
    assert!(matches!(refused, Err(StreamRefusal::Truncated { needed: 5_000, .. })), "{refused:?}");
    host.open_stream(P0, DcId(1), resume(5_000)).unwrap();
    tidy(&mut host);
    let mut items = Vec::new();
    host.poll_stream(P0, DcId(1), 100, &mut items).unwrap();
    assert!(matches!(&items[..], [StreamItem::Record { seq: 5_001, .. }]), "{items:?}");
}

/// Three data centres; random writes, streams, syncs, snapshots and crashes. The recorder itself asserts that what
/// arrives is 1, 2, 3, … from each peer in each of its lives; at the end everybody has everything.
#[test]
fn records_arrive_once_and_in_order_whatever_crashes() {
    for seed in 0..500 {
        let mut rng = Rng::with_seed(seed);
        let fsync = if rng.bool() { Fsync::Always } else { Fsync::EverySec };
        let settings = |dc: usize, rng: &mut Rng| HostConfig {
            snapshot_every_bytes: rng.u64(2 << 10..16 << 10),
            ..config(dc as u8, 3, fsync)
        };
        let disks = [SimDisk::new(), SimDisk::new(), SimDisk::new()];
        let mut hosts: Vec<_> = (0..3).map(|dc| open(&disks[dc], settings(dc, &mut rng)).unwrap()).collect();
        for _ in 0..400 {
            let (a, b) = (rng.usize(0..3), rng.usize(0..3));
            match rng.u32(0..10) {
                0..4 => {
                    let number = hosts[a].partition(P0).written + 1;
                    put(&mut hosts[a], number);
                    if rng.bool() {
                        hosts[a].commit().unwrap();
                    }
                }
                4 => sync(&mut hosts[a]),
                5 => {
                    if let Some(job) = hosts[a].upkeep() {
                        hosts[a].upkept(job.run());
                    }
                }
                6..9 if a != b => {
                    let [from, to] = hosts.get_disjoint_mut([a, b]).unwrap();
                    pump(from, to, (a as u8, b as u8), rng.usize(0..5));
                    to.commit().unwrap();
                    let seq = to.received(server(a as u8), P0);
                    from.confirm(P0, DcId(b as u8), seq);
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
        for (a, b) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            hosts[a].commit().unwrap();
            sync(&mut hosts[a]);
            let [from, to] = hosts.get_disjoint_mut([a, b]).unwrap();
            pump(from, to, (a as u8, b as u8), usize::MAX);
            let all: Vec<u64> = (1..=from.partition(P0).written).collect();
            let dc = DcId(a as u8);
            let mut got: Vec<u64> =
                to.store(P0).versions().filter(|v| v.stamp.origin == dc).map(|v| v.meta).collect();
            got.sort_unstable();
            assert_eq!(got, all, "seed {seed}, from {a} to {b}");
        }
    }
}
