//! Against `redis-server`: every workload, filling, passwords, pipelines, and figures that add up.

use crate::servers::{Redis, answered, plan, play, play_until};
use std::time::Duration;
use tidemark_bench::{Arrivals, Limit, Pace, Phase, Report, Stop, run};
use tidemark_workload::Workload;

fn all_operations(report: &Report) -> u64 {
    report.summary.operations.values().map(|latency| latency.count).sum()
}

#[test]
fn every_workload_is_served_and_reads_find_what_was_filled_in() {
    let Some(redis) = Redis::start(&[]) else { return };
    for (name, _) in Workload::catalogue() {
        redis.ask(&["FLUSHALL"]);
        let mut plan = plan(name, &[&redis.address], Limit::Operations(2000));
        plan.fill = true;
        let report = play(&plan);
        assert!(report.is_whole() && report.summary.failures() == 0, "{name}");
        assert_eq!(report.keys_absent, 0, "{name}");
        let filled = if *name == "social" { 1000 * 3 / 8 } else { 1000 }; // other objects are empty at first
        assert!(redis.ask(&["DBSIZE"]).parse::<u64>().unwrap() >= filled, "{name}: all keys were written");
        let per_request = match *name {
            "amplified" => 100,
            "amplified-insert" => 10,
            _ => 9,
        };
        // The last request is completed, whatever it takes; but nobody waits for a turn that the other will not make any more.
        let operations = all_operations(&report);
        let least = if plan.workload.waits() { 2000 - plan.connections as u64 } else { 2000 };
        assert!((least..2000 + per_request).contains(&operations), "{name}: {operations}");
        let requests: u64 = report.summary.requests.values().map(|latency| latency.count).sum();
        assert!(requests > 0 && requests <= operations, "{name}");
    }
}

#[test]
fn what_was_not_filled_in_is_said() {
    let Some(redis) = Redis::start(&[]) else { return };
    let report = play(&plan("ycsb-c", &[&redis.address], Limit::Operations(500)));
    assert_eq!((report.keys_read, report.keys_absent), (500, 500));
    assert!(report.text().contains("Of 500 keys that were read, 500 held nothing"));
}

#[test]
fn operations_reach_the_server_as_they_are_counted() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut plan = plan("transactions", &[&redis.address], Limit::Operations(5000));
    (plan.pipeline, plan.connections) = (16, 8);
    redis.ask(&["CONFIG", "RESETSTAT"]);
    let report = play(&plan);
    assert_eq!(all_operations(&report), 5000);
    let stats = redis.ask(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |line| line.split(',').next().unwrap().parse::<u64>().unwrap())
    };
    assert_eq!((calls("mget"), calls("set")), (answered(&report, "rotx"), answered(&report, "put")));
    assert!(calls("set") > 500, "a fifth of requests are writes, for w = 0.05 and p = 4");
}

#[test]
fn passwords_are_sent_and_refusals_explained() {
    let Some(redis) = Redis::start(&["--requirepass", "secret"]) else { return };
    let with = |user: Option<&str>, password: Option<&str>| {
        let mut plan = plan("ycsb-a", &[&redis.address], Limit::Operations(100));
        (plan.user, plan.password) = (user.map(Into::into), password.map(Into::into));
        run(&plan, &Stop::default(), &mut |_| {})
    };
    assert!(with(None, None).unwrap_err().to_string().contains("wants a password: --password"));
    assert!(with(None, Some("wrong")).unwrap_err().to_string().contains("refuses the password: WRONGPASS"));
    assert_eq!(all_operations(&with(None, Some("secret")).unwrap()), 100);
    assert_eq!(all_operations(&with(Some("default"), Some("secret")).unwrap()), 100);
}

#[test]
fn every_connection_gives_the_name() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut plan = plan("ycsb-a", &[&redis.address], Limit::Operations(100));
    (plan.client_name, plan.connections) = (Some("pool".into()), 3);
    run(&plan, &Stop::default(), &mut |_| {}).unwrap();
    let stats = redis.ask(&["INFO", "commandstats"]);
    let (_, calls) = stats.split_once("cmdstat_client|setname:calls=").expect("connections have a name");
    let calls: u64 = calls.split(',').next().unwrap().parse().unwrap();
    assert!(calls >= 3, "{stats}");
}

