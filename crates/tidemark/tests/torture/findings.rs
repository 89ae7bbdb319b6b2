//! What an operator is told of a fault: by every surface the same, and no longer than it lasts.

use crate::harness::admin::{http, settled, status};
use crate::harness::resp::{Client, text};
use crate::harness::up::Up;
use crate::harness::{Cluster, Node, Scratch, alone, wait_for};
use serde_json::Value;
use std::process::Command;

fn findings(node: &Node) -> Option<Vec<Value>> {
    status(node)?["findings"].as_array().cloned()
}

fn finding(node: &Node, code: &str, place: &str) -> Option<Value> {
    findings(node)?.into_iter().find(|finding| finding["code"] == code && finding["place"] == place)
}

fn logged(node: &Node, line: &str) -> usize {
    let log = std::fs::read_to_string(&node.log).expect("its log");
    log.lines().filter(|one| one.contains(line)).count()
}

fn info(node: &Node) -> String {
    let mut client = Client::connect(node.redis).expect("it serves");
    text(&client.ask(&["INFO", "tidemark"]))
}

/// Waits until a node has a finding, and sees to it that health, INFO, metrics and the log say the same.
pub(crate) fn told(node: &Node, code: &str, place: &str) -> Value {
    let what = format!("{} says {code} {place}", node.name);
    let found = wait_for(&what, || finding(node, code, place));
    let grade = found["grade"].as_str().expect("a word");
    let (number, body) = http(node.admin, "GET", "/healthz", "").expect("it answers");
    assert!(body.contains(code) && body.contains(place), "{body}");
    assert!(number == 503 || grade != "stuck", "{number} {body}");
    let (_, metrics) = http(node.admin, "GET", "/metrics", "").expect("it answers");
    let line = format!("tidemark_finding{{code=\"{code}\",place=\"{place}\"}} 1");
    assert!(metrics.contains(&line), "no {line}");
    let (info, line) = (info(node), format!("code={code},grade={grade},place={place},"));
    assert!(info.contains(&line), "no {line} in {info}");
    assert!(logged(node, &format!("finding: {code} {place}: ")) > 0, "{code} {place} is not in the log");
    found
}

/// Waits until a node has no finding of this code any more, and sees to it that nothing else says that it has.
pub(crate) fn over(node: &Node, code: &str) {
    let of_code = |all: Vec<Value>| all.iter().any(|finding| finding["code"] == code);
    wait_for(format!("{} says {code} no more", node.name), || {
        findings(node).filter(|all| !of_code(all.clone()))
    });
    let (_, body) = http(node.admin, "GET", "/healthz", "").expect("it answers");
    assert!(!body.contains(code), "{body}");
    let (_, metrics) = http(node.admin, "GET", "/metrics", "").expect("it answers");
    assert!(!metrics.contains(&format!("tidemark_finding{{code=\"{code}\"")));
    assert!(!info(node).contains(&format!("code={code},")));
    assert!(logged(node, &format!("finding ended: {code} ")) > 0);
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill {name} {pid}");
}

/// A region that is cut off, one that is dead, and one that is suspended: each is told while it lasts, and nothing after.
#[test]
fn a_region_that_confirms_nothing_is_named_with_the_cause() {
    let _turn = alone();
    let scratch = Scratch::new("findings-region");
    let up = Up::start(&scratch, &["--regions", "2", "--partitions", "1"]);
    let (a, b) = (&up.nodes()[0], &up.nodes()[1]);
    let mut client = Client::connect(a.redis).expect("it serves");
    let mut write = |value: &str| {
        wait_for("it is written", || client.ask(&["SET", "k", value]).error().is_none().then_some(()));
    };
    write("before");
    settled(&up, true);

    up.cut("a", "b", false);
    write("cut");
    for node in [a, b] {
        let finding = told(node, "no_link", "A/0->B/0");
        assert!(finding["waits_for"].as_str().is_some_and(|text| text.contains("cut")), "{finding}");
    }
    let shown = up.verb(&["status"]);
    let line = format!("{}: no_link (degraded) A/0->B/0, for ", a.name);
    assert!(shown.contains(&line) && shown.contains("Run `tidemark heal`"), "{shown}");
    up.heal();
    for node in [a, b] {
        over(node, "no_link");
    }

    let pid = up.processes()[1].clone().expect("it runs").expect("it runs");
    signal(pid, "-STOP");
    write("suspended");
    let finding = told(a, "feed_held", "A/0->B/0");
    let waits_for = finding["waits_for"].as_str().expect("words");
    assert!(waits_for.contains(&b.name) && waits_for.contains("does not say why"), "{finding}");
    signal(pid, "-CONT");
    over(a, "feed_held");

    up.kill(1);
    write("dead");
    let finding = told(a, "no_link", "A/0->B/0");
    assert!(finding["remedy"].as_str().is_some_and(|text| text.contains(&b.name)), "{finding}");
    up.restart(1);
    settled(&up, true);
    over(a, "no_link");
    for node in [a, b] {
        wait_for("nothing is left", || findings(node).filter(Vec::is_empty));
    }
}
