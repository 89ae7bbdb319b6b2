//! A client whose driver is a script: every event and effect is written down, so that clients in other languages can be run
//! against the same lines. The format is described in `tests/fixtures/transcripts/README.md`.

use super::json;
use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::fmt::Write as _;
use tidemark_core::Hlc;
use tidemark_edge::client::*;
use tidemark_edge::durable::{Durable, Row};
use tidemark_edge::frames::*;
use tidemark_edge::transcript;

/// Of the first gateway's clock; in microseconds since 1970.
pub(crate) const NOON_US: u64 = 1_790_000_000_000_000;

pub(crate) struct Script {
    pub(crate) client: Client,
    pub(crate) now_us: u64,
    pub(crate) disk: Durable,
    pub(crate) writes: VecDeque<(u64, Vec<Row>)>,
    pub(crate) asked: Option<(usize, u64)>,
    /// What the client has sent and the script has not looked at, decoded by the gateway's side.
    pub(crate) sent: Vec<ToGateway>,
    /// Effects that are neither frames nor writes nor connections.
    pub(crate) told: Vec<Effect>,
    pub(crate) wake_at_us: Option<u64>,
    pub(crate) gateway: GatewayLink,
    connection: u64,
    commits: u64,
    secrets: u8,
    lines: String,
    lowers: bool,
}

pub(crate) fn base(micros: &[u64]) -> Base {
    Base(micros.iter().map(|after| Hlc::at(NOON_US + after)).collect())
}

pub(crate) fn string(after_us: u64, text: &str) -> Value {
    Value::String(Written { at_us: NOON_US + after_us, bytes: Bytes::copy_from_slice(text.as_bytes()) })
}

pub(crate) fn set(text: &str) -> OperationKind {
    OperationKind::Set(Bytes::copy_from_slice(text.as_bytes()))
}

pub(crate) const TIMING: Timing = Timing::DEFAULT;

fn config(lowers: bool) -> Config {
    Config { endpoints: 3, seed: 42, token: Bytes::from_static(b"token"), lowers, timing: TIMING }
}

impl Script {
    pub(crate) fn new(about: &str) -> Self {
        Self::with_disk(about, Durable::new(Secret([1; 32])))
    }

    pub(crate) fn with_disk(about: &str, disk: Durable) -> Self {
        Self::begin(about, disk, false)
    }

    /// One that wants bases of two regions, or lowers that.
    pub(crate) fn lowering(about: &str, lowers: bool) -> Self {
        let mut disk = Durable::new(Secret([1; 32]));
        disk.regions = 2;
        Self::begin(about, disk, lowers)
    }

    fn begin(about: &str, disk: Durable, lowers: bool) -> Self {
        let mut new = Self {
            client: Client::new(disk.clone(), config(lowers)),
            now_us: 0,
            disk,
            writes: VecDeque::new(),
            asked: None,
            sent: Vec::new(),
            told: Vec::new(),
            wake_at_us: None,
            gateway: GatewayLink::default(),
            connection: 0,
            commits: 0,
            secrets: 1,
            lines: String::new(),
            lowers,
        };
        new.line(json!({"about": about}));
        new.line_of_disk();
        new
    }

    fn line(&mut self, line: Json) {
        writeln!(self.lines, "{line}").expect("a string takes all");
    }

    fn line_of_disk(&mut self) {
        self.line(transcript::start(&self.disk, &config(self.lowers)));
    }

    pub(crate) fn lines(&self) -> &str {
        &self.lines
    }

    pub(crate) fn event(&mut self, event: Event) {
        let event_line = transcript::event(&event);
        self.event_as(event, event_line);
    }

    fn event_as(&mut self, event: Event, event_line: Json) {
        let effects = self.client.handle(self.now_us, event);
        let mut told = Vec::new();
        for effect in effects {
            told.push(self.effect(effect));
        }
        self.line(json!({"now": json::number(self.now_us), "event": event_line, "effects": told}));
    }

    /// Notes an effect. Its line.
    fn effect(&mut self, effect: Effect) -> Json {
        let mut line = transcript::effect(&effect);
        match effect {
            Effect::Persist { id, rows } => self.writes.push_back((id, rows)),
            Effect::Connect { endpoint, connection } => self.asked = Some((endpoint, connection)),
            Effect::Send { bytes, .. } => {
                let frame = self.gateway.decode(&bytes).expect("it is a frame");
                let (name, fields) = json::to_gateway(&frame);
                self.sent.push(frame);
                (line["name"], line["fields"]) = (json!(name), fields);
            }
            Effect::WakeAt { at_us } => self.wake_at_us = Some(at_us),
            Effect::Close { .. } | Effect::DrawSecret => {}
            other => self.told.push(other),
        }
        line
    }

    /// Completes all writes, also those that follow from that.
    pub(crate) fn write(&mut self) {
        while !self.writes.is_empty() {
            self.write_one();
        }
    }

    pub(crate) fn write_one(&mut self) {
        let (id, rows) = self.writes.pop_front().expect("there is a write");
        rows.iter().for_each(|row| self.disk.apply(row));
        self.event(Event::Persisted { id });
    }

    pub(crate) fn fail_write(&mut self) {
        let (id, _) = self.writes.pop_front().expect("there is a write");
        self.event(Event::PersistFailed { id });
    }

