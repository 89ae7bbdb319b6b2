//! A crowd of edge clients: what is measured is what arithmetic and the protocol say.

use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidemark_core::Micros;
use tidemark_registry::by_name;
use tidemark_sim::{Answered, Crowd, Down, Mode, Watched, Work, crowd};
use tidemark_workload::Workload;

const EUROPE_VIRGINIA_OREGON_US: [[Micros; 3]; 3] =
    [[0, 80_000, 177_000], [80_000, 0, 60_000], [177_000, 60_000, 0]];

fn workload(name: &str, settings: &[(&str, &str)]) -> Workload {
    let mut workload = Workload::named(name).unwrap();
    settings.iter().for_each(|(setting, value)| workload.set(setting, value).unwrap());
    workload
}

/// Twelve clients that are 70 ms from their data centres, of 300 records.
fn plain() -> Crowd {
    Crowd {
        partitions: 2,
        rtt_us: EUROPE_VIRGINIA_OREGON_US.map(|row| row.to_vec()).to_vec(),
        client_rtt_us: (70_000, 70_000),
        wan_jitter_percent: 0,
        lan_us: 50,
        lan_jitter_us: 0,
        clock_skew_us: 0,
        params: BTreeMap::new(),
        workload: workload("locality", &[("keys", "300"), ("locality-keys", "20")]),
        mode: Mode::Cached,
        clients: 12,
        idle_dcs: Vec::new(),
        cache: 40,
        regions: 2,
        period_us: 500_000,
        rate: 60.0,
        warm: true,
        warm_up_us: 4_000_000,
        measure_us: 20_000_000,
        compare: 0,
        weigh: 1,
        churn_us: None,
        down: None,
        told: 0,
        work: None,
        seed: 7,
    }
}

fn played(what: &Crowd) -> Watched {
    crowd(by_name("tidemark").unwrap(), what).unwrap()
}

fn number(watched: &Watched, column: &str) -> f64 {
    let value = watched.row.get(column).unwrap_or_else(|| panic!("no {column} in {:?}", watched.row));
    value.as_f64().unwrap()
}

/// Reference: figure 3.
#[test]
fn what_is_kept_takes_no_time_and_a_miss_one_round_trip() {
    let watched = played(&plain());
    let of = |column| number(&watched, column);
    assert!(of("hit_p99_us") <= 1.0, "{}", of("hit_p99_us"));
    assert!((1.0..1.05).contains(&of("miss_rtts_p50")), "{}", of("miss_rtts_p50"));
    // 80% are of a pool that fits into the cache, and some of the rest is there by chance.
    assert!((0.75..0.95).contains(&of("hit_share")), "{}", of("hit_share"));
    assert!((of("throughput") / 60.0 - 1.0).abs() < 0.1, "{}", of("throughput"));
    assert_eq!(of("lost"), 0.0);
    // Half are updates, all of which have got into bases of two: there and back to the nearest, and a period.
    assert!((of("commit_to_base_count") / of("transactions") / 0.5 - 1.0).abs() < 0.2);
    let base_us = of("commit_to_base_p50_us");
    assert!((70_000.0..1_500_000.0).contains(&base_us), "{base_us}");
}

/// Reference: table 1 of what the paper promises, section 5.4: 10 to 15 bytes an update.
#[test]
fn metadata_is_weighed_of_the_frames_that_pass() {
    let watched = played(&plain());
    let of = |column| number(&watched, column);
    assert!(of("weighed_notifications") > 50.0);
    assert!((5.0..=30.0).contains(&of("transfer_metadata")), "{}", of("transfer_metadata"));
    let payload_each = of("notification_payload") / of("notification_updates");
    assert!(payload_each > 100.0, "a field of 100 bytes, and its name: {payload_each}");
    assert!(of("notification_metadata") < of("notification_payload"));
    // Twelve clients, of which hardly all commit between two notifications.
    assert!((0.5..=12.0).contains(&of("fat_entries")), "{}", of("fat_entries"));
    assert!(of("fat_metadata") > of("notification_metadata"));
    assert!(of("tick_frames") > 0.1 && of("transfer_frames") > 1.0);
    let unweighed = played(&Crowd { weigh: 0, ..plain() });
    assert_eq!(number(&unweighed, "weighed_notifications"), 0.0);
    assert_eq!(number(&unweighed, "tick_frames"), of("tick_frames"), "who looks changes nothing");
}

