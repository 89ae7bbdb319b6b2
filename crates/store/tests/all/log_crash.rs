//! Random lives of a log on a disk that crashes, fails and fills: what was durable comes back, what comes back is whole
//! batches of what was appended, in order, and no position ever names two records.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use tidemark_store::disk::{Fault, SimDisk};
use tidemark_store::log::{Log, LogConfig, LogError, Position, RecoveryReport, SyncJob};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    position: Position,
    end: Position,
    kind: u8,
    partition: u16,
    seq: u64,
    payload: Vec<u8>,
}

/// What the log should hold.
struct Model {
    disk: SimDisk,
    rng: Rng,
    config: LogConfig,
    /// All records appended since the oldest one kept, flushed ones first.
    records: Vec<Record>,
    /// How many of them are flushed, and at which counts batches end.
    flushed: usize,
    boundaries: Vec<usize>,
    /// How many are durable.
    durable: usize,
    /// Every position that any life gave to a record.
    positions: BTreeMap<Position, u64>,
    next_seq: u64,
    opened: u64,
    cuts: u64,
    fulls: u64,
}

/// Changes that end the life of a log: the process goes, the power goes.
#[derive(Debug, PartialEq)]
enum End {
    Kill,
    Crash,
}

impl Model {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let segment_bytes = rng.u64(512..4096);
        Self {
            disk: SimDisk::new(),
            config: LogConfig { segment_bytes, ..LogConfig::new(rng.u64(..)) },
            rng,
            records: Vec::new(),
            flushed: 0,
            boundaries: vec![0],
            durable: 0,
            positions: BTreeMap::new(),
            next_seq: 0,
            opened: 0,
            cuts: 0,
            fulls: 0,
        }
    }

    /// Opens the log, now and then with failures and crashes on the way, and compares.
    fn open(&mut self, end: &mut End) -> Log {
        for fault in [Fault::Write, Fault::Sync, Fault::SyncDir, Fault::Read] {
            if self.rng.u8(0..8) == 0 {
                self.disk.inject(fault, self.rng.u64(0..4));
                if let Err(error) = Log::open(Arc::new(self.disk.process()), self.config) {
                    assert!(matches!(error, LogError::Disk(_)), "{error:?}");
                }
                self.end_life(end);
            }
        }
        let (log, report) = Log::open(Arc::new(self.disk.process()), self.config).unwrap();
        self.compare(&log, &report, end);
        log
    }

    fn end_life(&mut self, end: &mut End) {
        if self.rng.bool() {
            self.disk.crash(&mut self.rng);
            *end = End::Crash;
        } else {
            self.disk.kill();
        }
    }

    fn compare(&mut self, log: &Log, report: &RecoveryReport, end: &End) {
        let recovered = read_all(log, self.config.replay_from);
        let n = recovered.len();
        assert_eq!(recovered, self.records[..n.min(self.records.len())], "a prefix of what was appended");
        assert!(n >= self.durable, "{n} of {} durable records came back", self.durable);
        assert!(self.boundaries.contains(&n), "half a batch came back");
        if *end == End::Kill {
            assert_eq!(n, self.flushed, "the death of a process loses nothing that was flushed");
        }
        self.cuts += u64::from(report.cut.is_some());
        self.opened += 1;
        self.records.truncate(n);
        self.boundaries.retain(|&boundary| boundary <= n);
        self.flushed = n;
        self.durable = n;
    }

    fn append(&mut self, log: &mut Log) -> Result<(), LogError> {
        // Some get a segment of their own.
        let most = match self.rng.u8(0..40) {
            0 => 4_000,
            1..4 => 600,
            _ => 60,
        };
        let payload: Vec<u8> = (0..self.rng.usize(0..most)).map(|_| self.rng.u8(..)).collect();
        let (kind, partition, seq) = (self.rng.u8(0..0xF0), self.rng.u16(..), self.next_seq);
        let position = match log.append(kind, partition, seq, |buffer| buffer.extend_from_slice(&payload)) {
            Ok(position) => position,
            Err(LogError::Full(_)) => {
                self.fulls += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.next_seq += 1;
        if let Some((&last, _)) = self.positions.last_key_value() {
            assert!(position > last, "position {position} given after {last}");
        }
        self.positions.insert(position, seq);
        let end = log.end();
        self.records.push(Record { position, end, kind, partition, seq, payload });
        Ok(())
    }

    fn flush(&mut self, log: &mut Log) -> Result<(), LogError> {
        let position = log.flush()?;
        if self.flushed < self.records.len() {
            self.flushed = self.records.len();
            self.boundaries.push(self.flushed);
            assert!(self.records.last().unwrap().end < position);
        }
        Ok(())
    }

    fn synced(&mut self, log: &mut Log, job: SyncJob) -> Result<(), LogError> {
        let covered = job.position();
        assert_eq!(log.synced(job.run())?, covered);
        self.durable = self.records.partition_point(|record| record.end <= covered).min(self.flushed);
        Ok(())
    }

    /// Forgets the records before some durable one, as after a snapshot.
    fn snapshot(&mut self, log: &mut Log) -> Result<(), LogError> {
        if self.durable == 0 {
            return Ok(());
        }
        let n = self.rng.usize(0..self.durable);
        self.config.replay_from = self.records[n].position;
        self.records.drain(..n);
        self.flushed -= n;
        self.durable -= n;
        // A batch may have been cut in two: its second half is a whole batch now.
        self.boundaries = self.boundaries.iter().filter_map(|boundary| boundary.checked_sub(n)).collect();
        log.drop_before(self.config.replay_from)?;
        assert!(log.oldest() <= self.config.replay_from);
        Ok(())
    }

    fn step(&mut self, log: &mut Log, job: &mut Option<SyncJob>) -> Result<(), LogError> {
        match self.rng.u32(0..100) {
            0..60 => self.append(log),
            60..80 => self.flush(log),
            80..88 => {
                if job.is_none() {
                    *job = log.sync_job();
                }
                Ok(())
            }
            88..95 => job.take().map_or(Ok(()), |job| self.synced(log, job)),
            95 => self.snapshot(log),
            96 => {
                self.disk.inject(Fault::CreateNoSpace, 0);
                Ok(())
            }
            97 if self.rng.u8(0..10) == 0 => {
                self.disk.inject(Fault::Sync, self.rng.u64(0..3));
                Ok(())
            }
            98 if self.rng.u8(0..10) == 0 => {
                self.disk.inject(Fault::Write, self.rng.u64(0..3));
                Ok(())
            }
            _ => {
                self.check_cursor(log);
                Ok(())
            }
        }
    }

    /// Reading from anywhere gives the records from there on.
    fn check_cursor(&mut self, log: &Log) {
        if self.flushed == 0 {
            return;
        }
        let n = self.rng.usize(0..self.flushed);
        assert_eq!(read_all(log, self.records[n].position), self.records[n..self.flushed]);
        assert_eq!(read_all(log, self.records[n].end), self.records[n + 1..self.flushed]);
    }

    fn live(&mut self, end: &mut End) {
        let mut log = self.open(end);
        let mut job = None;
        let mut failure = None;
        for _ in 0..self.rng.usize(0..150) {
            match self.step(&mut log, &mut job) {
                Ok(()) => {}
                Err(error) => {
                    assert!(matches!(error, LogError::Poisoned { .. }), "{error:?}");
                    failure = Some(error);
                    break;
                }
            }
        }
        if let Some(error) = failure {
            assert_eq!(log.append(0, 0, 0, |_| {}).unwrap_err(), error, "a poisoned log stays so");
            assert_eq!(log.flush().unwrap_err(), error);
        }
        *end = End::Kill;
        drop(job);
        self.end_life(end);
    }
}

fn read_all(log: &Log, from: Position) -> Vec<Record> {
    let mut cursor = log.cursor(from).unwrap();
    let mut records = Vec::new();
    while let Some(frame) = log.read(&mut cursor).unwrap() {
        records.push(Record {
            position: frame.position,
            end: frame.end,
            kind: frame.kind,
            partition: frame.partition,
            seq: frame.seq,
            payload: frame.payload.to_vec(),
        });
    }
    records
}

#[test]
fn random_lives() {
    let (mut cuts, mut opened, mut fulls, mut records) = (0, 0, 0, 0);
    let only: Option<u64> = std::env::var("SEED").ok().map(|seed| seed.parse().unwrap());
    for seed in only.map_or(0..4000, |seed| seed..seed + 1) {
        let outcome = std::panic::catch_unwind(|| {
            let mut model = Model::new(seed);
            let mut end = End::Kill;
            for _ in 0..model.rng.usize(2..8) {
                model.live(&mut end);
            }
            model.open(&mut end);
            (model.cuts, model.opened, model.fulls, model.next_seq)
        });
        let Ok((c, o, f, r)) = outcome else { panic!("run again with SEED={seed}") };
        cuts += c;
        opened += o;
        fulls += f;
        records += r;
    }
    println!("{opened} openings, {cuts} cuts, {fulls} full disks, {records} records");
    assert!(only.is_some() || (cuts > 1000 && fulls > 1000), "the faults did not happen: {cuts} {fulls}");
}
