//! Documents and bounded counters: commands that Redis does not have, for the implementation and for the oracle.

use super::commands::Family;
use super::spec::{Act, Shown};
use bytes::Bytes;
use std::collections::BTreeSet;
use tidemark_core::{Command, DcId, Reply, Stamp, Verb};
use tidemark_crdt::account::{Account, Column, Entry};
use tidemark_crdt::effect::{Bound, Datum, stamp_bytes};
use tidemark_crdt::{Kind, Moment, Prepared, State, evaluate};

/// The names of updates.
type Names = BTreeSet<Box<[u8]>>;

/// A token, and the updates that its reader was given or knows to be gone.
pub(crate) type Given = (Bytes, Names);

/// A command.
#[derive(Clone, Debug)]
pub(crate) enum Own {
    /// The version with this stamp puts an update.
    Put(Stamp, i64),
    Read(Option<Given>),
    /// The same version puts the result.
    Compact(Stamp, Option<Given>),
    Create(DcId, i64, i64),
    Add(DcId, i64),
    Take(DcId, i64),
    Give(DcId, DcId),
}

fn name(stamp: Stamp) -> Box<[u8]> {
    [&stamp_bytes(stamp)[..], &[0; 8]].concat().into()
}

fn text(number: i64) -> Bytes {
    Bytes::from(number.to_string())
}

/// What a reply must be that is an error with this beginning.
fn error(begins: &'static str, answered: &Reply) -> (Reply, Vec<Act>) {
    match answered {
        Reply::Error(text) if text.starts_with(begins) => (answered.clone(), Vec::new()),
        _ => (Reply::error(begins), Vec::new()),
    }
}

/// How much a region may take.
fn rights(account: &Account, region: DcId) -> i128 {
    let total = |of, column| i128::try_from(account.total(of, column)).expect("it is small");
    let (mut rights, regions) =
        (total(region, Column::Added) - total(region, Column::Taken), (0..3).map(DcId));
    for other in regions {
        rights += total(other, Column::Given(region)) - total(region, Column::Given(other));
    }
    rights
}

impl Own {
    /// Draws one; `stamp` is that of its version.
    pub(crate) fn draw(family: Family, random: &mut fastrand::Rng, stamp: Stamp, given: &[Given]) -> Self {
        let (me, by) = (stamp.origin, random.i64(1..6));
        if family == Family::Doc {
            let some = random.choice(given).filter(|_| random.u32(0..100) < 80).cloned();
            return match random.u32(0..100) {
                0..45 => Self::Put(stamp, by),
                45..80 => Self::Read(some),
                _ => Self::Compact(stamp, some),
            };
        }
        match random.u32(0..100) {
            0..15 => Self::Create(me, random.i64(-3..4), by),
            15..35 => Self::Add(me, by),
            35..75 => Self::Take(me, by),
            _ => Self::Give(me, DcId(random.u8(0..3))),
        }
    }

