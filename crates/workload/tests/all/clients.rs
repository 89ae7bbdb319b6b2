//! What clients ask for is what the description says: proportions, choices, partitions, and nothing by chance.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tidemark_core::{Key, Op, OpKind};
use tidemark_workload::{Client, KeySpace, Kind, Request, Workload};

/// A workload with some settings changed.
fn workload(name: &str, settings: &[(&str, &str)]) -> Workload {
    let mut workload = Workload::named(name).unwrap();
    settings.iter().for_each(|(setting, value)| workload.set(setting, value).unwrap());
    workload
}

fn space(workload: &Workload, partitions: usize) -> Arc<KeySpace> {
    Arc::new(KeySpace::new(workload, partitions).unwrap())
}

/// The first `count` requests of a lone client.
fn requests(workload: &Workload, partitions: usize, count: usize) -> Vec<Request> {
    let keys = space(workload, partitions);
    let mut client = Client::new(workload, &keys, 0, 1, 42).unwrap();
    (0..count).map(|_| client.next(0)).collect()
}

fn keys_of(op: &Op) -> Vec<Key> {
    match op {
        Op::Get { key } | Op::Put { key, .. } => vec![key.clone()],
        Op::Rotx { keys } | Op::Snapshot { keys } => keys.clone(),
        _ => Vec::new(),
    }
}

fn kinds(request: &Request) -> Vec<OpKind> {
    request.ops.iter().map(Op::kind).collect()
}

/// `seen` of `all` is `share`, within six standard deviations.
fn assert_share(what: &str, seen: usize, all: usize, share: f64) {
    let (expected, all) = (all as f64 * share, all as f64);
    let deviation = (all * share * (1.0 - share)).sqrt();
    assert!(
        (seen as f64 - expected).abs() <= 6.0 * deviation + 1e-9,
        "{what}: {seen} instead of {expected:.0}"
    );
}

#[test]
fn ycsb_mixes_have_the_proportions_of_ycsb() {
    const COUNT: usize = 40_000;
    let mixes: [(&str, &[(Kind, f64)]); 6] = [
        ("ycsb-a", &[(Kind::Read, 0.5), (Kind::Update, 0.5)]),
        ("ycsb-b", &[(Kind::Read, 0.95), (Kind::Update, 0.05)]),
        ("ycsb-c", &[(Kind::Read, 1.0)]),
        ("ycsb-d", &[(Kind::Read, 0.95), (Kind::Insert, 0.05)]),
        ("ycsb-e", &[(Kind::Scan, 0.95), (Kind::Insert, 0.05)]),
        ("ycsb-f", &[(Kind::Read, 0.5), (Kind::ReadModifyWrite, 0.5)]),
    ];
    for (name, shares) in mixes {
        let mut seen = BTreeMap::<Kind, usize>::new();
        for request in requests(&workload(name, &[("value-bytes", "1")]), 4, COUNT) {
            *seen.entry(request.kind).or_default() += 1;
            let expected: &[OpKind] = match request.kind {
                Kind::Read => &[OpKind::Get],
                Kind::Update | Kind::Insert => &[OpKind::Put],
                Kind::Scan => &[OpKind::Scan],
                _ => &[OpKind::Get, OpKind::Put],
            };
            assert_eq!(kinds(&request), expected);
            assert!(request.ops.windows(2).all(|pair| keys_of(&pair[0]) == keys_of(&pair[1])));
        }
        assert_eq!(seen.len(), shares.len(), "{name}: {seen:?}");
        shares.iter().for_each(|(kind, share)| assert_share(name, seen[kind], COUNT, *share));
    }
}

#[test]
fn a_scan_has_one_to_a_hundred_keys_each_as_often() {
    let mut seen = [0usize; 101];
    let mut scans = 0;
    for request in requests(&workload("ycsb-e", &[("value-bytes", "1")]), 4, 50_000) {
        if let Op::Scan { limit, .. } = request.ops[0] {
            seen[limit as usize] += 1;
            scans += 1;
        }
    }
    (1..=100).for_each(|limit| assert_share("scans of a length", seen[limit], scans, 0.01));
}

