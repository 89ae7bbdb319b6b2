//! Transactions over objects are those of the paper: their mix, their objects, their locality; and they follow from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidemark_core::{Op, OpKind};
use tidemark_workload::{Change, Client, KeySpace, Kind, Objects, Shape, Transaction, Workload};

fn workload(name: &str, settings: &[(&str, &str)]) -> Workload {
    let mut workload = Workload::named(name).unwrap();
    settings.iter().for_each(|(setting, value)| workload.set(setting, value).unwrap());
    workload
}

fn transactions(workload: &Workload, number: usize, count: usize) -> Vec<Transaction> {
    let keys = Arc::new(KeySpace::new(workload, 4).unwrap());
    let mut objects = Objects::new(workload, &keys, number, 10, 42).unwrap();
    (0..count).map(|_| objects.next()).collect()
}

/// `seen` of `all` is `share`, within six standard deviations.
fn assert_share(what: &str, seen: usize, all: usize, share: f64) {
    let (expected, all) = (all as f64 * share, all as f64);
    let deviation = (all * share * (1.0 - share)).sqrt();
    assert!((seen as f64 - expected).abs() <= 6.0 * deviation, "{what}: {seen} instead of {expected:.0}");
}

/// Reference: table 1.
#[test]
fn a_social_network_has_the_mix_and_the_transactions_of_the_paper() {
    const COUNT: usize = 40_000;
    let social = workload("social", &[]);
    assert_eq!(social.keys, 400_000);
    let mut seen = BTreeMap::<Kind, usize>::new();
    for transaction in transactions(&social, 0, COUNT) {
        *seen.entry(transaction.kind).or_default() += 1;
        assert!((2..=5).contains(&transaction.reads.len()), "{transaction:?}");
        let distinct: BTreeSet<_> = transaction.reads.iter().collect();
        assert_eq!(distinct.len(), transaction.reads.len());
        // What changes was read.
        assert!(transaction.changes.iter().all(|(object, _)| distinct.contains(object)));
        let is_update = !matches!(transaction.kind, Kind::ReadWall | Kind::SeeFriends);
        assert_eq!(is_update, !transaction.changes.is_empty());
    }
    let shares = [
        (Kind::ReadWall, 0.8),
        (Kind::SeeFriends, 0.08),
        (Kind::Message, 0.05),
        (Kind::PostStatus, 0.05),
        (Kind::AddFriend, 0.02),
    ];
    assert_eq!(seen.len(), shares.len());
    shares.iter().for_each(|(kind, share)| assert_share(kind.name(), seen[kind], COUNT, *share));
}

#[test]
fn with_statistics_of_visits_to_read_a_wall_counts_one() {
    let counted = transactions(&workload("social", &[("views", "true")]), 0, 100);
    let walls: Vec<_> = counted.iter().filter(|one| one.kind == Kind::ReadWall).collect();
    assert!(walls.len() > 50);
    for wall in walls {
        let [(object, Change::Add(1))] = &wall.changes[..] else { panic!("{wall:?}") };
        assert_eq!((object.shape, wall.reads.len()), (Shape::Counter, 4));
    }
}

#[test]
fn the_share_of_walls_that_are_those_of_friends_is_the_locality() {
    for (locality, share) in [("0.4", 0.4), ("0.8", 0.8)] {
        let all = transactions(&workload("social", &[("locality", locality)]), 3, 20_000);
        let mut walls = BTreeMap::<_, usize>::new();
        let read = all.iter().filter(|one| one.kind == Kind::ReadWall);
        read.for_each(|one| *walls.entry(&one.reads[0]).or_default() += 1);
        let count: usize = walls.values().sum();
        // Each of 25 friends is looked at hundreds of times, anybody else hardly twice.
        let friends: Vec<usize> = walls.values().copied().filter(|times| *times > 50).collect();
        assert_eq!(friends.len(), 25);
        assert_share("walls of friends", friends.iter().sum(), count, share);
    }
}

#[test]
fn no_two_messages_are_the_same() {
    let mut seen = BTreeSet::new();
    for number in 0..5 {
        for transaction in transactions(&workload("social", &[]), number, 4_000) {
            for (object, change) in transaction.changes {
                let Change::Member(text) = change else { continue };
                let is_text = object.key.ends_with(b":wall") || object.key.ends_with(b":events");
                assert!(!is_text || seen.insert(text), "{object:?}");
            }
        }
    }
    assert!(seen.len() > 1000);
}

