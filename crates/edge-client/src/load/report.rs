//! What a load measures, and what is said of it.

use super::Plan;
use crate::Traffic;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What clients have noted.
#[derive(Default)]
pub(super) struct Tally {
    local_writes: Samples,
    pub(super) cached_reads: Samples,
    loads: Samples,
    to_ack: Samples,
    to_visible: Samples,
    failovers: Samples,
    /// How many clients each group has.
    groups: Vec<usize>,
    live: usize,
    lost: usize,
    errors: BTreeMap<String, u64>,
    /// Updates that are not acknowledged, or not seen by all of their group.
    open: BTreeMap<u64, Open>,
    /// The number of updates that were due so far, and of those that do not count.
    numbers: u64,
    uncounted: u64,
    pub(super) traffic: Traffic,
}

/// The updates that have not come yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Missing {
    /// Acknowledgements, and reconnections.
    pub(super) owed: usize,
    /// Sights of updates. Some never come: another update has replaced that one.
    pub(super) unseen: usize,
}

/// What was counted from outside of clients.
pub(super) struct Counted {
    /// The time for which updates were due.
    pub(super) seconds: f64,
    /// Until all clients were live.
    pub(super) connected: Duration,
    /// What the node's processors did until then, in seconds.
    pub(super) connect_cpu: Option<f64>,
    pub(super) traffic: Traffic,
    pub(super) node: Option<Used>,
    pub(super) own: Option<Used>,
}

struct Open {
    due: Instant,
    acknowledged: bool,
    /// So many clients of the group have not seen it.
    unseen: usize,
}

/// Durations.
pub(super) struct Samples(Histogram<u64>);

impl Default for Samples {
    fn default() -> Self {
        // Three digits are always possible.
        Self(Histogram::new(3).expect("three digits"))
    }
}

impl Samples {
    /// Nanoseconds, because a cached read takes fewer than a microsecond.
    pub(super) fn add(&mut self, time: Duration) {
        // It grows as needed.
        let _ = self.0.record(time.as_nanos() as u64);
    }

    pub(super) fn times(&self) -> Times {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1e3;
        let (p50_us, p99_us, max_us) = (at(0.5), at(0.99), at(1.0));
        Times { count: self.0.len(), p50_us, p99_us, max_us }
    }
}

/// Quantiles.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    /// Of how many.
    pub count: u64,
    /// Microseconds.
    pub p50_us: f64,
    /// Microseconds.
    pub p99_us: f64,
    /// Microseconds.
    pub max_us: f64,
}

/// What a process has used while the load was counted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Used {
    /// Seconds of processors a second.
    pub cpu: f64,
    /// The same a client, in microseconds a second.
    pub cpu_us_a_client: f64,
    /// Bytes at the end.
    pub memory: u64,
    /// How much it has grown since before the first connection, a client, in bytes.
    pub memory_a_client: f64,
}

impl Used {
    pub(super) fn new(cpu: f64, memory: u64, before: u64, clients: usize, seconds: f64) -> Self {
        let cpu = cpu / seconds;
        Self {
            cpu,
            cpu_us_a_client: cpu * 1e6 / clients as f64,
            memory,
            memory_a_client: memory.saturating_sub(before) as f64 / clients as f64,
        }
    }
}

