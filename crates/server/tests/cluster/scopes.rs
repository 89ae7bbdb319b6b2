//! Connection pools: which connections are one session (`session_scope`).

use crate::support::{Client, Cluster, eventually};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidemark_contract::placement::{Keys, Placement};
use tidemark_core::{DcId, Regions};
use tidemark_server::config::SessionScope;
use tidemark_server::{NodeConfig, ServeError, run_node};

/// A region of two nodes with a partition each.
const TWO: &[(u8, &[u16])] = &[(0, &[0]), (0, &[1])];
const ROUNDS: usize = 5;

fn scoped(scope: SessionScope) -> impl Fn(&mut NodeConfig) {
    move |config| config.session_scope = scope
}

/// The clock of the second node is ahead, so that snapshots that the first one takes lie before what was just written at the
/// second.
fn with_early_sibling(scope: SessionScope) -> Cluster {
    let cluster = Cluster::start("causal", TWO, |config| {
        (config.session_scope, config.max_skew_us) = (scope, 7_200_000_000);
    });
    cluster.meet(&[&key_of(0), &key_of(1)]);
    assert!(cluster.admin(1, "/admin/skew", r#"{"ms": 3600000}"#).contains("200 OK"));
    cluster
}

/// A key of that partition.
fn key_of(partition: u16) -> String {
    let topology = tidemark_contract::Topology::new(1, 2);
    let is_there = |key: &String| topology.partition_of(key.as_bytes()).0 == partition;
    (0..).map(|n| format!("key-{n}")).find(is_there).expect("one of them")
}

fn named(cluster: &Cluster, name: &str) -> Client {
    let mut client = cluster.client(0);
    client.ok(&["CLIENT", "SETNAME", name]);
    client
}

/// How many writes of one connection are missing in the snapshots that the other reads next. A reader that missed one is told
/// of an earlier one, and may then see one more: two writes a round keep it behind.
fn missed(writer: &mut Client, reader: &mut Client) -> usize {
    let (first, key) = (key_of(0), key_of(1));
    static VALUES: AtomicUsize = AtomicUsize::new(0);
    let round = |_| {
        let value = VALUES.fetch_add(1, Ordering::Relaxed).to_string();
        writer.ok(&["SET", &key, "before it"]);
        writer.ok(&["SET", &key, &value]);
        usize::from(reader.list(&["MGET", &first, &key])[1] != value)
    };
    (0..ROUNDS).map(round).sum()
}

#[test]
fn connections_of_one_name_miss_each_others_writes_unless_they_are_one_session() {
    use SessionScope::{ClientName, Connection, Gateway};
    for (scope, misses) in [(Connection, ROUNDS), (ClientName, 0), (Gateway, 0)] {
        let cluster = with_early_sibling(scope);
        let (mut one, mut other) = (named(&cluster, "ann"), named(&cluster, "ann"));
        assert_eq!(missed(&mut one, &mut other), misses, "{scope}");
        assert_eq!(other.list(&["CONFIG", "GET", "tidemark-session-scope"])[1], scope.to_string());
    }
}

#[test]
fn another_name_or_none_is_another_session() {
    let cluster = with_early_sibling(SessionScope::ClientName);
    let (mut ann, mut bob, mut nobody) = (named(&cluster, "ann"), named(&cluster, "bob"), cluster.client(0));
    assert_eq!(missed(&mut ann, &mut bob), ROUNDS);
    assert_eq!(missed(&mut ann, &mut nobody), ROUNDS);
    nobody.call(&["HELLO", "3", "SETNAME", "ann"]);
    assert_eq!(missed(&mut ann, &mut nobody), 0, "HELLO names it too");
    bob.ok(&["CLIENT", "SETNAME", "ann"]);
    assert_eq!(missed(&mut bob, &mut ann), 0, "it has another name now");
}

#[test]
fn a_reset_connection_has_no_name_any_more() {
    let cluster = with_early_sibling(SessionScope::ClientName);
    let (mut ann, mut reset) = (named(&cluster, "ann"), named(&cluster, "ann"));
    assert_eq!(reset.text(&["RESET"]), "RESET");
    assert_eq!(missed(&mut ann, &mut reset), ROUNDS);
}

/// A pool may be empty for a while: its connections are closed, and opened again with the next request.
#[test]
fn a_name_is_remembered_while_no_connection_has_it() {
    let cluster = with_early_sibling(SessionScope::ClientName);
    let (first, key) = (key_of(0), key_of(1));
    for n in 0..ROUNDS {
        let value = format!("{n}");
        let mut writer = named(&cluster, "ann");
        writer.ok(&["SET", &key, "before it"]);
        writer.ok(&["SET", &key, &value]);
        drop(writer);
        assert_eq!(named(&cluster, "ann").list(&["MGET", &first, &key])[1], value);
    }
}

#[test]
fn the_token_of_a_connection_has_what_all_of_its_name_know() {
    let cluster = with_early_sibling(SessionScope::ClientName);
    let (mut one, mut other) = (named(&cluster, "ann"), named(&cluster, "ann"));
    let (first, key) = (key_of(0), key_of(1));
    for n in 0..ROUNDS {
        let value = format!("{n}");
        one.ok(&["SET", &key, "before it"]);
        one.ok(&["SET", &key, &value]);
        let token = other.text(&["TIDE.SESSION", "EXPORT"]);
        let mut stranger = cluster.client(0);
        stranger.ok(&["TIDE.SESSION", "IMPORT", &token]);
        assert_eq!(stranger.list(&["MGET", &first, &key])[1], value);
    }
}

/// What the session of one connection depends on has not arrived in this region. The other connections of its name have to
/// know that.
#[test]
fn what_a_connection_imports_the_others_of_its_name_depend_on() {
    for (scope, hidden) in [(SessionScope::Connection, true), (SessionScope::ClientName, false)] {
        let cluster = Cluster::start("nukv", &[(0, &[0]), (1, &[0])], |config| {
            let mut cluster = (*config.cluster).clone();
            cluster.params = serde_json::json!({ "wait_limit_us": 200_000 });
            (config.cluster, config.session_scope) = (Arc::new(cluster), scope);
        });
        cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#);
        let mut away = cluster.client(0);
        away.ok(&["SET", "k", "v"]);
        let token = away.text(&["TIDE.SESSION", "EXPORT"]);
        let connect = || {
            let mut client = cluster.client(1);
            client.ok(&["CLIENT", "SETNAME", "ann"]);
            client
        };
        let (mut one, mut other) = (connect(), connect());
        one.ok(&["TIDE.SESSION", "IMPORT", &token]);
        let found = other.text(&["GET", "k"]);
        assert_eq!(found == "-", hidden, "{scope}: {found}");
        assert_eq!(found.starts_with("!STALESESSION"), !hidden, "{scope}: {found}");
        cluster.admin(0, "/admin/heal", "{}");
        eventually("the version of A", || other.text(&["GET", "k"]) == "v");
    }
}

/// Two connections of one session, under every protocol that has sessions. Some of the protocols answer every read with the
/// newest version, so that connections miss nothing there in any scope.
#[test]
fn every_protocol_with_sessions_shares_them() {
    for protocol in tidemark_registry::NAMES.iter().filter(|name| **name != "eventual") {
        let cluster = Cluster::start(protocol, TWO, scoped(SessionScope::Gateway));
        assert!(cluster.admin(1, "/admin/skew", r#"{"ms": 30}"#).contains("200 OK"));
        let (mut one, mut other) = (cluster.client(0), cluster.client(0));
        // Until the nodes have met, it is refused.
        eventually("a snapshot", || one.call(&["MGET", "a", "b"]).items().is_some());
        assert_eq!(missed(&mut one, &mut other), 0, "{protocol}");
        assert_eq!(missed(&mut other, &mut one), 0, "{protocol}");
    }
}

#[test]
fn a_protocol_without_sessions_is_refused() {
    let cluster = Cluster::regions("eventual", 1, 1);
    let mut config = cluster.nodes[0].config.clone();
    config.session_scope = SessionScope::Gateway;
    match run_node(config) {
        Err(ServeError::Config(why)) => {
            assert_eq!(why, "sessions of eventual remember nothing, so gateway has nothing to share");
        }
        other => panic!("{other:?}"),
    }
}

/// A connection that reads in another region, for a key that its own does not hold, has its past from there.
#[test]
fn connections_that_are_forwarded_share_their_past_too() {
    let cluster = Cluster::start("causal", &[(0, &[0, 1]), (1, &[0, 1])], |config| {
        let mut cluster = (*config.cluster).clone();
        let rule = (Keys::Prefix("b:".into()), Regions::NONE.with(DcId(1)));
        cluster.topology.placement = Placement { rules: vec![rule], near: Vec::new(), refuses: false };
        (config.cluster, config.session_scope) = (Arc::new(cluster), SessionScope::Gateway);
    });
    let (mut one, mut other) = (cluster.client(0), cluster.client(0));
    eventually("the regions are linked", || {
        one.text(&["SET", "b:k", "-"]) == "OK" && other.text(&["GET", "k"]) == "-"
    });
    for n in 0..ROUNDS {
        let value = format!("{n}");
        one.ok(&["SET", "b:k", &value]);
        one.ok(&["SET", "k", &value]);
        assert_eq!(other.list(&["MGET", "k", "l"])[0], value);
        assert_eq!(other.list(&["MGET", "b:k", "b:l"])[0], value);
        other.ok(&["SET", "b:k", "o"]);
        assert_eq!(one.list(&["MGET", "b:k", "b:l"])[0], "o");
    }
}
