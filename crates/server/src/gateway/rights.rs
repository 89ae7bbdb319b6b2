//! Rights of bounded counters, from region to region.
//!
//! **Idea.** DECRBY never waits for another region. If it lacks rights, the gateway asks for some in the background: it looks which
//! regions have any, and broadcasts a request to the richest. A node there that holds the key carries it out as an update of its
//! own region, which comes here like any other. A request may get lost, or come twice, or late: it names what had been
//! given before, and is carried out only as long as that is still so. The client tries again, and so a lost request is made
//! up for; if several have led to nothing the next region is asked.
//!
//! **Invariants**
//! - I1 One operation runs at a time, on a session of its own.
//! - I2 Nothing waits without bound: what does not fit is dropped, as if it had been lost.

use crate::run::shard::Engine;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use tidemark_core::{Command, DcId, Found, Key, Micros, Op, Outcome, Reply, Update, Verb};
use tidemark_node::{Reach, SessionId};

/// The first byte of a broadcast that asks for rights.
pub(super) const REQUEST: u8 = 5;

/// How often rights to one counter are asked for: about the shortest round trip between regions.
const ASK_EVERY_US: Micros = 10_000;
/// After so long the richest region is asked first again.
const FORGET_AFTER_US: Micros = 10_000_000;
/// How many requests wait, and of how many counters it is known who was asked.
const WAITING_MAX: usize = 1_000;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Job {
    /// This region lacks rights to take so much.
    Ask { key: Key, by: Bytes },
    /// Another region, by its number, asks this one.
    Give { key: Key, to: u8, request: Bytes },
}

/// How often rights to a counter were asked for lately.
#[derive(Clone, Copy, Debug)]
struct Asked {
    last: Micros,
    times: usize,
}

/// See above.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    session: Option<SessionId>,
    running: Option<Job>,
    /// The operation of the running job has ended so.
    ended: Option<Outcome>,
    waiting: VecDeque<Job>,
    asked: BTreeMap<Key, Asked>,
}

impl Rights {
    /// Whether there is something for the next batch.
    pub(crate) fn has_work(&self) -> bool {
        self.ended.is_some() || self.running.is_none() && !self.waiting.is_empty()
    }

    /// An operation has ended that is no client's.
    ///
    /// # Errors
    /// It was none of these; the outcome comes back.
    pub(crate) fn done(&mut self, session: SessionId, outcome: Outcome) -> Result<(), Outcome> {
        if self.session != Some(session) {
            return Err(outcome);
        }
        self.ended = Some(outcome);
        Ok(())
    }

    /// A session has ended that is no client's: it has read what was never committed. False if it was not this one.
    pub(crate) fn close(&mut self, session: SessionId) -> bool {
        let own = self.session == Some(session);
        if own {
            (self.session, self.running, self.ended) = (None, None, None);
        }
        own
    }

    /// DECRBY was refused for want of rights.
    fn lack(&mut self, now: Micros, key: Key, by: Bytes) {
        let early = self.asked.get(&key).is_some_and(|asked| now < asked.last + ASK_EVERY_US);
        if !early {
            self.wait(Job::Ask { key, by });
        }
    }

    fn wait(&mut self, job: Job) {
        if self.waiting.len() < WAITING_MAX && !self.waiting.contains(&job) {
            self.waiting.push_back(job);
        }
    }

    /// Which of so many regions is asked now.
    fn turn(&mut self, now: Micros, key: &Key, regions: usize) -> usize {
        if self.asked.len() >= WAITING_MAX {
            self.asked.retain(|_, asked| now < asked.last + FORGET_AFTER_US);
        }
        let times = match self.asked.get(key) {
            Some(asked) if now < asked.last + FORGET_AFTER_US => asked.times + 1,
            _ => 0,
        };
        self.asked.insert(key.clone(), Asked { last: now, times });
        // A request has the time of a few tries to be answered.
        times / 4 % regions
    }
}

/// What an operation would take from a bounded counter, if it is one that takes.
#[inline]
pub(super) fn takes(op: &Op) -> Option<(Key, Bytes)> {
    let Op::Put { key, update: Update { command: Some(command), .. } } = op else { return None };
    let by = command.args.first().filter(|_| command.verb == Verb::BCounterDecrBy)?;
    Some((key.clone(), by.clone()))
}

/// An operation has ended that would take so much.
pub(super) fn taken(engine: &mut Engine, (key, by): (Key, Bytes), outcome: &Outcome) {
    if let Some(Reply::Error(why)) = replied(outcome)
        && why.starts_with("NORIGHTS")
    {
        engine.rights.lack(engine.now.mono, key, by);
    }
}

fn replied(outcome: &Outcome) -> Option<&Reply> {
    match outcome {
        Outcome::Written { previous: Some(Found { reply, .. }), .. } => reply.as_deref(),
        _ => None,
    }
}

