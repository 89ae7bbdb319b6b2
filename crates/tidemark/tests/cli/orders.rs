//! Orders of `tidemark up` reach each node that answers, whatever the others do; and its faults end with it.

use crate::harness::{Up, eventually, has, said};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use tempfile::TempDir;
use tidemark_patience::until;

/// A node's process that stands still, until it is let go on.
struct Stopped(String);

impl Stopped {
    fn stop(up: &Up, node: &str) -> Self {
        let pid = up.node(node)["pid"].to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-CONT", &self.0]).status();
    }
}

/// Where a node serves HTTP. It can be asked there while the supervisor stands still.
fn admin(up: &Up, node: &str) -> String {
    up.node(node)["admin"].as_str().unwrap().to_string()
}

/// Returns the answer of a node; null if it does not answer.
fn http(admin: &str, method: &str, path: &str, body: &Value) -> Value {
    let exchange = || {
        let mut stream = TcpStream::connect(admin)?;
        let body = body.to_string();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let answer = exchange().unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or_default()
}

/// The links that a node has cut.
fn cuts(admin: &str) -> Vec<String> {
    let status = http(admin, "GET", "/status", &Value::Null);
    let faults = status["faults"].as_array().cloned().unwrap_or_default();
    let cut = faults.iter().filter(|fault| fault["cut"] == true);
    cut.map(|fault| format!("{}{}", fault["from"], fault["to"]).replace('"', "")).collect()
}

/// The places of a node's findings of one code.
fn found(admin: &str, code: &str) -> Vec<String> {
    let health = http(admin, "GET", "/healthz", &Value::Null);
    let findings = health["findings"].as_array().cloned().unwrap_or_default();
    let of_code = findings.iter().filter(|finding| finding["code"] == code);
    of_code.filter_map(|finding| Some(finding["place"].as_str()?.to_string())).collect()
}

/// Nodes behind the first that did not answer were not told, and a heal that had failed was never told again.
#[test]
fn a_node_that_stands_still_keeps_no_order_from_the_others_and_is_told_later() {
    let up = Up::start(&["--regions", "2"]);
    let delay = |node: &str| up.node(node)["detail"]["links"][0]["delay_us"].clone();
    let stopped = Stopped::stop(&up, "a");
    let refused = up.tidemark(&["slow", "b", "a", "--by", "20s"]);
    assert!(!refused.status.success());
    let words = "a has not been told, and will be told once it answers";
    assert!(said(&refused).contains(words) && !said(&refused).contains("b has not"), "{}", said(&refused));
    let status: Value = serde_json::from_slice(&up.tidemark(&["status", "--json"]).stdout).unwrap();
    let b = status["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "b").unwrap();
    assert_eq!(b["detail"]["links"][0]["delay_us"], 20_000_000, "the other has been told: {b}");
    assert_eq!(status["untold"][0]["node"], "a");
    assert!(said(&up.tidemark(&["status"])).contains(words));
    until("the other one's health says so", || found(&admin(&up, "b"), "order_waits") == ["a"]);
    drop(stopped);
    until("it is told by itself", || delay("a") == 20_000_000);
    assert_eq!(up.status()["untold"], json!([]));
    until("its health says so no more", || found(&admin(&up, "b"), "order_waits").is_empty());

    let stopped = Stopped::stop(&up, "b");
    let refused = up.tidemark(&["heal"]);
    assert!(!refused.status.success() && said(&refused).contains(&words.replacen('a', "b", 1)));
    drop(stopped);
    until("all are healed", || delay("a") == 0 && delay("b") == 0);
    up.stop();
}

#[test]
fn what_is_wanted_outlives_the_supervisor() {
    let dir = TempDir::new().unwrap();
    let up = Up::start_in(dir.path(), &["--regions", "2"]);
    up.order(&["cut", "a", "b", "--one-way"]);
    up.order(&["skew", "b", "--by", "-20ms"]);
    up.stop();
    let up = Up::start_in(dir.path(), &[]);
    assert!(up.said().contains("Faults of the last run go on"), "{}", up.said());
    assert_eq!(cuts(&admin(&up, "a")), ["AB"]);
    assert_eq!(up.node("b")["detail"]["clock_ahead_us"], -20_000);
    assert!(up.order(&["heal"]).contains("all links are whole"));
    up.stop();
    let up = Up::start_in(dir.path(), &[]);
    assert!(!up.said().contains("Faults of the last run"), "{}", up.said());
    assert_eq!(cuts(&admin(&up, "a")), [""; 0]);
    up.stop();
}

/// Nobody could heal them otherwise.
#[test]
fn faults_end_when_the_supervisor_does_not_renew_them_and_those_that_were_posted_stay() {
    let up = Up::start(&["--regions", "3"]);
    let nodes = ["a", "b"].map(|node| admin(&up, node));
    up.order(&["cut", "a", "b", "--one-way"]);
    let posted = json!({"from": "B", "to": "C", "one_way": true});
    for node in &nodes {
        assert_eq!(http(node, "POST", "/admin/cut", &posted)["status"], "ok");
        assert_eq!(cuts(node), ["AB", "BC"]);
    }
    up.signal("-STOP");
    for node in &nodes {
        until("its faults end", || cuts(node) == ["BC"]);
        let status = http(node, "GET", "/status", &Value::Null);
        assert!(status["ordered"]["lapsed_since_us"].is_u64(), "{status}");
        until("its health says so", || found(node, "told_late").len() == 1);
    }
    up.signal("-CONT");
    for node in &nodes {
        until("it is told again", || cuts(node) == ["AB", "BC"]);
        until("its health says so no more", || found(node, "told_late").is_empty());
    }
    up.order(&["heal"]);
    assert_eq!(cuts(&nodes[0]), ["BC"], "`up` heals what it cut");
    up.stop();
}

#[test]
fn an_exclusion_waits_for_a_node_that_stands_still() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--protocol", "gentlerain"]);
    let stopped = Stopped::stop(&up, "b");
    let refused = up.tidemark(&["exclude", "c"]);
    let told = said(&refused);
    assert!(
        !refused.status.success() && told.contains("`exclude c` waits") && told.contains("node b"),
        "{told}"
    );
    assert!(said(&up.tidemark(&["status"])).contains("`exclude c` waits"));
    drop(stopped);
    up.wait_for("c is excluded;");
    up.order(&["kill", "c"]);
    up.redis("a", &["SET", "x", "1"]);
    eventually("1".into(), || up.redis("b", &["GET", "x"]));
    up.stop();
}
