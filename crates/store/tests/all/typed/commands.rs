//! The commands of the schedules: how each is chosen, given to the implementation, and said to the oracle.

use super::own::Own;
use super::spec::{Act, Shown, number};
use bytes::Bytes;
use tidemark_core::{Command, Reply, Verb};
use tidemark_crdt::draft::Draft;
use tidemark_crdt::effect::{Bound, Datum};
use tidemark_crdt::{Kind, Moment, Prepared, State, evaluate};

/// Which commands a schedule has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Hash,
    String,
    Set,
    Zset,
    Mixed,
    Doc,
    BCounter,
}

/// A command on the key.
#[derive(Clone, Debug)]
pub(crate) enum Cmd {
    HSet(u8, i64),
    HSetText(u8),
    HSetNx(u8, i64),
    HIncrBy(u8, i64),
    HDel(u8),
    Set(i64),
    SetKeep(i64),
    SetAt(i64, u64),
    IncrBy(i64),
    GetDel,
    GetExAt(u64),
    GetExPersist,
    SAdd(u8),
    SRem(u8),
    SPop(u64),
    ZAdd(u8, i64, Bound),
    ZIncrBy(u8, i64),
    ZRem(u8),
    Del,
    ExpireAt(u64),
    Persist,
    /// What expired keys hold goes; with a deadline that lies ahead, too, if so.
    Purge(bool),
    Own(Own),
}

fn element(random: &mut fastrand::Rng) -> u8 {
    random.u8(0..2)
}

fn deadline(random: &mut fastrand::Rng, stamp: u64) -> u64 {
    stamp + 1 + if random.bool() { random.u64(0..8) } else { random.u64(0..40) }
}

impl Cmd {
    /// Draws one; `stamp` is that of its version, in milliseconds.
    pub(crate) fn draw(family: Family, random: &mut fastrand::Rng, stamp: u64) -> Self {
        match random.u32(0..100) {
            0..4 => return Self::Del,
            4..6 => return Self::Purge(stamp.is_multiple_of(3)),
            6..16 => return Self::ExpireAt(deadline(random, stamp)),
            16..20 => return Self::Persist,
            _ => {}
        }
        let of = match family {
            Family::Mixed => {
                *random.choice(&[Family::Hash, Family::String, Family::Set, Family::Zset]).expect("some")
            }
            // Beside their own commands: what overwrites them, and what is refused.
            Family::Doc | Family::BCounter => Family::String,
            family => family,
        };
        let (e, value, by, roll) =
            (element(random), random.i64(0..50), random.i64(-3..6), random.u32(0..100));
        match (of, roll) {
            (Family::Hash, 0..38) => Self::HSet(e, value),
            (Family::Hash, 38..42) => Self::HSetText(e),
            (Family::Hash, 42..47) => Self::HSetNx(e, value),
            (Family::Hash, 47..82) => Self::HIncrBy(e, by),
            (Family::Hash, _) => Self::HDel(e),
            (Family::String, 0..25) => Self::Set(value),
            (Family::String, 25..32) => Self::SetKeep(value),
            (Family::String, 32..40) => Self::SetAt(value, deadline(random, stamp)),
            (Family::String, 40..80) => Self::IncrBy(by),
            (Family::String, 80..83) => Self::SetKeep(value),
            (Family::String, 83..90) => Self::GetDel,
            (Family::String, 90..97) => Self::GetExAt(deadline(random, stamp)),
            (Family::String, _) => Self::GetExPersist,
            (Family::Set, 0..60) => Self::SAdd(e),
            (Family::Set, 60..85) => Self::SRem(e),
            (Family::Set, _) => Self::SPop(random.u64(..)),
            (Family::Zset | Family::Mixed | Family::Doc | Family::BCounter, ..22) => {
                Self::ZAdd(e, value, Bound::None)
            }
            (Family::Zset | Family::Mixed | Family::Doc | Family::BCounter, 22..40) => {
                Self::ZAdd(e, value, Bound::Least)
            }
            (Family::Zset | Family::Mixed | Family::Doc | Family::BCounter, 40..48) => {
                Self::ZAdd(e, value, Bound::Most)
            }
            (Family::Zset | Family::Mixed | Family::Doc | Family::BCounter, 48..78) => Self::ZIncrBy(e, by),
            (Family::Zset | Family::Mixed | Family::Doc | Family::BCounter, _) => Self::ZRem(e),
        }
    }

