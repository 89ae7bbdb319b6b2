//! Consumer groups in payloads of streams: what is pending stands in the group with its times, and once more, as bare ids, in
//! each consumer.

use super::load::Error;
use super::read::Reader;
use super::save::Writer;
use super::stream::{Elements, Form};
use crate::effect::Datum;
use crate::stream::group::{self, Group, Made, Names, Pending, Position, base_value};
use crate::stream::id::Id;
use crate::stream::info::Extent;
use crate::stream::log::Log;
use bytes::Bytes;
use std::collections::BTreeMap;

/// What is pending in a group: when it was delivered, and how often.
type Deliveries = BTreeMap<Id, (u64, u64)>;

/// Reads all groups and adds their elements to those of the stream.
pub(super) fn load(
    reader: &mut Reader<'_>,
    form: Form,
    stream: &Extent,
    elements: &mut Elements,
) -> Result<(), Error> {
    for _ in 0..reader.length()? {
        let names = Names::of(&reader.string()?);
        let last = Id::new(reader.number()?, reader.number()?);
        let read = if form.counted {
            Some(reader.number()?).filter(|read| i64::try_from(*read).is_ok())
        } else {
            stream.estimate(last)
        };
        let base = base_value(Made::Created, Position { last, read });
        elements.push((names.base(), Datum::bytes(&base)));
        let mut deliveries = Deliveries::new();
        for _ in 0..reader.length()? {
            let delivery = (id(reader)?, (time(reader)?, reader.number()?));
            if deliveries.insert(delivery.0, delivery.1).is_some() {
                return Err(Error::Malformed);
            }
        }
        for _ in 0..reader.length()? {
            load_consumer(reader, form, &names, &mut deliveries, elements)?;
        }
        if !deliveries.is_empty() {
            return Err(Error::Malformed);
        }
    }
    Ok(())
}

/// Reads a consumer, which takes what is pending for it.
fn load_consumer(
    reader: &mut Reader<'_>,
    form: Form,
    names: &Names,
    deliveries: &mut Deliveries,
    elements: &mut Elements,
) -> Result<(), Error> {
    let consumer = Bytes::copy_from_slice(&reader.string()?);
    let seen = time(reader)?;
    if form.active {
        time(reader)?;
    }
    elements.push((names.consumer(&consumer), Datum::bytes(&seen.to_be_bytes())));
    for _ in 0..reader.length()? {
        let id = id(reader)?;
        let (time, count) = deliveries.remove(&id).ok_or(Error::Malformed)?;
        let pending = Pending { consumer: consumer.clone(), time, count };
        elements.push((names.pending(id), Datum::bytes(&pending.encode())));
    }
    Ok(())
}

fn id(reader: &mut Reader<'_>) -> Result<Id, Error> {
    reader.array().map(u128::from_be_bytes).map(Id)
}

/// Milliseconds since 1970.
fn time(reader: &mut Reader<'_>) -> Result<u64, Error> {
    reader.array().map(u64::from_le_bytes)
}

/// Writes all groups.
pub(super) fn save(out: &mut Writer, log: Log<'_>) {
    let names = group::all(log);
    let groups: Vec<(&Vec<u8>, Group<'_>)> =
        names.iter().filter_map(|name| Some((name, Group::find(log, name)?))).collect();
    out.number(groups.len() as u64);
    for (name, group) in groups {
        out.string(name);
        out.number(group.at.last.ms());
        out.number(group.at.last.seq());
        out.number(group.at.read.unwrap_or(u64::MAX));
        let mut of_consumers: BTreeMap<Bytes, Vec<Id>> = BTreeMap::new();
        out.number(group.pending_len() as u64);
        for (id, pending) in group.pending(Id(0), Id::LAST) {
            out.raw(&id.name());
            out.raw(&pending.time.to_le_bytes());
            out.number(pending.count);
            of_consumers.entry(pending.consumer).or_default().push(id);
        }
        out.number(group.consumers_len() as u64);
        for (consumer, seen) in group.consumers() {
            out.string(&consumer);
            out.raw(&seen.to_le_bytes());
            let own = of_consumers.remove(&consumer[..]).unwrap_or_default();
            out.number(own.len() as u64);
            own.iter().for_each(|id| out.raw(&id.name()));
        }
    }
}
