//! A gateway as the specification says, for one connection.

use super::world::{Verdict, World};
use bytes::Bytes;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_edge::frames::*;

pub(crate) struct Session {
    pub(crate) region: usize,
    link: GatewayLink,
    hello: Option<Hello>,
    cid: [u8; 16],
    /// What the gateway has compared with the client's chain: the transaction before the log, and those that were sent here.
    verified: BTreeMap<u64, usize>,
    /// Hashes of the opening, and values as they were sent, by reference.
    have: BTreeMap<u64, ValueHash>,
    sent: BTreeMap<u64, Value>,
    synced: bool,
    /// What was told of a fork: nothing that follows is taken, for it follows another chain than the region's.
    forked: Option<u64>,
}

impl Session {
    pub(crate) fn new(region: usize) -> Self {
        Self {
            region,
            link: GatewayLink::default(),
            hello: None,
            cid: [0; 16],
            verified: BTreeMap::new(),
            have: BTreeMap::new(),
            sent: BTreeMap::new(),
            synced: false,
            forked: None,
        }
    }

    /// Handles a frame. The answers, encoded.
    pub(crate) fn handle(&mut self, world: &mut World, bytes: &[u8], rng: &mut Rng) -> Vec<Vec<u8>> {
        let frame = self.link.decode(bytes).expect("the client sends frames");
        let mut answers = Vec::new();
        match frame {
            ToGateway::Hello(hello) => answers.push(self.welcome(world, hello)),
            ToGateway::Transfer { body, .. } => {
                let answer = match self.forked {
                    Some(k) => ToClient::Forked { k },
                    None => self.transfer(world, &body),
                };
                if let ToClient::Forked { k } = &answer {
                    self.forked = Some(*k);
                }
                answers.push(answer);
            }
            ToGateway::Watch { reference, key, have } => {
                if self.link.tick() == 0 {
                    self.have.insert(reference, have);
                } else {
                    let value = world.value(&world.set(self.link.base()), &key);
                    self.sent.insert(reference, value.clone());
                    answers.push(ToClient::Value { reference, value });
                }
            }
            ToGateway::Unwatch { reference } => {
                self.have.remove(&reference);
                self.sent.remove(&reference);
            }
            ToGateway::SetK { regions } => {
                let hello = self.hello.as_mut().expect("it was the first frame");
                hello.regions = regions;
            }
            ToGateway::Sync => {
                self.synced = true;
                answers.extend(answers.is_empty().then(|| self.tick(world, rng)).flatten());
            }
        }
        answers.iter().map(|answer| self.link.encode(answer).expect("it may be sent")).collect()
    }

    /// A tick that is not asked for.
    pub(crate) fn push(&mut self, world: &mut World, rng: &mut Rng) -> Option<Vec<u8>> {
        let tick = self.synced.then(|| self.tick(world, rng)).flatten()?;
        Some(self.link.encode(&tick).expect("it may be sent"))
    }

    fn welcome(&mut self, world: &World, hello: Hello) -> ToClient {
        self.cid = hello.secret.cid();
        let head = world.head(self.region, &self.cid).map(|head| &world.accepted[head]);
        let covered = world.vectors[self.region].dominates(&hello.base);
        self.hello = Some(hello);
        self.find_first(world);
        ToClient::Welcome(Welcome {
            region: self.region as u8,
            regions: 3,
            time_us: world.clock_us(self.region),
            head: head.map_or(0, |head| head.body.k),
            check: head.map_or([0; 8], |head| head.chain.check()),
            period_ms: 20,
            retain_ms: super::world::RETAIN_US / 1000,
            covered,
            name: Bytes::from_static(b"model"),
        })
    }

    /// The transaction before the client's log; it may come after Hello.
    fn find_first(&mut self, world: &World) {
        let Some(hello) = &self.hello else { return };
        let is_last = |chain: &Chain| chain.check() == hello.check;
        if let Some(last) = world.present(self.region, &self.cid, hello.first - 1, is_last) {
            self.verified.insert(hello.first - 1, last);
        }
    }

    fn transfer(&mut self, world: &mut World, body: &Body) -> ToClient {
        self.find_first(world);
        let before = self.verified.get(&(body.k - 1)).copied();
        if body.k > 1 && before.is_none() {
            let other = world.present(self.region, &self.cid, body.k - 1, |_| true);
            let first = self.hello.as_ref().map_or(0, |hello| hello.first);
            return match other {
                Some(_) if body.k == first => ToClient::Forked { k: body.k - 1 },
                _ if !self.covers(world) => ToClient::Behind { wait_ms: 2 },
                _ => ToClient::Missing { k: self.verified.keys().next_back().copied().unwrap_or(0) },
            };
        }
        match world.transfer(self.region, self.cid, body, before) {
            Verdict::Answer(answer) => answer,
            Verdict::Has(index) => {
                self.verified.insert(body.k, index);
                ToClient::Ack { k: body.k }
            }
        }
    }

    fn covers(&self, world: &World) -> bool {
        self.hello.as_ref().is_some_and(|hello| world.vectors[self.region].dominates(&hello.base))
    }

    fn tick(&mut self, world: &mut World, rng: &mut Rng) -> Option<ToClient> {
        let hello = self.hello.as_ref().filter(|_| self.covers(world))?;
        let (last, regions) = (self.link.base().clone(), hello.regions);
        let to = world.stable(self.region, regions, &last);
        if !world.vectors[self.region].dominates(&to) {
            return None;
        }
        let set = world.set(&to);
        let own = set.iter().filter(|index| world.accepted[**index].cid == self.cid);
        let last = own.max_by_key(|index| world.accepted[**index].body.k).copied();
        let (in_base, check) = last
            .map_or((0, [0; 8]), |last| (world.accepted[last].body.k, world.accepted[last].chain.check()));
        // The client goes on after it, or says that its chain is another one.
        self.verified.extend(last.map(|last| (in_base, last)));
        let watched: Vec<(u64, Bytes)> =
            self.link.watched().map(|(reference, key)| (reference, key.clone())).collect();
        let mut updates = Vec::new();
        for (reference, key) in watched {
            let value = world.value(&set, &key);
            let opening = self.have.remove(&reference);
            let old = self.sent.insert(reference, value.clone());
            let known = opening == Some(value.hash()) || old.as_ref() == Some(&value);
            if !known {
                let change = old.filter(|_| rng.u8(..4) > 0).and_then(|old| difference(&old, &value));
                updates.push(Update { reference, change: change.unwrap_or(Change::Whole(value)) });
            }
        }
        Some(ToClient::Tick(Tick { to, regions, in_base, check, have: 0, updates }))
    }
}

/// What has changed, if both are maps, lists or sets.
fn difference(old: &Value, new: &Value) -> Option<Change> {
    match (old, new) {
        (Value::Map(old), Value::Map(new)) | (Value::List(old), Value::List(new)) => {
            let set = new.iter().filter(|(field, written)| old.get(*field) != Some(*written));
            let gone: BTreeSet<Bytes> =
                old.keys().filter(|field| !new.contains_key(*field)).cloned().collect();
            Some(Change::Fields(set.map(|(field, written)| (field.clone(), written.clone())).collect(), gone))
        }
        (Value::Set(old), Value::Set(new)) => {
            Some(Change::Set(new.difference(old).cloned().collect(), old.difference(new).cloned().collect()))
        }
        _ => None,
    }
}
