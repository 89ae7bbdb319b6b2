//! How many bytes frames take beside what the application has written. It does not depend on how many clients there are, or partitions.

use bytes::Bytes;
use tidemark_core::Hlc;
use tidemark_edge::frames::*;

const NOW_US: u64 = 1_764_000_000_000_000;

/// A connection with three regions and ten watched keys, whose last tick came a second ago.
fn connection() -> (ClientLink, GatewayLink) {
    let (mut client, mut gateway) = (ClientLink::default(), GatewayLink::default());
    let hello = Hello {
        secret: Secret([7; 32]),
        regions: 2,
        base: Base::default(),
        in_base: 0,
        first: 1,
        check: [0; 8],
        token: Bytes::new(),
    };
    let mut up = vec![ToGateway::Hello(hello)];
    up.extend((0..10).map(|n| {
        let key = Bytes::from(format!("cart:of:user:{n}"));
        ToGateway::Watch { reference: n, key, have: NO_HASH }
    }));
    for frame in up {
        gateway.decode(&client.encode(&frame).unwrap()).unwrap();
    }
    let welcome = Welcome {
        region: 0,
        regions: 3,
        time_us: NOW_US,
        head: 0,
        check: [0; 8],
        period_ms: 1250,
        retain_ms: 60_000,
        covered: true,
        name: Bytes::from_static(b"virginia"),
    };
    for frame in [ToClient::Welcome(welcome), tick(NOW_US - 1_000_000, Vec::new())] {
        client.decode(&gateway.encode(&frame).unwrap()).unwrap();
    }
    (client, gateway)
}

fn tick(at_us: u64, updates: Vec<Update>) -> ToClient {
    let to = Base([40_123, 17_456, 0].map(|before| Hlc(Hlc::at(at_us - before).0 + 3)).to_vec());
    ToClient::Tick(Tick { to, regions: 2, in_base: 500, check: [9; 8], have: 7, updates })
}

/// Requires that the document on edge clients says so.
#[track_caller]
fn documented(words: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/edge.md");
    assert!(std::fs::read_to_string(path).unwrap().contains(words), "docs/edge.md: {words}");
}

/// The bar is the paper's figure: 13 bytes.
#[test]
fn a_transaction_of_one_update_takes_thirteen_bytes_beside_it() {
    let (mut client, mut gateway) = connection();
    let (key, value) = (Bytes::from_static(b"cart:of:user:3"), Bytes::from_static(b"apples"));
    let dep = gateway.base().clone();
    let operations = vec![Operation { key, kind: OperationKind::Set(value.clone()) }];
    let body = Body { k: 500, h_us: NOW_US + 900_000, dep, operations };
    let frame = client.encode(&ToGateway::Transfer { body, sent_before: false }).unwrap();
    gateway.decode(&frame).unwrap();
    let beside = frame.len() - value.len();
    assert!(beside <= 13, "{beside}");
    documented(&format!("a transaction of one update takes {beside} bytes"));
}

/// The paper has 100 to 150.
#[test]
fn a_notification_of_ten_updates_takes_at_most_109_bytes_beside_them() {
    let (mut client, mut gateway) = connection();
    let value = Bytes::from_static(b"apples and pears");
    let update = |reference| {
        let at_us = NOW_US - 100_000 - reference * 61_234;
        let change = Change::Whole(Value::String(Written { at_us, bytes: value.clone() }));
        Update { reference, change }
    };
    let frame = gateway.encode(&tick(NOW_US, (0..10).map(update).collect())).unwrap();
    client.decode(&frame).unwrap();
    let beside = frame.len() - 10 * value.len();
    assert!(beside <= 109, "{beside}");
    documented(&format!("a tick of ten updates {beside}, with three regions"));
}
