//! Drawn schedules: edge clients and sessions read and write the same keys, in regions that deliver what they like, restart, and take the
//! same transactions. Whoever has read something has to find its causes, or what came later, wherever they look next; a transaction is seen
//! whole; and in the end everything is there, once.

mod lost;
mod rules;

use super::*;
use lost::Loss;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_contract::core::ServerId;
use tidemark_patience::drawn;

/// The newest version of each key that somebody knows of.
type Causes = BTreeMap<Key, Stamp>;

fn add(causes: &mut Causes, others: &Causes) {
    for (key, stamp) in others {
        let known = causes.entry(key.clone()).or_default();
        *known = (*known).max(*stamp);
    }
}

/// A client of the world: what it is to a region, and what it has seen.
struct Seen {
    client: Client,
    causes: Causes,
    /// What it had seen when it committed each of its transactions.
    committed: BTreeMap<u64, Causes>,
    /// Which were sent to somebody.
    sent: BTreeSet<u64>,
    /// How many of its transactions are known to be in its base.
    pruned: u64,
    counted: u64,
}

struct World {
    rng: fastrand::Rng,
    lab: Lab<Tidemark>,
    dcs: u8,
    now: u64,
    keys: Vec<Key>,
    counter: Key,
    set: Key,
    sessions: Vec<(usize, Causes)>,
    /// One a region: what edge clients ask through it.
    gateways: Vec<usize>,
    clients: Vec<Seen>,
    /// What each version depends on.
    written: BTreeMap<(Key, Stamp), Causes>,
    /// The data centre that is lost, if one may be.
    loss: Option<Loss>,
    what: Option<String>,
}

impl World {
    fn new(seed: u64, dcs: u8) -> Self {
        let mut lab = edge(usize::from(dcs));
        let keys = ["v", "w"].into_iter().flat_map(|name| [(name, 0), (name, 1)]);
        let keys = keys.map(|(name, partition)| lab.key(name, partition)).collect();
        let (counter, set) = (lab.key("n", 1), lab.key("s", 0));
        let sessions = (0..2 * dcs).map(|n| (lab.client(n % dcs), Causes::new())).collect();
        let gateways = (0..dcs).map(|dc| lab.client(dc)).collect();
        let client = |n| Seen {
            client: Client::new(n),
            causes: Causes::new(),
            committed: BTreeMap::new(),
            sent: BTreeSet::new(),
            pruned: 0,
            counted: 0,
        };
        Self {
            rng: fastrand::Rng::with_seed(seed),
            lab,
            dcs,
            now: 200_000,
            keys,
            counter,
            set,
            sessions,
            gateways,
            clients: (1..4).map(client).collect(),
            written: BTreeMap::new(),
            loss: None,
            what: None,
        }
    }

    fn some_keys(&mut self) -> Vec<Key> {
        let mut keys = self.keys.clone();
        self.rng.shuffle(&mut keys);
        keys.truncate(1 + self.rng.usize(..2));
        keys
    }

    fn any_server(&mut self) -> ServerId {
        server(self.rng.u8(..self.left()), self.rng.u16(..2))
    }

    fn wrong(&mut self, what: String) {
        self.what.get_or_insert(what);
    }

    /// What a reader is shown, who has these causes: whether it may be.
    fn check(&mut self, who: &str, causes: &mut Causes, keys: &[Key], found: &[Option<Stamp>]) {
        let mut all = causes.clone();
        for (key, stamp) in keys.iter().zip(found) {
            if let Some(stamp) = stamp {
                match self.written.get(&(key.clone(), *stamp)) {
                    Some(of) => add(&mut all, of),
                    None => return self.wrong(format!("{who}: {key} {stamp} was never written")),
                }
            }
        }
        for (key, stamp) in keys.iter().zip(found) {
            if let Some(least) = all.get(key).filter(|least| **least > stamp.unwrap_or_default()) {
                return self.wrong(format!("{who}: {key} is {stamp:?}, after {least}"));
            }
        }
        add(causes, &all);
    }

    fn note(&mut self, keys: &[Key], stamp: Stamp, causes: &mut Causes) {
        keys.iter().for_each(|key| _ = causes.insert(key.clone(), stamp));
        for key in keys {
            self.written.insert((key.clone(), stamp), causes.clone());
        }
    }

