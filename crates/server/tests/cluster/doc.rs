//! Documents over sockets: readers that go on in another region, and payloads that are any bytes.

use crate::support::{Client, Cluster, eventually};
use tidemark_wire::resp::{Reply, encode_request};

/// The token and the updates that a READ answers.
fn read(client: &mut Client, since: Option<&[u8]>) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut words: Vec<&[u8]> = vec![b"TIDE.DOC", b"READ", b"doc"];
    words.extend(since.into_iter().flat_map(|token| [&b"SINCE"[..], token]));
    let reply = call(client, &words);
    let parts = reply.items().unwrap_or_else(|| panic!("{reply:?}"));
    let bytes = |reply: &Reply| reply.bytes().expect("a string").to_vec();
    (bytes(&parts[0]), parts[1].items().expect("a list").iter().map(bytes).collect())
}

fn call(client: &mut Client, words: &[&[u8]]) -> Reply {
    let mut bytes = Vec::new();
    encode_request(&mut bytes, words);
    client.send(&bytes);
    client.reply().expect("the connection stands")
}

#[test]
fn a_reader_goes_on_with_its_token_in_any_region() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let blobs: [&[u8]; 3] = [b"\0\r\n\xff", b"", &[7; 100_000]];
    for blob in blobs {
        assert_eq!(call(&mut a, &[b"TIDE.DOC", b"PUT", b"doc", blob]), Reply::Simple("OK".into()));
    }
    let (mut token, all) = read(&mut a, None);
    assert_eq!(all, blobs);
    eventually("the other region has all", || read(&mut b, None).1.len() == 3);
    assert_eq!(read(&mut b, Some(&token)).1, [[0_u8; 0]; 0], "they were given in the first region");
    b.ok(&["TIDE.DOC", "PUT", "doc", "of b"]);
    let mut new = Vec::new();
    eventually("it shows in the first region", || {
        (token, new) = read(&mut a, Some(&token));
        !new.is_empty()
    });
    assert_eq!(new, [b"of b"]);
    let text = String::from_utf8(token.clone()).expect("a token is text");
    assert_eq!(a.text(&["TIDE.DOC", "COMPACT", "doc", "merged", "UPTO", &text]), "4");
    assert_eq!(read(&mut a, Some(&token)).1, [b"merged"]);
    eventually("the other region has it", || read(&mut b, None).1 == [b"merged"]);
    assert_eq!(
        b.text(&["TIDE.DOC", "READ", "doc", "SINCE", "nonsense"]),
        "!ERR that is not a token of TIDE.DOC READ"
    );
}

#[test]
fn a_document_is_a_key_like_others() {
    let cluster = Cluster::regions("tidemark", 1, 2);
    let mut client = cluster.client(0);
    client.ok(&["SET", "text", "v"]);
    client.ok(&["TIDE.DOC", "PUT", "doc", "a", "b"]);
    client.ok(&["TIDE.BCOUNTER", "CREATE", "stock", "0", "5"]);
    for (key, kind) in [("doc", "tide-doc"), ("stock", "tide-bcounter")] {
        assert_eq!(client.text(&["TYPE", key]), kind);
        assert_eq!(client.text(&["OBJECT", "ENCODING", key]), "raw");
        let scanned = client.call(&["SCAN", "0", "COUNT", "1000", "TYPE", kind]);
        let keys = scanned.items().expect("two parts")[1].items().expect("keys").to_vec();
        // A partition a step.
        assert!(keys.len() <= 1, "{keys:?}");
        assert!(client.call(&["MEMORY", "USAGE", key]).integer().expect("a count") > 0);
        assert!(client.text(&["HGET", key, "f"]).starts_with("!WRONGTYPE"));
        assert_eq!(client.text(&["EXPIREAT", key, "32503680000"]), "1");
        assert_eq!(client.text(&["EXPIRETIME", key]), "32503680000");
    }
    assert!(client.text(&["TIDE.DOC", "PUT", "text", "a"]).starts_with("!WRONGTYPE"));
    let payload = client.call(&["DUMP", "doc"]);
    client.ok(&["RENAME", "doc", "{doc}new"]);
    assert_eq!(client.text(&["COPY", "{doc}new", "doc"]), "1");
    let updates = |client: &mut Client| read(client, None).1;
    assert_eq!(updates(&mut client), [b"a", b"b"]);
    assert_eq!(client.text(&["DEL", "doc"]), "1");
    let restored = call(&mut client, &[b"RESTORE", b"doc", b"0", payload.bytes().expect("a payload")]);
    assert_eq!(
        (restored, updates(&mut client)),
        (Reply::Simple("OK".into()), vec![b"a".to_vec(), b"b".to_vec()])
    );
    for command in [&["DUMP", "stock"][..], &["RENAME", "stock", "stock"], &["COPY", "stock", "{stock}other"]]
    {
        assert!(
            client.text(command).starts_with("!ERR a bounded counter can be neither copied"),
            "{command:?}"
        );
    }
    client.ok(&["SET", "stock", "v"]);
    assert_eq!(client.text(&["TYPE", "stock"]), "string");
}

#[test]
fn protocols_without_data_types_refuse_both() {
    let cluster = Cluster::regions("eventual", 1, 1);
    let mut client = cluster.client(0);
    for command in [&["TIDE.DOC", "PUT", "k", "a"][..], &["TIDE.BCOUNTER", "CREATE", "k", "0", "5"]] {
        let why = client.text(command);
        assert_eq!(why, "!ERR data types are not supported under the protocol eventual", "{command:?}");
    }
}
