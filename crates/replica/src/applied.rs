//! Records of a log or a snapshot, added to the partitions that they are of.

use crate::place::Place;
use crate::record::{
    self, COLLECTED, CONFIRMED, FOLDED, HARD, LIFE, NAME, OBJECT, PEER, PLACE, PlaceState, RECEIVED, REVISED,
    SKIPPED, VERSION, VersionParts, WRITTEN,
};
use crate::recover::{Item, Known, OpenError, meaning};
use serde::de::DeserializeOwned;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, Key, Regions, Stamp, Write};
use tidemark_store::{Dropped, Folded, Mark, Part};

/// Adds what a record says to the partition that it is of.
pub(crate) fn apply<P: Protocol>(
    places: &mut [Place<P>],
    known: &mut Known,
    item: &Item<'_>,
) -> Result<(), OpenError> {
    match item.kind {
        LIFE => {
            raise(&mut known.life, item.seq);
            return Ok(());
        }
        NAME => {
            known.name = item.seq;
            return Ok(());
        }
        _ => {}
    }
    let place = places.iter_mut().find(|place| place.id.0 == item.partition);
    let place = place.ok_or_else(|| meaning(item, format!("partition {} is not here", item.partition)))?;
    match item.kind {
        WRITTEN => return written(place, item),
        RECEIVED => return received(place, item),
        REVISED => record::decode::<(Key, Stamp, P::Meta)>(item.payload).map(|(key, stamp, revised)| {
            place.store.meta_mut(&key, stamp).into_iter().for_each(|meta| *meta = revised.clone());
        }),
        SKIPPED => record::decode::<DcId>(item.payload)
            .map(|dc| raise(&mut place.received[dc.index()].seq, item.seq)),
        HARD => record::decode(item.payload).map(|hard| place.hard = Some(hard)),
        COLLECTED => record::decode::<Vec<Dropped>>(item.payload).map(|dropped| place.store.follow(&dropped)),
        CONFIRMED => record::decode::<DcId>(item.payload).map(|dc| place.confirmed_by(dc, item.seq)),
        PEER => record::decode::<(DcId, u64)>(item.payload)
            .map(|(dc, incarnation)| place.received[dc.index()].incarnation = incarnation),
        FOLDED => {
            record::decode::<Vec<Folded>>(item.payload).map(|folded| place.store.follow_folded(&folded))
        }
        VERSION => return version(place, item),
        OBJECT => record::decode::<(Key, Mark, Part<P::Meta>)>(item.payload)
            .map(|(key, mark, part)| place.store.restore(&key, part, &mark)),
        PLACE => record::decode::<PlaceState<P::Hard>>(item.payload).map(|state| {
            raise(&mut known.life, state.life);
            adopt(place, state);
        }),
        _ => return Err(meaning(item, "the kind is unknown")),
    }
    .map_err(|error| meaning(item, error))
}

pub(crate) fn raise(to: &mut u64, seq: u64) {
    *to = (*to).max(seq);
}

/// Returns the content of a record, if the write in it can be applied.
fn understood<P: Protocol, T: DeserializeOwned>(
    place: &Place<P>,
    item: &Item<'_>,
    write: impl Fn(&T) -> &Write,
) -> Result<T, OpenError> {
    let whole: T = record::decode(item.payload).map_err(|error| meaning(item, error))?;
    place.store.understands(write(&whole)).map_err(|error| meaning(item, error))?;
    Ok(whole)
}

fn version<P: Protocol>(place: &mut Place<P>, item: &Item<'_>) -> Result<(), OpenError> {
    let parts = understood(place, item, |(_, _, _, write): &VersionParts<P::Meta>| write)?;
    let (key, version) = record::whole(parts);
    place.insert(&key, version);
    Ok(())
}

fn written<P: Protocol>(place: &mut Place<P>, frame: &Item<'_>) -> Result<(), OpenError> {
    let (_, parts) =
        understood(place, frame, |(_, (_, _, _, write)): &(Regions, VersionParts<P::Meta>)| write)?;
    let (key, version) = record::whole(parts);
    raise(&mut place.written, frame.seq);
    place.last.include(P::EXTENSIONS.written_at(&version));
    place.replay(&key, version, None, frame.seq);
    Ok(())
}

fn received<P: Protocol>(place: &mut Place<P>, frame: &Item<'_>) -> Result<(), OpenError> {
    let (dc, parts) =
        understood(place, frame, |(_, (_, _, _, write)): &(DcId, VersionParts<P::Meta>)| write)?;
    let (key, version) = record::whole(parts);
    raise(&mut place.received[dc.index()].seq, frame.seq);
    place.last.raise(dc, P::EXTENSIONS.announced(version.stamp, &version.meta));
    place.replay(&key, version, Some(dc), frame.seq);
    Ok(())
}

/// A snapshot is written while the log goes on, so replay may know more than it says.
fn adopt<P: Protocol>(place: &mut Place<P>, state: PlaceState<P::Hard>) {
    place.hard = state.hard.or(place.hard.take());
    raise(&mut place.written, state.written);
    place.last.merge(&state.last);
    place.store.goes_on(state.expiring);
    for (received, (incarnation, seq)) in place.received.iter_mut().zip(state.received) {
        received.incarnation = incarnation;
        raise(&mut received.seq, seq);
    }
}
