//! Consumer groups of a stream, as elements of it.
//!
//! All elements of a group stand together: their names begin with the group's, and then say what they are.
//!
//! - A *base* is where the group begins: an id, set by CREATE or by SETID. Its name ends with the stamp of its version, so bases
//!   of several regions stand side by side. Of those that CREATE made the lowest id counts; the latest SETID hides all others.
//!   A group is there while it has a base.
//! - A *delivered* mark is the last id that was delivered: the highest counts. It names the base that it goes on from, and is
//!   worth nothing without: who resets a group need not have seen all deliveries.
//! - A *consumer* holds the time at which it was last heard of.
//! - A *pending* entry is an id that was delivered and not acknowledged: to which consumer, when, and how often. The later
//!   delivery wins, and an acknowledgement takes away those that it has observed.
//!
//! What regions do at once can leave elements without a base. They are not shown, and CREATE removes them.

use super::id::Id;
use super::log::Log;
use crate::draft::Draft;
use crate::effect::{Datum, Kind, Name};
use bytes::Bytes;
use tidemark_core::Reply;

/// The names of all elements of groups begin with it.
const GROUPS: &[u8] = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0q";

const BASE: u8 = b'b';
const CONSUMER: u8 = b'c';
const DELIVERED: u8 = b'd';
const PENDING: u8 = b'p';

/// How a base was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Created,
    Reset,
}

/// Where a group stands: the last id that was delivered, and how many entries were read up to it, if that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) last: Id,
    pub(crate) read: Option<u64>,
}

/// An entry that was delivered and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) consumer: Bytes,
    /// When it was delivered, in milliseconds since 1970.
    pub(crate) time: u64,
    pub(crate) count: u64,
}

/// A group as a session sees it. Changes of the command are not in it, unless said otherwise.
pub(crate) struct Group<'a> {
    log: Log<'a>,
    prefix: Vec<u8>,
    pub(crate) at: Position,
    /// The base that deliveries go on from.
    base: Vec<u8>,
}

/// How the names of a group's elements begin.
fn prefix(name: &[u8]) -> Vec<u8> {
    [GROUPS, &(name.len() as u32).to_be_bytes(), name].concat()
}

fn read_bytes(read: Option<u64>) -> [u8; 8] {
    read.unwrap_or(u64::MAX).to_be_bytes()
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.get(..8)?.try_into().ok().map(u64::from_be_bytes)
}

fn parse_read(bytes: &[u8]) -> Option<u64> {
    number(bytes).filter(|read| *read != u64::MAX)
}

/// A base's value.
pub(crate) fn base_value(made: Made, at: Position) -> Vec<u8> {
    [&[u8::from(made == Made::Reset)][..], &at.last.name(), &read_bytes(at.read)].concat()
}

/// The order of bases in time, by the stamps in their names.
fn in_time(base: &[u8]) -> (&[u8], &[u8]) {
    (base.get(1..).unwrap_or_default(), base.get(..1).unwrap_or_default())
}

impl Pending {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [&self.time.to_be_bytes()[..], &self.count.to_be_bytes(), &self.consumer].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (time, rest) = (number(bytes)?, bytes.get(8..)?);
        Some(Self { consumer: Bytes::copy_from_slice(rest.get(8..)?), time, count: number(rest)? })
    }
}

/// Names of elements of a group that a payload brings.
pub(crate) struct Names(Vec<u8>);

impl Names {
    pub(crate) fn of(group: &[u8]) -> Self {
        Self(prefix(group))
    }

    fn name(&self, tag: u8, rest: &[u8]) -> Vec<u8> {
        [&self.0[..], &[tag], rest].concat()
    }

    /// Its base: no version has to tell it from others.
    pub(crate) fn base(&self) -> Vec<u8> {
        self.name(BASE, b"")
    }

    pub(crate) fn consumer(&self, consumer: &[u8]) -> Vec<u8> {
        self.name(CONSUMER, consumer)
    }

    pub(crate) fn pending(&self, id: Id) -> Vec<u8> {
        self.name(PENDING, &id.name())
    }
}