    /// The implementation's answer and changes.
    pub(crate) fn run(&self, state: &State, moment: Moment) -> Prepared {
        let text = |number: i64| Bytes::from(number.to_string());
        let time = |time: u64| Bytes::from(time.to_string());
        let name = |e: u8| Bytes::from(vec![b'a' + e]);
        let word = Bytes::from_static;
        let mut seed = 0;
        let (verb, args) = match *self {
            Self::HSet(e, value) => (Verb::HSet, vec![name(e), text(value)]),
            Self::HSetText(e) => (Verb::HSet, vec![name(e), word(b"abc")]),
            Self::HSetNx(e, value) => (Verb::HSetNx, vec![name(e), text(value)]),
            Self::HIncrBy(e, by) => (Verb::HIncrBy, vec![name(e), text(by)]),
            Self::HDel(e) => (Verb::HDel, vec![name(e)]),
            Self::Set(value) => (Verb::Set, vec![text(value)]),
            Self::SetKeep(value) => (Verb::Set, vec![text(value), word(b"KEEPTTL")]),
            Self::SetAt(value, at) => (Verb::Set, vec![text(value), word(b"PXAT"), time(at)]),
            Self::IncrBy(by) => (Verb::IncrBy, vec![text(by)]),
            Self::GetDel => (Verb::GetDel, vec![]),
            Self::GetExAt(at) => (Verb::GetEx, vec![word(b"PXAT"), time(at)]),
            Self::GetExPersist => (Verb::GetEx, vec![word(b"PERSIST")]),
            Self::SAdd(e) => (Verb::SAdd, vec![name(e)]),
            Self::SRem(e) => (Verb::SRem, vec![name(e)]),
            Self::SPop(drawn) => {
                seed = drawn;
                (Verb::SPop, vec![])
            }
            Self::Del => (Verb::Del, vec![]),
            Self::ExpireAt(at) => (Verb::PExpireAt, vec![time(at)]),
            Self::Persist => (Verb::Persist, vec![]),
            Self::Purge(early) => (Verb::Purge, early.then(|| word(b"early")).into_iter().collect()),
            Self::ZAdd(..) | Self::ZIncrBy(..) | Self::ZRem(_) => return self.run_zset(state, moment),
            Self::Own(ref own) => return own.run(state, moment),
        };
        evaluate(&Command { verb, keys: Vec::new(), args, seed }, state, moment)
    }

