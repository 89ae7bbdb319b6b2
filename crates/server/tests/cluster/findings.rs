//! What an operator is told while something stands still: at every surface the same, and no longer than it lasts.

use crate::support::{Cluster, eventually};
use serde_json::Value;

/// The status code and the JSON body of a page.
fn page(cluster: &Cluster, node: usize, path: &str) -> (u16, Value) {
    let page = cluster.page(node, path);
    let (head, body) = page.split_once("\r\n\r\n").expect("a body");
    let code = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a status code");
    (code, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {page}")))
}

/// A finding as JSON, if it is among these.
fn among<'v>(body: &'v Value, code: &str, place: &str) -> Option<&'v Value> {
    body["findings"].as_array()?.iter().find(|finding| finding["code"] == code && finding["place"] == place)
}

/// Waits for a finding, and sees to it that every surface has it.
pub(crate) fn told(cluster: &Cluster, node: usize, code: &str, place: &str) -> Value {
    let mut found = None;
    eventually(format!("{code} {place} at node {node}"), || {
        found = among(&page(cluster, node, "/healthz").1, code, place).cloned();
        found.is_some()
    });
    let found = found.expect("just seen");
    assert!(among(&cluster.status(node), code, place).is_some(), "{:#}", cluster.status(node));
    let metrics = cluster.page(node, "/metrics");
    let line = format!("tidemark_finding{{code=\"{code}\",place=\"{place}\"}} 1");
    assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    let info = cluster.client(node).text(&["INFO", "tidemark"]);
    let start = format!("code={code},grade={},place={place},", found["grade"].as_str().expect("a word"));
    let lines: Vec<&str> = info.lines().filter(|line| line.starts_with("finding_")).collect();
    assert!(lines.iter().any(|line| line.contains(&start)), "{start} is not in\n{info}");
    assert!(info.contains(&format!("tidemark_findings:{}", lines.len())), "{info}");
    found
}

/// Waits until no node has a finding, at any surface.
pub(crate) fn over(cluster: &Cluster) {
    for node in 0..cluster.nodes.len() {
        eventually(format!("node {node} has no findings"), || {
            page(cluster, node, "/healthz").1["findings"] == Value::Array(Vec::new())
        });
        assert!(!cluster.page(node, "/metrics").contains("tidemark_finding{"));
        assert!(cluster.client(node).text(&["INFO", "tidemark"]).contains("tidemark_findings:0"));
    }
}

#[test]
fn a_cut_is_told_everywhere_and_is_over_when_it_is_healed() {
    let cluster = Cluster::regions("tidemark", 2, 1);
    cluster.meet(&["k"]);
    over(&cluster);
    for node in 0..2 {
        assert!(cluster.admin(node, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    }
    cluster.client(0).ok(&["SET", "k", "cut"]);
    for (node, place) in [(0, "A/0->B/0"), (0, "B/0->A/0"), (1, "A/0->B/0")] {
        let finding = told(&cluster, node, "no_link", place);
        assert!(finding["waits_for"].as_str().is_some_and(|text| text.contains("cut")), "{finding}");
        assert!(finding["remedy"].as_str().is_some_and(|text| text.contains("heal")), "{finding}");
    }
    let (code, body) = page(&cluster, 0, "/healthz");
    assert_eq!((code, &body["status"]), (200, &"ok".into()), "a region that is cut off serves: {body}");
    for node in 0..2 {
        assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
    }
    over(&cluster);
}

#[test]
fn records_of_the_future_are_told_at_both_ends_until_their_time_has_come() {
    let cluster = Cluster::regions("tidemark", 2, 1);
    cluster.meet(&["k"]);
    assert!(cluster.admin(0, "/admin/skew", r#"{"ms": 25000}"#).contains("200 OK"));
    cluster.client(0).ok(&["SET", "k", "ahead"]);
    assert!(cluster.admin(0, "/admin/skew", r#"{"ms": 0}"#).contains("200 OK"));
    for node in 0..2 {
        let finding = told(&cluster, node, "feed_held", "A/0->B/0");
        let what = finding["what"].as_str().expect("words");
        assert!(what.contains("ahead of this server's clock"), "{finding}");
        assert_eq!(finding["waits_for"], "the clock of node n1, which has to reach the record's time");
    }
    eventually("it arrives", || cluster.client(1).text(&["GET", "k"]) == "ahead");
    over(&cluster);
}

#[test]
fn a_group_without_a_quorum_is_alive_and_neither_ready_nor_healthy() {
    let shape: [(u8, &[u16]); 3] = [(0, &[0]); 3];
    let mut cluster = Cluster::start("tidemark", &shape, |_| ());
    cluster.meet(&["k"]);
    let code = |cluster: &Cluster, path| page(cluster, 0, path).0;
    assert_eq!(["/livez", "/readyz", "/healthz"].map(|path| code(&cluster, path)), [200; 3]);
    cluster.stop(1);
    cluster.stop(2);
    let finding = told(&cluster, 0, "quorum_lost", "n0");
    assert!(finding["waits_for"].as_str().is_some_and(|text| text.contains("n1, n2")), "{finding}");
    assert_eq!(["/livez", "/readyz", "/healthz"].map(|path| code(&cluster, path)), [200, 503, 503]);
    let (_, body) = page(&cluster, 0, "/healthz");
    assert!(body["error"].as_str().is_some_and(|why| why.contains("leader")), "{body}");
    cluster.restart(1);
    cluster.restart(2);
    over(&cluster);
    assert_eq!(["/livez", "/readyz", "/healthz"].map(|path| code(&cluster, path)), [200; 3]);
}
