//! Frames: round trips over drawn connections, malformed bytes, and the fixture that clients in other languages read, too.

mod fixture;

use crate::support::draw;
use bytes::Bytes;
use fastrand::Rng;
use tidemark_edge::frames::*;

const CONNECTIONS: u64 = 400;

/// A connection whose two sides are here.
struct Connection {
    client: ClientLink,
    gateway: GatewayLink,
    bases: Vec<Base>,
}

impl Connection {
    fn new(rng: &mut Rng) -> Self {
        let mut new =
            Self { client: ClientLink::default(), gateway: GatewayLink::default(), bases: Vec::new() };
        let hello = draw::hello(rng);
        new.bases.push(hello.base.clone());
        new.up(&ToGateway::Hello(hello));
        new.down(&ToClient::Welcome(draw::welcome(rng)));
        new
    }

    fn up(&mut self, frame: &ToGateway) -> Vec<u8> {
        let encoded = self.client.encode(frame).expect("it may be sent");
        assert_eq!(self.gateway.decode(&encoded).as_ref(), Ok(frame));
        encoded
    }

    fn down(&mut self, frame: &ToClient) -> Vec<u8> {
        let encoded = self.gateway.encode(frame).expect("it may be sent");
        assert_eq!(self.client.decode(&encoded).as_ref(), Ok(frame));
        encoded
    }

    fn draw_up(&mut self, rng: &mut Rng) -> ToGateway {
        let keys: Vec<Bytes> = self.gateway.watched().map(|(_, key)| key.clone()).collect();
        match rng.u8(..8) {
            0..=1 => {
                let reference = self.client.next_reference();
                let key = draw::key(rng);
                if keys.contains(&key) {
                    return ToGateway::Sync;
                }
                ToGateway::Watch { reference, key, have: rng.u64(..).to_be_bytes() }
            }
            2 if !keys.is_empty() => {
                let reference = self.client.reference_of(rng.choice(&keys).unwrap()).unwrap();
                ToGateway::Unwatch { reference }
            }
            3 => ToGateway::SetK { regions: draw::number(rng) },
            4 => ToGateway::Sync,
            _ => ToGateway::Transfer { body: draw::body(rng, &keys, &self.bases), sent_before: rng.bool() },
        }
    }

    /// Plays some frames in both directions; `seen` gets each with the link of its receiver before it.
    fn play(&mut self, rng: &mut Rng, mut seen: impl FnMut(&mut Rng, Received, &[u8])) {
        for _ in 0..rng.usize(5..100) {
            if rng.bool() {
                let before = self.gateway.clone();
                let frame = self.draw_up(rng);
                let bytes = self.up(&frame);
                seen(rng, Received::ByGateway(before), &bytes);
            } else {
                let before = self.client.clone();
                let frame = draw::to_client(rng, &self.gateway);
                if let ToClient::Tick(tick) = &frame {
                    self.bases.push(tick.to.clone());
                }
                let bytes = self.down(&frame);
                seen(rng, Received::ByClient(before), &bytes);
            }
        }
    }
}

/// The link of a receiver.
enum Received {
    ByGateway(GatewayLink),
    ByClient(ClientLink),
}

impl Received {
    /// Decodes with a copy of the link; what comes out is encoded again. Whether it was a frame.
    fn decodes(&self, bytes: &[u8]) -> bool {
        match self {
            Self::ByGateway(link) => link.clone().decode(bytes).is_ok(),
            Self::ByClient(link) => link.clone().decode(bytes).is_ok(),
        }
    }
}

#[test]
fn what_is_encoded_is_decoded_again() {
    let mut frames = 0;
    for seed in 0..CONNECTIONS {
        let rng = &mut Rng::with_seed(seed);
        let mut connection = Connection::new(rng);
        connection.play(rng, |_, _, _| frames += 1);
    }
    assert!(frames > 10_000, "{frames}");
}

#[test]
fn every_truncation_and_many_bit_flips_are_errors_or_frames() {
    let (mut truncated, mut flipped, mut accepted) = (0, 0, 0);
    for seed in 0..CONNECTIONS / 4 {
        let rng = &mut Rng::with_seed(seed);
        let mut connection = Connection::new(rng);
        connection.play(rng, |rng, link, bytes| {
            for end in 0..bytes.len().min(300) {
                assert!(!link.decodes(&bytes[..end]), "a part of a frame is one: {bytes:?} up to {end}");
                truncated += 1;
            }
            assert!(!link.decodes(&[bytes, &[0]].concat()), "trailing bytes");
            for _ in 0..20 {
                let mut other = bytes.to_vec();
                let at = rng.usize(..other.len());
                other[at] ^= 1 << rng.u8(..8);
                accepted += usize::from(link.decodes(&other));
                flipped += 1;
            }
            let noise: Vec<u8> = (0..rng.usize(..40)).map(|_| rng.u8(..)).collect();
            link.decodes(&noise);
        });
    }
    assert!(truncated > 50_000 && flipped > 50_000 && accepted > 1000, "{truncated} {flipped} {accepted}");
}

