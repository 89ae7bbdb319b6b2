//! What clients at the edge do to keys: it is evaluated where it is accepted, on what they had seen.

use super::Cx;
use super::apart::Looked;
use super::series::carry_out;
use crate::Protocol;
use crate::two_phase::{Updates, Writes};
use bytes::Bytes;
use tidemark_core::limit::bytes_of;
use tidemark_core::{
    DcId, EdgeTransaction, Failure, Found, Hlc, Key, Op, Outcome, Reply, Shown, Update, Write,
};
use tidemark_crdt::cell::Cell;
use tidemark_crdt::effect::{Datum, Kind};
use tidemark_crdt::{Effect, Moment, Series};

/// Updates that had no effect, each by its place, with the error that a Redis client would have got.
pub type WithoutEffect = Vec<(u32, String)>;

impl<P: Protocol> Cx<'_, P> {
    /// What updates of keys of this partition come to that were made at `time`, by a client that sees `view`, and all up to `floor`. Those
    /// of one key are carried out one after the other.
    pub fn carried_out(
        &mut self,
        updates: Updates,
        view: &P::View,
        (time, floor): (Hlc, Hlc),
        number: u64,
    ) -> (Writes, WithoutEffect) {
        // Nothing else than what was seen decides: another region may accept the same.
        let (alone, expiring) = (false, true);
        let (past, longest) = (Some(number), self.limit.value());
        let moment = Moment { time, origin: DcId::EDGE, floor, expiring, alone, past, longest };
        let (mut writes, mut without) = (Writes::new(), WithoutEffect::new());
        let mut bytes = 0;
        for (key, updates) in updates {
            let places: Vec<u32> = updates.iter().map(|(place, _)| *place).collect();
            let Some(effect) = self.series_of(&key, updates, view, moment, &mut without) else { continue };
            let write = Write::Apply(effect.encode());
            let more = bytes + bytes_of(&key, &write);
            match self.limit.admits(more) {
                Ok(()) => {
                    bytes = more;
                    writes.push((key, write));
                }
                Err(_) => {
                    let why = format!("ERR {}", self.limit.refusal(more));
                    without.retain(|(place, _)| !places.contains(place));
                    without.extend(places.into_iter().map(|place| (place, why.clone())));
                }
            }
        }
        (writes, without)
    }

    fn series_of(
        &mut self,
        key: &Key,
        updates: Vec<(u32, Update)>,
        view: &P::View,
        moment: Moment,
        without: &mut WithoutEffect,
    ) -> Option<Effect> {
        self.refresh(key, view);
        let mut series = Series::new(moment);
        series.add(key.clone(), self.state(key, view, true, &mut |_| ()).into_owned());
        for (place, update) in updates {
            let outcome = carry_out(&mut series, Op::Put { key: key.clone(), update });
            without.extend(error_of(&outcome).map(|why| (place, why)));
        }
        let changes = series.finish().changes.into_iter().next().map(|(_, changes)| changes)?;
        Some(Effect { floor: moment.floor, changes })
    }
}

/// The error that an update came to.
fn error_of(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Written { previous: Some(Found { reply: Some(reply), .. }), .. } => match &**reply {
            Reply::Error(why) => Some(why.to_string()),
            _ => None,
        },
        Outcome::Failed(Failure::Refused(why)) => Some(why.clone()),
        _ => None,
    }
}

/// What a key is that was looked at, by deadlines at the time `now`; none if it was not [looked at](super::apart::Looked).
pub fn shown(found: &Found, now: Hlc) -> Option<Shown> {
    let state = Looked::decode(found)?.state();
    let by = |kind, name: &[u8]| state.hot(kind, name).and_then(Cell::assigned_by).unwrap_or_default();
    let Some(plain) = state.shown().filter(|_| !state.is_expired(now)) else { return Some(Shown::Absent) };
    let kind = plain.kind();
    let mut all = Vec::new();
    match kind {
        Kind::String | Kind::Hash | Kind::Set | Kind::List => {
            plain.each(|name, datum| all.push((Bytes::copy_from_slice(name), datum)))
        }
        other => return Some(Shown::Other(other.name())),
    }
    let bytes = |datum: Datum| match datum {
        Datum::Bytes(bytes) => Bytes::copy_from_slice(&bytes),
        _ => Bytes::new(),
    };
    let written = |all: Vec<(Bytes, Datum)>| {
        all.into_iter().map(|(name, datum)| (name.clone(), by(kind, &name), bytes(datum))).collect()
    };
    Some(match kind {
        Kind::String => {
            all.pop().map_or(Shown::Absent, |(name, datum)| Shown::String(by(kind, &name), bytes(datum)))
        }
        Kind::Hash => Shown::Map(written(all)),
        Kind::List => Shown::List(written(all)),
        _ => Shown::Set(all.into_iter().map(|(name, _)| name).collect()),
    })
}

/// A number that no other transaction has, as good as certainly.
pub fn number_of(transaction: &EdgeTransaction) -> u64 {
    transaction.digest.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
}