    /// A session reads or writes.
    fn session(&mut self) {
        let n = self.rng.usize(..self.sessions.len());
        let (session, mut causes) = (self.sessions[n].0, std::mem::take(&mut self.sessions[n].1));
        let keys = self.some_keys();
        let dc = self.lab.token(session).home;
        if dc.0 >= self.left() {
            self.sessions[n].1 = causes;
            return;
        }
        match self.rng.u8(..4) {
            0 => {
                let value = Write::Assign((*b"s").into());
                let op = match &keys[..] {
                    [one] => Op::Put { key: one.clone(), update: Update::put(value) },
                    _ => transactions::put_all(&keys.iter().collect::<Vec<_>>(), "s"),
                };
                if let Outcome::Written { stamp: Some(stamp), .. } = self.lab.run(session, op) {
                    self.note(&keys, stamp, &mut causes);
                }
            }
            1 => {
                let outcome = self.lab.run(session, Op::Rotx { keys: keys.clone() });
                if let Outcome::FoundAll(found) = outcome {
                    let found: Vec<Option<Stamp>> = found.iter().map(|found| found.stamp).collect();
                    self.check(&format!("ROTX in {dc}"), &mut causes, &keys, &found);
                }
            }
            2 => {
                let verb = if self.rng.bool() { Verb::SAdd } else { Verb::SRem };
                let update = command(&self.set, verb, &["m"]).1.remove(0).1;
                self.lab.run(session, Op::Put { key: self.set.clone(), update });
            }
            _ => {
                if let Outcome::Found(found) = self.lab.run(session, Op::Get { key: keys[0].clone() }) {
                    self.check(&format!("GET in {dc}"), &mut causes, &keys[..1], &[found.stamp]);
                }
            }
        }
        self.sessions[n].1 = causes;
    }

    fn client_commits(&mut self) {
        let n = self.rng.usize(..self.clients.len());
        let keys = self.some_keys();
        let mut updates: Vec<_> = keys.iter().map(|key| set(key, "e")).collect();
        if self.rng.bool() {
            updates.push(command(&self.counter, Verb::IncrBy, &["1"]));
            self.clients[n].counted += 1;
        }
        if self.rng.u8(..4) == 0 {
            let verb = if self.rng.bool() { Verb::SAdd } else { Verb::SRem };
            updates.push(command(&self.set, verb, &["m"]));
        }
        let now = self.now - self.rng.u64(..30_000);
        let Seen { client, causes, committed, .. } = &mut self.clients[n];
        let one = client.commit(now, updates);
        committed.insert(one.k, causes.clone());
    }

    /// A client sends a transaction to some region, and may not hear what becomes of it.
    fn client_sends(&mut self, hears: bool) {
        let (n, dc) = (self.rng.usize(..self.clients.len()), self.rng.u8(..self.left()));
        let places = self.clients[n].client.log.len();
        if places == 0 {
            return;
        }
        let one = self.clients[n].client.log[self.rng.usize(..places.min(3))].clone();
        let new = self.clients[n].sent.insert(one.k);
        let asked = EdgeTransaction { new, ..one.clone() };
        let outcome = accept(&mut self.lab, self.gateways[usize::from(dc)], asked);
        if !matches!(
            outcome,
            Ok(Acceptance::Missing(_) | Acceptance::Behind | Acceptance::Retime | Acceptance::Later(_))
        ) {
            self.note_accepted(n, &one);
        }
        if outcome == Ok(Acceptance::Retime) && hears {
            let now = self.now;
            let Seen { client, causes, committed, sent, .. } = &mut self.clients[n];
            client.retime(one.k, now);
            sent.retain(|k| *k < one.k);
            committed.range_mut(one.k..).for_each(|(_, committed)| committed.clone_from(causes));
        }
        if let Ok(Acceptance::Forked(_)) = outcome {
            self.wrong(format!("{n}: {} is said to be another one", one.k));
        }
    }

    /// From now on others may see it.
    fn note_accepted(&mut self, n: usize, one: &EdgeTransaction) {
        let keys: Vec<Key> =
            one.updates.iter().map(|(key, _)| key.clone()).filter(|key| self.keys.contains(key)).collect();
        if self.written.contains_key(&(keys[0].clone(), one.stamp())) {
            return;
        }
        let mut causes = self.clients[n].committed[&one.k].clone();
        for earlier in self.clients[n].client.log.iter().filter(|earlier| earlier.k < one.k) {
            for (key, _) in earlier.updates.iter().filter(|(key, _)| self.keys.contains(key)) {
                causes.insert(key.clone(), earlier.stamp());
            }
        }
        self.note(&keys, one.stamp(), &mut causes);
    }

