//! The gateway, step by step: whom it tells of a new base, and what of answers to transactions.

mod isolation;
mod rules;

use bytes::Bytes;
use std::collections::BTreeMap;
use tidemark_core::{Acceptance, ClientId, DcId, EdgeTransaction, Guard, Hlc, Stamp, Vector};
use tidemark_edge::frames::*;
use tidemark_edge::gateway::*;

const NOON_US: u64 = 1_790_000_000_000_000;

/// A gateway in a region of its own, which answers at once, but for what is held.
struct Region {
    gateway: Gateway,
    now_us: u64,
    values: BTreeMap<Bytes, Value<Stamped>>,
    /// Keys that were written since the last base.
    changed: Vec<Bytes>,
    clients: BTreeMap<ConnectionId, ClientLink>,
    /// How many keys were read.
    read: usize,
    /// How far it says that it has a client's transactions, and the server that takes them says it.
    guard: Guard,
    missing: u64,
    /// What is to be accepted is, and noted.
    accepts: bool,
    accepted: Vec<EdgeTransaction>,
    /// Up to when other regions have what is new here, those that have most first; and what K clients ask for.
    others_us: Vec<u64>,
    regions: u64,
    /// What is not answered for now, and the answers as of when it was asked.
    holds: fn(&Ask) -> bool,
    held: Vec<(AskId, Answer)>,
    received: Vec<(ConnectionId, ToClient)>,
}

impl Region {
    fn new() -> Self {
        let name = Bytes::from_static(b"eu");
        let settings = Settings {
            region: 0,
            regions: 1,
            name,
            period_ms: 200,
            idle_ms: 5_000,
            retain_ms: 60_000,
            isolated_ms: 5_000,
            token: None,
        };
        Self {
            gateway: Gateway::new(settings),
            now_us: NOON_US,
            values: BTreeMap::new(),
            changed: Vec::new(),
            clients: BTreeMap::new(),
            read: 0,
            guard: Guard::default(),
            missing: 0,
            accepts: false,
            accepted: Vec::new(),
            others_us: Vec::new(),
            regions: 1,
            holds: |_| false,
            held: Vec::new(),
            received: Vec::new(),
        }
    }

    /// Answers what the gateway asks, and takes what it sends.
    fn settle(&mut self) {
        loop {
            let outputs = self.gateway.outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Send(id, frame) => {
                        let frame = self.clients.get_mut(&id).unwrap().decode(&frame).unwrap();
                        self.received.push((id, frame));
                    }
                    Output::Close(id) => panic!("{id} is closed"),
                    Output::Ask(id, ask) => {
                        let is_held = (self.holds)(&ask);
                        let answer = self.answer(ask);
                        if is_held {
                            self.held.push((id, answer));
                            continue;
                        }
                        self.gateway.answered(id, answer, self.now_us);
                    }
                }
            }
        }
    }

    fn answer(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Bases => {
                let others = self.others_us.iter().map(|upto_us| Base(vec![Hlc::at(*upto_us)]));
                Answer::Bases([self.base()].into_iter().chain(others).collect(), vec![self.base()])
            }
            Ask::Guard(_) => Answer::Guard(self.guard),
            Ask::Changed(..) => Answer::Changed(Some(std::mem::take(&mut self.changed))),
            Ask::Read(_, keys) => {
                self.read += keys.len();
                Answer::Values(
                    keys.iter().map(|key| self.values.get(key).cloned().unwrap_or_default()).collect(),
                )
            }
            Ask::Accept(all) if self.accepts => {
                self.accepted.push(*all);
                Answer::Accepted(Acceptance::Taken(Vec::new()))
            }
            Ask::Accept(_) => Answer::Accepted(Acceptance::Missing(self.missing)),
        }
    }

    fn base(&self) -> Base {
        Base(vec![Hlc::at(self.now_us)])
    }

    fn send(&mut self, id: ConnectionId, frame: &ToGateway) {
        let bytes = self.clients.get_mut(&id).unwrap().encode(frame).unwrap();
        self.gateway.frame(id, &bytes, self.now_us);
        self.settle();
    }

    fn open(&mut self, id: ConnectionId, key: &'static str) {
        self.greet(id, Base(Vec::new()));
        self.watch(id, 0, key);
        self.send(id, &ToGateway::Sync);
        assert!(self.told(id).iter().any(|frame| matches!(frame, ToClient::Tick(_))));
    }

    /// A client comes that has this base.
    fn greet(&mut self, id: ConnectionId, base: Base) {
        self.clients.insert(id, ClientLink::default());
        self.gateway.opened(id);
        let (secret, token, check, regions) = (Secret([id as u8; 32]), Bytes::new(), [0; 8], self.regions);
        let hello = Hello { secret, regions, base, in_base: 0, first: 1, check, token };
        self.send(id, &ToGateway::Hello(hello));
    }

    fn watch(&mut self, id: ConnectionId, reference: u64, key: &'static str) {
        self.send(id, &ToGateway::Watch { reference, key: key.into(), have: NO_HASH });
    }

    fn write(&mut self, key: &'static str, text: &'static str) {
        self.write_by(key, text, Stamp::new(Hlc::at(self.now_us), DcId(0)));
    }

    fn write_by(&mut self, key: &'static str, text: &'static str, by: Stamp) {
        self.values.insert(key.into(), Value::String(Stamped { by, bytes: text.into() }));
        self.changed.push(key.into());
    }

    fn pass(&mut self, micros: u64) {
        self.now_us += micros;
        self.gateway.tick(self.now_us);
        self.settle();
    }

    /// What a client was sent since the last call.
    fn told(&mut self, id: ConnectionId) -> Vec<ToClient> {
        self.received.extract_if(.., |(to, _)| *to == id).map(|(_, frame)| frame).collect()
    }

    /// The references of what a tick has brought; nothing if there was none.
    fn ticked(&mut self, id: ConnectionId) -> Option<Vec<u64>> {
        let frames = self.told(id);
        assert!(frames.len() <= 1, "{frames:?}");
        frames.into_iter().next().map(|frame| match frame {
            ToClient::Tick(tick) => tick.updates.iter().map(|update| update.reference).collect(),
            other => panic!("{other:?}"),
        })
    }
}

