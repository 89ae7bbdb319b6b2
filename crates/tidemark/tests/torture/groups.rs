//! Partitions in groups: their leaders are killed at random while clients use them, and nothing that was acknowledged is
//! lost, nothing that anybody saw breaks the promise, and what a client notices is a pause.

use crate::every::{each_protocol, endure};
use crate::harness::admin::status;
use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Node, wait_for};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tidemark_patience::until;

/// Two regions of two partitions, three processes each.
const GROUPS: &[&str] = &["--regions", "2", "--replicas", "3"];

/// The node that serves the first partition of a region.
fn leader(cluster: &Up, region: &str) -> usize {
    wait_for("a leader", || {
        let status = cluster.status();
        let leads = |node: &Value| node["letter"] == region && node["detail"]["group"]["role"] == "leader";
        status["nodes"].as_array().expect("a list").iter().position(leads)
    })
}

/// Somebody who writes through one node all the time, and remembers when that worked.
struct Probe {
    node: SocketAddr,
    acknowledged: Arc<Mutex<Vec<Instant>>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Probe {
    fn start(node: SocketAddr) -> Self {
        let (acknowledged, stop) =
            (Arc::new(Mutex::new(vec![Instant::now()])), Arc::new(AtomicBool::new(false)));
        let (notes, stopping) = (Arc::clone(&acknowledged), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut client = Client::connect(node).expect("it runs");
            while !stopping.load(Ordering::Relaxed) {
                match client.call(&["SET", "probe", "x"]) {
                    Ok(reply) if reply.error().is_none() => {
                        notes.lock().expect("no panic here").push(Instant::now());
                    }
                    Ok(_) => {}
                    // Who leads no more ends its connections.
                    Err(_) => client = Client::connect(node).expect("it runs"),
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { node, acknowledged, stop, thread }
    }

    /// Waits until it has written once more.
    fn goes_on(&self) {
        let count = || self.acknowledged.lock().expect("no panic here").len();
        let before = count();
        until("it writes", || count() > before);
    }

    /// How long nothing worked, at most.
    fn end(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the connection of a node that runs stands");
        let deleted = || Client::connect(self.node).ok()?.call(&["DEL", "probe"]).ok()?.integer();
        wait_for("the key is deleted that nobody else knows", deleted);
        let times = self.acknowledged.lock().expect("no panic here");
        times.windows(2).map(|two| two[1] - two[0]).max().unwrap_or_default()
    }
}

/// Kills the leader of a region, and starts it again. Returns for how long a client of another node could not write.
fn kill_the_leader(cluster: &Up, region: &str) -> Duration {
    let lead = leader(cluster, region);
    let others =
        || cluster.nodes().iter().enumerate().filter(|(at, node)| node.region == region && *at != lead);
    let probe = Probe::start(others().next().expect("there are three").1.redis);
    probe.goes_on();
    let said = cluster.verb(&["kill", &format!("{region}/0")]);
    assert!(said.contains(&cluster.nodes()[lead].name), "another node was killed: {said}");
    wait_for("another leads", || (leader(cluster, region) != lead).then_some(()));
    probe.goes_on();
    let paused = probe.end();
    cluster.restart(lead);
    paused
}

/// Stops the leader of a region as an operator would, and starts it again. Returns for how long a client of another node could
/// not write.
fn restart_the_leader(cluster: &Up, region: &str) -> Duration {
    let lead = leader(cluster, region);
    let other = cluster.nodes().iter().enumerate().find(|(at, node)| node.region == region && *at != lead);
    let probe = Probe::start(other.expect("there are three").1.redis);
    probe.goes_on();
    cluster.restart(lead);
    probe.goes_on();
    probe.end()
}

/// Stops the leader of a region as it stands, until another leads, and lets it go on: it still believes that it leads.
fn pause_the_leader(cluster: &Up, region: &str) {
    while_the_leader_sleeps(cluster, region, |_| {
        std::thread::sleep(Duration::from_millis(fastrand::u64(0..400)));
    });
}

fn process(cluster: &Up, node: usize) -> String {
    cluster.processes()[node].clone().expect("it runs").expect("it runs").to_string()
}

/// Sends a signal past the supervisor, which would wait for what it is doing.
fn signal(name: &str, pid: &str) {
    let sent = std::process::Command::new("kill").args([name, pid]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill {name} {pid}");
}

/// Stops the leader of a region as it stands, until another leads, and does something with that one.
fn while_the_leader_sleeps(cluster: &Up, region: &str, act: impl FnOnce(&Node)) {
    let lead = leader(cluster, region);
    let pid = process(cluster, lead);
    signal("-STOP", &pid);
    let others: Vec<&Node> = cluster.nodes().iter().filter(|node| node.region == region).collect();
    let others = others.into_iter().filter(|node| node.name != cluster.nodes()[lead].name);
    let others: Vec<&Node> = others.collect();
    let next = wait_for("another leads", || {
        let leads = |node: &&&Node| status(node).is_some_and(|status| status["group"]["role"] == "leader");
        others.iter().find(leads).copied()
    });
    act(next);
    signal("-CONT", &pid);
}

/// The election timeout, by default.
const ELECTION_MS: u64 = 1_000;

fn told(pauses: &[Duration]) -> String {
    let in_ms: Vec<String> = pauses.iter().map(|pause| pause.as_millis().to_string()).collect();
    format!("{} ms; the election timeout is {} ms", in_ms.join(", "), ELECTION_MS)
}

#[test]
fn every_protocol_outlives_its_leaders() {
    let rounds = crate::spread::number("TORTURE_ROUNDS").unwrap_or(2);
    each_protocol(|protocol| {
        endure(protocol, &format!("groups-{}", protocol.name), GROUPS, |cluster| {
            let regions = ["A", "B"].into_iter().cycle().take(rounds as usize);
            let pauses: Vec<Duration> = regions.map(|region| kill_the_leader(cluster, region)).collect();
            println!("{}: clients waited {}", protocol.name, told(&pauses));
        });
    });
}

/// `TORTURE_ROUNDS` leaders are killed one after the other, while regions lose each other now and then, and leaders sleep and
/// wake up again; in the middle a node loses its disk, and is taken out of its group and back in.
#[test]
fn groups_go_on_while_their_leaders_are_killed_and_members_replaced() {
    let causal = crate::every::registered().into_iter().find(|protocol| protocol.name == "tidemark");
    let rounds = crate::spread::number("TORTURE_ROUNDS").unwrap_or(6);
    let _turn = crate::harness::alone();
    endure(&causal.expect("it is registered"), "groups", GROUPS, |cluster| {
        let (mut pauses, mut handed_over) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let region = if fastrand::bool() { "A" } else { "B" };
            if round % 3 == 1 {
                cluster.cut("A", "B", fastrand::bool());
            }
            if round % 3 == 2 {
                pause_the_leader(cluster, region);
            }
            pauses.push(kill_the_leader(cluster, region));
            handed_over.push(restart_the_leader(cluster, region));
            cluster.heal();
            if round == rounds / 2 {
                let follower = (leader(cluster, region) + 1) % 3 + if region == "B" { 3 } else { 0 };
                let name = cluster.nodes()[follower].name.clone();
                let said = cluster.verb(&["replace", &name]);
                assert!(said.contains("has everything again"), "{said}");
                cluster.verb(&["remove", &name]);
                assert_eq!(members(cluster, region), 2);
                cluster.verb(&["replace", &name]);
                assert_eq!(members(cluster, region), 3);
            }
        }
        println!("clients waited {}", told(&pauses));
        println!("for leaders that were stopped, {}", told(&handed_over));
    });
}

/// A member gets a copy of everything; it sleeps on the way, it dies on the way, and so does who sends it.
#[test]
fn a_copy_that_is_interrupted_is_sent_again() {
    let _turn = crate::harness::alone();
    let scratch = crate::harness::Scratch::new("groups-copies");
    let flags = ["--regions", "1", "--partitions", "1", "--replicas", "3"];
    let cluster = Up::start(&scratch, &flags);
    let lead = leader(&cluster, "A");
    let mut client = Client::connect(cluster.nodes()[lead].redis).expect("it serves");
    let value = "v".repeat(100_000);
    for key in 0..1_000 {
        assert_eq!(text(&client.ask(&["SET", &format!("k{key}"), &value])), "OK");
    }
    let lost = (lead + 1) % 3;
    let name = cluster.nodes()[lost].name.clone();
    let copies = |node: usize| {
        let log = std::fs::read_to_string(&cluster.nodes()[node].log).unwrap_or_default();
        log.matches(&format!("node {name} gets a copy of everything")).count()
    };
    let before = process(&cluster, lost);
    std::thread::scope(|scope| {
        let replaced = scope.spawn(|| cluster.verb(&["replace", &name]));
        // Once it runs and takes in its copy, it answers nothing for longer than anybody waits for one answer.
        let pid = wait_for("it runs again", || {
            let status = cluster.status();
            let pid = status["nodes"][lost]["pid"].to_string();
            (pid != before && status["nodes"][lost]["state"] == "running").then_some(pid)
        });
        signal("-STOP", &pid);
        std::thread::sleep(Duration::from_secs(12));
        signal("-CONT", &pid);
        assert!(replaced.join().expect("it is waited for").contains("has everything again"));
    });
    // A copy that has ended before its receiver dies was not interrupted: then there is another.
    let before = loop {
        let before = copies(lead);
        let replaced = std::thread::scope(|scope| {
            let replaced = scope.spawn(|| cluster.verb(&["replace", &name]));
            wait_for("a copy is on its way", || (copies(lead) > before).then_some(()));
            signal("-KILL", &process(&cluster, lost));
            replaced.join()
        });
        cluster.restart(lost);
        if let Err(failed) = replaced {
            let why = failed.downcast_ref::<String>().expect("what it said");
            assert!(why.contains(&format!("{name} has ended while it was brought up to date")), "{why}");
            break before;
        }
    };
    wait_for("it is sent again", || (copies(lead) > before + 1).then_some(()));
    signal("-KILL", &process(&cluster, lead));
    // Only two vote as long as the third has nothing.
    cluster.restart(lead);
    wait_for("it has everything", || {
        let status = cluster.status();
        let node = &status["nodes"][lost]["detail"];
        // Who has its copy before the leader dies may be elected.
        let votes = node["group"]["role"] == "follower" || node["group"]["role"] == "leader";
        (votes && node["host"]["partitions"][0]["keys"] == 1_000).then_some(())
    });
    // It counts: with it, the group goes on without who sent it everything.
    cluster.kill(lead);
    let mut client = Client::connect(cluster.nodes()[lost].redis).expect("it runs");
    wait_for("two of three agree", || {
        let reply = client.call(&["GET", "k999"]).ok()?;
        (reply.bytes()?.len() == value.len()).then_some(())
    });
}

/// A leader that sleeps keeps its connections, and believes that it is fed; who leads after it is fed all the same, and still is
/// when the first one has woken up and gone.
#[test]
fn who_leads_after_a_sleeper_is_fed() {
    let _turn = crate::harness::alone();
    let scratch = crate::harness::Scratch::new("groups-sleeper");
    let cluster = Up::start(&scratch, &["--regions", "2", "--partitions", "1", "--replicas", "3"]);
    leader(&cluster, "B");
    let mut near = Client::connect(cluster.nodes()[leader(&cluster, "A")].redis).expect("it serves");
    let mut number = 0;
    let mut arrives = |node: &Node| {
        number += 1;
        let value = number.to_string();
        // Its own leader may change on a busy machine, too.
        wait_for("it is written", || (text(&near.ask(&["SET", "k", &value])) == "OK").then_some(()));
        wait_for("what is written in A arrives in B", || {
            let reply = Client::connect(node.redis).ok()?.call(&["GET", "k"]).ok()?;
            reply.bytes().is_some_and(|bytes| bytes == value.as_bytes()).then_some(())
        });
    };
    for _ in 0..3 {
        while_the_leader_sleeps(&cluster, "B", |next| (0..20).for_each(|_| arrives(next)));
        wait_for("one leads", || {
            let leads = |node: &&Node| status(node).is_some_and(|status| status["group"]["role"] == "leader");
            (cluster.nodes()[3..].iter().filter(leads).count() == 1).then_some(())
        });
        arrives(&cluster.nodes()[leader(&cluster, "B")]);
    }
    for node in cluster.nodes() {
        let log = std::fs::read_to_string(&node.log).unwrap_or_default();
        assert!(!log.contains("is asked for again"), "something was given to the sleeper: {log}");
    }
}

/// How many nodes vote in the group of a region.
fn members(cluster: &Up, region: &str) -> usize {
    let status = cluster.status();
    let leader = &status["nodes"][leader(cluster, region)];
    leader["detail"]["group"]["voters"].as_array().expect("a list").len()
}

/// One of three is not enough: it serves nothing that it could not have agreed on, and says so in time.
#[test]
fn a_group_without_a_majority_refuses_in_time_and_goes_on_when_it_has_one() {
    let _turn = crate::harness::alone();
    let scratch = crate::harness::Scratch::new("groups-minority");
    let cluster = Up::start(&scratch, &["--regions", "1", "--partitions", "1", "--replicas", "3"]);
    let lead = leader(&cluster, "A");
    let mut client = Client::connect(cluster.nodes()[lead].redis).expect("it serves");
    wait_for("it is written", || (text(&client.ask(&["SET", "k", "1"])) == "OK").then_some(()));
    let others: Vec<usize> = (0..3).filter(|node| *node != lead).collect();
    others.iter().for_each(|node| cluster.kill(*node));
    // It may answer from its lease for a moment; then it waits for the others, in vain.
    until("it answers no more, since another may lead", || {
        client.call(&["GET", "k"]).map_or(true, |reply| reply.error().is_some())
    });
    let mut client = Client::connect(cluster.nodes()[lead].redis).expect("it runs");
    let refused = client.ask(&["SET", "k", "2"]);
    assert!(refused.error().is_some_and(|error| error.starts_with(b"UNAVAILABLE")), "{refused:?}");
    cluster.restart(others[0]);
    wait_for("two agree", || {
        let mut client = Client::connect(cluster.nodes()[others[0]].redis).ok()?;
        client.call(&["SET", "k", "3"]).ok()?.error().is_none().then_some(())
    });
    assert_eq!(text(&client.ask(&["GET", "k"])), "3");
}