/// Reference: section 5.2: a read incurs one round trip, an update two.
#[test]
fn without_a_cache_a_read_takes_one_round_trip_and_an_update_two() {
    let watched = played(&Crowd { mode: Mode::ServerOnly, ..plain() });
    let of = |column| number(&watched, column);
    assert!((1.0..1.05).contains(&of("read_rtts_p50")), "{}", of("read_rtts_p50"));
    assert!((2.0..2.1).contains(&of("update_rtts_p50")), "{}", of("update_rtts_p50"));
    assert_eq!((of("hit_share"), of("lost")), (0.0, 0.0));
}

#[test]
fn the_same_seed_is_the_same_crowd() {
    let short = Crowd { measure_us: 3_000_000, told: 3, ..plain() };
    let (one, other) = (played(&short), played(&short));
    assert_eq!((&one.row, &one.answered), (&other.row, &other.answered));
    assert_ne!(one.answered, played(&Crowd { seed: 8, ..short }).answered);
}

/// Reference: figure 8.
#[test]
fn clients_that_are_gone_leave_a_guard_and_nothing_else() {
    let social = workload("social", &[("keys", "1600"), ("friends", "5"), ("views", "true")]);
    let churn = Crowd {
        workload: social,
        churn_us: Some(5_000_000),
        measure_us: 26_000_000,
        params: [("edge_retain_us".to_string(), Value::from(1_000_000))].into(),
        ..plain()
    };
    let watched = played(&churn);
    let gone: Vec<usize> = watched.samples.iter().map(|sample| sample.gone).collect();
    assert_eq!(gone, [0, 12, 24, 36, 48, 60]);
    let (first, last) = (watched.samples[1], watched.samples[5]);
    assert!(last.committers > 60 && last.committers <= 72, "{last:?}");
    assert!(last.bloated > first.bloated + 100, "{last:?}");
    // What is new beside sets, counters and registers of users: a key for each client.
    let guards = (last.committers - first.committers) as u64;
    assert!(last.keys >= first.keys + guards, "{first:?} {last:?}");
    assert_eq!(number(&watched, "guards"), last.committers as f64);
    // 200 users have five friends each, of which a name has six letters at least.
    assert!(last.filled >= 200 * 5 * 6 && last.filled == first.filled && last.grown > first.grown);
    assert_eq!(number(&watched, "database_bytes"), (last.bytes + last.filled + last.grown) as f64);
    assert_eq!(number(&watched, "lost"), 0.0);
}

/// Reference: figure 9.
#[test]
fn when_a_data_centre_is_down_clients_go_on_in_another_one() {
    let down = Down { dc: 0, from_us: 15_000_000, until_us: 30_000_000, back_us: 31_000_000 };
    let watched =
        played(&Crowd { down: Some(down), told: 12, measure_us: 40_000_000, rate: 120.0, ..plain() });
    // Every third client is of the data centre that fails.
    let its = |client: usize| client.is_multiple_of(3);
    let spans = [(2, 15, 0), (18, 30, 1), (36, 44, 0)];
    for (from, until, dc) in spans {
        let within = |at_us: Micros| (from * 1_000_000..until * 1_000_000).contains(&at_us);
        let all = watched.answered.iter().filter(|one| its(one.client) && within(one.at_us));
        let (hits, misses): (Vec<&Answered>, Vec<&Answered>) = all.partition(|one| one.hit);
        assert!(hits.iter().all(|one| one.took_us == 0) && hits.len() > 50, "{}", hits.len());
        assert!(misses.len() > 5);
        let there = misses.iter().filter(|one| one.dc == dc).count();
        assert!(there * 10 >= misses.len() * 9, "{there} of {} at {dc} from {from} s", misses.len());
        let mut times: Vec<Micros> = misses.iter().map(|one| one.took_us).collect();
        times.sort_unstable();
        let (median, rtt_us) = (times[times.len() / 2], 70_000 + EUROPE_VIRGINIA_OREGON_US[0][dc]);
        assert!((rtt_us..rtt_us * 11 / 10).contains(&median), "{median} from {from} s");
    }
    assert_eq!(number(&watched, "lost"), 0.0);
}

