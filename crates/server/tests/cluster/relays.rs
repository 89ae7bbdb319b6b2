//! A region that cannot reach another one gets its records from a third.

use crate::support::{Client, Cluster, eventually};
use crate::transactions::ask;

fn cut(cluster: &Cluster, node: usize, from: &str, to: &str) {
    let order = format!(r#"{{"from": "{from}", "to": "{to}"}}"#);
    assert!(cluster.admin(node, "/admin/cut", &order).contains("200 OK"));
}

/// Three regions; nothing passes between A and C.
fn apart(protocol: &str) -> (Cluster, [Client; 3]) {
    let cluster = Cluster::regions(protocol, 3, 2);
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

/// C wrote, B alone received it, and C is gone for good.
#[test]
fn what_a_lost_region_has_sent_to_one_reaches_the_others() {
    let (mut cluster, [mut a, mut b, mut c]) = apart("tidemark");
    assert_eq!(ask(&mut c, "MSET x last y last"), "OK");
    eventually("B has it", || ask(&mut b, "MGET x y") == "[last last]");
    cluster.stop(2);
    eventually("A has it", || ask(&mut a, "MGET x y") == "[last last]");
    assert_eq!(ask(&mut a, "SET x next"), "OK");
    eventually("B has what A wrote on it", || ask(&mut b, "GET x") == "next");
}
