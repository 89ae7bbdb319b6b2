//! What the two sides of a connection remember, so that frames can be differences.

use super::primitive::{Malformed, Unsendable};
use super::to_gateway::{Context, Dependency, Memory};
use super::{Base, Body, FRAME_MAX, KEY_MAX, MICROS_END, Operation, ToClient, ToGateway, WATCHED_MAX};
use crate::rule::BASES_DOMINATE;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A client refers to Hello's base, or to the base of one of the last ticks that it received: so many.
pub const TICKS_REFERRED_TO: usize = 64;

/// A gateway remembers the bases of so many ticks that it sent last: more than clients refer to, because ticks are under way.
pub const TICKS_KEPT: usize = 256;

/// The client's side of a connection. A new connection has a new one.
#[derive(Clone, Debug, Default)]
pub struct ClientLink {
    both: Both,
}

/// The gateway's side of a connection. A new connection has a new one.
#[derive(Clone, Debug, Default)]
pub struct GatewayLink {
    both: Both,
}

/// What both sides remember.
#[derive(Clone, Debug, Default)]
struct Both {
    ticks: Ticks,
    references: References,
    welcomed: bool,
}

/// Bases by their ticks.
#[derive(Clone, Debug, Default)]
struct Ticks {
    /// That of Hello, once that was sent.
    hello: Option<Base>,
    /// The number of the last one.
    last: u64,
    /// The bases of the last ones, the newest at the back.
    bases: VecDeque<Arc<Base>>,
}

/// Watched keys by their references.
#[derive(Clone, Debug, Default)]
struct References {
    /// The next one to be given.
    next: u64,
    keys: BTreeMap<u64, Bytes>,
    /// The inverse of `keys`.
    by_key: BTreeMap<Bytes, u64>,
    /// The key of the last Unwatch, until it is asked for.
    unwatched: Option<Bytes>,
}

impl ClientLink {
    /// The reference that the next Watch has to have.
    pub fn next_reference(&self) -> u64 {
        self.both.references.next
    }

    /// The reference of a watched key.
    pub fn reference_of(&self, key: &[u8]) -> Option<u64> {
        self.both.references.by_key.get(key).copied()
    }

    /// The key of a reference, if it is still watched.
    pub fn key_of(&self, reference: u64) -> Option<&Bytes> {
        self.both.references.keys.get(&reference)
    }

    /// The number of the last tick that was received; 0: none yet.
    pub fn tick(&self) -> u64 {
        self.both.ticks.last
    }

    /// Encodes a frame that is sent next.
    ///
    /// # Errors
    /// It may not come here: Hello is the first frame and no other is, references follow each other, keys are watched once, a
    /// transaction has operations, and no frame has more than [`FRAME_MAX`] bytes.
    pub fn encode(&mut self, frame: &ToGateway) -> Result<Vec<u8>, Unsendable> {
        self.both.check(frame).map_err(|malformed| Unsendable(malformed.0))?;
        let encoded = frame.encode(self);
        fits(&encoded)?;
        self.both.note(frame);
        Ok(encoded)
    }

    /// Decodes the frame that was received next.
    ///
    /// # Errors
    /// It is no frame, or may not come here.
    pub fn decode(&mut self, frame: &[u8]) -> Result<ToClient, Malformed> {
        let decoded = ToClient::decode(frame, self.both.ticks.last, self.both.ticks.base())?;
        check_order(&decoded, self.both.ticks.hello.is_some(), self.both.welcomed)?;
        self.both.welcomed |= matches!(decoded, ToClient::Welcome(_));
        if let ToClient::Tick(tick) = &decoded {
            self.both.ticks.push(tick.to.clone(), TICKS_REFERRED_TO);
        }
        Ok(decoded)
    }
}

impl GatewayLink {
    /// The number of the last tick that was sent; 0: none yet.
    pub fn tick(&self) -> u64 {
        self.both.ticks.last
    }

    /// The base of the last tick that was sent, or that of Hello: what the next Tick has to dominate.
    pub fn base(&self) -> &Base {
        self.both.ticks.base()
    }