/// The names of all groups, in order.
pub(crate) fn all(log: Log<'_>) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let mut from = GROUPS.to_vec();
    while let Some(found) = log.name_from(&from).filter(|found| found.starts_with(GROUPS)) {
        let Some((len, rest)) = found[GROUPS.len()..].split_at_checked(4) else { break };
        let len = u32::from_be_bytes(len.try_into().expect("four bytes")) as usize;
        let Some(name) = rest.get(..len) else { break };
        from = [&prefix(name)[..], &[u8::MAX]].concat();
        if Group::find(log, name).is_some() {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    names
}

/// Makes a group that is not there.
pub(crate) fn create(draft: &mut Draft<'_>, log: Option<Log<'_>>, name: &[u8], at: Position) {
    if let Some(log) = log {
        remove_all(draft, log, name);
    }
    begin(draft, &prefix(name), Made::Created, at);
}

/// A base whose name the version's stamp completes.
fn begin(draft: &mut Draft<'_>, prefix: &[u8], made: Made, at: Position) {
    let before = Bytes::from([prefix, &[BASE]].concat());
    draft.assign_new(Kind::Stream, Name::New(before, Bytes::new()), Datum::bytes(&base_value(made, at)));
}

/// Removes what there is of a group.
pub(crate) fn remove_all(draft: &mut Draft<'_>, log: Log<'_>, name: &[u8]) {
    let prefix = prefix(name);
    for (name, _) in log.between(&prefix, &[&prefix[..], &[u8::MAX]].concat()) {
        draft.remove(Kind::Stream, &name);
    }
}

impl<'a> Group<'a> {
    /// The group of this name, if it is there.
    pub(crate) fn find(log: Log<'a>, name: &[u8]) -> Option<Self> {
        let prefix = prefix(name);
        let base = |(name, value): (Vec<u8>, &[u8])| {
            let (made, rest) = value.split_first()?;
            let at = Position { last: Id::of(rest.get(..16)?)?, read: parse_read(&rest[16..]) };
            Some((name[prefix.len() + 1..].to_vec(), *made == 1, at))
        };
        let mut bases: Vec<_> = Self::range(log, &prefix, BASE).filter_map(base).collect();
        let reset = bases
            .iter()
            .filter(|(_, reset, _)| *reset)
            .max_by(|(a, ..), (b, ..)| in_time(a).cmp(&in_time(b)));
        if let Some(reset) = reset.cloned() {
            bases = vec![reset];
        }
        let (own, _, lowest) = bases.iter().min_by_key(|(.., at)| at.last)?;
        let delivered = |(name, value): (Vec<u8>, &[u8])| {
            let (id, of) = name[prefix.len() + 1..].split_at_checked(16)?;
            let counts = bases.iter().any(|(base, ..)| base == of);
            Some(Position { last: Id::of(id)?, read: parse_read(value) }).filter(|_| counts)
        };
        let delivered = Self::range(log, &prefix, DELIVERED).filter_map(delivered);
        let at = delivered.max_by_key(|at| at.last).unwrap_or(*lowest);
        Some(Self { log, base: own.clone(), prefix, at })
    }

    fn range(
        log: Log<'a>,
        prefix: &[u8],
        tag: u8,
    ) -> impl DoubleEndedIterator<Item = (Vec<u8>, &'a [u8])> + use<'a> {
        log.between(&[prefix, &[tag]].concat(), &[prefix, &[tag + 1]].concat())
    }

    fn name(&self, tag: u8, rest: &[u8]) -> Vec<u8> {
        [&self.prefix[..], &[tag], rest].concat()
    }

    /// Every consumer: its name, and when it was last heard of. In the order of names.
    pub(crate) fn consumers(&self) -> impl Iterator<Item = (Vec<u8>, u64)> {
        let behind = self.prefix.len() + 1;
        Self::range(self.log, &self.prefix, CONSUMER)
            .map(move |(name, seen)| (name[behind..].to_vec(), number(seen).unwrap_or(0)))
    }

    /// How many they are. O(log n).
    pub(crate) fn consumers_len(&self) -> usize {
        self.log.count_between(&self.name(CONSUMER, b""), &self.name(CONSUMER + 1, b""))
    }

    /// Whether a consumer is there; with the changes of the command.
    pub(crate) fn has_consumer(&self, draft: &Draft<'_>, consumer: &[u8]) -> bool {
        draft.get(&self.name(CONSUMER, consumer)).is_some()
    }

    /// A consumer is heard of. It is noted if that creates it.
    pub(crate) fn hear(&self, draft: &mut Draft<'_>, consumer: &[u8]) {
        draft.noted |= !self.has_consumer(draft, consumer);
        let now = draft.now_ms().to_be_bytes();
        draft.assign(Kind::Stream, &self.name(CONSUMER, consumer), Datum::bytes(&now));
    }

    /// Removes a consumer, and what is pending for it: how much that was. It is noted if the consumer was there.
    pub(crate) fn remove_consumer(&self, draft: &mut Draft<'_>, consumer: &[u8]) -> usize {
        let own = |(id, pending): (Id, Pending)| (pending.consumer == consumer).then_some(id);
        let own: Vec<Id> = self.pending(Id(0), Id::LAST).filter_map(own).collect();
        own.iter().for_each(|id| {
            self.acknowledge(draft, *id);
        });
        draft.noted |= draft.remove(Kind::Stream, &self.name(CONSUMER, consumer));
        own.len()
    }

    /// What is pending, from one id to another.
    pub(crate) fn pending(&self, start: Id, end: Id) -> impl DoubleEndedIterator<Item = (Id, Pending)> {
        let behind = match end.0.checked_add(1) {
            Some(behind) => self.name(PENDING, &Id(behind).name()),
            None => self.name(PENDING + 1, b""),
        };
        let names = self.log.between(&self.name(PENDING, &start.name()), &behind);
        let skip = self.prefix.len() + 1;
        names.filter_map(move |(name, value)| Some((Id::of(&name[skip..])?, Pending::decode(value)?)))
    }

    /// How much that is. O(log n).
    pub(crate) fn pending_len(&self) -> usize {
        self.log.count_between(&self.name(PENDING, b""), &self.name(PENDING + 1, b""))
    }

    /// What is pending with this id, with the changes of the command.
    pub(crate) fn pending_at(&self, draft: &Draft<'_>, id: Id) -> Option<Pending> {
        match draft.get(&self.name(PENDING, &id.name()))? {
            Datum::Bytes(bytes) => Pending::decode(&bytes),
            _ => None,
        }
    }

    /// An entry is delivered.
    pub(crate) fn deliver(&self, draft: &mut Draft<'_>, id: Id, pending: &Pending) {
        draft.assign(Kind::Stream, &self.name(PENDING, &id.name()), Datum::bytes(&pending.encode()));
    }

    /// An entry is not pending any more. Whether it was; with the changes of the command.
    pub(crate) fn acknowledge(&self, draft: &mut Draft<'_>, id: Id) -> bool {
        draft.remove(Kind::Stream, &self.name(PENDING, &id.name()))
    }

    /// Deliveries have come so far.
    pub(crate) fn advance(&self, draft: &mut Draft<'_>, at: Position) {
        let name = self.name(DELIVERED, &[&at.last.name()[..], &self.base].concat());
        self.forget_delivered(draft, Some(&name));
        draft.assign(Kind::Stream, &name, Datum::bytes(&read_bytes(at.read)));
    }

    fn forget_delivered(&self, draft: &mut Draft<'_>, but: Option<&[u8]>) {
        for (name, _) in Self::range(self.log, &self.prefix, DELIVERED) {
            if but != Some(&name[..]) {
                draft.remove(Kind::Stream, &name);
            }
        }
    }

    /// Deliveries go on behind another id.
    pub(crate) fn reset(&self, draft: &mut Draft<'_>, at: Position) {
        self.forget_delivered(draft, None);
        for (name, _) in Self::range(self.log, &self.prefix, BASE) {
            draft.remove(Kind::Stream, &name);
        }
        begin(draft, &self.prefix, Made::Reset, at);
    }
}

/// Text in an error: as far as C reads it, on one line.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).replace(['\r', '\n'], " ")
}

/// The group of a key, where both have to be there.
///
/// # Errors
/// The key is of another type, or one is not there; `what` ends the sentence.
pub(super) fn required<'a>(
    draft: &Draft<'a>,
    key: &[u8],
    name: &[u8],
    what: &str,
) -> Result<(Log<'a>, Group<'a>), Reply> {
    let none = || {
        let (key, name) = (text(key), text(name));
        Reply::Error(format!("NOGROUP No such key '{key}' or consumer group '{name}'{what}").into())
    };
    let log = Log::of(draft)?.ok_or_else(none)?;
    Ok((log, Group::find(log, name).ok_or_else(none)?))
}

/// The group of a stream that is there.
///
/// # Errors
/// It is not.
pub(super) fn of<'a>(log: Log<'a>, key: &[u8], name: &[u8]) -> Result<Group<'a>, Reply> {
    Group::find(log, name).ok_or_else(|| {
        let (key, name) = (text(key), text(name));
        Reply::Error(format!("NOGROUP No such consumer group '{name}' for key name '{key}'").into())
    })
}