/// YCSB scatters 10^10 ranks over the keys: the most popular key has 1 / 26.469 of the choices, and a little that
/// other ranks add, however many keys there are.
#[test]
fn popular_keys_lie_scattered_and_are_as_popular_as_those_of_ycsb() {
    const COUNT: usize = 100_000;
    for keys in ["1000", "100000"] {
        let mut seen = HashMap::<Key, usize>::new();
        for request in requests(&workload("ycsb-c", &[("keys", keys)]), 1, COUNT) {
            *seen.entry(keys_of(&request.ops[0])[0].clone()).or_default() += 1;
        }
        let popular = *seen.values().max().unwrap() as f64 / COUNT as f64;
        assert!((0.035..0.045).contains(&popular), "{keys} keys: {popular}");
        // The hash of rank 0, which is also in the name of YCSB's first key.
        let first = KeySpace::ycsb(1, 1).key(6_284_781_860_667_377_211 % keys.parse::<u64>().unwrap());
        assert!(seen[&first] as f64 / COUNT as f64 > 0.035, "{first} is the most popular");
    }
}

#[test]
fn uniform_choices_are_even() {
    let settings = [("keys", "100"), ("choice", "uniform"), ("value-bytes", "1")];
    let mut seen = HashMap::<Key, usize>::new();
    for request in requests(&workload("ycsb-a", &settings), 1, 50_000) {
        *seen.entry(keys_of(&request.ops[0])[0].clone()).or_default() += 1;
    }
    assert_eq!(seen.len(), 100);
    seen.values().for_each(|count| assert_share("a key", *count, 50_000, 0.01));
}

/// Zipfian over age, the newest first: with n keys, the newest has 1 / zeta(n).
#[test]
fn the_latest_are_read_most_and_never_what_does_not_exist() {
    let workload = workload("ycsb-d", &[("keys", "1000"), ("value-bytes", "1")]);
    let keys = space(&workload, 1);
    let mut client = Client::new(&workload, &keys, 0, 1, 9).unwrap();
    let mut newest_first: Vec<Key> = (0..1000).rev().map(|number| keys.key(number)).collect();
    let (mut reads, mut newest, mut expected, mut oldest) = (0usize, 0usize, 0.0, 0usize);
    for _ in 0..20_000 {
        let request = client.next(0);
        let key = keys_of(&request.ops[0])[0].clone();
        if request.kind == Kind::Insert {
            assert!(!newest_first.contains(&key), "an insert is of a new key");
            newest_first.insert(0, key);
            continue;
        }
        let age = newest_first.iter().position(|known| *known == key).expect("reads are of keys that exist");
        let zeta: f64 = (newest_first.len() as f64).ln() + 0.62;
        (reads, newest, oldest) =
            (reads + 1, newest + usize::from(age == 0), oldest + usize::from(age > 500));
        expected += 1.0 / zeta;
    }
    let share = expected / reads as f64;
    assert!(
        (newest as f64 / reads as f64 / share - 1.0).abs() < 0.1,
        "{newest} of {reads}, expected {expected}"
    );
    assert!(oldest < reads / 5);
    assert!(newest_first.len() > 1900, "{} keys", newest_first.len());
}

/// w = PUTs / (PUTs + keys read), p = partitions that a transaction spans, b = bytes of a value.
#[test]
fn transactions_have_the_papers_w_p_and_b() {
    for (write_share, span) in
        [("0.01", "4"), ("0.05", "4"), ("0.05", "24"), ("0.1", "8"), ("0", "2"), ("1", "2")]
    {
        let workload =
            workload("transactions", &[("write-share", write_share), ("span", span), ("value-bytes", "128")]);
        let (mut puts, mut reads) = (0, 0);
        for request in requests(&workload, 32, 40_000) {
            match &request.ops[..] {
                [Op::Rotx { keys }] => {
                    let space = space(&workload, 32);
                    let partitions: HashSet<_> = keys.iter().map(|key| space.partition_of(key)).collect();
                    assert_eq!(
                        (keys.len(), partitions.len()),
                        (span.parse().unwrap(), span.parse().unwrap())
                    );
                    assert_eq!(request.kind, Kind::Transaction);
                    reads += keys.len();
                }
                [Op::Put { key, update }] => {
                    assert_eq!(update.write.value().unwrap().len(), 128);
                    assert!(key.starts_with(b"{"));
                    puts += 1;
                }
                other => panic!("neither a transaction nor an update: {other:?}"),
            }
            if puts + reads > 60_000 {
                break;
            }
        }
        let (share, all) = (write_share.parse::<f64>().unwrap(), (puts + reads) as f64);
        assert!((puts as f64 / all - share).abs() < 0.01, "w = {write_share}, p = {span}: {puts} of {all}");
    }
}

