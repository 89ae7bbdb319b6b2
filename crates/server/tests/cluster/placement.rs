//! Keys that some regions hold, and others ask them for.

use crate::support::{Client, Cluster, eventually};
use std::sync::Arc;
use tidemark_contract::placement::{Keys, Placement};
use tidemark_core::{DcId, Regions};

/// Three regions of two partitions: what begins with `eu:` is held by B and C, with `b:` by B alone, with `c:` by C alone.
fn placed(protocol: &str, refuses: bool) -> Cluster {
    let all: &[u16] = &[0, 1];
    Cluster::start(protocol, &[(0, all), (1, all), (2, all)], |config| {
        let mut cluster = (*config.cluster).clone();
        let regions = |list: &[u8]| list.iter().map(|dc| DcId(*dc)).fold(Regions::NONE, Regions::with);
        let rule = |prefix: &str, list: &[u8]| (Keys::Prefix(prefix.into()), regions(list));
        let rules = vec![rule("eu:", &[1, 2]), rule("b:", &[1]), rule("c:", &[2])];
        cluster.topology.placement = Placement { rules, near: Vec::new(), refuses };
        config.cluster = Arc::new(cluster);
    })
}

fn keys(cluster: &Cluster, node: usize) -> u64 {
    let status = cluster.status(node);
    let partitions = status["host"]["partitions"].as_array().expect("a list").clone();
    partitions.iter().map(|partition| partition["keys"].as_u64().expect("a number")).sum()
}