    /// Watched keys with their references, in the order of references.
    pub fn watched(&self) -> impl ExactSizeIterator<Item = (u64, &Bytes)> {
        self.both.references.keys.iter().map(|(reference, key)| (*reference, key))
    }

    /// The reference of a watched key.
    pub fn reference_of(&self, key: &[u8]) -> Option<u64> {
        self.both.references.by_key.get(key).copied()
    }

    /// The key of a reference, if it is still watched.
    pub fn key_of(&self, reference: u64) -> Option<&Bytes> {
        self.both.references.keys.get(&reference)
    }

    /// The key of the Unwatch that was decoded last; nothing if this was asked before.
    pub fn take_unwatched(&mut self) -> Option<Bytes> {
        self.both.references.unwatched.take()
    }

    /// Connections that are sent the same base need one copy of it: `base` is kept for that of the last tick, if it is the same.
    pub fn share_base(&mut self, base: &Arc<Base>) {
        if let Some(last) = self.both.ticks.bases.back_mut()
            && last == base
        {
            *last = base.clone();
        }
    }

    /// Encodes a frame that is sent next. A Tick gets the next number, a Value that of the last Tick.
    ///
    /// # Errors
    /// It may not come here: Welcome is the first frame (but for Error) and comes once, a Tick dominates the last base, a Value has a Tick
    /// before it, updates ascend, and no frame has more than [`FRAME_MAX`] bytes.
    pub fn encode(&mut self, frame: &ToClient) -> Result<Vec<u8>, Unsendable> {
        check_order(frame, true, self.both.welcomed).map_err(|malformed| Unsendable(malformed.0))?;
        match frame {
            ToClient::Tick(tick) => self.check_tick(tick)?,
            ToClient::Value { .. } if self.both.ticks.last == 0 => {
                return Err(Unsendable("a value before a tick"));
            }
            ToClient::Value { value, .. } => value.check()?,
            _ => {}
        }
        let encoded = frame.encode(self.both.ticks.last, self.both.ticks.base());
        fits(&encoded)?;
        self.both.welcomed |= matches!(frame, ToClient::Welcome(_));
        if let ToClient::Tick(tick) = frame {
            self.both.ticks.push(tick.to.clone(), TICKS_KEPT);
        }
        Ok(encoded)
    }

    fn check_tick(&self, tick: &super::Tick) -> Result<(), Unsendable> {
        if !tick.to.dominates(self.both.ticks.base()) && BASES_DOMINATE.kept()
            || tick.to.0.len() > Base::ENTRIES_MAX
        {
            return Err(Unsendable("a base that does not dominate the last one, or is too long"));
        }
        if !tick.updates.is_sorted_by(|one, other| one.reference < other.reference) {
            return Err(Unsendable("updates that do not ascend"));
        }
        tick.updates.iter().try_for_each(super::Update::check)
    }

    /// Decodes the frame that was received next.
    ///
    /// # Errors
    /// It is no frame, or may not come here.
    pub fn decode(&mut self, frame: &[u8]) -> Result<ToGateway, Malformed> {
        let decoded = ToGateway::decode(frame, self)?;
        self.both.check(&decoded)?;
        self.both.note(&decoded);
        Ok(decoded)
    }
}

impl Both {
    /// That a frame of a client may come next.
    fn check(&self, frame: &ToGateway) -> Result<(), Malformed> {
        let no = |what| Err(Malformed(what));
        match frame {
            ToGateway::Hello(_) if self.ticks.hello.is_some() => no("a second Hello"),
            ToGateway::Hello(hello) if hello.first == 0 || hello.base.0.len() > Base::ENTRIES_MAX => {
                no("a Hello out of range")
            }
            ToGateway::Hello(_) => Ok(()),
            _ if self.ticks.hello.is_none() => no("a frame before Hello"),
            ToGateway::Watch { reference, key, .. } => self.references.check(*reference, key),
            ToGateway::Unwatch { reference } if !self.references.keys.contains_key(reference) => {
                no("a key that is not watched")
            }
            ToGateway::Transfer { body, .. } => check_body(body),
            _ => Ok(()),
        }
    }

