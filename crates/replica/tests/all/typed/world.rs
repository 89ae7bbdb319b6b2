//! Three regions of the protocol `tidemark`, one partition each, and clients that write data types.

use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_contract::core::{
    Command, DcId, Hlc, Key, Micros, Outcome, PartitionId, ServerId, Update, Verb, Write,
};
use tidemark_contract::request::Request as Of;
use tidemark_contract::{Answer, AskId, Past as _, Store, Ticket, Topology};
use tidemark_protocols::tidemark::{Meta, Past, Request, Tidemark};
use tidemark_replica::{Host, HostConfig, Now, Output};
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

pub(crate) const P0: PartitionId = PartitionId(0);
pub(crate) const REGIONS: usize = 3;

/// A key as its readers see it: elements with values.
pub(crate) type Shown = Vec<String>;

pub(crate) fn server(dc: usize) -> ServerId {
    ServerId::new(DcId(dc as u8), P0)
}

pub(crate) fn config(dc: usize, fsync: Fsync, snapshot_every_bytes: u64) -> HostConfig<Tidemark> {
    HostConfig {
        dc: DcId(dc as u8),
        partitions: vec![P0],
        topology: Topology::new(REGIONS, 1),
        params: Default::default(),
        fsync,
        boot: "boot".to_string(),
        ceiling_us: 3_600_000_000, // no driver is here that syncs each second
        several: false,
        max_skew_us: 1_000_000_000, // each start moves the clock on
        limit: tidemark_core::SharedLimit::default(),
        log_segment_bytes: 1 << 20,
        log_retain_bytes: 1 << 30,
        relays: false,
        snapshot_every_bytes,
        new_incarnation: 77 + dc as u64,
    }
}

pub(crate) fn call(verb: Verb, args: &[&str]) -> Update {
    Update::call(Command::new(verb, args.iter().map(|arg| arg.as_bytes().to_vec().into()).collect()))
}

/// As [`call`], with another key.
pub(crate) fn call_on(verb: Verb, other: &str, args: &[&str]) -> Update {
    let mut update = call(verb, args);
    update.command.as_mut().expect("it is one").keys.push(Key::from(other));
    update
}

/// What readers see of `key` in a store; REQUIRES, of a fresh reader: somebody has just read it.
pub(crate) fn shown(store: &Store<Meta>, key: &str, time: Micros) -> Shown {
    let Some(object) = store.object(key.as_bytes()) else {
        let newest = store.chain(key.as_bytes()).next();
        let value = newest.and_then(|version| version.write.value());
        return value.map(|value| format!("\"\" {:?}", String::from_utf8_lossy(value))).into_iter().collect();
    };
    let Some(kind) = object.head().kind_at(Hlc::at(time)) else { return Vec::new() };
    let all = object.head().elements().into_iter().filter(|(element, _)| element.kind == kind);
    let seen = all.filter_map(|(element, cell)| {
        let name = String::from_utf8_lossy(&element.name).into_owned();
        let datum = format!("{:?}", cell.show(kind)?);
        let value = datum.strip_prefix("Bytes(").and_then(|rest| rest.strip_suffix(')'));
        let bytes = |list: &str| -> Vec<u8> {
            list.trim_matches(['[', ']']).split(", ").filter_map(|byte| byte.parse().ok()).collect()
        };
        let value =
            value.map_or(datum.clone(), |list| format!("{:?}", String::from_utf8_lossy(&bytes(list))));
        Some(format!("{name:?} {value}"))
    });
    seen.collect()
}