#[test]
fn bodies_and_chains_follow_from_their_bytes() {
    let rng = &mut Rng::with_seed(1);
    for _ in 0..1000 {
        let body = draw::body(rng, &[], &[]);
        let bytes = body.encode();
        assert_eq!(Body::decode(&bytes).as_ref(), Ok(&body));
        assert!((0..bytes.len()).all(|end| Body::decode(&bytes[..end]).is_err()));
        assert_ne!(Chain::START.then(&bytes), Chain::START);
    }
}

fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::String(written) => written.at_us = 0,
        Value::Map(fields) => fields.values_mut().for_each(|written| written.at_us = 0),
        _ => {}
    }
    value
}

#[test]
fn a_hash_is_of_the_value_and_not_of_its_times() {
    let rng = &mut Rng::with_seed(2);
    let string = |at_us, bytes: &'static str| Value::String(Written { at_us, bytes: bytes.into() });
    assert_eq!(string(1, "a").hash(), string(2, "a").hash());
    assert_ne!(string(1, "a").hash(), string(1, "b").hash());
    assert_ne!(Value::Absent.hash(), NO_HASH);
    for _ in 0..3000 {
        let (one, other) = (without_times(draw::value(rng)), without_times(draw::value(rng)));
        assert_eq!(one == other, one.hash() == other.hash());
    }
}

#[test]
fn a_tick_before_the_last_64_is_spelled_out() {
    let rng = &mut Rng::with_seed(3);
    let mut connection = Connection::new(rng);
    let mut body = draw::body(rng, &[], &[]);
    for _ in 1..=200 {
        let mut to = connection.gateway.base().clone();
        to.0.resize(to.0.len().max(1), Default::default());
        to.0[0].0 += 1;
        let quiet =
            Tick { to: to.clone(), regions: 1, in_base: 0, check: [0; 8], have: 0, updates: Vec::new() };
        connection.down(&ToClient::Tick(quiet));
        connection.bases.push(to);
    }
    let explicit = |connection: &mut Connection, body: &Body| {
        let sent = connection.up(&ToGateway::Transfer { body: body.clone(), sent_before: false });
        let after_k = sent.iter().skip(1).position(|byte| byte & 0x80 == 0).unwrap() + 2;
        sent[after_k] & 32 != 0
    };
    let expected = [(0, false), (1, true), (136, true), (137, false), (200, false)];
    for (tick, spelled) in expected {
        body.dep = connection.bases[tick].clone();
        assert_eq!(explicit(&mut connection, &body), spelled, "{tick}");
    }
}

#[test]
fn what_may_not_come_here_is_refused_on_both_sides() {
    let rng = &mut Rng::with_seed(4);
    let mut client = ClientLink::default();
    assert!(client.encode(&ToGateway::Sync).is_err(), "before Hello");
    assert!(GatewayLink::default().decode(&[6]).is_err());
    assert!(GatewayLink::default().encode(&ToClient::Ack { k: 1 }).is_err(), "before Welcome");
    let mut connection = Connection::new(rng);
    let hello = ToGateway::Hello(draw::hello(rng));
    assert!(connection.client.encode(&hello).is_err(), "a second one");
    let watch = |reference| ToGateway::Watch { reference, key: "a".into(), have: NO_HASH };
    assert!(connection.client.encode(&watch(1)).is_err(), "the first reference is 0");
    connection.up(&watch(0));
    assert!(connection.client.encode(&watch(1)).is_err(), "it is watched");
    connection.up(&ToGateway::Unwatch { reference: 0 });
    assert!(connection.client.encode(&watch(0)).is_err(), "a reference is never used again");
    connection.up(&watch(1));
    let absent = ToClient::Value { reference: 1, value: Value::Absent };
    assert!(connection.gateway.encode(&absent).is_err(), "no tick yet");
    let back =
        Tick { to: Base::default(), regions: 1, in_base: 0, check: [0; 8], have: 0, updates: Vec::new() };
    if connection.gateway.base().0.iter().any(|entry| entry.0 > 0) {
        assert!(connection.gateway.encode(&ToClient::Tick(back)).is_err(), "a base never falls");
    }
}

#[test]
fn frames_have_a_greatest_length() {
    let rng = &mut Rng::with_seed(5);
    let mut connection = Connection::new(rng);
    let operations = vec![Operation { key: "a".into(), kind: OperationKind::Set(vec![0; FRAME_MAX].into()) }];
    let body = Body { k: 1, h_us: 1, dep: Base::default(), operations };
    assert!(connection.client.encode(&ToGateway::Transfer { body, sent_before: false }).is_err());
    assert!(connection.gateway.decode(&vec![6; FRAME_MAX + 1]).is_err());
}
