//! Regions of the default protocol, each with a gateway.

use bytes::Bytes;
use tidemark_contract::Lab;
use tidemark_contract::core::{Hlc, Key, Op, Outcome, ServerId};
use tidemark_contract::cx::edge::shown;
use tidemark_edge::frames::Base;
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
        idle_ms: 5_000,
        retain_ms: RETAIN_US / 1000,
        isolated_ms: RETAIN_US / 1000,
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
                        let answer = self.answer(dc, &ask);
                        self.gateways[usize::from(dc)].answered(id, answer, self.now_us);
                    }
                    other => self.sent.push((dc, other)),
                }
            }
        }
    }

    fn answer(&mut self, dc: u8, ask: &Ask) -> Answer {
        let now = Hlc::at(self.now_us);
        let outcome = self.lab.run(self.sessions[usize::from(dc)], ask.operation());
        ask.answer(outcome, |found| shown(found, now)).expect("it is an outcome of this operation")
    }

    /// How many regions have all of a base on their disks.
    pub(crate) fn having(&mut self, base: &Base) -> usize {
        let dcs = self.dcs;
        let has = |region: &u8| {
            let Answer::Bases(bases, _) = self.answer(*region, &Ask::Bases) else { return false };
            let has = bases.first().cloned().unwrap_or_default(); // the base of one region, its own
            (0..usize::from(dcs)).all(|entry| base.entry(entry) <= has.entry(entry))
        };
        (0..dcs).filter(has).count()
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
