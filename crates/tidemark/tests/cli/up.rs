//! A cluster comes up, serves, and goes without a trace.

use crate::harness::{Up, eventually, has, redis, runs, said, tidemark};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use tempfile::TempDir;

#[test]
fn a_write_in_one_region_arrives_in_the_others() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&[]);
    assert!(up.said().contains("3 regions, 2 partitions each"), "{}", up.said());
    assert!(up.said().contains(&format!("redis-cli -p {}", up.port("b"))), "{}", up.said());
    assert_eq!(up.redis("a", &["SET", "fruit", "plum"]), "OK");
    assert_eq!(up.redis("a", &["GET", "fruit"]), "plum", "its own region sees it at once");
    eventually("plum".into(), || up.redis("b", &["GET", "fruit"]));
    eventually("plum".into(), || up.redis("c", &["GET", "fruit"]));
    up.stop();
}

#[test]
fn keys_may_be_held_by_some_regions_only_and_groups_be_chosen() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--place", "eu:=b,c", "--protocol", "accf", "--param", "checking=system"]);
    assert_eq!(up.redis("a", &["SET", "eu:fruit", "plum"]), "OK");
    assert_eq!(up.redis("a", &["TIDE.CHECKING", "system"]), "OK");
    for region in ["a", "b", "c"] {
        eventually("plum".into(), || up.redis(region, &["GET", "eu:fruit"]));
    }
    let keys = |region: &str| {
        let partitions = up.node(region)["detail"]["host"]["partitions"].clone();
        partitions
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|partition| partition["keys"].as_u64())
            .sum::<u64>()
    };
    assert_eq!(["a", "b", "c"].map(keys), [0, 1, 1]);
    up.stop();
}

#[test]
fn connections_may_be_one_session() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "1", "--session-scope", "client-name"]);
    let scope = up.redis("a", &["CONFIG", "GET", "tidemark-session-scope"]);
    assert_eq!(scope, "tidemark-session-scope\nclient-name");
    up.stop();
    let refused = tidemark(&["up", "--protocol", "eventual", "--session-scope", "gateway"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("sessions of eventual remember nothing"), "{}", said(&refused));
}

#[test]
fn groups_come_and_go_and_versions_are_tracked_in_another_way() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2", "--protocol", "accf", "--param", "drain=200ms"]);
    let groups = || up.order(&["groups"]);
    let line = |name: &str| {
        let (all, name) = (groups(), format!("{name} "));
        all.lines()
            .find(|line| line.starts_with(&name))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert!(groups().starts_with("dependencies are tracked by region"), "{}", groups());
    assert_eq!(line("A").as_deref(), Some("A A/0 A/1 active 0"));
    let done = up.order(&["groups", "add", "shop", "a/0", "b/*"]);
    assert!(done.starts_with("shop is used as soon as"), "{done}");
    eventually(Some("shop A/0 B/0 B/1 active 0 added".into()), || line("shop"));
    eventually("OK".into(), || up.redis("b", &["TIDE.CHECKING", "shop", "SET", "fruit", "plum"]));
    let json: serde_json::Value = serde_json::from_str(&up.order(&["groups", "--json"])).expect("JSON");
    assert_eq!(json["checking"][2]["name"], "shop");
    assert!(json["checking"][2]["asked"].as_u64() > Some(0), "{json}");
    up.order(&["groups", "track", "west=a/*", "b=b/*"]);
    eventually(true, || groups().starts_with("dependencies are tracked by b: B/*; west: A/*\n"));
    eventually("plum".into(), || up.redis("a", &["GET", "fruit"]));
    up.order(&["groups", "remove", "shop"]);
    eventually(None, || line("shop"));
    for (change, why) in [
        (&["groups", "remove", "shop"][..], "no checking group is called shop"),
        (&["groups", "add", "shop", "z/0"], "z/0: there is no such region"),
        (&["groups", "track", "sideways"], "\"sideways\" is no way to track: write server, partition,"),
        (&["groups", "track", "x=a/0", "y=a/*"], "A/0 belongs to x and to y: choose one"),
    ] {
        let refused = said(&up.tidemark(change));
        assert!(refused.contains(why), "{refused}");
    }
    up.stop();
}

#[test]
fn status_tells_how_every_node_is() {
    let up = Up::start(&["--regions", "2", "--protocol", "eventual", "--latency", "nukv"]);
    let status = up.status();
    assert_eq!(status["protocol"], "eventual");
    assert_eq!(status["dir"].as_str(), up.dir.canonicalize().unwrap().to_str());
    let phoenix = up.node("phoenix");
    assert_eq!((phoenix["letter"].as_str(), phoenix["state"].as_str()), (Some("A"), Some("running")));
    assert_eq!(phoenix["detail"]["links"][0]["delay_us"], 7_500, "half of 15 ms: {phoenix}");
    let text = up.order(&["status"]);
    assert!(text.contains("B salt-lake-city") && text.contains("running"), "{text}");
    up.stop();
}

