//! A region that cannot reach another one gets its records from a third.

use crate::support::{Client, Cluster, eventually};
use crate::transactions::ask;

fn cut(cluster: &Cluster, node: usize, from: &str, to: &str) {
    let order = format!(r#"{{"from": "{from}", "to": "{to}"}}"#);
    assert!(cluster.admin(node, "/admin/cut", &order).contains("200 OK"));
}

/// Three regions; nothing passes between A and C.
fn apart(protocol: &str) -> (Cluster, [Client; 3]) {
    let regions: [(u8, &[u16]); 3] = [(0, &[0, 1]), (1, &[0, 1]), (2, &[0, 1])];
    let cluster = Cluster::start(protocol, &regions, |config| config.relay_after_us = 500_000);
    let mut clients = [0, 1, 2].map(|node| cluster.client(node));
    assert_eq!(ask(&mut clients[0], "SET met 1"), "OK");
    for client in &mut clients {
        eventually("the regions have met", || ask(client, "GET met") == "1");
    }
    for node in [0, 2] {
        cut(&cluster, node, "A", "C");
        cut(&cluster, node, "C", "A");
    }
    (cluster, clients)
}

#[test]
fn records_go_around_a_cut_in_both_directions_and_go_on_when_it_is_healed() {
    for protocol in ["tidemark", "eventual", "cops"] {
        let (cluster, [mut a, mut b, mut c]) = apart(protocol);
        for n in 0..300 {
            assert_eq!(ask(&mut a, &format!("SET of-a:{n} {n}")), "OK");
            assert_eq!(ask(&mut c, &format!("SET of-c:{n} {n}")), "OK");
        }
        eventually("A has what C wrote", || ask(&mut a, "GET of-c:299") == "299");
        eventually("C has what A wrote", || ask(&mut c, "GET of-a:299") == "299");
        assert_eq!(ask(&mut b, "SET of-b 1"), "OK");
        eventually("A has what B wrote", || ask(&mut a, "GET of-b") == "1");
        for node in [0, 2] {
            assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
        }
        for n in 300..310 {
            assert_eq!(ask(&mut c, &format!("SET of-c:{n} {n}")), "OK");
        }
        eventually("A has what came later", || ask(&mut a, "GET of-c:309") == "309");
        for n in 0..310 {
            assert_eq!(ask(&mut a, &format!("GET of-c:{n}")), n.to_string(), "{protocol}");
        }
    }
}

/// Each record is taken once, whether it comes over B, from C itself, or both.
#[test]
fn increments_that_come_over_a_third_region_count_once() {
    let (cluster, [mut a, _, mut c]) = apart("tidemark");
    for round in 1..=4 {
        for _ in 0..50 {
            ask(&mut c, "INCR hits");
            ask(&mut c, "INCR other-hits");
        }
        let all = (round * 50).to_string();
        eventually("A has counted all", || {
            ask(&mut a, "GET hits") == all && ask(&mut a, "GET other-hits") == all
        });
        for node in [0, 2] {
            if round % 2 == 1 {
                assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
            } else {
                cut(&cluster, node, "A", "C");
                cut(&cluster, node, "C", "A");
            }
        }
    }
    let (here, there) = (cluster.status(0), cluster.status(2));
    for partition in [0, 1] {
        let received = &here["host"]["partitions"][partition]["peers"][1]["received"];
        assert_eq!(*received, there["host"]["partitions"][partition]["written"], "partition {partition}");
    }
}

/// Waits until a node has all that was written in a region until now, in every partition.
fn has_all(cluster: &Cluster, node: usize, region: usize) {
    let now = cluster.status(node)["now_us"].as_u64().unwrap() << 12;
    eventually("the time of all partitions has passed", || {
        let status = cluster.status(node);
        let partitions = status["host"]["partitions"].as_array().unwrap();
        partitions.iter().all(|partition| partition["stable"][region].as_u64() > Some(now))
    });
}

/// C wrote, B alone received it, and C is gone for good. B has heard from all partitions of C since: else nobody could ever tell whether
/// there was more, and what is written on top would wait for that.
#[test]
fn what_a_lost_region_has_sent_to_one_reaches_the_others() {
    let (mut cluster, [mut a, mut b, mut c]) = apart("tidemark");
    // C depends on what A wrote.
    has_all(&cluster, 1, 0);
    has_all(&cluster, 2, 0);
    for node in [0, 1] {
        cut(&cluster, node, "B", "A");
    }
    assert_eq!(ask(&mut c, "MSET x last y last"), "OK");
    eventually("B has it", || ask(&mut b, "MGET x y") == "[last last]");
    has_all(&cluster, 1, 2);
    assert_eq!(ask(&mut a, "MGET x y"), "[- -]");
    cluster.stop(2);
    for node in [0, 1] {
        assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
    }
    eventually("A has it", || ask(&mut a, "MGET x y") == "[last last]");
    assert_eq!(ask(&mut a, "SET x next"), "OK");
    eventually("B has what A wrote on it", || ask(&mut b, "GET x") == "next");
}
