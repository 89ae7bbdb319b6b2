//! Runs under load: what is measured is what arithmetic says.

use std::collections::BTreeMap;
use tidemark_contract::placement::Placement;
use tidemark_core::Micros;
use tidemark_protocols::{CcLo, Eventual, GentleRain, NuKv, NuKvPhysical, Protocol};
use tidemark_registry::factory_of;
use tidemark_sim::{Costs, Load, Loaded, Slow, load};
use tidemark_workload::Workload;

const VIRGINIA_OREGON_IRELAND_US: [[Micros; 3]; 3] =
    [[0, 81_000, 88_000], [81_000, 0, 166_000], [88_000, 166_000, 0]];

/// Each part of some work takes another time, so that sums tell which there were.
const WORK: Costs = Costs {
    turn_ns: 3_000.0,
    request_ns: 4_000.0,
    write_ns: 1_000.0,
    reply_ns: 5_000.0,
    send_ns: 2_000.0,
    receive_ns: 6_000.0,
    ..Costs::NONE
};

/// One data centre, one partition, one client that only reads; messages take exactly 50 µs, and work takes no time.
fn plain() -> Load {
    Load {
        partitions: 1,
        replicas: 1,
        placement: Placement::default(),
        rtt_us: vec![vec![0]],
        client_rtt_us: None,
        wan_jitter_percent: 0,
        lan_us: 50,
        client_lan_us: None,
        lan_jitter_us: 0,
        clock_skew_us: 0,
        clock_offsets_us: Vec::new(),
        slow: Vec::new(),
        params: BTreeMap::new(),
        without: Vec::new(),
        costs: Costs::NONE,
        workload: Workload::named("ycsb-c").unwrap().with([("keys".into(), 100.into())]).unwrap(),
        clients: 1,
        gateways: false,
        batched: true,
        generator: false,
        beside: None,
        idle_dcs: Vec::new(),
        rate: None,
        filled_keys: 100,
        warm_up_us: 50_000,
        measure_us: 200_000,
        probe_every_us: None,
        adapt: None,
        seed: 1,
    }
}

fn three_dcs() -> Load {
    Load { rtt_us: VIRGINIA_OREGON_IRELAND_US.map(Vec::from).into(), partitions: 2, ..plain() }
}

fn number(loaded: &Loaded, column: &str) -> f64 {
    let row = loaded.row();
    row.get(column).and_then(|value| value.as_f64()).unwrap_or_else(|| panic!("{column} of {row:?}"))
}

#[test]
fn a_lone_client_waits_for_two_messages_and_the_work_between() {
    let idle = load(factory_of::<Eventual>(), &plain()).unwrap();
    assert_eq!((number(&idle, "get_p50_us"), number(&idle, "get_max_us")), (100.0, 100.0));
    assert_eq!((number(&idle, "throughput"), number(&idle, "cpu")), (10_000.0, 0.0));
    let costs = Costs { turn_ns: 3_000.0, request_ns: 4_000.0, reply_ns: 5_000.0, ..Costs::NONE };
    let busy = load(factory_of::<Eventual>(), &Load { costs, ..plain() }).unwrap();
    assert_eq!((number(&busy, "get_p50_us"), number(&busy, "get_max_us")), (112.0, 112.0));
    assert!((number(&busy, "cpu") - 12.0 / 112.0).abs() < 0.002, "{:?}", busy.row());
}