/// z: within a partition, index k has 1 / (k + 1)^z of the choices; partitions are chosen evenly.
#[test]
fn keys_within_a_partition_follow_z() {
    const COUNT: usize = 60_000;
    for z in ["0", "0.8", "0.99"] {
        let workload = workload("transactions", &[("skew", z), ("write-share", "1"), ("keys", "800")]);
        let mut seen = HashMap::<Key, usize>::new();
        for request in requests(&workload, 8, COUNT) {
            *seen.entry(keys_of(&request.ops[0])[0].clone()).or_default() += 1;
        }
        let (keys, z): (_, f64) = (space(&workload, 8), z.parse().unwrap());
        let zeta: f64 = (1..=100).map(|k| f64::from(k).powf(-z)).sum();
        for partition in 0..8 {
            for index in [0u64, 1, 2, 10, 99] {
                let key = keys.key(keys.number_in(partition, index));
                let share = (index as f64 + 1.0).powf(-z) / zeta / 8.0;
                let seen = seen.get(&key).copied().unwrap_or_default();
                assert_share(&format!("z = {z}, index {index}"), seen, COUNT, share);
            }
        }
    }
}

#[test]
fn a_round_reads_every_partition_and_updates_one() {
    let workload = workload("rounds", &[]);
    let keys = space(&workload, 5);
    let mut updated = [0usize; 5];
    for request in requests(&workload, 5, 5000) {
        assert_eq!((request.kind, request.ops.len()), (Kind::Round, 6));
        for (partition, op) in request.ops[..5].iter().enumerate() {
            assert_eq!((op.kind(), keys.partition_of(&keys_of(op)[0]).index()), (OpKind::Get, partition));
        }
        assert_eq!(request.ops[5].kind(), OpKind::Put);
        updated[keys.partition_of(&keys_of(&request.ops[5])[0]).index()] += 1;
    }
    updated.iter().for_each(|count| assert_share("updates of a partition", *count, 5000, 0.2));
}