    /// Remembers a frame of a client.
    fn note(&mut self, frame: &ToGateway) {
        match frame {
            ToGateway::Hello(hello) => self.ticks.hello = Some(hello.base.clone()),
            ToGateway::Watch { reference, key, .. } => self.references.add(*reference, key),
            ToGateway::Unwatch { reference } => self.references.remove(*reference),
            _ => {}
        }
    }
}

impl References {
    fn check(&self, reference: u64, key: &Bytes) -> Result<(), Malformed> {
        let no = |what| Err(Malformed(what));
        match () {
            () if reference != self.next => no("a reference out of order"),
            () if self.by_key.contains_key(key) => no("a key that is watched"),
            () if self.by_key.len() >= WATCHED_MAX => no("too many watched keys"),
            () if key.is_empty() || key.len() > KEY_MAX => no("a key out of range"),
            () => Ok(()),
        }
    }

    fn add(&mut self, reference: u64, key: &Bytes) {
        self.next += 1;
        self.keys.insert(reference, key.clone());
        self.by_key.insert(key.clone(), reference);
    }

    fn remove(&mut self, reference: u64) {
        if let Some(key) = self.keys.remove(&reference) {
            self.by_key.remove(&key);
            self.unwatched = Some(key);
        }
    }
}

fn check_body(body: &Body) -> Result<(), Malformed> {
    let keys = body.operations.iter().all(Operation::is_valid);
    let times = body.h_us < MICROS_END && body.dep.0.len() <= Base::ENTRIES_MAX;
    if body.k == 0 || !keys || !times {
        return Err(Malformed("a transaction out of range"));
    }
    Ok(())
}

/// That a frame of a gateway may come next.
fn check_order(frame: &ToClient, greeted: bool, welcomed: bool) -> Result<(), Malformed> {
    match frame {
        ToClient::Error { .. } => Ok(()),
        ToClient::Welcome(_) if welcomed => Err(Malformed("a second Welcome")),
        ToClient::Welcome(_) if greeted => Ok(()),
        _ if welcomed => Ok(()),
        _ => Err(Malformed("a frame before Welcome")),
    }
}

fn fits(encoded: &[u8]) -> Result<(), Unsendable> {
    if encoded.len() <= FRAME_MAX { Ok(()) } else { Err(Unsendable("longer than 16 MiB")) }
}

static NOTHING: Base = Base(Vec::new());

impl Ticks {
    /// The last one.
    fn base(&self) -> &Base {
        self.bases.back().map(|base| &**base).or(self.hello.as_ref()).unwrap_or(&NOTHING)
    }

    fn push(&mut self, base: Base, kept: usize) {
        self.last += 1;
        self.bases.push_back(Arc::new(base));
        if self.bases.len() > kept {
            self.bases.pop_front();
        }
    }

    /// The number of the oldest that is kept.
    fn first(&self) -> u64 {
        self.last + 1 - self.bases.len() as u64
    }
}

impl Context for ClientLink {
    fn reference_of(&self, key: &[u8]) -> Option<u64> {
        self.both.references.by_key.get(key).copied()
    }

    /// The newest tick with that base, so that both clients choose the same.
    fn dependency(&self, base: &Base) -> Dependency {
        match self.both.ticks.bases.iter().rposition(|kept| **kept == *base) {
            Some(place) => Dependency::Tick(self.both.ticks.first() + place as u64),
            None if self.both.ticks.hello.as_ref() == Some(base) => Dependency::Tick(0),
            None => Dependency::Explicit,
        }
    }
}

impl Memory for GatewayLink {
    fn key_of(&self, reference: u64) -> Option<Bytes> {
        self.both.references.keys.get(&reference).cloned()
    }

    fn base_of(&self, tick: u64) -> Option<Base> {
        if tick == 0 {
            return self.both.ticks.hello.clone();
        }
        let place = tick.checked_sub(self.both.ticks.first())?;
        self.both.ticks.bases.get(usize::try_from(place).ok()?).map(|base| (**base).clone())
    }
}