/// What the gateway holds it answers in one turn; what a sibling holds takes two turns of it and one of the sibling, and two
/// more messages.
#[test]
fn a_gateway_asks_its_sibling_for_what_it_does_not_hold() {
    let costs = Costs { link_ns: 7_000.0, arrival_ns: 8_000.0, ..WORK };
    let of = |workload: &str, settings: &[(String, serde_json::Value)]| {
        let workload = Workload::named(workload).unwrap().with(settings.to_vec()).unwrap();
        load(factory_of::<Eventual>(), &Load { partitions: 2, gateways: true, workload, costs, ..plain() })
            .unwrap()
    };
    let writes = of("round-robin", &[]);
    let here = 100.0 + (3.0 + 4.0 + 1.0 + 5.0);
    let there =
        200.0 + (3.0 + 4.0 + 2.0 + 7.0) + (3.0 + 8.0 + 6.0 + 1.0 + 2.0 + 7.0) + (3.0 + 8.0 + 6.0 + 5.0);
    assert_eq!((number(&writes, "put_min_us"), number(&writes, "put_max_us")), (here, there));
    let reads = of("transactions", &[("span".into(), 2.into()), ("write-share".into(), 0.into())]);
    let both = there - 1.0;
    assert_eq!((number(&reads, "rotx_min_us"), number(&reads, "rotx_max_us")), (both, both));
    // Both cores together worked for what messages took nothing of.
    let worked = (both - 200.0) / both;
    assert!((2.0 * number(&reads, "cpu") / worked - 1.0).abs() < 0.01, "{:?}", reads.row());
}

/// Requests of full gateways to one sibling: they share system calls, or do not.
#[test]
fn messages_to_one_server_share_a_system_call_unless_that_is_switched_off() {
    let of = |batched| {
        let settings = vec![("span".into(), 2.into()), ("write-share".into(), 0.into())];
        let workload = Workload::named("transactions").unwrap().with(settings).unwrap();
        let costs = Costs { link_ns: 7_000.0, arrival_ns: 8_000.0, ..Costs::NONE };
        let what = Load { batched, partitions: 2, gateways: true, clients: 64, workload, costs, ..plain() };
        number(&load(factory_of::<Eventual>(), &what).unwrap(), "throughput")
    };
    let (shared, each) = (of(true), of(false));
    assert!(shared > 1.5 * each, "{shared} and {each}");
}

/// A readers check of CC-LO asks and collects; no other protocol counts it.
#[test]
fn what_readers_checks_ask_and_collect_is_counted() {
    let workload =
        Workload::named("transactions").unwrap().with([("write-share".into(), 0.5.into())]).unwrap();
    let what = Load { partitions: 4, clients: 8, workload, ..plain() };
    let loaded = load(factory_of::<CcLo>(), &what).unwrap();
    let counted = |name| number(&loaded, &format!("counted_readers_checks{name}"));
    let (checks, puts) = (counted(""), number(&loaded, "put_count"));
    assert!(checks > 0.0 && checks < 1.1 * puts, "{checks} of {puts}");
    assert!(counted("_partitions") >= checks && counted("_partitions") <= 3.0 * checks);
    assert!(counted("_keys") >= counted("_partitions"));
    assert!(counted("_ids") > 0.0 && counted("_ids") >= counted("_distinct_ids"));
    let asked = number(&loaded, "messages_oldreaders") * (puts + number(&loaded, "rotx_count"));
    assert!((counted("_partitions") / asked - 1.0).abs() < 0.05, "{} and {asked}", counted("_partitions"));
    assert!(!load(factory_of::<Eventual>(), &plain()).unwrap().row().contains_key("counted_readers_checks"));
}

/// Clients in another zone are farther away from servers than those from each other.
#[test]
fn what_clients_ask_servers_may_take_longer_than_what_servers_ask_each_other() {
    let far = load(factory_of::<Eventual>(), &Load { client_lan_us: Some(5_000), ..plain() }).unwrap();
    // What arrives behind something else on its connection waits for that.
    let (least, most) = (number(&far, "get_min_us"), number(&far, "get_max_us"));
    assert!(least == 10_000.0 && most < 10_050.0, "{least} to {most}");
    for wrong in [
        Load { client_lan_us: Some(49), ..plain() },
        Load { client_lan_us: Some(60), gateways: true, ..plain() },
    ] {
        assert!(load(factory_of::<Eventual>(), &wrong).unwrap_err().contains("zone"));
    }
}