#[test]
fn a_base_is_told_to_those_whose_keys_have_changed_who_ask_or_who_heard_nothing_for_long() {
    let mut region = Region::new();
    for (id, key) in [(1, "a"), (2, "b"), (3, "b")] {
        region.open(id, key);
    }
    region.read = 0;
    region.write("a", "1");
    region.pass(200_000);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [Some(vec![0]), None, None]);
    assert_eq!(region.read, 1, "only what has changed is read");
    region.write("b", "1");
    region.pass(200_000);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [None, Some(vec![0]), Some(vec![0])]);
    region.write("nobody's", "1");
    region.pass(200_000);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [None, None, None]);
    region.now_us += 1;
    region.send(3, &ToGateway::Sync);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [None, None, Some(vec![])]);
    region.pass(200_000);
    assert_eq!(region.ticked(3), None, "once");
    // 5 s after the last one of each: those of 1 and 2 are 0.6 s and 0.4 s old.
    region.pass(4_350_000);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [None, None, None]);
    region.pass(100_000);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [Some(vec![]), None, None]);
    region.pass(200_000);
    assert_eq!([1, 2, 3].map(|id| region.ticked(id)), [None, Some(vec![]), None]);
    region.gateway.closed(3);
    region.pass(10_000_000);
    assert_eq!([1, 2].map(|id| region.ticked(id)), [Some(vec![]), Some(vec![])]);
    assert!(region.received.is_empty(), "3 has gone");
}

#[test]
fn a_key_that_is_watched_later_is_read_and_one_that_is_given_up_is_not() {
    let mut region = Region::new();
    region.open(1, "a");
    region.open(2, "a");
    region.write("b", "1");
    region.now_us += 1;
    region.watch(1, 1, "b");
    assert!(matches!(&region.told(1)[..], [ToClient::Value { reference: 1, .. }]), "at the base that it has");
    region.send(1, &ToGateway::Unwatch { reference: 0 });
    region.write("a", "2");
    region.write("b", "2");
    region.read = 0;
    region.pass(200_000);
    assert_eq!([1, 2].map(|id| region.ticked(id)), [Some(vec![1]), Some(vec![0])]);
    assert_eq!(region.read, 2);
    // Nobody watches it any more: it is not read.
    region.send(2, &ToGateway::Unwatch { reference: 0 });
    region.write("a", "3");
    region.read = 0;
    region.pass(200_000);
    assert_eq!((region.ticked(1), region.ticked(2), region.read), (None, None, 0));
    // Somebody may watch it again, under another reference.
    region.watch(2, 1, "a");
    assert!(matches!(&region.told(2)[..], [.., ToClient::Value { reference: 1, .. }]));
}