#[test]
fn round_robin_and_amplified_requests_go_from_partition_to_partition() {
    let workload_of = |name, settings: &[(&str, &str)]| workload(name, settings);
    for (description, per_request, kind) in [
        (workload_of("round-robin", &[]), 1, Kind::Update),
        (workload_of("amplified", &[("factor", "7")]), 7, Kind::Amplified),
        (workload_of("amplified-insert", &[("factor", "5")]), 5, Kind::Amplified),
    ] {
        let keys = space(&description, 3);
        let requests = requests(&description, 3, 40);
        assert!(requests.iter().all(|request| request.kind == kind && request.ops.len() == per_request));
        let partitions: Vec<usize> = requests
            .iter()
            .flat_map(|request| &request.ops)
            .map(|op| match op {
                Op::Put { key, .. } => keys.partition_of(key).index(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(partitions.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 3), "{partitions:?}");
    }
    let inserts = requests(&workload("amplified-insert", &[]), 3, 100);
    let names: HashSet<Key> = inserts.iter().flat_map(|request| &request.ops).flat_map(keys_of).collect();
    assert_eq!(names.len(), 1000, "every insert is of another key");
}

#[test]
fn a_ratio_has_its_reads_then_writes_in_different_partitions() {
    let description = workload("ratio", &[("reads", "3"), ("writes", "4")]);
    let keys = space(&description, 4);
    for request in requests(&description, 4, 200) {
        assert_eq!(kinds(&request), [[OpKind::Get; 3].as_slice(), &[OpKind::Put; 4]].concat());
        let written = request.ops[3..].iter().map(|op| keys.partition_of(&keys_of(op)[0]));
        assert_eq!(written.collect::<HashSet<_>>().len(), 4);
    }
    // More writes than partitions: all of them, then over again.
    let request = &requests(&workload("ratio", &[("reads", "0"), ("writes", "5")]), 2, 1)[0];
    assert_eq!(request.ops.len(), 5);
}

#[test]
fn snapshots_ask_for_as_many_keys_as_they_span() {
    for request in requests(&workload("snapshots", &[("span", "12")]), 4, 50) {
        assert!(matches!(&request.ops[..], [Op::Snapshot { keys }] if keys.len() == 12));
    }
}

#[test]
fn sessions_keep_to_keys_of_their_own_as_often_as_asked() {
    const COUNT: usize = 40_000;
    for locality in ["0.4", "0.8"] {
        let settings =
            [("locality", locality), ("choice", "uniform"), ("locality-keys", "50"), ("value-bytes", "1")];
        let workload = workload("locality", &settings);
        let keys = space(&workload, 1);
        let popular = |number: usize| {
            let mut client = Client::new(&workload, &keys, number, 2, 3).unwrap();
            let mut seen = HashMap::<Key, usize>::new();
            (0..COUNT)
                .for_each(|_| *seen.entry(keys_of(&client.next(0).ops[0])[0].clone()).or_default() += 1);
            // Of 50,000 keys, others are seen a few times at most.
            seen.into_iter().filter(|(_, count)| *count > 100).collect::<HashMap<_, _>>()
        };
        let (one, other) = (popular(0), popular(1));
        assert!(one.len() <= 50 && one.len() >= 48, "{} keys of its own", one.len());
        let share = one.values().sum::<usize>() as f64 / COUNT as f64;
        assert!((share - locality.parse::<f64>().unwrap()).abs() < 0.02, "{share} instead of {locality}");
        assert!(one.keys().filter(|key| other.contains_key(*key)).count() < 5, "sessions differ");
    }
}

#[test]
fn thinking_takes_as_long_as_asked() {
    let fixed = requests(&workload("ycsb-a", &[("think-us", "250")]), 1, 10);
    assert!(fixed.iter().all(|request| request.think_us == 250));
    let spread = requests(&workload("ycsb-c", &[("think-us", "1000"), ("think", "exponential")]), 1, 20_000);
    let mean = spread.iter().map(|request| request.think_us).sum::<u64>() as f64 / 20_000.0;
    assert!((950.0..1050.0).contains(&mean), "{mean}");
    assert!(spread.iter().any(|request| request.think_us > 3000));
    assert!(requests(&workload("ycsb-a", &[]), 1, 10).iter().all(|request| request.think_us == 0));
}

#[test]
fn a_stream_follows_from_seed_and_number_alone() {
    for (name, _) in Workload::catalogue() {
        let workload = workload(name, &[]);
        let stream = |number, seed| {
            let keys = space(&workload, 4);
            let mut client = Client::new(&workload, &keys, number, 4, seed).unwrap();
            let mut request = Request::default();
            (0..50)
                .map(|_| {
                    client.next_into(&mut request, 0);
                    request.clone()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(stream(1, 7), stream(1, 7), "{name}");
        // Who takes turns draws nothing.
        assert!(["turns", "apps"].contains(name) || stream(1, 7) != stream(1, 8), "{name}");
        assert_ne!(stream(1, 7), stream(2, 7), "{name}");
    }
}

#[test]
fn the_fill_phase_writes_every_key_once_between_all_clients() {
    let workload = workload("transactions", &[("keys", "1003")]);
    let keys = space(&workload, 4);
    let mut written = HashSet::new();
    for number in 0..3 {
        for op in workload.load_ops(&keys, number, 3, 5) {
            let Op::Put { key, update } = op else { panic!("the store is filled by writes") };
            assert_eq!(update.write.value().unwrap().len(), 8);
            assert!(written.insert(key));
        }
    }
    assert_eq!(written.len(), 1003);
    for request in requests(&workload, 4, 2000) {
        request
            .ops
            .iter()
            .flat_map(keys_of)
            .for_each(|key| assert!(written.contains(&key), "{key} was never loaded"));
    }
}

#[test]
fn a_client_of_a_workload_that_does_not_fit_is_refused() {
    let keys = Arc::new(KeySpace::tagged(100, 2));
    let error = Client::new(&workload("transactions", &[]), &keys, 0, 1, 1).unwrap_err();
    assert!(error.to_string().contains("spans 4 partitions"), "{error}");
}

#[test]
fn a_share_of_requests_is_made_elsewhere_and_the_others_are_as_they_were() {
    const COUNT: usize = 20_000;
    let mut all = workload("ycsb-a", &[]);
    assert!(requests(&all, 4, COUNT).iter().all(|request| request.remote.is_none()));
    all.set("remote", "0.1").unwrap();
    let away: Vec<u32> = requests(&all, 4, COUNT).iter().filter_map(|request| request.remote).collect();
    assert_share("elsewhere", away.len(), COUNT, 0.1);
    let to_the_second = away.iter().filter(|other| *other % 2 == 1).count();
    assert_share("of two others, the second", to_the_second, away.len(), 0.5);
}
