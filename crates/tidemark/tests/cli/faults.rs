//! Regions are cut off, slowed, killed and restarted from another terminal, while clients go on.

use crate::harness::{Up, eventually, has, said};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tidemark_patience::until;

/// A little less than the time by which a clock is put ahead.
const AHEAD: Duration = Duration::from_millis(850); // time: a server waits until its own clock is there

#[test]
fn regions_that_are_cut_off_go_on_and_catch_up() {
    if !has("redis-cli") {
        return;
    }
    let dir = TempDir::new().unwrap();
    Up::start_in(dir.path(), &[]).stop();
    // The third region is a witness here, and brings nothing over.
    let file = dir.path().join("cluster.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "[limits]\nrelay_after = \"0s\"\n").unwrap();
    let up = Up::start_in(dir.path(), &[]);
    up.redis("a", &["SET", "x", "before"]);
    eventually("before".into(), || up.redis("b", &["GET", "x"]));
    let told = up.order(&["cut", "a", "b"]);
    assert!(told.contains("A → B: cut") && told.contains("B → A: cut"), "{told}");
    assert_eq!(up.redis("a", &["SET", "x", "during"]), "OK");
    assert_eq!(up.redis("b", &["SET", "y", "during"]), "OK");
    for key in ["x", "y"] {
        eventually("during".into(), || up.redis("c", &["GET", key]));
    }
    assert_eq!(up.redis("b", &["GET", "x"]), "before");
    assert_eq!(up.redis("a", &["GET", "y"]), "");
    assert!(up.order(&["status"]).contains("A → B: cut"));
    assert!(up.order(&["heal"]).contains("all links are whole"));
    eventually("during".into(), || up.redis("b", &["GET", "x"]));
    eventually("during".into(), || up.redis("a", &["GET", "y"]));
    up.stop();
}

#[test]
fn a_one_way_cut_is_one_way() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2", "--protocol", "eventual"]);
    up.order(&["cut", "b", "a", "--one-way"]);
    up.redis("b", &["SET", "from-b", "1"]);
    for n in ["1", "2"] {
        up.redis("a", &["SET", "from-a", n]);
        eventually(n.into(), || up.redis("b", &["GET", "from-a"]));
    }
    assert_eq!(up.redis("a", &["GET", "from-b"]), "");
    up.order(&["heal", "b", "a"]);
    eventually("1".into(), || up.redis("a", &["GET", "from-b"]));
    up.stop();
}

#[test]
fn a_cut_between_two_servers_leaves_the_other_partitions_alone() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2", "--protocol", "eventual"]);
    // `bar` is in the first half of the slots, `foo` in the second.
    up.order(&["cut", "a/0", "b/0"]);
    up.redis("a", &["SET", "bar", "1"]);
    for n in ["1", "2"] {
        up.redis("a", &["SET", "foo", n]);
        eventually(n.into(), || up.redis("b", &["GET", "foo"]));
    }
    assert_eq!(up.redis("b", &["GET", "bar"]), "");
    up.order(&["heal", "a", "b"]);
    eventually("1".into(), || up.redis("b", &["GET", "bar"]));
    up.stop();
}

#[test]
fn a_killed_region_loses_nothing_it_acknowledged() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2"]);
    up.order(&["cut", "b", "a", "--one-way"]);
    for n in 0..20 {
        assert_eq!(up.redis("b", &["SET", &format!("key{n}"), &n.to_string()]), "OK");
    }
    up.order(&["kill", "b"]);
    assert_eq!(up.node("b")["state"], "killed");
    assert_eq!(up.redis("a", &["SET", "meanwhile", "yes"]), "OK", "the other region goes on");
    let again = up.tidemark(&["kill", "b"]);
    assert!(said(&again).contains("does not run"), "{}", said(&again));
    up.order(&["restart", "b"]);
    for n in 0..20 {
        assert_eq!(up.redis("b", &["GET", &format!("key{n}")]), n.to_string());
    }
    eventually("yes".into(), || up.redis("b", &["GET", "meanwhile"]));
    // Now nobody is left who was told of the cut when it was made.
    up.order(&["restart", "a"]);
    assert_eq!(up.redis("a", &["SET", "after", "yes"]), "OK");
    eventually("yes".into(), || up.redis("b", &["GET", "after"]));
    assert_eq!(up.redis("a", &["GET", "key0"]), "", "restarted nodes know of the cut");
    up.order(&["heal"]);
    eventually("19".into(), || up.redis("a", &["GET", "key19"]));
    up.stop();
}

/// The log of a node says so when faults change.
const ORDERED: &str = "ordered by the operator";

