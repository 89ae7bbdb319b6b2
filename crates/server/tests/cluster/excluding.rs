//! A region is lost for good, with what half arrived of it, and the others exclude it.

use crate::edge::{App, retaining};
use crate::support::{Cluster, eventually};
use crate::transactions::ask;
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_contract::core::{DcId, PartitionId, ServerId};
use tidemark_contract::removal::{Exclusion, Standing, Step};
use tidemark_edge::client::Report;
use tidemark_edge::frames::OperationKind::{Add, Set};

/// Gives an order about C to the nodes of A and B.
fn order(cluster: &Cluster, round: u64, step: &Step) -> Result<BTreeMap<ServerId, Standing>, String> {
    let order = serde_json::to_string(&Exclusion { dc: DcId(2), round, step: step.clone() }).unwrap();
    let mut all = BTreeMap::new();
    for node in [0, 1] {
        let answer = cluster.admin(node, "/admin/membership", &order);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let said: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let Some(partitions) = said["partitions"].as_array() else { return Err(answer) };
        for partition in partitions {
            let at = PartitionId(partition["partition"].as_u64().unwrap() as u16);
            let standing = serde_json::from_value(partition.clone()).unwrap();
            all.insert(ServerId::new(DcId(node as u8), at), standing);
        }
    }
    Ok(all)
}

/// The time for which regions accept what an edge client did. Afterwards it waits for a region that may have taken it.
const RETAIN_US: u64 = 10_000_000;

fn cut(cluster: &Cluster, from: &str, to: &str) {
    for node in 0..3 {
        let order = format!(r#"{{"from": "{from}", "to": "{to}"}}"#);
        let answer = cluster.admin(node, "/admin/cut", &order);
        assert!(answer.contains("200 OK"), "{answer}");
    }
}

/// A node of A is stopped and started between the steps.
#[test]
fn what_a_lost_region_leaves_behind_is_settled_when_it_is_excluded() {
    let (mut cluster, mut redis) = retaining(1, RETAIN_US);
    let names: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    let mut app = App::new(&cluster, &[2, 0, 1], 2);
    app.load(&["count", "last"]);
    // Nobody hears of partition 0 of C any more. Of partition 1 everybody does, so somebody in A reads what C cannot say that it is stable.
    for to in ["A/0", "B/0"] {
        cut(&cluster, "C/0", to);
    }
    for name in &names {
        // Each by somebody who knows nothing: those of partition 1 depend on nothing that A lacks.
        assert_eq!(ask(&mut cluster.client(2), &format!("SET {name} half")), "OK");
    }
    let mut come = None;
    eventually("A shows something of C", || {
        come = names.iter().find(|name| ask(&mut cluster.client(0), &format!("GET {name}")) == "half");
        come.is_some()
    });
    let name = come.expect("just seen");
    assert_eq!(ask(&mut redis[0], &format!("GET {name}")), "half");
    assert_eq!(ask(&mut redis[0], "SET effect 1"), "OK");
    // C takes what an edge client does, and nobody else hears of it.
    for (from, to) in [("C", "A"), ("C", "B"), ("A", "C"), ("B", "C")] {
        cut(&cluster, from, to);
    }
    app.commit(&[("count", Add(1)), ("last", Set("mine".into()))]);
    app.until("C has taken it", |_| ask(&mut redis[2], "GET count") == "1");
    app.offline();
    cluster.stop(2);
    app.run(Duration::from_secs(12)); // for so long others accept it, since each counts once wherever it is accepted
    app.online();
    app.run(Duration::from_secs(2));
    assert_eq!(app.client().pending(), 1, "C may have taken it");
    assert_eq!(ask(&mut redis[1], "GET effect"), "-", "B waits for C");

    let told = order(&cluster, 1, &Step::Hold).expect("they hold");
    drop(redis.remove(0));
    cluster.stop(0);
    cluster.restart(0);
    let next = Standing::cut(&told).expect("nothing was forgotten");
    eventually("they cut", || order(&cluster, 1, &next).is_ok());
    eventually("they have the same of C", || order(&cluster, 1, &Step::Exclude).is_ok());
    let refused = order(&cluster, 2, &Step::Hold).expect_err("there is no way back");
    assert!(refused.contains("excluded for good"), "{refused}");

    eventually("what depends on it shows in B", || ask(&mut redis[0], "GET effect") == "1");
    assert_eq!(ask(&mut redis[0], &format!("GET {name}")), "half");
    app.until("it is delivered", |app| app.client().pending() == 0);
    for node in [0, 1] {
        let mut client = cluster.client(node);
        eventually("it counts once", || ask(&mut client, "GET count") == "1");
        assert_eq!(ask(&mut client, "GET last"), "mine");
        assert_eq!(ask(&mut client, &format!("GET {name}")), "half");
    }
}

/// A client of K = 1 has seen in C what nobody else has, and a transaction of its own is in that base. Both are lost with C. What it has not
/// delivered goes on without them.
#[test]
fn what_a_client_of_one_region_has_seen_there_can_be_lost_and_it_goes_on() {
    let (mut cluster, mut redis) = retaining(1, RETAIN_US);
    let mut app = App::new(&cluster, &[2, 0, 1], 1);
    app.loses = true;
    app.load(&["seen", "own", "count", "after"]);
    for (from, to) in [("C", "A"), ("C", "B"), ("A", "C"), ("B", "C")] {
        cut(&cluster, from, to);
    }
    assert_eq!(ask(&mut redis[2], "SET seen alone"), "OK");
    app.until("its base has it", |app| app.text("seen") == "alone");
    app.commit(&[("own", Set("on top".into())), ("count", Add(1))]);
    app.until("its base has its own, too", |app| app.client().pending() == 0);
    cluster.stop(2);
    app.commit(&[("count", Add(1)), ("after", Set("mine".into()))]);
    app.run(Duration::from_secs(1));
    assert_eq!((app.text("count"), app.client().pending()), ("2".into(), 1), "C may come back");

    let told = order(&cluster, 1, &Step::Hold).expect("they hold");
    let next = Standing::cut(&told).expect("nothing was forgotten");
    eventually("they cut", || order(&cluster, 1, &next).is_ok());
    eventually("they have the same of C", || order(&cluster, 1, &Step::Exclude).is_ok());
    app.until("it is delivered", |app| app.client().pending() == 0);
    let all = |app: &App| ["seen", "own", "count", "after"].map(|key| app.text(key));
    app.until("it has what is left", |app| all(app) == ["", "", "1", "mine"]);
    assert!(app.reports.contains(&Report::Lost { k: 0 }), "{:?}", app.reports);
    for node in [0, 1] {
        let mut client = cluster.client(node);
        eventually("the others have it", || ask(&mut client, "GET after") == "mine");
        let left = ["seen", "own", "count"].map(|key| ask(&mut client, &format!("GET {key}")));
        assert_eq!(left, ["-", "-", "1"]);
    }
    app.commit(&[("count", Add(1))]);
    app.until("it goes on as usual", |app| app.client().pending() == 0 && app.text("count") == "2");
}
