//! Who founds a group, and who comes later.

use super::*;
use tidemark_contract::Topology;
use tidemark_core::{DcId, PartitionId};
use tidemark_protocols::Eventual;
use tidemark_store::disk::{Fault, SimDisk};
use tidemark_store::log::Fsync;

fn founding() -> Founding<Eventual> {
    let nodes = vec![NodeId(4), NodeId(6), NodeId(7)];
    let place = Place { nodes, me: NodeId(6), election_timeout_us: 1_000_000, limits: RaftLimits::default() };
    let config = HostConfig {
        dc: DcId(0),
        partitions: vec![PartitionId(0)],
        topology: Topology::new(1, 1),
        params: (),
        fsync: Fsync::No,
        boot: String::new(),
        ceiling_us: 3_000_000,
        several: false,
        max_skew_us: 0,
        limit: tidemark_core::SharedLimit::default(),
        log_segment_bytes: 1 << 20,
        log_retain_bytes: 1 << 20,
        relays: false,
        snapshot_every_bytes: 1 << 20,
        new_incarnation: 1,
    };
    Founding::new(place, config, Arc::new(SimDisk::new()))
}

const EMPTY: Standing = Standing { member: 0, joins: false, founded_with_you: false };
const DRAW: u64 = 8;

#[test]
fn a_group_is_founded_when_all_directories_are_empty() {
    let mut founding = founding();
    assert_eq!(founding.hear(NodeId(4), 11, EMPTY, DRAW), Heard::Waits);
    assert_eq!(founding.missing().collect::<Vec<_>>(), [NodeId(7)]);
    let starts = vec![(NodeId(4), 11), (NodeId(7), 12)];
    assert_eq!(founding.hear(NodeId(7), 12, EMPTY, DRAW), Heard::Known(2, starts));
}

#[test]
fn who_comes_to_a_group_that_exists_takes_a_new_name() {
    let mut founding = founding();
    let (name, with) = known(founding.hear(NodeId(4), 11, Standing { member: 1, ..EMPTY }, DRAW));
    assert_eq!((name, with), (2 + RANKS * 9, Vec::new()));
    assert_eq!(founding.place.node(name), Some(NodeId(6)));
    assert!(founding.place.config(name).founders.is_empty());
}

/// Names come from the draw alone: not from a clock, which may show the same time twice.
#[test]
fn names_of_a_node_are_as_many_as_draws_and_all_its_own() {
    let name = |draw| known(founding().hear(NodeId(4), 11, Standing { member: 1, ..EMPTY }, draw)).0;
    assert_ne!(name(1), name(2));
    for draw in [0, NAMES - 1, NAMES, u64::MAX] {
        assert!((RANKS..1 << 53).contains(&name(draw)), "{draw}");
        assert_eq!(founding().place.node(name(draw)), Some(NodeId(6)));
    }
}

#[test]
fn who_was_there_when_it_was_founded_is_a_founder() {
    let mut founding = founding();
    let (name, _) =
        known(founding.hear(NodeId(7), 12, Standing { member: 3, founded_with_you: true, ..EMPTY }, DRAW));
    assert_eq!(name, 2);
    assert_eq!(founding.place.config(name).founders, [1, 2, 3]);
}

fn known(heard: Heard) -> (u64, Vec<(NodeId, u64)>) {
    match heard {
        Heard::Known(name, with) => (name, with),
        other => panic!("{other:?}"),
    }
}

/// What the founder had said when it had no name came seconds late, after a member had lost its disk and taken a new name. This node took
/// one too, and the founder was alone.
#[test]
fn what_may_be_out_of_date_is_asked_again() {
    let mut waits = founding();
    let joins = |member| Standing { member, joins: true, ..EMPTY };
    assert_eq!(waits.hear(NodeId(7), 12, joins(3 + RANKS), DRAW), Heard::Waits);
    assert_eq!(waits.hear(NodeId(4), 11, joins(0), DRAW), Heard::AskAgain(vec![NodeId(4)]));
    assert_eq!(waits.missing().collect::<Vec<_>>(), [NodeId(4)]);
    let founder = Standing { founded_with_you: true, ..joins(1) };
    assert_eq!(known(waits.hear(NodeId(4), 11, founder, DRAW)).0, 2);
}