/// A client that knows partitions has a core of its own: it sends to each server, sleeps, wakes up and reads what each one says.
#[test]
fn a_client_pays_for_each_server_that_it_asks() {
    let costs = Costs {
        send_ns: 2_000.0,
        link_ns: 7_000.0,
        arrival_ns: 8_000.0,
        receive_ns: 6_000.0,
        wake_ns: 10_000.0,
        ..Costs::NONE
    };
    let of = |partitions: usize, clients| {
        let settings = vec![("span".into(), partitions.into()), ("write-share".into(), 0.into())];
        let workload = Workload::named("transactions").unwrap().with(settings).unwrap();
        load(factory_of::<Eventual>(), &Load { partitions, clients, workload, costs, ..plain() }).unwrap()
    };
    // A server that was asked wakes up, too.
    assert_eq!(number(&of(1, 1), "rotx_min_us"), 100.0 + (2.0 + 7.0) + 10.0 + (10.0 + 8.0 + 6.0));
    assert_eq!(number(&of(4, 1), "rotx_min_us"), 100.0 + 4.0 * (2.0 + 7.0) + 10.0 + 10.0 + 4.0 * (8.0 + 6.0));
    // Clients do not wait for each other.
    assert_eq!(number(&of(4, 3), "rotx_min_us"), number(&of(4, 1), "rotx_min_us"));
}

/// Clients that take time share a core: one sends, sleeps, wakes up and reads; many keep it from sleeping.
#[test]
fn a_load_generator_is_a_core_too() {
    let costs = Costs { client_ns: 4_000.0, client_wake_ns: 10_000.0, ..Costs::NONE };
    let of = |clients| {
        load(factory_of::<Eventual>(), &Load { gateways: true, generator: true, clients, costs, ..plain() })
            .unwrap()
    };
    let alone = of(1);
    assert_eq!((number(&alone, "get_min_us"), number(&alone, "get_max_us")), (114.0, 114.0));
    let crowd = number(&of(64), "throughput");
    assert!((crowd / 250_000.0 - 1.0).abs() < 0.01, "{crowd} a second");
    let partitions_known = Load { gateways: false, generator: true, ..plain() };
    assert!(load(factory_of::<Eventual>(), &partitions_known).unwrap_err().contains("gateways"));
}

/// What a group writes is answered when another member has it: two messages more, and the work for them. What is read is not.
#[test]
fn a_group_agrees_before_it_answers() {
    let of = |costs| {
        let workload = Workload::named("ycsb-a").unwrap();
        load(factory_of::<Eventual>(), &Load { replicas: 3, workload, costs, ..plain() }).unwrap()
    };
    let idle = of(Costs::NONE);
    assert_eq!((number(&idle, "get_p50_us"), number(&idle, "get_max_us")), (100.0, 100.0));
    assert_eq!((number(&idle, "put_p50_us"), number(&idle, "put_max_us")), (200.0, 200.0));
    let busy = of(Costs { apply_ns: 9_000.0, ..WORK });
    // The turn that answers also tells both other members what is agreed on.
    let agreed =
        200.0 + (3.0 + 4.0 + 1.0 + 2.0 * 2.0) + (3.0 + 6.0 + 9.0 + 2.0) + (3.0 + 6.0 + 5.0 + 2.0 * 2.0);
    // What the client sends and reads takes it time, too.
    let client = 2.0 + 6.0;
    assert_eq!(number(&busy, "put_min_us"), agreed + client, "{:?}", busy.row());
    assert_eq!(number(&busy, "get_min_us"), 112.0 + client, "{:?}", busy.row());
}

/// Two data centres, 20 ms apart, whose clients each read or write, half of the time where they do not belong.
fn roaming<P: Protocol>(settings: &[(&str, &str)], clock_skew_us: u64) -> Loaded {
    let mut workload = Workload::named("ycsb-a").unwrap();
    let all = settings.iter().chain(&[("keys", "100"), ("remote", "0.5")]);
    all.for_each(|(name, value)| workload.set(name, value).unwrap());
    let rtt_us = vec![vec![0, 20_000], vec![20_000, 0]];
    load(factory_of::<P>(), &Load { rtt_us, workload, clock_skew_us, measure_us: 4_000_000, ..plain() })
        .unwrap()
}