#[test]
fn children_die_with_a_supervisor_that_is_killed() {
    let mut up = Up::start(&["--regions", "2"]);
    let pids = up.pids();
    assert_eq!(pids.len(), 2);
    up.process.kill().unwrap();
    up.process.wait().unwrap();
    for pid in pids {
        eventually(false, || runs(pid));
    }
    // What it left behind does not count as a cluster any more.
    let status = up.tidemark(&["status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(said(&status).contains("no cluster runs"), "{}", said(&status));
}

#[test]
fn a_directory_keeps_the_data_and_is_used_as_it_is() {
    if !has("redis-cli") {
        return;
    }
    let dir = TempDir::new().unwrap();
    let up = Up::start_in(dir.path(), &["--regions", "2", "--partitions", "3"]);
    for n in 0..50 {
        assert_eq!(up.redis("a", &["SET", &format!("key{n}"), &n.to_string()]), "OK");
    }
    up.stop();
    let up = Up::start_in(dir.path(), &[]);
    for n in 0..50 {
        assert_eq!(up.redis("a", &["GET", &format!("key{n}")]), n.to_string());
    }
    up.stop();
    let path = dir.path().to_str().unwrap();
    let other = tidemark(&["up", "--dir", path, "--regions", "4"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(said(&other).contains("describes another cluster"), "{}", said(&other));
}

#[test]
fn without_a_directory_nothing_is_left() {
    let temporary = TempDir::new().unwrap();
    let up = Up::spawn(temporary.path(), &["up", "--regions", "1", "--base-port", "0"]);
    up.wait_for("\nready\n");
    let said = up.said();
    let dir = said.lines().find_map(|line| line.strip_prefix("Directory ")).unwrap();
    let dir = std::path::Path::new(dir.split(',').next().unwrap()).to_path_buf();
    assert!(dir.join("cluster.toml").exists());
    up.stop();
    assert!(!dir.exists());
}

#[test]
fn a_second_cluster_in_the_same_place_is_refused() {
    let up = Up::start(&["--regions", "1"]);
    let second = up.tidemark(&["up", "--dir", up.dir.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).contains("runs in") && said(&second).contains("--dir"), "{}", said(&second));
    let port = up.port("a").to_string();
    let clash = up.tidemark(&["up", "--base-port", &port]);
    let words = said(&clash);
    let dir = up.dir.canonicalize().unwrap();
    assert_eq!(clash.status.code(), Some(1));
    assert!(words.contains(&format!("127.0.0.1:{port}")) && words.contains("--base-port"), "{words}");
    assert!(words.contains(&format!("by the cluster in {}", dir.display())), "{words}");
    up.stop();
}

#[test]
fn a_port_that_another_program_holds_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let up = tidemark(&["up", "--regions", "1", "--base-port", &port.to_string()]);
    assert_eq!(up.status.code(), Some(1));
    assert!(
        said(&up).contains(&format!("127.0.0.1:{port}, for Redis clients of a, is in use;")),
        "{}",
        said(&up)
    );
}

#[test]
fn of_several_clusters_one_has_to_be_named() {
    let [first, second] = Up::two(&["--regions", "1"]);
    let unclear = first.tidemark(&["status"]);
    assert_eq!(unclear.status.code(), Some(1));
    let (one, two) = (first.dir.canonicalize().unwrap(), second.dir.canonicalize().unwrap());
    for dir in [&one, &two] {
        assert!(said(&unclear).contains(&format!("--dir {}", dir.display())), "{}", said(&unclear));
        let status = first.order(&["status", "--dir", dir.to_str().unwrap()]);
        assert!(status.contains(&dir.display().to_string()), "{status}");
    }
    let nowhere = TempDir::new().unwrap();
    let nowhere = first.tidemark(&["status", "--dir", nowhere.path().to_str().unwrap()]);
    assert!(said(&nowhere).contains("no cluster runs in"), "{}", said(&nowhere));
    second.stop();
    first.stop();
}

#[test]
fn a_child_that_dies_is_reported_and_not_restarted() {
    let up = Up::start(&["--regions", "2"]);
    let pid = up.node("b")["pid"].as_u64().unwrap();
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    up.wait_for("b died: killed by SIGKILL; `tidemark restart b` starts it again");
    assert_eq!(up.node("b")["state"], "died: killed by SIGKILL");
    assert_eq!(up.node("a")["state"], "running");
    up.order(&["restart", "b"]);
    assert_eq!(up.node("b")["state"], "running");
    up.stop();
}

#[test]
fn signals_end_it_while_clients_are_connected() {
    if !has("redis-cli") {
        return;
    }
    for signal in ["-TERM", "-HUP"] {
        let mut up = Up::start(&["--regions", "1"]);
        let (pids, port) = (up.pids(), up.port("a"));
        assert_eq!(redis(port, &["PING"]), "PONG");
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        up.signal(signal);
        assert!(up.process.wait().unwrap().success());
        assert!(pids.into_iter().all(|pid| !runs(pid)));
        drop(client);
    }
}