    /// Sorted sets, change by change.
    fn run_zset(&self, state: &State, moment: Moment) -> Prepared {
        let mut draft = Draft::new(state, &Command::new(Verb::ZAdd, Vec::new()), moment);
        let there = match draft.of(Kind::Zset) {
            Ok(there) => there.is_some(),
            Err(reply) => return Prepared { reply, changes: Vec::new() },
        };
        let reply = match *self {
            Self::ZAdd(e, score, bound) => {
                draft.assign_shared(Kind::Zset, vec![b'a' + e].into(), Datum::Score(score as f64), bound);
                Reply::Ok
            }
            Self::ZIncrBy(e, by) => {
                let from = match draft.get(&[b'a' + e]) {
                    Some(Datum::Score(score)) => score,
                    _ => 0.0,
                };
                draft.count_score(&[b'a' + e], from, by as f64);
                Reply::Double(from + by as f64)
            }
            Self::ZRem(e) => Reply::flag(there && draft.remove(Kind::Zset, &[b'a' + e])),
            _ => unreachable!("these are the commands of sorted sets"),
        };
        Prepared { reply, changes: draft.finish() }
    }

    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::HSet(..) | Self::HSetText(_) | Self::HSetNx(..) | Self::HIncrBy(..) | Self::HDel(_) => {
                Kind::Hash
            }
            Self::IncrBy(_) | Self::GetDel | Self::GetExAt(_) | Self::GetExPersist => Kind::String,
            Self::SAdd(_) | Self::SRem(_) | Self::SPop(_) => Kind::Set,
            Self::ZAdd(..) | Self::ZIncrBy(..) | Self::ZRem(_) => Kind::Zset,
            Self::Own(own) => return own.kind(),
            Self::Set(_)
            | Self::SetKeep(_)
            | Self::SetAt(..)
            | Self::Del
            | Self::ExpireAt(_)
            | Self::Persist
            | Self::Purge(_) => {
                return None;
            }
        })
    }

    /// Its answer and its acts, by the oracle: `raw` is all that its session sees, which is judged at `stamp`. `answered` is the
    /// answer, for commands that draw.
    pub(crate) fn refer(&self, raw: &Shown, stamp: u64, answered: &Reply) -> (Reply, Vec<Act>) {
        let shown = raw.at(stamp);
        if let Self::Purge(early) = *self {
            let expired = raw.deadline.is_some_and(|deadline| deadline <= stamp);
            // What had expired may be gone by itself (R19).
            let due = if expired { *answered != Reply::Int(0) } else { early && raw.deadline.is_some() };
            let kinds = raw.kind.iter().chain(&raw.shadowed).filter(|_| due);
            return (answered.clone(), kinds.map(|kind| Act::Clear(Some(*kind))).collect());
        }
        if self.kind().is_some() && shown.kind.is_some() && self.kind() != shown.kind {
            return (Reply::WRONG_TYPE, Vec::new());
        }
        let (reply, mut own) = self.effects(&shown, stamp, answered);
        let mut acts = Vec::new();
        if shown.kind == Some(Kind::String) && matches!(own.first(), Some(Act::Clear(None))) {
            own.push(Act::Assign(Kind::String, Box::default(), Datum::Gone, Bound::None));
        }
        if !own.is_empty() && !matches!(own[0], Act::Clear(None)) {
            if shown.kind.is_none() {
                acts.push(Act::Create);
            }
            acts.extend(shown.shadowed.iter().map(|kind| Act::Clear(Some(*kind))));
        }
        acts.extend(own);
        (reply, acts)
    }

    /// Its own acts, beside creating and settling types.
    fn effects(&self, shown: &Shown, stamp: u64, answered: &Reply) -> (Reply, Vec<Act>) {
        let name = |e: u8| Box::<[u8]>::from([b'a' + e]);
        let at = |e: u8| shown.elements.get(&[b'a' + e][..]);
        let text = |number: i64| Datum::bytes(number.to_string().as_bytes());
        let assign = |kind, e: u8, datum| vec![Act::Assign(kind, name(e), datum, Bound::None)];
        let removed = |kind, e: u8| {
            let acts = at(e).map(|_| Act::Remove(kind, name(e))).into_iter().collect::<Vec<_>>();
            (Reply::count(acts.len()), acts)
        };
        match *self {
            Self::HSet(e, value) => (Reply::flag(at(e).is_none()), assign(Kind::Hash, e, text(value))),
            Self::HSetText(e) => (Reply::flag(at(e).is_none()), assign(Kind::Hash, e, Datum::bytes(b"abc"))),
            Self::HSetNx(e, _) if at(e).is_some() => (Reply::Int(0), Vec::new()),
            Self::HSetNx(e, value) => (Reply::Int(1), assign(Kind::Hash, e, text(value))),
            Self::HIncrBy(e, by) => match counted(at(e), by) {
                Some(sum) => (Reply::Int(sum), vec![Act::Count(Kind::Hash, name(e), by)]),
                None => (Reply::error("ERR hash value is not an integer"), Vec::new()),
            },
            Self::HDel(e) => removed(Kind::Hash, e),
            Self::SAdd(e) => (Reply::flag(at(e).is_none()), assign(Kind::Set, e, Datum::Unit)),
            Self::SRem(e) => removed(Kind::Set, e),
            Self::SPop(_) => match answered {
                Reply::Bulk(popped) if shown.elements.contains_key(&popped[..]) => {
                    (answered.clone(), vec![Act::Remove(Kind::Set, popped[..].into())])
                }
                _ if shown.elements.is_empty() => (Reply::Null, Vec::new()),
                _ => (Reply::error("a member"), Vec::new()),
            },
            Self::ZAdd(e, score, bound) => {
                let score = Datum::Score(score as f64);
                (Reply::Ok, vec![Act::Assign(Kind::Zset, name(e), score, bound)])
            }
            Self::ZIncrBy(e, by) => {
                let from = if let Some(Datum::Score(score)) = at(e) { *score } else { 0.0 };
                (Reply::Double(from + by as f64), vec![Act::Count(Kind::Zset, name(e), by)])
            }
            Self::ZRem(e) => removed(Kind::Zset, e),
            Self::Own(ref own) => own.effects(shown, answered),
            _ => self.effects_on_key(shown, stamp),
        }
    }

    /// The same of strings, and of commands on any type.
    fn effects_on_key(&self, shown: &Shown, stamp: u64) -> (Reply, Vec<Act>) {
        let (there, value) = (shown.kind.is_some(), shown.elements.get(&b""[..]));
        let found = || match value {
            Some(Datum::Bytes(value)) => Reply::bulk(value),
            _ => Reply::Null,
        };
        let expire = |at: u64| if at <= stamp { Act::Clear(None) } else { Act::Expire(Some(at)) };
        let timed = there && shown.deadline.is_some();
        match *self {
            Self::Set(value) => (Reply::Ok, overwritten(shown, value, Some(Act::Expire(None)))),
            Self::SetKeep(value) => (Reply::Ok, overwritten(shown, value, None)),
            Self::SetAt(value, at) => (Reply::Ok, overwritten(shown, value, Some(Act::Expire(Some(at))))),
            Self::IncrBy(by) => match counted(value, by) {
                Some(sum) => (Reply::Int(sum), vec![Act::Count(Kind::String, Box::default(), by)]),
                None => (Reply::error("ERR value is not an integer or out of range"), Vec::new()),
            },
            Self::GetDel => (found(), there.then_some(Act::Clear(None)).into_iter().collect()),
            Self::GetExAt(at) => (found(), there.then(|| expire(at)).into_iter().collect()),
            Self::GetExPersist => (found(), timed.then_some(Act::Expire(None)).into_iter().collect()),
            Self::Del => (Reply::flag(there), there.then_some(Act::Clear(None)).into_iter().collect()),
            Self::ExpireAt(at) => (Reply::flag(there), there.then(|| expire(at)).into_iter().collect()),
            Self::Persist => (Reply::flag(timed), timed.then_some(Act::Expire(None)).into_iter().collect()),
            _ => unreachable!("every command is in one of the two tables"),
        }
    }
}

/// A SET: other types go that are there; `expiry` is what it says of the deadline.
fn overwritten(shown: &Shown, value: i64, expiry: Option<Act>) -> Vec<Act> {
    let other = shown.kind.filter(|kind| *kind != Kind::String);
    let value = Datum::bytes(value.to_string().as_bytes());
    let assign = Act::Assign(Kind::String, Box::default(), value, Bound::None);
    other.map(|kind| Act::Clear(Some(kind))).into_iter().chain([assign]).chain(expiry).collect()
}

fn counted(value: Option<&Datum>, by: i64) -> Option<i64> {
    match value {
        Some(Datum::Bytes(value)) => Some(number(value)? + by),
        _ => Some(by),
    }
}