#[test]
fn a_client_that_leaves_its_data_centre_is_far_away_and_takes_its_past_along() {
    let about = |loaded: &Loaded, column: &str, us: f64| {
        let seen = number(loaded, column);
        assert!((seen / us - 1.0).abs() < 0.001, "{column}: {seen} µs instead of {us}");
    };
    let eventual = roaming::<Eventual>(&[], 0);
    for kind in ["get", "put"] {
        about(&eventual, &format!("{kind}_min_us"), 100.0);
        about(&eventual, &format!("{kind}_max_us"), 20_100.0);
        assert!((number(&eventual, &format!("{kind}_mean_us")) / 10_100.0 - 1.0).abs() < 0.1);
    }
    // What it wrote in the one is stable in the other only when everybody's heartbeats say so.
    let causal = roaming::<GentleRain>(&[], 0);
    assert!(number(&causal, "get_max_us") > 22_000.0, "{:?}", causal.row());
    assert_eq!(number(&causal, "failed"), 0.0, "{:?}", causal.row());
}

/// Servers exchange writes in 30 ms where clients go in 10: who has just come waits for what it wrote where it was.
#[test]
fn clients_that_are_faster_than_servers_wait_for_what_they_follow() {
    let slowest = |guarantee: &str| {
        let workload = [("keys", "1"), ("remote", "0.5"), ("read-guarantee", guarantee)];
        let workload =
            workload.map(|(name, value)| (name.to_string(), value.parse().unwrap_or(value.into())));
        let workload = Workload::named("ycsb-a").unwrap().with(workload).unwrap();
        let rtt_us = vec![vec![0, 60_000], vec![60_000, 0]];
        let what = Load { rtt_us, client_rtt_us: Some(20_000), workload, measure_us: 4_000_000, ..plain() };
        number(&load(factory_of::<NuKv>(), &what).unwrap(), "get_max_us")
    };
    let (eventual, own) = (slowest("eventual"), slowest("read-your-writes"));
    assert!(eventual < 20_150.0, "{eventual} µs");
    // What it wrote arrives 20 ms after it does, and then the answer takes 10.
    assert!((39_000.0..40_200.0).contains(&own), "{own} µs");
}

#[test]
fn operations_ask_for_what_the_workload_says() {
    let slowest = |guarantee: &str| {
        let seen = roaming::<NuKvPhysical>(&[("write-guarantee", guarantee)], 40_000);
        assert_eq!(number(&seen, "failed"), 0.0, "{:?}", seen.row());
        number(&seen, "put_max_us")
    };
    let (eventual, monotonic) = (slowest("eventual"), slowest("monotonic-writes"));
    assert!(eventual < 20_200.0 && monotonic > 25_000.0, "{eventual} µs, and {monotonic} µs in order");
}

/// A core that is always busy serves as many as it can, and turns are shared by all who wait.
#[test]
fn a_server_is_full_when_its_core_is() {
    let costs = Costs { turn_ns: 40_000.0, request_ns: 6_000.0, reply_ns: 4_000.0, ..Costs::NONE };
    for clients in [64, 128] {
        let full = load(factory_of::<Eventual>(), &Load { clients, costs, ..plain() }).unwrap();
        let (rate, waited) = (number(&full, "throughput"), number(&full, "get_mean_us"));
        assert!(number(&full, "cpu") > 0.999, "{:?}", full.row());
        // A turn takes those who came during the one before: between half of all and all of them.
        let of_turns = |n: f64| n * 1e6 / (40.0 + n * 10.0);
        let (half, all) = (of_turns(clients as f64 / 2.0), of_turns(clients as f64));
        assert!((0.99 * half..=all).contains(&rate), "{rate} a second");
        assert!(
            (waited * rate / 1e6 - clients as f64).abs() < 2.0,
            "{waited} µs at {rate} a second: Little's law"
        );
    }
}

#[test]
fn clients_that_come_at_a_rate_are_served_at_that_rate_and_wait_in_the_queue() {
    let costs = Costs { request_ns: 50_000.0, ..Costs::NONE };
    let at = |rate| Load { clients: 200, rate: Some(rate), costs, measure_us: 2_000_000, ..plain() };
    let half = load(factory_of::<Eventual>(), &at(10_000.0)).unwrap();
    assert!((number(&half, "throughput") / 10_000.0 - 1.0).abs() < 0.03, "{:?}", half.row());
    // More than the core can do: latency grows as long as it lasts, although every client waits for its own.
    let over = load(factory_of::<Eventual>(), &at(30_000.0)).unwrap();
    assert!((number(&over, "throughput") / 20_000.0 - 1.0).abs() < 0.02, "{:?}", over.row());
    assert!(number(&over, "get_p99_us") > 500_000.0, "{:?}", over.row());
}

