//! Sessions that move between connections and regions.

use crate::support::{Cluster, eventually};
use serde::Serialize;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_contract::Token;
use tidemark_core::{DcId, Hlc, PartitionId, Vector};
use tidemark_protocols::{CAUSAL, gentlerain, nukv, tidemark};
use tidemark_store::log::Fsync;

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

/// A token may be used in another region: a loss of power here must not take back what it stands for. Nothing else waits for a sync in
/// a cluster of one node, where one comes each second.
#[test]
fn a_token_is_told_once_all_that_it_stands_for_is_synced() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |config| config.fsync = Fsync::EverySec);
    let mut client = cluster.client(0);
    let host = |name: &str| cluster.status(0)["host"][name].as_u64().expect("a position");
    for round in 0..20 {
        client.ok(&["SET", "k", &round.to_string()]);
        let written = host("log_written");
        client.text(&["TIDE.SESSION", "EXPORT"]);
        let synced = host("log_synced");
        assert!(synced >= written, "round {round}: written up to {written}, synced up to {synced}");
    }
}

#[test]
fn an_import_behind_a_cut_ends_in_an_error_that_says_so() {
    let cluster = Cluster::start("causal", &[(0, &[0]), (1, &[0])], |config| {
        Arc::make_mut(&mut config.cluster).params = serde_json::json!({ "wait_limit_us": 500_000 });
    });
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
    let other = Cluster::regions("eventual", 1, 1);
    let token = other.client(0).text(&["TIDE.SESSION", "EXPORT"]);
    drop(other);
    let cluster = Cluster::regions("causal", 1, 1);
    let mut client = cluster.client(0);
    let mut import = |token: &str| client.text(&["TIDE.SESSION", "IMPORT", token]);
    assert!(import(&token).contains("eventual"));
    assert!(import("rubbish").starts_with("!ERR"));
    assert!(import("").starts_with("!ERR"));
    assert!(import("tm9.AAAA").contains("newer"));
    assert!(import(&token[..token.len() - 1]).starts_with("!ERR"));
}

/// The text of a token as anybody can make it who reads the source.
fn forged(protocol: &str, token: impl Serialize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = postcard::to_stdvec(&("test", protocol, 0_u64, token)).unwrap();
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    let bits = |at: usize| (0..6).fold(0, |word, bit| word << 1 | bit_of(&bytes, 6 * at + bit));
    let text = (0..(bytes.len() * 8).div_ceil(6)).map(|at| ALPHABET[bits(at)] as char);
    format!("tm1.{}", text.collect::<String>())
}

fn bit_of(bytes: &[u8], at: usize) -> usize {
    bytes.get(at / 8).map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1))
}

/// Such a token once took the session, then the server that it wrote to, and then every peer to a time that no clock
/// would reach for years: that server refused all writes with CLOCKSKEW, and near the end of time it panicked.
#[test]
fn a_token_from_the_far_future_changes_nothing() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let hour = 3_600_000_000;
    for time in [Hlc::at(now + hour), Hlc(u64::MAX - 1), Hlc(u64::MAX)] {
        let vector = |at: u8| {
            let mut vector = Vector::default();
            vector.raise(DcId(at), time);
            vector
        };
        let causal = |home, ds: Vector, dsv: Vector| {
            let past = tidemark::Past { ds, dsv, l: Hlc::ZERO };
            forged(CAUSAL, Token { home: DcId(home), past })
        };
        let gentle = |home, dt, gst| {
            let past = gentlerain::Past { dt, gst };
            forged("gentlerain", Token { home: DcId(home), past })
        };
        let none = Vector::default;
        let causal =
            [causal(0, vector(0), none()), causal(0, none(), vector(1)), causal(1, vector(1), none())];
        let gentle = [gentle(0, time, Hlc::ZERO), gentle(0, Hlc::ZERO, time), gentle(1, time, Hlc::ZERO)];
        for (protocol, tokens) in [("causal", causal), ("gentlerain", gentle)] {
            let cluster = Cluster::regions(protocol, 2, 1);
            let mut client = cluster.client(0);
            for token in tokens {
                let answer = client.text(&["TIDE.SESSION", "IMPORT", &token]);
                assert!(answer.starts_with("!CLOCKSKEW the time is"), "{answer}");
                client.ok(&["SET", "k", "v"]);
                assert_eq!(client.list(&["MGET", "k"]), ["v"]);
            }
            let mut other = cluster.client(1);
            eventually("the write arrives", || other.text(&["GET", "k"]) == "v");
            other.ok(&["SET", "k", "w"]);
        }
    }
}

