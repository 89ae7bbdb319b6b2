//! `frames.txt`: a JSON object a line. Lines with `hex` are frames; those of one `connection` follow each other. `context` is what
//! the receiver remembers before it: the last `tick`, the `base` of that, and the `watched` keys by reference. Lines
//! without `connection` are about cids, bodies, chains and hashes.

use crate::support::{draw, golden, json};
use bytes::Bytes;
use fastrand::Rng;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tidemark_core::Hlc;
use tidemark_edge::frames::*;
use tidemark_edge::position::Hand;

/// What has been written, and the connection that goes on.
struct Fixture {
    text: String,
    connection: u64,
    client: ClientLink,
    gateway: GatewayLink,
}

impl Fixture {
    fn line(&mut self, line: serde_json::Value) {
        writeln!(self.text, "{line}").expect("a string takes all");
    }

    fn connect(&mut self) {
        self.connection += 1;
        (self.client, self.gateway) = Default::default();
    }

    fn context(&self) -> serde_json::Value {
        let watched = self.gateway.watched();
        let watched: serde_json::Value = watched
            .map(|(reference, key)| json!({"ref": json::number(reference), "key": json::hex(key)}))
            .collect();
        json!({
            "tick": json::number(self.gateway.tick()), "base": json::base(self.gateway.base()), "watched": watched,
        })
    }

    fn up(&mut self, frame: ToGateway) {
        let context = self.context();
        let bytes = self.client.encode(&frame).expect("it may be sent");
        assert_eq!(self.gateway.decode(&bytes).as_ref(), Ok(&frame));
        let (name, fields) = json::to_gateway(&frame);
        self.frame("client", name, &bytes, fields, context);
    }

    fn down(&mut self, frame: ToClient) {
        let context = self.context();
        let bytes = self.gateway.encode(&frame).expect("it may be sent");
        assert_eq!(self.client.decode(&bytes).as_ref(), Ok(&frame));
        let (name, fields) = json::to_client(&frame);
        self.frame("gateway", name, &bytes, fields, context);
    }

    fn frame(
        &mut self,
        side: &str,
        name: &str,
        bytes: &[u8],
        fields: serde_json::Value,
        context: serde_json::Value,
    ) {
        let connection = self.connection;
        self.line(json!({
            "connection": connection, "side": side, "name": name, "hex": json::hex(bytes), "fields": fields,
            "context": context,
        }));
    }

    /// Bytes that are no frame here.
    fn malformed(&mut self, side: &str, bytes: &[u8], why: &str) {
        let decoded = match side {
            "client" => self.gateway.clone().decode(bytes).map(|_| ()),
            _ => self.client.clone().decode(bytes).map(|_| ()),
        };
        assert!(decoded.is_err(), "{why}");
        let context = self.context();
        self.frame(side, "Malformed", bytes, json!({"why": why}), context);
    }
}

fn operation(key: &'static str, kind: OperationKind) -> Operation {
    Operation { key: key.into(), kind }
}

fn at(us: u64, counter: u64) -> Hlc {
    Hlc((us << 12) + counter)
}

fn written(at_us: u64, bytes: &'static str) -> Written {
    Written { at_us, bytes: bytes.into() }
}

const NOW: u64 = 1_790_000_000_000_000;

fn position(time_us: u64, left: Option<&Bytes>) -> Bytes {
    let hand = Hand { author: 0xfeed, time_us, nth: 0 };
    hand.between(left.map(|left| &left[..]), None).into()
}

/// One of each operation.
fn operations() -> Vec<Operation> {
    vec![
        operation("name", OperationKind::Set("Ada".into())),
        operation("gone", OperationKind::Delete),
        operation("visits", OperationKind::Add(-3)),
        operation("cart", OperationKind::MapSet("apples".into(), "4".into())),
        operation("cart", OperationKind::MapDelete("pears".into())),
        operation("tags", OperationKind::SetAdd("red".into())),
        operation("tags", OperationKind::SetRemove("".into())),
        operation("cart", OperationKind::MapAdd("plums".into(), i64::MIN)),
        operation("steps", OperationKind::ListSet(position(NOW, None), "first".into())),
        operation("steps", OperationKind::ListRemove(position(NOW + 1, Some(&position(NOW, None))))),
    ]
}