    /// A client takes over the base of some region, and reads everything there.
    fn client_reads(&mut self) {
        let (n, dc) = (self.rng.usize(..self.clients.len()), self.rng.usize(..usize::from(self.left())));
        let least = if self.loss.is_some() { 2 } else { 1 }; // of what one region has something may be lost
        let (gateway, regions) = (self.gateways[dc], self.rng.usize(least..=usize::from(self.dcs)));
        let Some(base) = base_of(&mut self.lab, gateway, regions) else { return };
        if !self.clients[n].client.base.le(&base) || base.max() == Hlc::ZERO {
            return;
        }
        let (mut keys, guard) = (self.keys.clone(), guard_of(self.clients[n].client.id));
        keys.push(guard);
        let Some(found) = read_base(&mut self.lab, gateway, &base, &keys) else { return };
        keys.pop();
        let stamps: Vec<Option<Stamp>> = found[..keys.len()].iter().map(|found| found.stamp).collect();
        let known = tidemark_contract::core::Guard::decode(found[keys.len()].value.as_deref());
        let who = format!("client {n} at the base of {regions} in {dc}");
        let pruned = self.clients[n].pruned;
        if known.k < pruned {
            return self.wrong(format!("{who}: its transactions are there up to {}, not {pruned}", known.k));
        }
        let client = &mut self.clients[n];
        (client.client.base, client.pruned) = (base, known.k);
        client.client.log.retain(|one| one.k > known.k);
        let mut causes = std::mem::take(&mut client.causes);
        self.check(&who, &mut causes, &keys, &stamps);
        self.clients[n].causes = causes;
    }

    fn step(&mut self) {
        match self.rng.u8(..24) {
            0..4 => self.session(),
            4..6 => self.client_commits(),
            6..9 => {
                let hears = self.rng.bool();
                self.client_sends(hears);
            }
            9..11 => self.client_reads(),
            11..14 => {
                self.now += self.rng.u64(..70_000);
                let (at, ahead) = (self.any_server(), self.rng.u64(..40_000));
                self.lab.set_clock(at, self.now + ahead);
                let timer = if self.rng.bool() { Timer::Theta } else { Timer::Delta };
                self.lab.fire(at, timer);
            }
            14..20 => {
                let (from, to) = (self.any_server(), self.any_server());
                for _ in 0..self.rng.u8(..8) {
                    if from.partition == to.partition && from.dc != to.dc {
                        self.lab.deliver(from, to);
                    }
                    self.lab.deliver_message(from, to);
                }
            }
            20 => self.lab.deliver_within(DcId(self.rng.u8(..self.left()))),
            21 if self.rng.u8(..12) == 0 => {
                let at = self.any_server();
                self.lab.restart(at);
            }
            22 => {
                self.now += 100_000;
                self.round();
            }
            _ => {}
        }
    }

    /// Everybody is reachable again: all is sent, and everything is there, once.
    fn end(&mut self) {
        for round in 0..400 {
            if round > 10 && self.clients.iter().all(|client| client.client.log.is_empty()) {
                break;
            }
            self.now += 100_000;
            self.round();
            (0..4).for_each(|_| self.client_sends(true));
            (0..4).for_each(|_| self.client_reads());
        }
        let waiting: Vec<u64> = self.clients.iter().map(|client| client.client.log.len() as u64).collect();
        if waiting.iter().any(|waiting| *waiting > 0) {
            return self.wrong(format!("{waiting:?} transactions are in no base in the end"));
        }
        let expected = self.clients.iter().map(|client| client.counted).sum::<u64>();
        let states: Vec<String> = (0..self.left()).map(|dc| self.state(dc)).collect();
        if states.iter().any(|state| *state != states[0]) {
            self.wrong(format!("regions differ in the end: {states:?}"));
        }
        let shown = if expected == 0 { "-".to_string() } else { expected.to_string() };
        let key = self.counter.clone();
        let counted = self.lab.get(self.gateways[0], &key);
        if counted != shown {
            self.wrong(format!("{counted} increments, not {shown}"));
        }
    }

    fn state(&mut self, dc: u8) -> String {
        let gateway = self.gateways[usize::from(dc)];
        let keys: Vec<Key> = self.keys.iter().chain([&self.counter]).cloned().collect();
        let mut all: Vec<String> = Vec::new();
        for key in keys {
            if let Outcome::Found(found) = self.lab.run(gateway, Op::Get { key }) {
                all.push(format!("{:?} {:?}", value(&found), found.stamp));
            }
        }
        let query = Op::Query {
            keys: vec![self.set.clone()],
            command: Box::new(Command::new(Verb::SCard, Vec::new())),
        };
        if let Outcome::FoundAll(found) = self.lab.run(gateway, query) {
            all.push(format!("{:?}", found[0].reply));
        }
        all.join(" ")
    }
}

/// The first of these schedules in which something is wrong, and what.
fn search(seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    seeds.into_iter().find_map(|seed| {
        let mut world = World::new(seed, 2 + (seed % 2) as u8);
        for _ in 0..200 {
            world.step();
            if let Some(what) = world.what {
                return Some((seed, what));
            }
        }
        world.end();
        world.what.map(|what| (seed, what))
    })
}

#[test]
fn edge_clients_and_sessions_never_see_an_effect_without_its_cause() {
    assert_eq!(search(drawn(0..300)), None);
}