#[test]
fn a_token_that_names_a_region_too_many_is_malformed() {
    let past = |entries: usize| tidemark::Past {
        ds: Vector::from_entries((0..entries).map(|_| Hlc(1))),
        dsv: Vector::default(),
        l: Hlc::ZERO,
    };
    let causal = |home, entries| forged(CAUSAL, Token { home: DcId(home), past: past(entries) });
    let cluster = Cluster::regions("causal", 2, 1);
    let mut client = cluster.client(0);
    assert_eq!(client.text(&["TIDE.SESSION", "IMPORT", &causal(0, 2)]), "OK", "the forgery is a good one");
    for token in [causal(2, 0), causal(255, 2), causal(0, 3), causal(1, 300)] {
        let answer = client.text(&["TIDE.SESSION", "IMPORT", &token]);
        assert!(answer.starts_with("!ERR this is not a session token"), "{answer}");
    }
    client.ok(&["SET", "k", "v"]);
    drop(cluster);
    let cluster = Cluster::regions("gentlerain", 1, 1);
    let past = gentlerain::Past { dt: Hlc(1), gst: Hlc(1) };
    let token = forged("gentlerain", Token { home: DcId(1), past });
    let answer = cluster.client(0).text(&["TIDE.SESSION", "IMPORT", &token]);
    assert!(answer.starts_with("!ERR this is not a session token"), "{answer}");
}

/// NuKV's token names regions, partitions and times like others. A log index that no log has reached hurts nobody but
/// whoever made it up, and them only where they ask for it.
#[test]
fn a_token_of_log_indexes_is_refused_if_it_names_what_does_not_exist() {
    let all: &[u16] = &[0];
    let cluster = Cluster::start("nukv", &[(0, all), (1, all)], |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({ "wait_limit_us": 100_000 });
        config.cluster = cluster.into();
    });
    let mut client = cluster.client(0);
    let past = |partition: u16, entries: &[u64], dt_w: Hlc| nukv::Past {
        hwm: [(PartitionId(partition), nukv::Indexes(entries.to_vec()))].into(),
        dt_w,
        ..nukv::Past::default()
    };
    for past in [past(1, &[1], Hlc(1)), past(0, &[0, 0, 1], Hlc(1))] {
        let answer = client.text(&["TIDE.SESSION", "IMPORT", &forged("nukv", past)]);
        assert!(answer.starts_with("!ERR this is not a session token"), "{answer}");
    }
    let far = forged("nukv", past(0, &[1], Hlc(u64::MAX)));
    assert!(client.text(&["TIDE.SESSION", "IMPORT", &far]).starts_with("!CLOCKSKEW"));
    client.ok(&["SET", "k", "v"]);
    assert_eq!(client.text(&["GET", "k"]), "v", "what was refused has left nothing behind");
    let unreached = forged("nukv", past(0, &[u64::MAX, 1], Hlc(1)));
    client.ok(&["TIDE.SESSION", "IMPORT", &unreached]);
    assert!(client.text(&["GET", "k"]).starts_with("!STALESESSION"));
    assert_eq!(client.text(&["TIDE.GUARANTEE", "read=monotonic-read", "GET", "k"]), "v");
    client.ok(&["SET", "k", "w"]);
    assert_eq!(cluster.client(0).text(&["GET", "k"]), "w");
}