/// The supervisor told a restarted node of its faults when it served. By then it had connected to others, and what it sent
/// was neither cut nor late.
#[test]
fn a_restarted_node_has_its_faults_before_it_serves() {
    let up = Up::start(&["--regions", "2"]);
    up.order(&["cut", "a", "b"]);
    up.order(&["slow", "a", "b", "--by", "1s"]);
    up.order(&["slow", "a", "--by", "1s"]);
    up.order(&["skew", "a", "--by", "5s"]);
    let before = up.node("a")["detail"].clone();
    up.order(&["restart", "a"]);
    let after = up.node("a")["detail"].clone();
    for what in ["faults", "late_us", "clock_ahead_us"] {
        assert_eq!(after[what], before[what], "{what}");
    }
    let log = std::fs::read_to_string(up.dir.join("a.log")).unwrap();
    let lines = log.lines().map(|line| match line {
        line if line.contains("ready: node a") => "ready",
        line if line.contains(ORDERED) => "faults",
        _ => "",
    });
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    // Each order changes what holds, once.
    assert_eq!(lines, ["ready", "faults", "faults", "faults", "faults", "faults", "ready"], "{log}");
    up.stop();
}

#[test]
fn a_slow_link_is_slow_until_it_is_healed() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2"]);
    up.order(&["slow", "a", "b", "--by", "700ms"]);
    let began = Instant::now();
    up.redis("a", &["SET", "x", "1"]);
    eventually("1".into(), || up.redis("b", &["GET", "x"]));
    assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed()); // time: it is late
    let told = up.order(&["slow", "a", "b", "--by", "0s"]);
    assert!(told.contains("all links are whole"), "{told}");
    up.stop();
}

#[test]
fn a_slow_node_answers_its_siblings_late() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "1", "--nodes", "2"]);
    // `bar` is in the first half of the slots, `foo` in the second.
    let lasts = |key: &str| {
        assert_eq!(up.redis("a-1", &["SET", key, "1"]), "OK");
        let began = Instant::now();
        assert_eq!(up.redis("a-1", &["GET", key]), "1");
        began.elapsed()
    };
    let told = up.order(&["slow", "a-2", "--by", "700ms"]);
    assert!(told.contains("a-2: speaks 700 ms late"), "{told}");
    assert!(up.order(&["status"]).contains("a-2: speaks 700 ms late"));
    let late = Duration::from_millis(700);
    assert!(lasts("foo") >= late, "what a-2 holds comes late");
    // On a busy machine anything may be late once, but not each time.
    until("what a-1 holds itself is not late", || lasts("bar") < late); // time: one quick look in two minutes is enough
    up.order(&["restart", "a-2"]);
    assert!(lasts("foo") >= late, "a restarted node is told again");
    up.order(&["heal"]);
    until("nothing is late", || lasts("foo") < late); // time: one quick look in two minutes is enough
    up.stop();
}

#[test]
fn a_clock_that_is_ahead_makes_gentlerain_wait_and_hybrid_clocks_do_not() {
    if !has("redis-cli") {
        return;
    }
    for (protocol, waits) in [("gentlerain", true), ("causal-spartan-x", false)] {
        let up = Up::start(&["--regions", "1", "--nodes", "2", "--protocol", protocol]);
        let told = up.order(&["skew", "a-2", "--by", "900ms"]);
        assert!(told.contains("a-2: its clock was put ahead by 900 ms"), "{told}");
        // One session writes where the clock is ahead, then where it is not.
        let waited = || {
            let began = Instant::now();
            let mut session = TcpStream::connect(("127.0.0.1", up.port("a-1"))).unwrap();
            session.write_all(b"SET foo 1\r\nSET bar 1\r\n").unwrap();
            let mut answers = [0; 10];
            session.read_exact(&mut answers).unwrap();
            assert_eq!(&answers, b"+OK\r\n+OK\r\n");
            began.elapsed() >= AHEAD
        };
        match waits {
            true => assert!(waited(), "{protocol} does not wait"),
            false => until("it does not wait", || !waited()),
        }
        let told = up.order(&["skew", "a", "--by=-2s"]);
        assert!(told.contains("a-1: its clock was put back by 2000 ms"), "{told}");
        assert!(up.order(&["heal"]).contains("all clocks right"));
        up.redis("a-2", &["SET", "foo", "2"]);
        assert_eq!(up.redis("a-1", &["GET", "foo"]), "2", "clocks that were put right serve");
        up.stop();
    }
}

#[test]
fn what_cannot_be_done_is_explained() {
    let up = Up::start(&["--regions", "2"]);
    for (args, words) in [
        (&["cut", "a", "x"][..], "there is no region \"x\"; the regions are a, b"),
        (&["cut", "a", "a"], "in one region"),
        (&["cut", "a/0", "b"], "two regions, or two servers"),
        (&["cut", "a/7", "b/7"], "numbered 0 to 1"),
        (&["slow", "a/0", "b/0", "--by", "1ms"], "only whole regions"),
        (&["slow", "x", "--by", "1ms"], "there is no region \"x\""),
        (&["skew", "x", "--by", "1ms"], "there is no region \"x\""),
        (&["skew", "a", "--by=-2h"], "an hour is the most"),
        (&["kill", "nobody"], "there is no region \"nobody\""),
    ] {
        let output = up.tidemark(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
    let usage = up.tidemark(&["slow", "a", "b", "--by", "fast"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(said(&usage).contains("5ms"), "{}", said(&usage));
    let usage = up.tidemark(&["skew", "a", "--by", "-fast"]);
    assert_eq!(usage.status.code(), Some(2));
    up.stop();
}