/// Seed 60526620: the base was ahead of the clocks of two clients, and both gave their transactions the microsecond after it. One showed its
/// own write, which had lost, beside the rest of what had won.
#[test]
fn of_writes_at_one_microsecond_each_client_is_told_the_time_that_says_whether_its_own_has_lost() {
    let clients = [1, 2, 3].map(|id| ClientId(Secret([id; 32]).cid()));
    let at = Hlc::at(NOON_US + 7);
    let by_client = |client: ClientId| EdgeTransaction {
        client,
        k: 1,
        h: at,
        dep: Vector::default(),
        before: [0; 32],
        digest: [9; 32],
        new: true,
        after_loss: false,
        updates: Vec::new(),
    };
    let own = clients.map(|client| by_client(client).stamp());
    let by_redis = [at, at.next()].map(|ts| Stamp::new(ts, DcId(0)));
    for winner in own.into_iter().chain(by_redis) {
        let mut region = Region::new();
        region.open(1, "k");
        region.open(2, "other");
        region.now_us += 200_000;
        region.write_by("k", "v", winner);
        region.pass(200_000);
        // The first is told of a change, the next watches the key later, and the last opens with it.
        region.watch(2, 1, "k");
        region.greet(3, Base(Vec::new()));
        region.watch(3, 0, "k");
        region.send(3, &ToGateway::Sync);
        for (id, own) in (1..).zip(own) {
            let told_us = match region.told(id).pop() {
                Some(ToClient::Tick(Tick { updates, .. })) => match &updates[..] {
                    [Update { change: Change::Whole(Value::String(written)), .. }] => written.at_us,
                    other => panic!("{other:?}"),
                },
                Some(ToClient::Value { value: Value::String(written), .. }) => written.at_us,
                other => panic!("{other:?}"),
            };
            let has_lost = winner > own;
            assert_eq!(told_us, at.micros() + u64::from(has_lost), "{id} {winner}");
        }
    }
    assert!(own[0] != own[1] && own[1] != own[2], "one of each two loses");
}

/// What was before the log of a client was in the base of a region that is lost for good. As soon as it has a base here that is above its own,
/// and has not got it, its log goes on without that.
#[test]
fn what_a_client_has_seen_and_was_lost_is_not_waited_for() {
    let mut region = Region::new();
    region.accepts = true;
    region.holds = |ask| matches!(ask, Ask::Changed(..) | Ask::Read(..)); // of the channel: it has no base yet
    region.clients.insert(1, ClientLink::default());
    region.gateway.opened(1);
    let (base, check) = (Base(vec![Hlc::at(NOON_US - 9)]), [5; 8]);
    let hello = Hello {
        secret: Secret([1; 32]),
        regions: 1,
        base: base.clone(),
        in_base: 2,
        first: 3,
        check,
        token: Bytes::new(),
    };
    region.send(1, &ToGateway::Hello(hello));
    region.watch(1, 0, "k");
    region.send(1, &ToGateway::Sync);
    let add = Operation { key: "k".into(), kind: OperationKind::Add(1) };
    let body = |k| Body { k, h_us: NOON_US + k, dep: base.clone(), operations: vec![add.clone()] };
    let transfer = |k| ToGateway::Transfer { body: body(k), sent_before: true };
    region.send(1, &transfer(3));
    assert!(
        matches!(region.told(1)[..], [ToClient::Welcome(_), ToClient::Behind { .. }]),
        "it may be here yet"
    );
    region.holds = |_| false;
    for (id, answer) in std::mem::take(&mut region.held) {
        region.gateway.answered(id, answer, region.now_us);
    }
    region.settle();
    assert!(matches!(&region.told(1)[..], [ToClient::Tick(tick)] if tick.in_base == 0));
    region.send(1, &transfer(4));
    assert_eq!(region.told(1), [ToClient::Missing { k: 2 }], "3 goes first");
    region.send(1, &transfer(3));
    region.send(1, &transfer(4));
    assert_eq!(region.told(1), [ToClient::Ack { k: 3 }, ToClient::Ack { k: 4 }]);
    let after = Chain::resumed(check);
    let chain = [after, after.then(&body(3).encode()), after.then(&body(3).encode()).then(&body(4).encode())];
    let seen = region.accepted.iter().map(|one| (one.k, one.after_loss, one.before, one.digest));
    assert!(seen.eq([(3, true, chain[0].0, chain[1].0), (4, false, chain[1].0, chain[2].0)]));
}

/// The server that takes transactions had restarted and did not know yet that it had what is in its client's base: the client took it that it
/// was lost (seed 1671).
#[test]
fn a_server_that_knows_less_than_its_clients_base_is_waited_for() {
    let mut region = Region::new();
    region.clients.insert(1, ClientLink::default());
    region.gateway.opened(1);
    region.guard = Guard { k: 3, ..Guard::default() };
    let (secret, base) = (Secret([1; 32]), region.base());
    region.send(
        1,
        &ToGateway::Hello(Hello {
            secret,
            regions: 1,
            base,
            in_base: 3,
            first: 4,
            check: [0; 8],
            token: Bytes::new(),
        }),
    );
    region.send(1, &ToGateway::Sync);
    region.told(1);
    for (missing, told) in [(2, ToClient::Behind { wait_ms: 100 }), (3, ToClient::Missing { k: 3 })] {
        region.missing = missing;
        let operation = Operation { key: "a".into(), kind: OperationKind::Add(1) };
        let body = Body { k: 4, h_us: NOON_US, dep: Base(Vec::new()), operations: vec![operation] };
        region.send(1, &ToGateway::Transfer { sent_before: false, body });
        assert_eq!(region.told(1), [told]);
    }
}