/// A member that had lost its disk was heard before the founder who knew this node: it took a new name too, and of the founders there
/// were too few to take anybody in.
#[test]
fn who_waits_itself_does_not_say_that_a_group_exists() {
    let joins = |member| Standing { member, joins: true, ..EMPTY };
    let mut waits = founding();
    assert_eq!(waits.hear(NodeId(7), 12, joins(3 + RANKS), DRAW), Heard::Waits);
    let founder = Standing { founded_with_you: true, ..joins(1) };
    let (name, with) = known(waits.hear(NodeId(4), 11, founder, DRAW));
    assert_eq!((name, with.len()), (2, 2));
    let mut lost = founding();
    assert_eq!(lost.hear(NodeId(7), 12, joins(3), DRAW), Heard::Waits);
    assert_eq!(known(lost.hear(NodeId(4), 11, joins(1), DRAW)).0, 2 + RANKS * 9);
}

#[test]
fn a_directory_keeps_its_name_and_is_not_taken_for_another() {
    let (mut place, disk) = (founding().place, SimDisk::new());
    assert_eq!(place.name(&disk), Ok(None));
    write(&disk, FILE, &(2 + RANKS * 9).to_string()).unwrap();
    assert_eq!(place.name(&disk), Ok(Some(2 + RANKS * 9)));
    place.me = NodeId(4);
    assert!(place.name(&disk).unwrap_err().contains("another node's"));
    disk.open(FILE).unwrap().write_at(0, b"x").unwrap();
    assert!(place.name(&disk).unwrap_err().contains("does not name this node"));
    disk.remove(FILE).unwrap();
    disk.create("MANIFEST", 0).unwrap();
    assert!(place.name(&disk).unwrap_err().contains("begins with empty directories"));
}

#[test]
fn a_start_that_waited_is_known_again_and_so_is_who_founded() {
    let (founding, disk) = (founding(), SimDisk::new());
    assert_eq!(founding.place.start(&disk, 11), Ok(11));
    assert_eq!(founding.place.start(&disk, 12), Ok(11));
    assert_eq!(founding.place.founded_with(&disk), Ok(Vec::new()));
    let with = vec![(NodeId(4), 13), (NodeId(7), 14)];
    let founding = Founding { disk: Arc::new(disk.process()), ..founding };
    founding.open(2, &with, Now { wall: 1, mono: 1 }).unwrap();
    assert_eq!(founding.place.founded_with(&disk), Ok(with));
    assert_eq!(founding.place.name(&disk), Ok(Some(2)));
}

#[test]
fn a_name_is_written_whole_or_not_at_all() {
    let (old, new) = (2, 2 + RANKS * 9);
    let place = founding().place;
    let write = |disk: &SimDisk, name: u64| write(disk, FILE, &name.to_string());
    let faults = [Fault::Write, Fault::Sync, Fault::SyncDir];
    for (seed, fault) in (0..100).flat_map(|seed| faults.map(|fault| (seed, fault))) {
        let disk = SimDisk::new();
        let crash = || disk.crash(&mut fastrand::Rng::with_seed(seed));
        write(&disk, old).unwrap();
        crash();
        disk.inject(fault, 0);
        write(&disk, new).unwrap_err();
        crash();
        disk.mend();
        let found = place.name(&disk).unwrap();
        assert!(found == Some(old) || found == Some(new), "{fault:?}, seed {seed}: {found:?}");
        crash();
        assert_eq!(place.name(&disk).unwrap(), found, "{fault:?}, seed {seed}: what was read must last");
        write(&disk, new).unwrap();
        assert_eq!(place.name(&disk), Ok(Some(new)));
    }
}
