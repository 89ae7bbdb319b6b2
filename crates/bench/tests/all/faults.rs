//! Servers that refuse, fall silent, die, or were never there.

use crate::servers::{Ask, Do, Redis, answered, fake, plan, play, play_until, usual};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tidemark_bench::{Limit, Stop, run};

#[test]
fn errors_are_counted_by_their_first_word_and_the_first_is_shown() {
    let moved = fake(|ask: &Ask| match ask.number % 4 {
        0 => Do::Answer("-MOVED 3999 127.0.0.1:6381\r\n".into()),
        1 => Do::Answer("-TRYAGAIN not yet\r\n".into()),
        _ => usual(ask),
    });
    let report = play(&plan("ycsb-c", &[&moved], Limit::Operations(400)));
    assert_eq!((report.summary.failed["MOVED"], report.summary.failed["TRYAGAIN"]), (100, 100));
    assert_eq!(answered(&report, "get"), 200);
    assert!(report.text().contains("100 failed with MOVED, the first: MOVED 3999 127.0.0.1:6381"));
    assert!(report.is_whole(), "a server that answers is there");
    let refuses = fake(|_| Do::Answer("-LOADING not yet\r\n".into()));
    assert!(!play(&plan("ycsb-c", &[&refuses], Limit::Operations(40))).is_whole(), "nothing was answered");
}

#[test]
fn a_request_ends_where_an_operation_of_it_fails() {
    let refuses_writes = fake(|ask: &Ask| match ask.words[0].as_str() {
        "SET" => Do::Answer("-READONLY replica\r\n".into()),
        _ => usual(ask),
    });
    let mut plan = plan("rounds", &[&refuses_writes], Limit::Operations(9 * 50));
    plan.connections = 1;
    let report = play(&plan);
    assert_eq!((answered(&report, "get"), report.summary.failed["READONLY"]), (400, 50));
    assert!(report.summary.requests.is_empty(), "no round was completed");
}