    /// The connection that was asked for is there.
    pub(crate) fn connect(&mut self) -> usize {
        let (endpoint, connection) = self.asked.take().expect("a connection is wanted");
        self.connection = connection;
        self.gateway = GatewayLink::default();
        self.event(Event::Connected { connection });
        endpoint
    }

    pub(crate) fn disconnect(&mut self) {
        self.event(Event::Disconnected { connection: self.connection });
    }

    pub(crate) fn down(&mut self, frame: ToClient) {
        let bytes = self.gateway.encode(&frame).expect("it may be sent");
        let (name, fields) = json::to_client(&frame);
        let connection = self.connection;
        let line = json!({
            "type": "Frame", "connection": json::number(connection), "hex": json::hex(&bytes), "name": name,
            "fields": fields,
        });
        self.event_as(Event::Frame { connection, bytes }, line);
    }

    /// Bytes as they are, from the gateway.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.event(Event::Frame { connection: self.connection, bytes: bytes.to_vec() });
    }

    pub(crate) fn welcome(&mut self, head: u64, check: [u8; 8], covered: bool) {
        let time_us = NOON_US + self.now_us;
        self.down(ToClient::Welcome(Welcome {
            region: 0,
            regions: 3,
            time_us,
            head,
            check,
            period_ms: 1000,
            retain_ms: 60_000,
            covered,
            name: Bytes::from_static(b"eu"),
        }));
    }

    /// A tick with whole values by reference.
    pub(crate) fn tick(&mut self, to: Base, in_base: (u64, [u8; 8]), values: &[(u64, Value)]) {
        let whole = |(reference, value): &(u64, Value)| Update {
            reference: *reference,
            change: Change::Whole(value.clone()),
        };
        let updates = values.iter().map(whole).collect();
        let ((in_base, check), have) = (in_base, 0b111);
        self.down(ToClient::Tick(Tick { to, regions: 2, in_base, check, have, updates }));
    }

    pub(crate) fn watch(&mut self, key: &'static str) {
        self.event(Event::Watch { key: key.into() });
    }

    /// Begins a transaction and commits it.
    pub(crate) fn commit(&mut self, operations: &[(&'static str, OperationKind)]) {
        let mut transaction = self.client.begin();
        operations.iter().for_each(|(key, kind)| transaction.push(*key, kind.clone()));
        self.commit_begun(transaction);
    }

    pub(crate) fn commit_begun(&mut self, transaction: Transaction) {
        self.commits += 1;
        self.event(Event::Commit { id: self.commits, transaction });
    }

    /// Connects to a region that has everything, and goes on until the first tick was taken.
    pub(crate) fn open(&mut self, to: Base, in_base: (u64, [u8; 8]), values: &[(u64, Value)]) {
        self.event(Event::Start);
        self.connect();
        self.welcome(in_base.0, in_base.1, true);
        self.tick(to, in_base, values);
        self.write();
        self.sent.clear();
        self.told.clear();
    }

    /// Loses its connection, and has another one after so many microseconds, to a region that has nothing of its log.
    pub(crate) fn away(&mut self, us: u64) {
        self.disconnect();
        self.pass(us);
        self.connect();
        self.welcome(0, [0; 8], true);
    }

    pub(crate) fn secret(&mut self) {
        self.secrets += 1;
        self.event(Event::Secret(Secret([self.secrets; 32])));
    }

    /// The process dies, and begins again with what is on disk.
    pub(crate) fn crash(&mut self) {
        self.writes.clear();
        self.client = Client::new(self.disk.clone(), config(self.lowers));
        self.now_us = 0; // the clock of another process
        (self.asked, self.wake_at_us) = (None, None);
        self.line_of_disk();
    }

    /// The process dies, and the next one keeps values.
    pub(crate) fn crash_and_keep_values(&mut self) {
        self.crash();
        self.client = Client::with_values(self.disk.clone(), config(self.lowers));
    }

    /// Lets time pass, and rings the timer if it is due.
    pub(crate) fn pass(&mut self, micros: u64) {
        self.now_us += micros;
        if self.wake_at_us.is_some_and(|at_us| at_us <= self.now_us) {
            self.wake_at_us = None;
            self.event(Event::Timer);
        }
    }

    pub(crate) fn read(&mut self, key: &'static str) -> Option<Value> {
        let value = self.client.read(key.as_bytes());
        self.line(transcript::read(key.as_bytes(), value.as_ref()));
        value
    }

    /// The transactions that the client has sent and the script has not looked at: number and whether they were sent before.
    pub(crate) fn transfers(&mut self) -> Vec<(u64, bool)> {
        let transfer = |frame| match frame {
            ToGateway::Transfer { body, sent_before } => Some((body.k, sent_before)),
            _ => None,
        };
        std::mem::take(&mut self.sent).into_iter().filter_map(transfer).collect()
    }

    /// The check of the client's chain on disk up to `k`.
    pub(crate) fn check(&self, k: u64) -> [u8; 8] {
        let base = &self.disk.base;
        let log = self.disk.log.range(base.chain_k + 1..=k);
        log.fold(base.chain, |chain, (_, body)| chain.then(&body.encode())).check()
    }
}