    /// Of which type the key has to be; none if it must not be there.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Put(..) | Self::Read(_) | Self::Compact(..) => Some(Kind::Doc),
            Self::Create(..) => None,
            Self::Add(..) | Self::Take(..) | Self::Give(..) => Some(Kind::BCounter),
        }
    }

    /// The implementation's answer and changes.
    pub(crate) fn run(&self, state: &State, moment: Moment) -> Prepared {
        let word = Bytes::from_static;
        let token = |given: &Option<Given>| given.as_ref().map(|(token, _)| token.clone());
        let (verb, args) = match self {
            Self::Put(_, value) => (Verb::DocPut, vec![text(*value)]),
            Self::Read(given) => {
                let since = token(given).map(|token| [word(b"SINCE"), token]);
                (Verb::DocRead, since.into_iter().flatten().collect())
            }
            Self::Compact(_, given) => {
                (Verb::DocCompact, vec![word(b"merged"), word(b"UPTO"), token(given).unwrap_or(word(b"*"))])
            }
            Self::Create(_, min, above) => (Verb::BCounterCreate, vec![text(*min), text(min + above)]),
            Self::Add(_, by) => (Verb::BCounterIncrBy, vec![text(*by)]),
            Self::Take(_, by) => (Verb::BCounterDecrBy, vec![text(*by)]),
            Self::Give(_, to) => (Verb::BCounterGive, vec![text(to.0.into())]),
        };
        evaluate(&Command::new(verb, args), state, moment)
    }

    /// Its answer and its own acts, by the oracle, on a key of the right type.
    pub(crate) fn effects(&self, shown: &Shown, answered: &Reply) -> (Reply, Vec<Act>) {
        match self {
            Self::Put(stamp, value) => (
                Reply::Ok,
                vec![Act::Assign(
                    Kind::Doc,
                    name(*stamp),
                    Datum::Bytes((&text(*value)[..]).into()),
                    Bound::None,
                )],
            ),
            Self::Read(given) => {
                let Reply::Array(parts) = answered else { return (Reply::error("a token"), Vec::new()) };
                let was_given = |name: &[u8]| given.as_ref().is_some_and(|(_, names)| names.contains(name));
                let mut new: Vec<_> = shown.elements.iter().filter(|(name, _)| !was_given(name)).collect();
                // By time, then by region.
                new.sort_by_key(|(name, _)| (name[1..9].to_vec(), name[0]));
                let bytes = |datum: &Datum| {
                    if let Datum::Bytes(bytes) = datum { Reply::bulk(bytes) } else { Reply::Null }
                };
                let new = new.into_iter().map(|(_, datum)| bytes(datum)).collect();
                (Reply::Array(vec![parts[0].clone(), Reply::Array(new)]), Vec::new())
            }
            Self::Compact(stamp, given) => {
                let takes = |name: &[u8]| given.as_ref().is_none_or(|(_, names)| names.contains(name));
                let old = shown.elements.keys().filter(|name| takes(name));
                let mut acts: Vec<Act> = old.map(|name| Act::Remove(Kind::Doc, name.clone())).collect();
                let count = acts.len();
                if count > 0 {
                    acts.push(Act::Assign(Kind::Doc, name(*stamp), Datum::bytes(b"merged"), Bound::None));
                }
                (Reply::count(count), acts)
            }
            Self::Create(..) if shown.kind.is_some() => error("BUSYKEY", answered),
            Self::Create(me, min, above) => {
                let account = Account::new(*min, *me, above.unsigned_abs().into());
                let datum = Datum::Account(Box::new(account));
                (Reply::Ok, vec![Act::Assign(Kind::BCounter, Box::default(), datum, Bound::None)])
            }
            _ => self.effects_on_counter(shown, answered),
        }
    }

    fn effects_on_counter(&self, shown: &Shown, answered: &Reply) -> (Reply, Vec<Act>) {
        let Some(Datum::Account(account)) = shown.elements.get(&b""[..]) else {
            return match self {
                Self::Give(..) => (Reply::Int(0), Vec::new()),
                _ => error("ERR no such bounded counter", answered),
            };
        };
        let raise = |region: DcId, column, by: i128| {
            let total = account.total(region, column) + by.unsigned_abs();
            let entry = Entry { region, column, total };
            vec![Act::Raise(account.created().expect("it is there"), entry)]
        };
        match *self {
            Self::Add(me, by) => (Reply::Int(account.value() + by), raise(me, Column::Added, by.into())),
            Self::Take(me, by) if i128::from(by) <= rights(account, me) => {
                (Reply::Int(account.value() - by), raise(me, Column::Taken, by.into()))
            }
            Self::Give(me, to) if me != to && rights(account, me) > 0 => {
                let half = (rights(account, me) + 1) / 2;
                (Reply::Int(half as i64), raise(me, Column::Given(to), half))
            }
            Self::Give(..) => (Reply::Int(0), Vec::new()),
            _ => error("NORIGHTS", answered),
        }
    }

    /// What its reader knows by now, if it reads a document. `settled` are the updates of its view at or below the floor, alive or not:
    /// those that are gone are in what took their place, or were deleted.
    pub(crate) fn learns(&self, shown: &Shown, answered: &Reply, settled: Names) -> Option<Given> {
        let Self::Read(given) = self else { return None };
        let Reply::Array(parts) = answered else { return None };
        let Reply::Bulk(token) = &parts[0] else { return None };
        let mut names = given.as_ref().map(|(_, names)| names.clone()).unwrap_or_default();
        if shown.kind == Some(Kind::Doc) {
            names.extend(shown.elements.keys().cloned().chain(settled));
        }
        Some((token.clone(), names))
    }
}