/// Reference: figure 10, and section 5.7.
#[test]
fn only_what_fewer_than_k_data_centres_have_makes_a_read_stale() {
    let hot = workload("locality", &[("keys", "20"), ("locality", "0"), ("choice", "uniform")]);
    let crowd = |regions| {
        let (workload, compare) = (hot.clone(), 1);
        played(&Crowd { regions, workload, compare, cache: 0, warm: false, rate: 120.0, ..plain() })
    };
    let [one, two, three] = [1, 2, 3].map(crowd);
    for watched in [&one, &two, &three] {
        assert!(number(watched, "compared_reads") > 500.0);
        assert!(number(watched, "behind_reads") >= number(watched, "stale_reads"));
        assert_eq!(number(watched, "not_compared"), 0.0);
    }
    let [one, two, three] = [one, two, three].map(|watched| number(&watched, "stale_reads"));
    assert_eq!(one, 0.0);
    assert!(0.0 < two && two < three, "{two} and {three}");
}

#[test]
fn the_work_of_nodes_and_gateways_is_measured_if_asked_for() {
    // Its hand moves by a microsecond whenever somebody looks.
    fn clock() -> Duration {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        Duration::from_micros(LOOKS.fetch_add(1, Ordering::Relaxed))
    }
    let work = Some(Work { clock, read_ns: 1_000.0, write_ns: 2_000.0 });
    let short = Crowd { measure_us: 5_000_000, work, ..plain() };
    let (cached, server) = (played(&short), played(&Crowd { mode: Mode::ServerOnly, ..short }));
    for watched in [&cached, &server] {
        let (all, node) = (number(watched, "cpu_us"), number(watched, "node_us"));
        assert!(node > 0.0 && all > node);
        assert!((number(watched, "capacity") * all / 6e6 - 1.0).abs() < 1e-9, "six nodes");
    }
    assert!(number(&cached, "gateway_us") > 0.0);
    // Each read is a request and its reply; an update is two of each.
    let requests = 1.0 + number(&server, "updating_count") / number(&server, "transactions");
    assert!((number(&server, "socket_us") / (3.0 * requests) - 1.0).abs() < 0.1);
    assert!(!played(&Crowd { work: None, ..plain() }).row.contains_key("cpu_us"));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |what: Crowd| crowd(by_name("tidemark").unwrap(), &what).unwrap_err();
    assert!(refused(Crowd { regions: 4, ..plain() }).contains("K is 1 to 3"));
    assert!(refused(Crowd { rate: 0.0, ..plain() }).contains("rate"));
    assert!(refused(Crowd { idle_dcs: vec![0, 1, 2], ..plain() }).contains("no data centre is left"));
    assert!(refused(Crowd { workload: workload("ycsb-e", &[]), ..plain() }).contains("without inserts"));
    let down = Some(Down { dc: 3, from_us: 0, until_us: 1, back_us: 1 });
    assert!(refused(Crowd { down, ..plain() }).contains("what is down"));
    let other = crowd(by_name("cure").unwrap(), &plain()).unwrap_err();
    assert!(other.contains("no edge clients"), "{other}");
}