/// Another node has asked for rights: if it means this region, and this node holds the counter, it gets some.
pub(super) fn hear(engine: &mut Engine, content: &[u8]) {
    let Some((region, key, to, request)) = decode(content) else {
        tracing::warn!("a request for rights cannot be understood");
        return;
    };
    let layout = engine.config.layout();
    let partition = engine.topology().partition_of(&key);
    if region == layout.dc.0 && layout.partitions.contains(&partition) {
        engine.rights.wait(Job::Give { key, to, request });
    }
}

/// Carries out what waits, as far as nothing has to be waited for.
pub(crate) fn work(engine: &mut Engine) {
    loop {
        if let Some(outcome) = engine.rights.ended.take()
            && let Some(job) = engine.rights.running.take()
        {
            finish(engine, &job, &outcome);
        }
        if engine.rights.running.is_some() {
            return;
        }
        let Some(job) = engine.rights.waiting.pop_front() else { return };
        let op = match &job {
            Job::Ask { key, by } => call(Verb::BCounterLenders, key, vec![by.clone()]),
            Job::Give { key, to, request } => {
                call(Verb::BCounterGive, key, vec![to.to_string().into(), request.clone()])
            }
        };
        let session = *engine.rights.session.get_or_insert_with(|| engine.node.open());
        engine.rights.running = Some(job);
        engine.rights.ended = engine.node.begin(engine.now, session, op);
    }
}

fn call(verb: Verb, key: &Key, args: Vec<Bytes>) -> Op {
    Op::Put { key: key.clone(), update: Update::call(Command::new(verb, args)) }
}

/// A job's operation has ended. Where it failed the client's next try leads here again.
fn finish(engine: &mut Engine, job: &Job, outcome: &Outcome) {
    let (Job::Ask { key, .. }, Some(Reply::Array(regions))) = (job, replied(outcome)) else { return };
    if regions.is_empty() {
        return;
    }
    let turn = engine.rights.turn(engine.now.mono, key, regions.len());
    if let Reply::Array(parts) = &regions[turn]
        && let [Reply::Int(region), Reply::Int(to), Reply::Bulk(request)] = &parts[..]
        && let (Ok(region), Ok(to)) = (u8::try_from(*region), u8::try_from(*to))
    {
        tracing::debug!("region {} is asked for rights to a counter", DcId(region));
        engine.node.broadcast(engine.now, Reach::Cluster, &encode(region, key, to, request));
    }
}

/// `kind:u8 region:u8 to:u8 key request`, the key with its length as u32; little endian.
fn encode(region: u8, key: &Key, to: u8, request: &[u8]) -> Vec<u8> {
    let length = (key.len() as u32).to_le_bytes();
    [&[REQUEST, region, to][..], &length, key, request].concat()
}

fn decode(content: &[u8]) -> Option<(u8, Key, u8, Bytes)> {
    let ([_, region, to], rest) = content.split_first_chunk::<3>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (key, request) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((*region, Key(Bytes::copy_from_slice(key)), *to, Bytes::copy_from_slice(request)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_and_one_cut_short_does_not() {
        let content = encode(2, &Key::from("stock"), 1, b"request");
        let (region, key, to, request) = decode(&content).unwrap();
        assert_eq!((region, &key[..], to, &request[..]), (2, &b"stock"[..], 1, &b"request"[..]));
        (0..7 + 5).for_each(|length| assert!(decode(&content[..length]).is_none(), "{length}"));
    }

    #[test]
    fn a_counter_is_asked_for_now_and_then_and_not_always_of_the_same_region() {
        let mut rights = Rights::default();
        let key = Key::from("stock");
        rights.lack(0, key.clone(), Bytes::from_static(b"1"));
        rights.lack(0, key.clone(), Bytes::from_static(b"1"));
        assert_eq!(rights.waiting.len(), 1, "it waits already");
        rights.waiting.clear();
        let turns: Vec<usize> = (1..=9).map(|now| rights.turn(now * ASK_EVERY_US, &key, 2)).collect();
        assert_eq!(turns, [0, 0, 0, 0, 1, 1, 1, 1, 0]);
        rights.lack(10 * ASK_EVERY_US - 1, key.clone(), Bytes::from_static(b"1"));
        assert!(!rights.has_work(), "it was asked for just now");
        rights.lack(10 * ASK_EVERY_US, key.clone(), Bytes::from_static(b"1"));
        assert!(rights.has_work());
        assert_eq!(
            rights.turn(FORGET_AFTER_US + 10 * ASK_EVERY_US, &key, 2),
            0,
            "after a while it is the first again"
        );
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        let mut rights = Rights::default();
        for number in 0..WAITING_MAX + 10 {
            rights.lack(0, Key::from(number.to_string().as_str()), Bytes::from_static(b"1"));
        }
        assert_eq!(rights.waiting.len(), WAITING_MAX);
        for number in 0..WAITING_MAX + 10 {
            rights.turn(number as Micros * FORGET_AFTER_US, &Key::from(number.to_string().as_str()), 2);
        }
        assert!(rights.asked.len() <= WAITING_MAX);
    }
}
