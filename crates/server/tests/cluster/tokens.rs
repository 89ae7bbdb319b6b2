//! Sessions that move between connections and regions.

use crate::support::{Cluster, eventually};

#[test]
fn a_session_reads_its_writes_in_the_region_it_moves_to() {
    let cluster = Cluster::regions("causal", 3, 2);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    for i in 0..20 {
        let value = i.to_string();
        a.ok(&["SET", "foo", &value]);
        a.ok(&["SET", "bar", &value]);
        let token = a.text(&["TIDE.SESSION", "EXPORT"]);
        eventually("the import", || match b.text(&["TIDE.SESSION", "IMPORT", &token]).as_str() {
            "OK" => true,
            other => {
                assert!(other.starts_with("!STALESESSION"), "{other}");
                false
            }
        });
        assert_eq!(b.text(&["GET", "foo"]), value);
        assert_eq!(b.text(&["GET", "bar"]), value);
    }
}

#[test]
fn an_import_behind_a_cut_ends_in_an_error_that_says_so() {
    let cluster = Cluster::regions("causal", 2, 1);
    cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#);
    let mut a = cluster.client(0);
    a.ok(&["SET", "k", "v"]);
    let token = a.text(&["TIDE.SESSION", "EXPORT"]);
    let mut b = cluster.client(1);
    let answer = b.text(&["TIDE.SESSION", "IMPORT", &token]);
    assert!(answer.starts_with("!STALESESSION"), "{answer}");
    assert_eq!(b.text(&["GET", "k"]), "-", "the connection goes on");
    cluster.admin(0, "/admin/heal", "{}");
    eventually("the import", || b.text(&["TIDE.SESSION", "IMPORT", &token]) == "OK");
    assert_eq!(b.text(&["GET", "k"]), "v");
}

#[test]
fn foreign_and_damaged_tokens_are_refused_in_words() {
    let cluster = Cluster::regions("causal", 1, 1);
    let other = Cluster::regions("eventual", 1, 1);
    let token = other.client(0).text(&["TIDE.SESSION", "EXPORT"]);
    let mut client = cluster.client(0);
    let mut import = |token: &str| client.text(&["TIDE.SESSION", "IMPORT", token]);
    assert!(import(&token).contains("eventual"));
    assert!(import("rubbish").starts_with("!ERR"));
    assert!(import("").starts_with("!ERR"));
    assert!(import("tm9.AAAA").contains("newer"));
    assert!(import(&token[..token.len() - 1]).starts_with("!ERR"));
}