/// Reference: section 5.1: half of workload A's operations update one field of a hundred bytes, and 80% are of the session's pool.
#[test]
fn records_of_ycsb_have_ten_fields_of_which_one_is_written() {
    const COUNT: usize = 20_000;
    for (name, share) in [("locality", 0.8), ("locality-low", 0.4)] {
        let ycsb = workload(name, &[("locality-keys", "150"), ("choice", "uniform")]);
        let all = transactions(&ycsb, 0, COUNT);
        let (mut fields, mut keys) = (BTreeSet::new(), BTreeMap::<_, usize>::new());
        for transaction in &all {
            assert_eq!((transaction.reads.len(), transaction.reads[0].shape), (1, Shape::Map));
            *keys.entry(&transaction.reads[0].key).or_default() += 1;
            match &transaction.changes[..] {
                [] => assert_eq!(transaction.kind, Kind::Read),
                [(object, Change::Field(field, value))] => {
                    assert_eq!((object, value.len()), (&transaction.reads[0], 100));
                    fields.insert(field.clone());
                }
                _ => panic!("{transaction:?}"),
            }
        }
        assert_eq!(fields.len(), 10);
        let updates = all.iter().filter(|one| !one.changes.is_empty()).count();
        assert_share("updates", updates, COUNT, 0.5);
        // The 150 keys of the pool are popular; of 50,000 others most come once.
        let pool: usize = keys.values().filter(|times| **times > 15).sum();
        assert_share(name, pool, COUNT, share);
    }
}

#[test]
fn what_there_is_at_first_is_what_transactions_read() {
    let social = workload("social", &[("keys", "800"), ("friends", "3")]);
    let keys = Arc::new(KeySpace::new(&social, 2).unwrap());
    let first: Vec<Op> = social.objects_at_first(&keys, 1).collect();
    assert_eq!(first.len(), 300, "profile, status and friends of each of 100 users");
    let of = |op: &Op| if let Op::Put { key, .. } = op { key.clone() } else { panic!("{op:?}") };
    let there: BTreeSet<_> = first.iter().map(of).collect();
    for transaction in transactions(&social, 0, 500) {
        assert!(there.contains(&transaction.reads[0].key));
    }
    let ycsb = workload("locality", &[("keys", "50")]);
    let keys = Arc::new(KeySpace::new(&ycsb, 2).unwrap());
    for op in ycsb.objects_at_first(&keys, 1) {
        let Op::Put { update, .. } = op else { panic!("{op:?}") };
        let words = &update.command.unwrap().args;
        assert_eq!((words.len(), words[1].len()), (20, 100));
    }
    // Together, several who fill write it once each.
    let parts: Vec<_> = (0..3).flat_map(|n| social.load_ops(&keys, n, 3, 1)).map(|op| of(&op)).collect();
    assert_eq!((parts.len(), parts.into_iter().collect::<BTreeSet<_>>()), (300, there));
}

#[test]
fn redis_clients_do_the_same_with_commands() {
    let social = workload("social", &[]);
    let keys = Arc::new(KeySpace::new(&social, 2).unwrap());
    let mut client = Client::new(&social, &keys, 0, 1, 7).unwrap();
    let mut objects = Objects::new(&social, &keys, 0, 1, 7).unwrap();
    for _ in 0..200 {
        let (request, transaction) = (client.next(0), objects.next());
        let reads = transaction.reads.iter().map(|object| object.read());
        let changes = transaction.changes.into_iter().map(|(object, change)| change.op(object.key));
        assert_eq!((request.kind, request.ops), (transaction.kind, reads.chain(changes).collect()));
    }
    let kinds: BTreeSet<OpKind> = (0..200).flat_map(|_| client.next(0).ops).map(|op| op.kind()).collect();
    assert_eq!(kinds, [OpKind::Get, OpKind::Put, OpKind::Query].into());
}

#[test]
fn streams_follow_from_the_seed_and_differ_between_clients() {
    for name in ["social", "locality"] {
        let workload = workload(name, &[]);
        assert_eq!(transactions(&workload, 1, 50), transactions(&workload, 1, 50));
        assert_ne!(transactions(&workload, 1, 50), transactions(&workload, 2, 50));
    }
    let scans = workload("ycsb-e", &[]);
    let keys = Arc::new(KeySpace::new(&scans, 2).unwrap());
    assert!(Objects::new(&scans, &keys, 0, 1, 1).unwrap_err().to_string().contains("without inserts"));
}
