//! Regions of the default protocol, each with a gateway.

use bytes::Bytes;
use tidemark_contract::Lab;
use tidemark_contract::core::{
    Command, Guard, Hlc, Key, Op, Outcome, ServerId, Transact, Vector, Verb, guard_of,
};
use tidemark_contract::cx::edge::{Shown, shown};
use tidemark_edge::frames::{Base, Value, Written};
use tidemark_edge::gateway::{Answer, Ask, ConnectionId, Gateway, Output, Settings};
use tidemark_protocols::Tidemark;
use tidemark_protocols::tidemark::{Params, Timer};

/// How long a transaction can be accepted.
pub(crate) const RETAIN_US: u64 = 800_000;

pub(crate) struct Regions {
    pub(crate) dcs: u8,
    pub(crate) lab: Lab<Tidemark>,
    pub(crate) now_us: u64,
    gateways: Vec<Gateway>,
    sessions: Vec<usize>,
    connections: ConnectionId,
    /// What gateways have sent, and that they close connections.
    pub(crate) sent: Vec<(u8, Output)>,
}

fn gateway(dc: u8, dcs: u8) -> Gateway {
    Gateway::new(Settings {
        region: dc,
        regions: dcs,
        name: Bytes::from(format!("region {dc}")),
        period_ms: 20,
        retain_ms: RETAIN_US / 1000,
        token: None,
    })
}

impl Regions {
    pub(crate) fn new(dcs: u8) -> Self {
        let params = Params {
            base_regions: usize::from(dcs),
            tell_us: 1,
            edge_retain_us: RETAIN_US,
            ..Params::default()
        };
        let mut lab = Lab::new(usize::from(dcs), 2, params);
        let sessions = (0..dcs).map(|dc| lab.client(dc)).collect();
        let now_us = 1_000_000;
        lab.set_clocks(now_us);
        let gateways = (0..dcs).map(|dc| gateway(dc, dcs)).collect();
        Self { dcs, lab, now_us, gateways, sessions, connections: 0, sent: Vec::new() }
    }

    pub(crate) fn pass(&mut self, us: u64) {
        self.now_us += us;
    }

    pub(crate) fn fire(&mut self, at: ServerId, timer: Timer) {
        self.lab.set_clock(at, self.now_us);
        self.lab.fire(at, timer);
    }

    pub(crate) fn deliver(&mut self, from: ServerId, to: ServerId, some: u8) {
        for _ in 0..some {
            if from.partition == to.partition && from.dc != to.dc {
                self.lab.deliver(from, to);
            }
            self.lab.deliver_message(from, to);
        }
    }

    pub(crate) fn round(&mut self) {
        self.now_us += 50_000;
        self.lab.round(self.now_us, &[Timer::Delta, Timer::Theta]);
        (0..self.dcs).for_each(|dc| self.tick(dc));
    }

    pub(crate) fn tick(&mut self, dc: u8) {
        let now_us = self.now_us;
        let gateway = &mut self.gateways[usize::from(dc)];
        gateway.tick(now_us);
        self.serve(dc);
    }

    pub(crate) fn connect(&mut self, dc: u8) -> ConnectionId {
        self.connections += 1;
        self.gateways[usize::from(dc)].opened(self.connections);
        self.connections
    }

    pub(crate) fn disconnect(&mut self, dc: u8, id: ConnectionId) {
        self.gateways[usize::from(dc)].closed(id);
    }

    pub(crate) fn frame(&mut self, dc: u8, id: ConnectionId, frame: &[u8]) {
        self.gateways[usize::from(dc)].frame(id, frame, self.now_us);
        self.serve(dc);
    }

    pub(crate) fn restart_gateway(&mut self, dc: u8) {
        self.gateways[usize::from(dc)] = gateway(dc, self.dcs);
    }

    /// Asks what a gateway asks, until it asks nothing more.
    fn serve(&mut self, dc: u8) {
        loop {
            let outputs = self.gateways[usize::from(dc)].outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Ask(id, ask) => {
                        let answer = self.answer(dc, ask);
                        self.gateways[usize::from(dc)].answered(id, answer, self.now_us);
                    }
                    other => self.sent.push((dc, other)),
                }
            }
        }
    }

    fn answer(&mut self, dc: u8, ask: Ask) -> Answer {
        let session = self.sessions[usize::from(dc)];
        let transact = |step| Op::Transact(Box::new(step));
        let base = |vector: Vector| Base(vector.entries().to_vec());
        match ask {
            Ask::Bases => match self.lab.run(session, transact(Transact::Bases)) {
                Outcome::Bases(bases, told) => {
                    Answer::Bases(bases.into_iter().map(base).collect(), told.into_iter().map(base).collect())
                }
                other => failed(other),
            },
            Ask::Guard(client) => match self.lab.run(session, Op::Get { key: guard_of(client) }) {
                Outcome::Found(found) => Answer::Guard(Guard::decode(found.value.as_deref())),
                other => failed(other),
            },
            Ask::Changed(Base(from), Base(to)) => {
                let (from, to) = (Vector::from_entries(from), Vector::from_entries(to));
                match self.lab.run(session, transact(Transact::Changed { from, to })) {
                    Outcome::Changed(keys) => {
                        Answer::Changed(keys.map(|keys| keys.into_iter().map(|key| key.0).collect()))
                    }
                    other => failed(other),
                }
            }
            Ask::Read(Base(base), keys) => {
                let command = Some(Box::new(Command::new(Verb::Look, Vec::new())));
                let (base, keys) = (Vector::from_entries(base), keys.into_iter().map(Key).collect());
                match self.lab.run(session, transact(Transact::ReadBase { base, keys, command })) {
                    Outcome::FoundAll(found) => {
                        let now = Hlc::at(self.now_us);
                        let all =
                            found.iter().map(|found| value(shown(found, now).expect("it was looked at")));
                        Answer::Values(all.collect())
                    }
                    other => failed(other),
                }
            }
            Ask::Accept(all) => match self.lab.run(session, transact(Transact::Accept(all))) {
                Outcome::Accepted(what) => Answer::Accepted(*what),
                other => failed(other),
            },
        }
    }

    pub(crate) fn outcome(&mut self, dc: u8, key: &'static str) -> Outcome {
        self.lab.run(self.sessions[usize::from(dc)], Op::Get { key: Key::from(key) })
    }

    pub(crate) fn get(&mut self, dc: u8, key: &'static str) -> Option<String> {
        match self.outcome(dc, key) {
            Outcome::Found(found) => found.value.map(|value| String::from_utf8_lossy(&value).into_owned()),
            other => panic!("{other:?}"),
        }
    }
}

fn failed(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Failed(why) => Answer::Failed(why),
        other => panic!("{other:?}"),
    }
}

fn value(shown: Shown) -> Value {
    let written = |at_us, bytes| Written { at_us, bytes };
    match shown {
        Shown::Absent => Value::Absent,
        Shown::String(at_us, bytes) => Value::String(written(at_us, bytes)),
        Shown::Map(fields) => Value::Map(
            fields.into_iter().map(|(field, at_us, bytes)| (field, written(at_us, bytes))).collect(),
        ),
        Shown::Set(members) => Value::Set(members.into_iter().collect()),
        Shown::Other(name) => Value::Other(Bytes::from_static(name.as_bytes())),
    }
}