#[test]
fn the_same_seed_measures_the_same() {
    let what = Load {
        clients: 8,
        probe_every_us: Some(20_000),
        adapt: None,
        clock_skew_us: 1_000,
        lan_jitter_us: 30,
        ..three_dcs()
    };
    let rows = [(); 2].map(|()| load(factory_of::<GentleRain>(), &what).unwrap().row());
    assert_eq!(rows[0], rows[1]);
    assert_ne!(rows[0], load(factory_of::<GentleRain>(), &Load { seed: 2, ..what }).unwrap().row());
}

#[test]
fn a_write_is_visible_when_the_protocol_lets_it() {
    let what = Load { clients: 0, probe_every_us: Some(25_000), measure_us: 1_000_000, ..three_dcs() };
    let median = |loaded: &Loaded, from, to| {
        let mut times = loaded.visibility[&(from, to)].times_us.clone();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let eventual = load(factory_of::<Eventual>(), &what).unwrap();
    let stable = load(factory_of::<GentleRain>(), &what).unwrap();
    for (from, row) in VIRGINIA_OREGON_IRELAND_US.iter().enumerate() {
        for (to, rtt) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            let travel = rtt / 2;
            let seen = median(&eventual, from, to);
            assert!((travel..travel + 1_500).contains(&seen), "{from} to {to}: {seen} µs");
            // GentleRain waits for the farthest data centre, and for intervals of 5 ms.
            let farthest = VIRGINIA_OREGON_IRELAND_US.iter().map(|row| row[to] / 2).max().unwrap();
            let seen = median(&stable, from, to);
            assert!((farthest..farthest + 15_000).contains(&seen), "{from} to {to}: {seen} µs");
        }
    }
}

#[test]
fn a_slow_server_delays_whoever_asks_it() {
    let slow = vec![Slow { dc: None, partition: 0, lag_us: 10_000 }];
    let what = Load { partitions: 2, slow, workload: Workload::named("round-robin").unwrap(), ..plain() };
    let loaded = load(factory_of::<Eventual>(), &what).unwrap();
    assert_eq!(
        (number(&loaded, "put_max_us"), number(&loaded, "put_count")),
        (100.0, number(&loaded, "slow_put_count"))
    );
    assert!((number(&loaded, "slow_put_min_us") / 10_100.0 - 1.0).abs() < 0.001, "{:?}", loaded.row());
}

#[test]
fn numbers_that_cannot_be_are_explained() {
    let refused = |what: Load| load(factory_of::<Eventual>(), &what).unwrap_err();
    assert!(refused(Load { partitions: 0, ..plain() }).contains("partitions is 1 to"));
    assert!(refused(Load { measure_us: 0, ..plain() }).contains("no time"));
    assert!(refused(Load { lan_us: 0, ..plain() }).contains("stand still"));
    assert!(refused(Load { replicas: 0, ..plain() }).contains("replicas is 1 to"));
    let mut workload = plain().workload;
    workload.set("remote", "0.1").unwrap();
    assert!(refused(Load { workload: workload.clone(), ..plain() }).contains("second data centre"));
    assert!(refused(Load { beside: Some((workload, 1)), ..plain() }).contains("second data centre"));
    assert!(refused(Load { rtt_us: vec![vec![0, 1]], ..plain() }).contains("square"));
    assert!(refused(Load { clock_offsets_us: vec![0, 0], ..plain() }).contains("clock offsets"));
    let slow = vec![Slow { dc: Some(3), partition: 0, lag_us: 1 }];
    assert!(refused(Load { slow, ..plain() }).contains("not there"));
    let params = BTreeMap::from([("theta_us".to_string(), 1.into())]);
    assert!(refused(Load { params, ..plain() }).contains("theta_us"));
    let transactions = Workload::named("transactions").unwrap();
    assert!(refused(Load { workload: transactions, ..plain() }).contains("span"));
}
