//! An application on top of a client, with its disk and its connection, and what has to be true of what it sees.

use super::region::Regions;
use bytes::Bytes;
use fastrand::Rng;
use std::collections::{BTreeMap, VecDeque};
use tidemark_edge::client::{Client, Config, Effect, Event, Report, Timing};
use tidemark_edge::durable::{Durable, Row};
use tidemark_edge::frames::{Base, OperationKind, Secret, Value, Written};
use tidemark_edge::gateway::{ConnectionId, Output};

pub(crate) const CLIENTS: usize = 3;

const PAIR: [&str; 2] = ["left", "right"];

/// All commits, each put somewhere behind the client's last one.
const LIST: &str = "commits";

pub(crate) struct App {
    number: usize,
    dcs: u8,
    client: Client,
    disk: Durable,
    writes: VecDeque<(u64, Vec<Row>)>,
    asked: Option<(u64, usize)>,
    /// The number of the connection at the client, its region, and its number there.
    connected: Option<(u64, u8, ConnectionId)>,
    up: VecDeque<Vec<u8>>,
    wake_at_us: u64,
    commits: u64,
    pub(crate) committed: u64,
    /// Its commits, as the application counts them, up to the last that is durable.
    done: u64,
    seen: [u64; CLIENTS],
}

fn number_of(client: usize) -> Bytes {
    Bytes::from(format!("number {client}"))
}

fn saw(client: usize) -> Bytes {
    Bytes::from(format!("saw {client}"))
}

fn keys() -> Vec<Bytes> {
    let own = (0..CLIENTS).flat_map(|client| [number_of(client), saw(client)]);
    let more = PAIR.into_iter().chain(["n", LIST]);
    own.chain(more.map(|key| Bytes::from_static(key.as_bytes()))).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(written) => String::from_utf8_lossy(&written.bytes).into_owned(),
        Value::Absent => String::new(),
        other => panic!("{other:?}"),
    }
}

fn number(value: &Value) -> u64 {
    text(value).parse().unwrap_or(0)
}

/// Clients and the numbers of their commits, in the order of the list.
fn entries(value: &Value) -> Vec<(usize, u64)> {
    let Value::List(elements) = value else { return Vec::new() };
    let entry = |written: &Written| {
        let text = String::from_utf8_lossy(&written.bytes).into_owned();
        let (client, commit) = text.split_once(' ').expect("two numbers");
        (client.parse().expect("a number"), commit.parse().expect("a number"))
    };
    elements.values().map(entry).collect()
}

fn client(disk: Durable, dcs: u8, rng: &mut Rng) -> Client {
    Client::new(
        disk,
        Config {
            endpoints: usize::from(dcs),
            seed: rng.u64(..),
            token: Bytes::new(),
            lowers: false,
            timing: Timing::DEFAULT,
        },
    )
}

impl App {
    pub(crate) fn new(number: usize, dcs: u8, rng: &mut Rng) -> Self {
        let mut disk = Durable::new(Secret(std::array::from_fn(|_| rng.u8(..))));
        disk.regions = 1 + rng.u64(..u64::from(dcs));
        Self {
            number,
            dcs,
            client: client(disk.clone(), dcs, rng),
            disk,
            writes: VecDeque::new(),
            asked: None,
            connected: None,
            up: VecDeque::new(),
            wake_at_us: u64::MAX,
            commits: 0,
            committed: 0,
            done: 0,
            seen: [0; CLIENTS],
        }
    }