/// Clients that lost their connections.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Failover {
    /// How many connections were lost.
    pub lost: usize,
    /// From the loss until the client is live at another gateway.
    pub times: Times,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many clients.
    pub clients: usize,
    /// K.
    pub regions: u64,
    /// How many saw each update.
    pub seen_by: usize,
    /// Seconds that were counted.
    pub seconds: f64,
    /// Seconds until all clients were live.
    pub connected: f64,
    /// From the beginning of a client until it had the values of what it watches.
    pub load: Times,
    /// Seconds of the node's processors for one connection and its opening.
    pub cpu_a_connection: Option<f64>,
    /// Updates that were due.
    pub updates: u64,
    /// Updates that were not acknowledged in the end.
    pub unacknowledged: u64,
    /// From when an update was due until its region had accepted it.
    pub to_ack: Times,
    /// The same until another client of the group saw it; one sample a client.
    pub to_visible: Times,
    /// How many of these have not come: another update has replaced what they would have seen, or it is under way.
    pub unseen: u64,
    /// Reads of a cached key.
    pub cached_read: Times,
    /// Commits, with the disk in memory.
    pub local_write: Times,
    /// Frames to a client a second.
    pub frames_in: f64,
    /// Bytes in these.
    pub bytes_in: f64,
    /// Frames from a client a second.
    pub frames_out: f64,
    /// Bytes in these.
    pub bytes_out: f64,
    /// Clients that lost their connections, if any did.
    pub failover: Option<Failover>,
    /// What the node used, if its process was named and has survived.
    pub node: Option<Used>,
    /// What all clients together used.
    pub own: Option<Used>,
    /// What gateways complained of, and how often.
    pub errors: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn comes(&mut self, group: usize) {
        self.groups.resize(self.groups.len().max(group + 1), 0);
        self.groups[group] += 1;
    }

    /// An update is due; returns its number. Its client commits it as soon as it can.
    pub(super) fn due(&mut self, group: usize, due: Instant) -> u64 {
        self.numbers += 1;
        self.open.insert(self.numbers, Open { due, acknowledged: false, unseen: self.groups[group] - 1 });
        self.numbers
    }

    /// An update is committed, which took so long.
    pub(super) fn written(&mut self, number: u64, time: Duration) {
        if number > self.uncounted {
            self.local_writes.add(time);
        }
    }

    pub(super) fn acknowledged(&mut self, number: u64, now: Instant) {
        if let Some(open) = self.open.get_mut(&number) {
            open.acknowledged = true;
            self.to_ack.add(now.saturating_duration_since(open.due));
            self.open.retain(|_, open| !open.acknowledged || open.unseen > 0);
        }
    }

    pub(super) fn seen(&mut self, number: u64, now: Instant) {
        if let Some(open) = self.open.get_mut(&number) {
            open.unseen = open.unseen.saturating_sub(1);
            self.to_visible.add(now.saturating_duration_since(open.due));
            if open.acknowledged && open.unseen == 0 {
                self.open.remove(&number);
            }
        }
    }

    pub(super) fn loads(&mut self, time: Duration) {
        self.live += 1;
        self.loads.add(time);
    }

    pub(super) fn loses(&mut self) {
        self.lost += 1;
    }

    pub(super) fn fails_over(&mut self, time: Duration) {
        self.failovers.add(time);
    }

    pub(super) fn fails(&mut self, why: String) {
        *self.errors.entry(why).or_default() += 1;
    }

    pub(super) fn passes(&mut self, before: Traffic, now: Traffic) {
        self.traffic.frames_in += now.frames_in - before.frames_in;
        self.traffic.bytes_in += now.bytes_in - before.bytes_in;
        self.traffic.frames_out += now.frames_out - before.frames_out;
        self.traffic.bytes_out += now.bytes_out - before.bytes_out;
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn error(&self) -> Option<&str> {
        self.errors.keys().next().map(String::as_str)
    }

    /// Counts the updates that have not come yet.
    pub(super) fn missing(&self) -> Missing {
        let unacknowledged = self.open.values().filter(|open| !open.acknowledged).count();
        Missing {
            owed: unacknowledged + self.lost - self.failovers.0.len() as usize,
            unseen: self.open.values().map(|open| open.unseen).sum(),
        }
    }

    /// From now on it counts. What a client loses counts from the beginning; an update that was due before does not, whenever its client
    /// comes to write it.
    pub(super) fn begin(&mut self) {
        self.uncounted = self.numbers;
        for samples in
            [&mut self.local_writes, &mut self.cached_reads, &mut self.to_ack, &mut self.to_visible]
        {
            samples.0.reset();
        }
        self.open.clear();
        self.traffic = Traffic::default();
    }

    pub(super) fn report(&self, plan: &Plan, counted: Counted) -> Report {
        let Counted { seconds, traffic, .. } = counted;
        let a_client = |count: u64| count as f64 / plan.clients as f64 / seconds;
        let failover = Failover { lost: self.lost, times: self.failovers.times() };
        Report {
            clients: plan.clients,
            regions: plan.regions,
            seen_by: plan.seen_by,
            seconds,
            connected: counted.connected.as_secs_f64(),
            load: self.loads.times(),
            cpu_a_connection: counted.connect_cpu.map(|cpu| cpu / plan.clients as f64),
            updates: self.numbers - self.uncounted,
            unacknowledged: self.open.values().filter(|open| !open.acknowledged).count() as u64,
            to_ack: self.to_ack.times(),
            to_visible: self.to_visible.times(),
            unseen: self.open.values().map(|open| open.unseen as u64).sum(),
            cached_read: self.cached_reads.times(),
            local_write: self.local_writes.times(),
            frames_in: a_client(traffic.frames_in),
            bytes_in: a_client(traffic.bytes_in),
            frames_out: a_client(traffic.frames_out),
            bytes_out: a_client(traffic.bytes_out),
            failover: (self.lost > 0).then_some(failover),
            node: counted.node,
            own: counted.own,
            errors: self.errors.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            endpoints: Vec::new().into(),
            token: Default::default(),
            clients: 3,
            seen_by: 3,
            rate: 1.0,
            regions: 1,
            connects: 1.0,
            warm_up: Duration::ZERO,
            duration: Duration::ZERO,
            pid: None,
            prefix: String::new(),
        }
    }

    /// A group of three clients.
    fn three() -> Tally {
        let mut tally = Tally::default();
        (0..3).for_each(|_| tally.comes(0));
        tally
    }

    fn report(tally: &Tally) -> Report {
        let counted = Counted {
            seconds: 1.0,
            connected: Duration::ZERO,
            connect_cpu: None,
            traffic: Traffic::default(),
            node: None,
            own: None,
        };
        tally.report(&plan(), counted)
    }

    /// On a busy machine a client came to write an update of the warm-up when counting had begun. It was counted as seen and as
    /// written, but not as due.
    #[test]
    fn an_update_of_the_warm_up_does_not_count_whenever_it_is_written() {
        let (mut tally, now) = (three(), Instant::now());
        let early = tally.due(0, now);
        tally.begin();
        let counts = tally.due(0, now);
        for number in [early, counts] {
            tally.written(number, Duration::ZERO);
            tally.acknowledged(number, now);
            tally.seen(number, now);
        }
        let report = report(&tally);
        assert_eq!((report.updates, report.local_write.count, report.to_ack.count), (1, 1, 1));
        assert_eq!((report.to_visible.count, report.unseen), (1, 1));
    }

    /// A load that ends while a client has not come to write its update has to wait for it.
    #[test]
    fn an_update_is_missing_from_when_it_is_due() {
        let mut tally = three();
        tally.begin();
        tally.due(0, Instant::now());
        assert_eq!((tally.missing(), report(&tally).unacknowledged), (Missing { owed: 1, unseen: 2 }, 1));
    }
}