fn opening(fixture: &mut Fixture) {
    fixture.connect();
    let hello = Hello {
        secret: Secret(std::array::from_fn(|at| at as u8)),
        regions: 2,
        base: Base(vec![at(NOW, 0), at(NOW - 500, 7), at(NOW + 20, 4095)]),
        in_base: 4,
        first: 5,
        check: [1, 2, 3, 4, 5, 6, 7, 8],
        token: "a token".into(),
    };
    let dep = hello.base.clone();
    fixture.up(ToGateway::Hello(hello));
    for (reference, key) in ["name", "visits", "cart", "tags"].into_iter().enumerate() {
        let have = if reference == 0 { Value::Absent.hash() } else { NO_HASH };
        fixture.up(ToGateway::Watch { reference: reference as u64, key: key.into(), have });
    }
    fixture.up(ToGateway::Sync);
    fixture.down(ToClient::Welcome(Welcome {
        region: 1,
        regions: 3,
        time_us: NOW + 1000,
        head: 5,
        check: [9; 8],
        period_ms: 1000,
        retain_ms: 86_400_000,
        covered: true,
        name: "eu".into(),
    }));
    let body = Body { k: 5, h_us: NOW + 30, dep: dep.clone(), operations: operations() };
    fixture.up(ToGateway::Transfer { body: body.clone(), sent_before: true });
    fixture.down(ToClient::Ack { k: 5 });
    let many = (0..31).map(|_| operation("visits", OperationKind::Add(1))).collect();
    let elsewhere = Base(vec![at(NOW, 1), Hlc(u64::MAX)]);
    fixture.up(ToGateway::Transfer {
        body: Body { k: 6, h_us: 0, dep: elsewhere, operations: many },
        sent_before: false,
    });
}

fn ticks(fixture: &mut Fixture) {
    let fields = BTreeMap::from([("apples".into(), written(NOW - 9, "4")), ("".into(), written(0, ""))]);
    let members: BTreeSet<Bytes> = ["blue".into(), "red".into()].into();
    let whole = |reference, value| Update { reference, change: Change::Whole(value) };
    let to = Base(vec![at(NOW + 100, 0), at(NOW - 500, 7), at(NOW + 21, 0)]);
    fixture.down(ToClient::Tick(Tick {
        to: to.clone(),
        regions: 2,
        in_base: 5,
        check: [5; 8],
        have: 0b101,
        updates: vec![
            whole(0, Value::String(written(NOW + 30, "Ada"))),
            whole(1, Value::Absent),
            whole(2, Value::Map(fields)),
            whole(3, Value::Set(members)),
        ],
    }));
    let body = Body { k: 7, h_us: NOW + 101, dep: to.clone(), operations: operations() };
    fixture.up(ToGateway::Transfer { body, sent_before: false });
    fixture.up(ToGateway::Watch { reference: 4, key: "log".into(), have: NO_HASH });
    fixture.down(ToClient::Value { reference: 4, value: Value::Other("stream".into()) });
    fixture.up(ToGateway::Unwatch { reference: 0 });
    fixture.up(ToGateway::SetK { regions: 3 });
    let next = Base(vec![at(NOW + 200, 3), at(NOW + 1, 0), at(NOW + 21, 0), at(5, 5)]);
    fixture.down(ToClient::Tick(Tick {
        to: next,
        regions: 3,
        in_base: 7,
        check: [7; 8],
        have: 0b1111,
        updates: vec![
            Update {
                reference: 2,
                change: Change::Fields(
                    BTreeMap::from([("plums".into(), written(NOW + 101, "-1"))]),
                    ["apples".into()].into(),
                ),
            },
            Update { reference: 3, change: Change::Set(["green".into()].into(), ["red".into()].into()) },
            whole(
                4,
                Value::List(BTreeMap::from([
                    (position(NOW, None), written(NOW + 102, "first")),
                    (position(NOW + 1, Some(&position(NOW, None))), written(NOW + 103, "second")),
                ])),
            ),
        ],
    }));
    // It was prepared at the tick before, with a key whose watch has ended.
    let body = Body { k: 8, h_us: NOW + 102, dep: to, operations: operations() };
    fixture.up(ToGateway::Transfer { body, sent_before: false });
}

fn the_rest(fixture: &mut Fixture) {
    fixture.down(ToClient::Missing { k: 6 });
    fixture.down(ToClient::Later { wait_ms: 250 });
    fixture.down(ToClient::Behind { wait_ms: 300 });
    fixture.down(ToClient::Forked { k: 7 });
    fixture.down(ToClient::Retime { k: u64::MAX });
    fixture.down(ToClient::Shared { regions: 2 });
    let (code, text) = ("WRONGTYPE", "the key holds a list");
    fixture.down(ToClient::Refused { k: 8, operation: 8, code: code.into(), text: text.into() });
    fixture.down(ToClient::Error { code: "MALFORMED".into(), text: "trailing bytes".into() });
}