    pub(crate) fn event(&mut self, regions: &Regions, event: Event, rng: &mut Rng) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.client.handle(regions.now_us, event) {
                match effect {
                    Effect::Persist { id, rows } => self.writes.push_back((id, rows)),
                    Effect::Connect { endpoint, connection } => self.asked = Some((connection, endpoint)),
                    Effect::Send { bytes, .. } => self.up.push_back(bytes),
                    Effect::Close { .. } => self.up.clear(),
                    Effect::WakeAt { at_us } => self.wake_at_us = at_us,
                    Effect::DrawSecret => {
                        events.push_back(Event::Secret(Secret(std::array::from_fn(|_| rng.u8(..)))));
                    }
                    Effect::Committed { .. } => {
                        (self.committed, self.done) = (self.committed + 1, self.done + 1)
                    }
                    Effect::CommitFailed { why, .. } => panic!("{why}"),
                    Effect::Report(Report::Error { code, .. }) if code == "UNAVAILABLE" => {}
                    Effect::Report(report) => panic!("client {}: {report:?}", self.number),
                    Effect::Changed { .. } | Effect::Status(_) => {}
                }
            }
        }
    }

    pub(crate) fn base(&self) -> Base {
        self.client.base().clone()
    }

    pub(crate) fn base_regions(&self) -> usize {
        self.client.base_regions() as usize
    }

    /// Starts the client when it begins, and after a crash.
    fn start(&mut self, regions: &Regions, rng: &mut Rng) {
        for key in keys() {
            self.event(regions, Event::Watch { key }, rng);
        }
        self.event(regions, Event::Start, rng);
    }

    /// A transaction that says what its client has seen.
    pub(crate) fn commit(&mut self, regions: &Regions, rng: &mut Rng) {
        let mut transaction = self.client.begin();
        if keys().iter().any(|key| transaction.read(key).is_none()) || self.commits > self.done {
            return; // it has not read everything yet, or waits for its disk
        }
        self.commits += 1;
        let seen: Vec<String> = (0..CLIENTS)
            .map(|n| number(&transaction.read(&number_of(n)).expect("it is cached")).to_string())
            .collect();
        let set = |text: String| OperationKind::Set(Bytes::from(text));
        transaction.push(number_of(self.number), set(self.commits.to_string()));
        transaction.push(saw(self.number), set(seen.join(" ")));
        if rng.bool() {
            let token = format!("{} {}", self.number, self.commits);
            PAIR.iter().for_each(|key| transaction.push(*key, set(token.clone())));
        }
        transaction.push("n", OperationKind::Add(1));
        let list = entries(&transaction.read(LIST.as_bytes()).expect("it is cached"));
        let own = |(number, _): &(usize, u64)| *number == self.number;
        let behind = list.iter().rposition(own).map_or(0, |last| last + 1);
        let index = rng.usize(behind..=list.len());
        transaction.insert(LIST, index, format!("{} {}", self.number, self.commits)).expect("it is there");
        self.event(regions, Event::Commit { id: self.commits, transaction }, rng);
    }

    /// The disk does what was asked first.
    pub(crate) fn write_one(&mut self, regions: &Regions, rng: &mut Rng) {
        let Some((id, rows)) = self.writes.pop_front() else { return };
        rows.iter().for_each(|row| self.disk.apply(row));
        self.event(regions, Event::Persisted { id }, rng);
    }

    /// Connects, or sends and receives what is under way.
    pub(crate) fn exchange(&mut self, regions: &mut Regions, rng: &mut Rng) {
        if self.commits == 0 && self.asked.is_none() && self.connected.is_none() {
            self.start(regions, rng);
        }
        if let Some((connection, endpoint)) = self.asked.take() {
            self.hang_up(regions);
            let dc = endpoint as u8;
            self.connected = Some((connection, dc, regions.connect(dc)));
            self.event(regions, Event::Connected { connection }, rng);
        }
        let Some((connection, dc, id)) = self.connected else { return };
        for _ in 0..=rng.u8(..4) {
            let Some(frame) = self.up.pop_front() else { break };
            regions.frame(dc, id, &frame);
        }
        let mut gone = false;
        let mut down = Vec::new();
        regions.sent.retain(|(at, output)| match output {
            Output::Send(to, bytes) if (*at, *to) == (dc, id) => {
                down.push(bytes.clone());
                false
            }
            Output::Close(to) if (*at, *to) == (dc, id) => {
                gone = true;
                false
            }
            _ => true,
        });
        for bytes in down {
            self.event(regions, Event::Frame { connection, bytes }, rng);
        }
        if gone {
            self.disconnect(regions, rng);
        }
    }

    pub(crate) fn lose_frames(&mut self) {
        self.up.clear();
    }

    fn hang_up(&mut self, regions: &mut Regions) {
        self.up.clear();
        if let Some((_, dc, id)) = self.connected.take() {
            regions.disconnect(dc, id);
            regions.sent.retain(|(at, output)| {
                !matches!(output, Output::Send(to, _) | Output::Close(to) if (*at, *to) == (dc, id))
            });
        }
    }

    pub(crate) fn disconnect(&mut self, regions: &mut Regions, rng: &mut Rng) {
        let Some((connection, ..)) = self.connected else { return };
        self.hang_up(regions);
        self.event(regions, Event::Disconnected { connection }, rng);
    }

    pub(crate) fn gateway_is_gone(&mut self, dc: u8, regions: &Regions, rng: &mut Rng) {
        if let Some((connection, at, _)) = self.connected
            && at == dc
        {
            (self.connected, self.up) = (None, VecDeque::new());
            self.event(regions, Event::Disconnected { connection }, rng);
        }
    }

    /// The process ends, and begins again with what is on its disk.
    pub(crate) fn crash(&mut self, regions: &mut Regions, rng: &mut Rng) {
        self.hang_up(regions);
        // What is under way to the disk may get there.
        if rng.bool() {
            while let Some((_, rows)) = self.writes.pop_front() {
                let log = &self.disk.log;
                let commits =
                    rows.iter().filter(|row| matches!(row, Row::Entry(body) if !log.contains_key(&body.k)));
                let new = commits.count() as u64;
                self.committed += if self.commits > self.done { new.min(1) } else { 0 };
                self.done = if new > 0 { self.commits } else { self.done };
                rows.iter().for_each(|row| self.disk.apply(row));
            }
        }
        self.writes.clear();
        (self.commits, self.asked, self.wake_at_us) = (self.done, None, u64::MAX);
        self.client = client(self.disk.clone(), self.dcs, rng);
        self.start(regions, rng);
    }

    pub(crate) fn time(&mut self, regions: &Regions, rng: &mut Rng) {
        if self.wake_at_us <= regions.now_us {
            self.wake_at_us = u64::MAX;
            self.event(regions, Event::Timer, rng);
        }
    }

    /// What is wrong with what it sees.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        let read = |key: &[u8]| self.client.read(key);
        let all: Option<BTreeMap<Bytes, Value>> =
            keys().into_iter().map(|key| read(&key).map(|value| (key, value))).collect();
        let Some(all) = all else { return Ok(()) };
        let numbers: Vec<u64> = (0..CLIENTS).map(|n| number(&all[&number_of(n)])).collect();
        let who = format!("client {} at {:?}", self.number, self.client.base());
        if numbers[self.number] != self.done {
            return Err(format!("{who}: its own number is {}, not {}", numbers[self.number], self.done));
        }
        let [left, right] = PAIR.map(|key| text(&all[key.as_bytes()]));
        if left != right {
            return Err(format!("{who}: half of a transaction: {left} and {right}"));
        }
        let list = entries(&all[LIST.as_bytes()]);
        for n in 0..CLIENTS {
            let of: Vec<u64> = list.iter().filter(|(number, _)| *number == n).map(|(_, k)| *k).collect();
            if !of.iter().copied().eq(1..=numbers[n]) {
                return Err(format!("{who}: of client {n}, which is at {}, the list has {of:?}", numbers[n]));
            }
            if numbers[n] < self.seen[n] {
                return Err(format!("{who}: client {n} went back from {} to {}", self.seen[n], numbers[n]));
            }
            for (m, had) in text(&all[&saw(n)]).split(' ').enumerate() {
                let had: u64 = had.parse().unwrap_or(0);
                if numbers[m] < had {
                    return Err(format!(
                        "{who}: client {n} had seen {had} of {m}, and here is {}",
                        numbers[m]
                    ));
                }
            }
            self.seen[n] = numbers[n];
        }
        Ok(())
    }

    pub(crate) fn is_done(&self) -> bool {
        let all = keys().iter().all(|key| self.client.read(key).is_some());
        all && self.client.pending() == 0 && self.writes.is_empty() && self.commits == self.done
    }

    /// What is wrong in the end, when so much was committed.
    pub(crate) fn ended(&self, committed: u64) -> Result<(), String> {
        if !self.is_done() {
            let cached = keys().iter().filter(|key| self.client.read(key).is_some()).count();
            return Err(format!(
                "client {} does not end: {} transactions in no base, {:?}, {cached} keys, {} writes, {} commits, {} done",
                self.number,
                self.client.pending(),
                self.client.status(),
                self.writes.len(),
                self.commits,
                self.done,
            ));
        }
        let counted = self.client.read(b"n").map_or(0, |value| number(&value));
        if counted == committed {
            Ok(())
        } else {
            Err(format!("client {} counts {counted}, not {committed}", self.number))
        }
    }
}