#[test]
fn a_server_that_dies_leaves_what_was_measured_and_the_others_go_on() {
    // How many connections one has closed, and how often the other was asked.
    let (closed, asked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (closing, asking) = (Arc::clone(&closed), Arc::clone(&asked));
    let dies = fake(move |ask: &Ask| {
        if ask.number < 500 {
            return usual(ask);
        }
        closing.fetch_add(1, Ordering::Relaxed);
        Do::Close
    });
    let lives = fake(move |ask: &Ask| {
        asking.store(ask.number, Ordering::Relaxed);
        usual(ask)
    });
    let mut before = None;
    let plan = plan("ycsb-a", &[&dies, &lives], Limit::Time(Duration::from_secs(600)));
    let report = play_until(&plan, |_| {
        let asked = asked.load(Ordering::Relaxed);
        closed.load(Ordering::Relaxed) == 2 && asked > *before.get_or_insert(asked) + 500
    });
    assert!(report.stopped && !report.is_whole());
    let [lost] = &report.lost[..] else { panic!("one server: {:?}", report.lost) };
    assert_eq!((lost.region.as_str(), &lost.address, lost.connections), ("a", &dies, 2));
    assert_eq!(report.summary.failed["DISCONNECTED"], 2, "what was under way");
    let of = |region: &str| report.regions[region].operations.values().map(|of| of.count).sum::<u64>();
    assert_eq!(of("a"), 500);
    assert!(of("b") > 500, "region b goes on: {}", of("b"));
    let text = report.text();
    assert!(text.contains("LOST: 2 connections to region a") && text.contains(&dies), "{text}");
}

#[test]
fn connections_of_one_server_that_end_in_different_ways_are_told_together() {
    let dies = fake(|ask: &Ask| match ask.number {
        0..500 => usual(ask),
        500 => Do::Close,
        _ => Do::Answer("?\r\n".into()),
    });
    let mut plan = plan("ycsb-a", &[&dies], Limit::Time(Duration::from_secs(600)));
    plan.connections = 2;
    let report = play(&plan);
    let [lost] = &report.lost[..] else { panic!("one server: {:?}", report.lost) };
    assert_eq!((lost.connections, lost.reasons.len()), (2, 2), "{lost:?}");
    let text = report.text();
    assert!(text.contains("LOST: 2 connections") && text.contains(" or "), "{text}");
    assert!(text.contains("closed the connection") && text.contains("does not speak"), "{text}");
}

#[test]
fn when_all_servers_die_it_ends_early() {
    let Some(mut redis) = Redis::start(&[]) else { return };
    let plan = plan("ycsb-a", &[&redis.address], Limit::Time(Duration::from_secs(600)));
    let mut lives = true;
    let report = play_until(&plan, |tick| {
        if lives && tick.operations > 0 {
            redis.kill();
            lives = false;
        }
        false
    });
    assert!(!report.is_whole());
    assert_eq!(report.lost.iter().map(|lost| lost.connections).sum::<usize>(), 4);
    assert!(report.summary.throughput > 0.0 && report.summary.duration_us < 600_000_000);
}

#[test]
fn a_server_that_falls_silent_counts_as_lost() {
    // A machine may be so slow that nothing is answered in this time, not even to who connects.
    let play_once = |timeout: Duration| {
        let silent = fake(|ask: &Ask| if ask.number < 100 { usual(ask) } else { Do::Nothing });
        let mut plan = plan("ycsb-a", &[&silent], Limit::Time(Duration::from_secs(600)));
        plan.timeout = timeout;
        let report = run(&plan, &Stop::default(), &mut |_| {}).ok()?;
        (answered(&report, "get") + answered(&report, "put") > 0).then_some((report, timeout))
    };
    let mut timeouts = (0..9).map(|power| Duration::from_millis(400 << power));
    let (report, timeout) = timeouts.find_map(play_once).expect("a report");
    assert_eq!(
        report.lost[0].reasons,
        [format!("did not answer for {}", humantime::format_duration(timeout))]
    );
    // An answer that a busy machine brings too late is none.
    let answered = answered(&report, "get") + answered(&report, "put");
    assert!(report.lost[0].connections == 4 && (1..=100).contains(&answered), "{answered}");
}

#[test]
fn a_server_that_is_not_there_or_speaks_something_else_is_an_error_before_anything() {
    let nobody = format!("127.0.0.1:{}", tidemark_patience::port());
    let there = fake(|_| panic!("nothing is to be asked"));
    let error = |address: &str| {
        let plan = plan("ycsb-a", &[&there, address], Limit::Operations(1));
        run(&plan, &Stop::default(), &mut |_| {}).unwrap_err().to_string()
    };
    let refused = error(&nobody);
    assert!(refused.contains(&format!("region b: {nobody} cannot be reached")), "{refused}");
    assert!(refused.contains("is a server running there?"), "{refused}");
    assert!(error("no-such-host.invalid:1").contains("cannot be reached"));
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = web.local_addr().unwrap().to_string();
    thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = web.accept().unwrap();
        _ = stream.read(&mut [0; 100]);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    assert!(error(&address).contains("does not speak the Redis protocol"));
}

#[test]
fn it_can_be_stopped_early() {
    let server = fake(usual);
    let plan = plan("ycsb-a", &[&server], Limit::Time(Duration::from_secs(600)));
    let (stop, mut ticks) = (Stop::default(), 0);
    let report = run(&plan, &stop.clone(), &mut |tick| {
        ticks += 1;
        if tick.operations > 100 {
            stop.ask();
        }
    });
    let report = report.unwrap();
    assert!(report.stopped && ticks > 0 && report.is_whole());
    assert!(report.text().contains("stopped early"));
    assert!(answered(&report, "get") > 0);
}

/// Every session brings a token of where it was last, and who is turned away brings it again.
#[test]
fn who_goes_elsewhere_brings_its_session_and_stays_where_it_was_if_that_is_refused() {
    let told = Arc::new(Mutex::new(Vec::<String>::new()));
    let region = |name: &'static str, refuses: u64| {
        let told = Arc::clone(&told);
        fake(move |ask: &Ask| match ask.words.join(" ").strip_prefix("TIDE.SESSION ") {
            None => usual(ask),
            Some("EXPORT") => Do::Answer(format!("$1\r\n{name}\r\n")),
            Some(import) => {
                told.lock().unwrap().push(format!("{name}: {import}"));
                let refused = ask.number.is_multiple_of(refuses);
                Do::Answer(if refused { "-STALESESSION behind\r\n" } else { "+OK\r\n" }.into())
            }
        })
    };
    let (a, b) = (region("a", u64::MAX), region("b", 3));
    let mut plan = plan("ycsb-a", &[&a, &b], Limit::Operations(200));
    plan.workload.set("remote", "0.5").unwrap();
    (plan.connections, plan.threads) = (2, 1);
    let report = play(&plan);
    let refused = report.summary.failed["STALESESSION"];
    assert!(refused > 5 && report.summary.failed.len() == 1, "{:?}", report.summary.failed);
    assert_eq!(answered(&report, "get") + answered(&report, "put") + refused, 200);
    let told = told.lock().unwrap();
    let count = |line: &str| told.iter().filter(|told| *told == line).count();
    assert_eq!(count("a: IMPORT b") + count("b: IMPORT a"), told.len(), "{told:?}");
    // Of those that were turned away some try again, and nobody comes back who was not let in.
    assert!(count("b: IMPORT a") > count("a: IMPORT b"), "{told:?}");
}