/// A region: its server, its disk and its only session.
pub(crate) struct Region {
    pub(crate) disk: SimDisk,
    pub(crate) host: Host<Tidemark>,
    pub(crate) past: Past,
}

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) fsync: Fsync,
    pub(crate) regions: Vec<Region>,
    pub(crate) now: Micros,
    asked: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let fsync = if rng.bool() { Fsync::Always } else { Fsync::EverySec };
        let now = Now { wall: 1_000_000, mono: 1_000_000 };
        let regions = (0..REGIONS).map(|dc| {
            let disk = SimDisk::new();
            let host = Host::open(config(dc, fsync, 4 << 10), Arc::new(disk.process()), now).unwrap();
            Region { disk, host, past: Past::default() }
        });
        Self { regions: regions.collect(), rng, fsync, now: now.wall, asked: 0 }
    }

    pub(crate) fn time(&self) -> Now {
        Now { wall: self.now, mono: self.now }
    }

    /// The session of a region asks. Returns the number of the record that it wrote, if it wrote one.
    pub(crate) fn ask(&mut self, dc: usize, key: &str, update: Update) -> Option<u64> {
        self.asked += 1;
        let (now, number) = (self.time(), self.asked);
        let region = &mut self.regions[dc];
        let ticket = Ticket { node: 0, session: 0, ask: AskId(number) };
        let before = region.host.written(P0);
        let request = Request::Of(Of::Put(Key::from(key), update, region.past.clone()));
        region.host.request(now, P0, ticket, request, Some(100));
        let after = region.host.written(P0);
        (after > before).then_some(after)
    }

    pub(crate) fn set(&mut self, dc: usize, key: &str, value: Option<&str>) -> Option<u64> {
        let write = value.map_or(Write::Remove, |value| Write::Assign(value.as_bytes().into()));
        self.ask(dc, key, Update::put(write))
    }

    /// Ends a turn; the session hears the answers that leave.
    pub(crate) fn commit(&mut self, dc: usize) {
        let Region { host, past, .. } = &mut self.regions[dc];
        host.commit().unwrap();
        for output in host.take_outputs() {
            match output {
                Output::Reply { reply: Ok(Answer(outcome, said)), .. } => {
                    assert!(!matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
                    past.merge(&said);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn sync(&mut self, dc: usize) {
        self.commit(dc);
        if let Some(job) = self.regions[dc].host.sync_job() {
            let now = self.time();
            self.regions[dc].host.synced(now, job.run()).unwrap();
        }
        self.commit(dc);
    }

    pub(crate) fn upkeep(&mut self, dc: usize) {
        let host = &mut self.regions[dc].host;
        if let Some(job) = host.upkeep() {
            host.upkept(job.run());
        }
    }

    /// Moves up to `items` of the stream from one region to another.
    pub(crate) fn pump(&mut self, from: usize, to: usize, items: usize) {
        let now = self.time();
        let [source, sink] = self.regions.get_disjoint_mut([from, to]).unwrap();
        let resume = sink.host.resume_point(server(from), P0);
        let incarnation = source.host.open_stream(P0, DcId(to as u8), resume).unwrap();
        sink.host.accept_stream(server(from), P0, incarnation).unwrap();
        let mut out = Vec::new();
        source.host.poll_stream(P0, DcId(to as u8), usize::MAX, &mut out).unwrap();
        out.into_iter().take(items).for_each(|item| {
            sink.host.take_item(now, server(from), P0, item).unwrap();
        });
        self.commit(to);
        let [source, sink] = self.regions.get_disjoint_mut([from, to]).unwrap();
        source.host.confirm(P0, DcId(to as u8), sink.host.received(server(from), P0));
    }

    pub(crate) fn pass(&mut self, us: Micros) {
        self.now += us;
        let now = self.time();
        (0..self.regions.len()).for_each(|dc| {
            self.regions[dc].host.fire_timers(now);
            self.commit(dc);
        });
    }

    /// Kills a server, or its machine, and starts it again. What its session was not told of may be gone.
    pub(crate) fn crash(&mut self, dc: usize) {
        let (now, every) = (self.time(), self.rng.u64(1 << 10..16 << 10));
        let region = &mut self.regions[dc];
        match self.fsync {
            Fsync::Always => region.disk.crash(&mut self.rng),
            _ => region.disk.kill(),
        }
        let opened = Host::open(config(dc, self.fsync, every), Arc::new(region.disk.process()), now);
        region.host = opened.unwrap_or_else(|error| panic!("{error}"));
    }

    /// What the session of a region sees of these keys.
    pub(crate) fn read(&mut self, dc: usize, keys: &[String]) -> BTreeMap<String, Shown> {
        // The second time, what is stable here is in its past.
        for _ in 0..2 {
            for key in keys {
                let wrote = self.ask(dc, key, call(Verb::Exists, &[]));
                assert_eq!(wrote, None, "it only reads");
            }
            self.sync(dc);
        }
        let store = self.regions[dc].host.store(P0);
        keys.iter().map(|key| (key.clone(), shown(store, key, self.now))).collect()
    }

    /// Everything arrives everywhere, and all is collected and settled that can be.
    pub(crate) fn settle(&mut self) {
        for _ in 0..30 {
            self.pass(100_000);
            for dc in 0..REGIONS {
                self.sync(dc);
            }
            for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
                self.pump(from, to, usize::MAX);
                self.sync(to);
            }
        }
    }
}