fn malformed(fixture: &mut Fixture) {
    fixture.malformed("client", &[], "empty");
    fixture.malformed("client", &[7], "an unknown type");
    fixture.malformed("client", &[6, 0], "trailing bytes");
    fixture.malformed("client", &[5, 0x80, 0], "a varint longer than needed");
    fixture.malformed("client", &[5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], "above 64 bits");
    fixture.malformed("client", &[4, 0], "its watch has ended");
    fixture.malformed("client", &[3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0], "an empty key");
    fixture.malformed("client", &[3, 4, 1, 97, 0, 0, 0, 0, 0, 0, 0, 0], "a reference that was used");
    fixture.malformed("client", &[2, 9, 1, 99, 0, 2, 2], "a tick that was not sent");
    fixture.malformed("client", &[2, 9, 129, 0, 0, 2, 2], "an unknown bit");
    fixture.malformed("client", &[2, 9, 1, 0, 0, 1, 2], "a key that is not watched");
    fixture.malformed("gateway", &[1], "a client's frame");
    fixture.malformed("gateway", &[130], "it ends too early");
    fixture.malformed("gateway", &[137, 4, 1, 0], "a value of an earlier tick");
    fixture.malformed(
        "gateway",
        &[138, 2, 4, 0, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0],
        "a tick that came before",
    );
    fixture.malformed(
        "gateway",
        &[138, 3, 4, 1, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0],
        "a base below the last one",
    );
    fixture.malformed(
        "gateway",
        &[138, 3, 3, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0],
        "a base without an entry of the last one",
    );
    fixture.malformed(
        "gateway",
        &[138, 3, 4, 0, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 2, 3, 0, 2, 0],
        "references descend",
    );
    fixture.malformed(
        "gateway",
        &[138, 3, 4, 0, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 3, 3, 0],
        "an empty set",
    );
    fixture.malformed(
        "gateway",
        &[138, 3, 4, 0, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 3, 7, 0],
        "an empty list",
    );
    fixture.malformed(
        "gateway",
        &[138, 3, 4, 0, 0, 0, 0, 3, 7, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 3, 6, 2, 1, 98, 1, 97, 0],
        "members descend",
    );
}

fn digests(fixture: &mut Fixture) {
    let rng = &mut Rng::with_seed(7);
    let secret = Secret(std::array::from_fn(|at| at as u8));
    fixture.line(json!({"name": "Cid", "secret": json::hex(&secret.0), "cid": json::hex(&secret.cid())}));
    let mut chain = Chain::START;
    for k in 1..=5 {
        let mut body = draw::body(rng, &[], &[]);
        body.k = k;
        let bytes = body.encode();
        let before = chain;
        chain = chain.then(&bytes);
        fixture.line(json!({
            "name": "Body", "fields": json::body(&body), "hex": json::hex(&bytes),
            "before": json::hex(&before.0), "after": json::hex(&chain.0),
        }));
    }
    for _ in 0..12 {
        let value = draw::value(rng);
        fixture.line(json!({"name": "Hash", "value": json::value(&value), "hash": json::hex(&value.hash())}));
    }
}

/// Frames as they are drawn.
fn drawn(fixture: &mut Fixture) {
    for seed in 0..3 {
        let rng = &mut Rng::with_seed(seed);
        fixture.connect();
        fixture.up(ToGateway::Hello(draw::hello(rng)));
        fixture.down(ToClient::Welcome(draw::welcome(rng)));
        for _ in 0..12 {
            let frame = draw::to_client(rng, &fixture.gateway);
            fixture.down(frame);
            let watched: Vec<Bytes> = fixture.gateway.watched().map(|(_, key)| key.clone()).collect();
            let bases = [fixture.gateway.base().clone()];
            let body = draw::body(rng, &watched, &bases);
            fixture.up(ToGateway::Transfer { body, sent_before: rng.bool() });
            let (reference, key) = (fixture.client.next_reference(), draw::key(rng));
            if !watched.contains(&key) && key.len() < 100 {
                fixture.up(ToGateway::Watch { reference, key, have: rng.u64(..).to_be_bytes() });
            }
        }
    }
}

#[test]
fn frames_are_those_of_the_fixture() {
    let mut fixture = Fixture {
        text: String::new(),
        connection: 0,
        client: ClientLink::default(),
        gateway: GatewayLink::default(),
    };
    opening(&mut fixture);
    ticks(&mut fixture);
    the_rest(&mut fixture);
    malformed(&mut fixture);
    drawn(&mut fixture);
    digests(&mut fixture);
    golden("frames.txt", &fixture.text);
}