/// Until every region feeds every other: before that, who comes from one has to wait for what it has seen there.
fn linked(cluster: &Cluster) {
    eventually("all regions feed each other", || {
        (0..3).all(|node| !cluster.status(node)["host"].to_string().contains(r#""streaming":false"#))
    });
}

#[test]
fn what_a_region_does_not_hold_it_never_gets_and_asks_for() {
    for protocol in ["eventual", "causal", "gentlerain", "accf"] {
        let cluster = placed(protocol, false);
        linked(&cluster);
        let (mut a, mut b, mut c) = (cluster.client(0), cluster.client(1), cluster.client(2));
        for n in 0..20 {
            a.ok(&["SET", &format!("eu:{n}"), &n.to_string()]);
            c.ok(&["SET", &format!("b:{n}"), &n.to_string()]);
            b.ok(&["SET", &format!("all:{n}"), &n.to_string()]);
        }
        for n in 0..20 {
            let value = n.to_string();
            for key in [format!("eu:{n}"), format!("b:{n}"), format!("all:{n}")] {
                for client in [&mut a, &mut b, &mut c] {
                    eventually("every write everywhere", || client.text(&["GET", &key]) == value);
                }
            }
        }
        assert_eq!([keys(&cluster, 0), keys(&cluster, 1), keys(&cluster, 2)], [20, 60, 40], "{protocol}");
        assert_eq!(a.text(&["DEL", "eu:1", "all:1", "b:1"]), "3");
        assert_eq!(a.list(&["MGET", "eu:1", "eu:2", "b:1", "b:2"]), ["-", "2", "-", "2"]);
        assert_eq!(a.text(&["SETNX", "eu:2", "x"]), "0");
        assert_eq!(a.text(&["DBSIZE"]), "19", "what this region holds");
    }
}

/// Nobody sees an effect without its cause, though the one is held by other regions than the other.
#[test]
fn a_session_stays_causal_across_what_its_region_holds_and_what_it_does_not() {
    for protocol in ["causal", "causal-spartan-x", "pocc", "accf"] {
        let cluster = placed(protocol, false);
        linked(&cluster);
        let (mut writer, mut reader) = (cluster.client(2), cluster.client(0));
        for n in 1..=100_u32 {
            let value = n.to_string();
            writer.ok(&["SET", "eu:cause", &value]);
            writer.ok(&["SET", "effect", &value]);
            let number = |text: String| if text == "-" { 0 } else { text.parse::<u32>().expect(&text) };
            let effect = number(reader.text(&["GET", "effect"]));
            let cause = number(reader.text(&["GET", "eu:cause"]));
            assert!(cause >= effect, "{protocol}: effect {effect} without its cause, {cause}");
            let again = number(reader.text(&["GET", "effect"]));
            assert!(again >= effect, "{protocol}: {again} after {effect}");
        }
    }
}

/// `b:` is held by B alone, `c:` by C alone: no region holds both.
#[test]
fn commands_on_keys_that_no_region_holds_together_work_and_stay_causal() {
    for protocol in ["eventual", "causal", "gentlerain", "accf"] {
        let cluster = placed(protocol, false);
        linked(&cluster);
        let (mut writer, mut reader) = (cluster.client(1), cluster.client(0));
        let mset = ["MSET", "b:1", "1", "c:1", "2", "all", "3", "eu:1", "4"];
        if protocol == "causal" {
            // There it is a transaction, and has one home.
            assert!(reader.text(&mset).starts_with("!ELSEWHERE "));
            mset[1..].chunks(2).for_each(|pair| reader.ok(&["SET", pair[0], pair[1]]));
        } else {
            reader.ok(&mset);
        }
        eventually("it reads what it has written, in the order of the keys", || {
            reader.list(&["MGET", "c:1", "b:1", "all", "c:2", "eu:1"]) == ["2", "1", "3", "-", "4"]
        });
        assert_eq!(reader.text(&["EXISTS", "b:1", "c:1", "b:2", "all"]), "3");
        assert_eq!(reader.text(&["DEL", "c:1", "b:1", "c:2"]), "2");
        assert_eq!(reader.list(&["MGET", "b:1", "c:1"]), ["-", "-"], "what the session itself has deleted");
        if protocol == "eventual" {
            continue;
        }
        // The effect is read first: its cause must not be missing from what is read after it.
        let number = |text: &str| if text == "-" { 0 } else { text.parse::<u32>().expect(text) };
        for n in 1..=50_u32 {
            let value = n.to_string();
            writer.ok(&["SET", "c:cause", &value]);
            writer.ok(&["SET", "b:effect", &value]);
            let found = reader.list(&["MGET", "b:effect", "c:cause"]);
            assert!(number(&found[1]) >= number(&found[0]), "{protocol}: {found:?}");
        }
    }
}

#[test]
fn a_region_that_does_not_forward_says_whom_to_ask() {
    let cluster = placed("causal", true);
    linked(&cluster);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let elsewhere = "!ELSEWHERE this region does not hold what is asked for; region B, C does";
    assert_eq!(a.text(&["SET", "eu:1", "1"]), elsewhere);
    assert_eq!(a.text(&["GET", "eu:1"]), elsewhere);
    a.ok(&["SET", "all", "1"]);
    b.ok(&["SET", "eu:1", "1"]);
    b.ok(&["SET", "b:1", "2"]);
    assert_eq!(b.list(&["MGET", "eu:1", "b:1"]), ["1", "2"]);
    assert!(a.text(&["MGET", "all", "eu:1"]).starts_with("!ELSEWHERE"));
    assert!(cluster.page(0, "/metrics").contains(r#"outcome="elsewhere"#));
}

/// B alone has it: whoever asks another region waits for it, in vain, and is told so; B itself goes on.
#[test]
fn what_is_held_by_a_region_that_cannot_be_reached_is_unavailable() {
    let mut cluster = placed("causal", false);
    linked(&cluster);
    let ask = |client: &mut Client| client.text(&["GET", "b:1"]);
    cluster.client(0).ok(&["SET", "b:1", "1"]);
    let mut a = cluster.client(0);
    assert_eq!(ask(&mut a), "1");
    assert_eq!(a.text(&["GET", "all"]), "-", "it is at home again, which has heard from B up to then");
    cluster.stop(1);
    let refused = ask(&mut a);
    assert!(refused.starts_with("!UNAVAILABLE"), "{refused}");
    a.ok(&["SET", "all", "1"]);
    assert_eq!(a.text(&["GET", "all"]), "1", "at home it goes on");
    let written = a.text(&["SET", "b:1", "2"]);
    assert!(written.starts_with("!UNAVAILABLE") || written.starts_with("!INDEFINITE"), "{written}");
    cluster.restart(1);
    eventually("B is back", || matches!(ask(&mut a).as_str(), "1" | "2"));
}