#[test]
fn a_warm_up_does_not_count_and_slices_add_up() {
    let Some(redis) = Redis::start(&[]) else { return };
    let measure = |seconds| {
        let mut plan = plan("ycsb-b", &[&redis.address], Limit::Time(Duration::from_secs(seconds)));
        (plan.warm_up, plan.slice) = (Duration::from_millis(700), Duration::from_millis(100));
        redis.ask(&["CONFIG", "RESETSTAT"]);
        let (mut warm, mut all) = (0, 0);
        let report = play_until(&plan, |tick| {
            if tick.phase == Phase::WarmUp {
                warm = tick.operations;
            }
            all = tick.operations;
            false
        });
        (report, warm, all)
    };
    // A machine may stand still for as long as is measured.
    let mut longer = [1, 4, 16, 64].into_iter().map(measure);
    let (report, warm, all) = longer.find(|(report, ..)| all_operations(report) > 0).expect("operations");
    let calls: u64 = redis
        .ask(&["INFO", "stats"])
        .lines()
        .find_map(|line| line.strip_prefix("total_commands_processed:"))
        .unwrap()
        .parse()
        .unwrap();
    let counted = all_operations(&report);
    // Those that were seen in the warm-up do not count, however many a busy machine manages in it.
    assert!(counted + warm <= all && all <= calls, "{counted}, {warm}, {all}, {calls}");
    assert_eq!(report.summary.slices.iter().map(|slice| slice.operations).sum::<u64>(), counted);
    // As many as it lasted, until its last answer.
    let slices = report.summary.slices.len() as u64;
    assert!(
        (slices - 1) * 100_000 <= report.summary.duration_us,
        "{slices} in {:?}",
        report.summary.duration_us
    );
    let longest = report.summary.operations.values().map(|of| of.max_us).max().unwrap();
    let longest_of_slices = report.summary.slices.iter().map(|slice| slice.max_us).max().unwrap();
    // Slices have two digits.
    assert!(longest.abs_diff(longest_of_slices) * 100 <= longest, "{longest} and {longest_of_slices}");
}

#[test]
fn an_open_loop_sends_as_many_as_arrive() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut plan = plan("ycsb-a", &[&redis.address], Limit::Time(Duration::from_secs(2)));
    (plan.connections, plan.pipeline) = (10, 4);
    plan.pace = Pace::Open { per_second: 500.0, arrivals: Arrivals::Fixed };
    let report = play(&plan);
    // On a busy machine those that arrived just before the end may not have been sent.
    assert_eq!(all_operations(&report) + report.unsent, 1000, "{} unsent", report.unsent);
}

#[test]
fn clients_that_think_ask_less() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut plan = plan("ycsb-a", &[&redis.address], Limit::Time(Duration::from_secs(600)));
    plan.workload.set("think-us", "20000").unwrap();
    let report = play_until(&plan, |tick| tick.operations >= 40);
    // Four clients, each at most once every 20 ms.
    let (operations, duration_us) = (all_operations(&report), report.summary.duration_us);
    assert!((40..=4 * (duration_us / 20_000 + 1)).contains(&operations), "{operations} in {duration_us} us");
}

/// What a server does not know is found before anything is measured.
#[test]
fn what_takes_sessions_and_guarantees_needs_a_server_that_has_them() {
    let Some(redis) = Redis::start(&[]) else { return };
    let refusal = |setting: &str, value: &str| {
        let mut plan = plan("ycsb-a", &[&redis.address, &redis.address], Limit::Operations(100));
        plan.workload.set(setting, value).unwrap();
        run(&plan, &Stop::default(), &mut |_| ()).unwrap_err().to_string()
    };
    let said = refusal("read-guarantee", "eventual");
    assert!(said.contains("answers to TIDE.GUARANTEE: ERR unknown command"), "{said}");
    let said = refusal("remote", "0.5");
    assert!(said.contains("answers to TIDE.SESSION: ERR unknown command"), "{said}");
}
