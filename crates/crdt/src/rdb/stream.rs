//! Streams in payloads: nodes of about a hundred entries, each a listpack behind the id of its first entry. In a node, an entry
//! with the same fields as the first one leaves them out. Behind the entries stand the consumer groups ([`super::groups`]).

use super::groups;
use super::listpack::{self, Entry, Listpack};
use super::load::Error;
use super::read::Reader;
use super::save::Writer;
use crate::effect::Datum;
use crate::number::parse_int;
use crate::plain::Sequence;
use crate::stream::id::Id;
use crate::stream::info::Extent;
use crate::stream::log::{self, ADDED, Log, Mark};
use bytes::Bytes;

/// An entry is deleted.
const DELETED: i64 = 1;
/// An entry has the fields of the first one.
const SAME_FIELDS: i64 = 2;
/// As many entries as Redis puts into a node.
const NODE_ENTRIES: usize = 100;
/// As many bytes as Redis puts into a node before it begins another.
const NODE_BYTES: usize = 4096;

pub(super) type Elements = Vec<(Vec<u8>, Datum)>;

/// What a payload knows.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// How many entries were ever added, and how many a group has read.
    pub(super) counted: bool,
    /// When a consumer was last given something.
    pub(super) active: bool,
}

/// Reads a stream: its elements.
pub(super) fn load(reader: &mut Reader<'_>, form: Form) -> Result<Elements, Error> {
    let mut elements = Vec::new();
    for _ in 0..reader.length()? {
        let key = reader.string()?;
        let master = Id::of(&key).ok_or(Error::Malformed)?;
        let node = reader.string()?;
        let first = elements.len();
        load_node(master, &listpack::entries(&node)?, reader, &mut elements)?;
        if elements.len() == first {
            return Err(Error::Malformed);
        }
    }
    let entries = elements.len() as u64;
    let ascending = elements.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if reader.number()? != entries || !ascending {
        return Err(Error::Malformed);
    }
    let top = elements.last().and_then(|(name, _)| Id::of(name)).unwrap_or(Id(0));
    let last = load_id(reader)?;
    let (mut deleted, mut added) = (Id(0), entries);
    if form.counted {
        load_id(reader)?;
        deleted = load_id(reader)?;
        added = reader.number()?;
    }
    if last < top || added < entries || i64::try_from(added).is_err() {
        return Err(Error::Malformed);
    }
    let first = elements.first().and_then(|(name, _)| Id::of(name)).unwrap_or(Id(0));
    groups::load(reader, form, &Extent { len: entries, added, first, last, deleted }, &mut elements)?;
    if last > top || entries == 0 {
        elements.push((Mark::Last.name(last), Datum::bytes(b"")));
    }
    if deleted > Id(0) {
        elements.push((Mark::Deleted.name(deleted), Datum::bytes(b"")));
    }
    elements.push((ADDED.to_vec(), Datum::bytes(added.to_string().as_bytes())));
    Ok(elements)
}

fn load_id(reader: &mut Reader<'_>) -> Result<Id, Error> {
    Ok(Id::new(reader.number()?, reader.number()?))
}

/// Goes through the entries of a listpack.
struct Items<'a, 'b>(std::slice::Iter<'b, Entry<'a>>);

impl Items<'_, '_> {
    fn bytes(&mut self) -> Result<Bytes, Error> {
        self.0.next().map(|entry| Bytes::copy_from_slice(entry)).ok_or(Error::Malformed)
    }

    fn int(&mut self) -> Result<i64, Error> {
        self.0.next().and_then(|entry| parse_int(entry)).ok_or(Error::Malformed)
    }

    /// A count of items that are still to come.
    fn count(&mut self) -> Result<usize, Error> {
        let count = usize::try_from(self.int()?).map_err(|_| Error::Malformed)?;
        if count > self.0.len() { Err(Error::Malformed) } else { Ok(count) }
    }
}

fn load_node(
    master: Id,
    entries: &[Entry<'_>],
    reader: &mut Reader<'_>,
    elements: &mut Elements,
) -> Result<(), Error> {
    let mut items = Items(entries.iter());
    let (valid, deleted) = (items.int()?, items.int()?);
    let count = items.count()?;
    let fields = (0..count).map(|_| items.bytes()).collect::<Result<Vec<Bytes>, _>>()?;
    let width: usize = fields.iter().map(|field| field.len() + 1).sum();
    if items.int()? != 0 {
        return Err(Error::Malformed);
    }
    let (mut read, mut gone) = (0, 0);
    while items.0.len() > 0 {
        let before = items.0.len();
        let flags = items.int()?;
        let (ms, seq) = (items.int()?, items.int()?);
        let id = Id::new(master.ms().wrapping_add_signed(ms), master.seq().wrapping_add_signed(seq));
        let all = if flags & SAME_FIELDS != 0 {
            reader.expand(width)?;
            same_fields(&fields, &mut items)?
        } else {
            let count = items.count()?;
            (0..2 * count).map(|_| items.bytes()).collect::<Result<Vec<Bytes>, _>>()?
        };
        if items.int()? != (before - items.0.len()) as i64 - 1 || id == Id(0) || all.is_empty() {
            return Err(Error::Malformed);
        }
        if flags & DELETED != 0 {
            gone += 1;
        } else {
            read += 1;
            elements.push((id.name().to_vec(), Datum::Bytes(log::encode(&all))));
        }
    }
    if (read, gone) == (valid, deleted) { Ok(()) } else { Err(Error::Malformed) }
}

fn same_fields(fields: &[Bytes], items: &mut Items<'_, '_>) -> Result<Vec<Bytes>, Error> {
    let mut all = Vec::new();
    for field in fields {
        all.extend([field.clone(), items.bytes()?]);
    }
    Ok(all)
}

/// Writes a stream behind its type.
pub(super) fn save(out: &mut Writer, elements: &Sequence) {
    let log = Log::new(elements);
    let mut nodes = Vec::new();
    let mut node: Option<Node> = None;
    for (id, bytes) in log.entries() {
        let fields: Vec<&[u8]> = log::decode(bytes).collect();
        if node.as_ref().is_some_and(Node::is_full) {
            nodes.extend(node.take());
        }
        node.get_or_insert_with(|| Node::new(id, &fields)).push(id, &fields);
    }
    nodes.extend(node);
    out.number(nodes.len() as u64);
    for node in nodes {
        out.string(&node.master.name());
        out.string(&node.finish());
    }
    out.number(log.len() as u64);
    let first = log.id(0).unwrap_or(Id(0));
    for id in [log.last(), first, log.mark(Mark::Deleted)] {
        out.number(id.ms());
        out.number(id.seq());
    }
    out.number(log.added());
    groups::save(out, log);
}

/// A node that is written.
struct Node {
    master: Id,
    fields: Vec<Vec<u8>>,
    entries: Vec<(Id, Vec<Vec<u8>>)>,
    bytes: usize,
}

impl Node {
    fn new(master: Id, fields: &[&[u8]]) -> Self {
        let fields = fields.iter().step_by(2).map(|field| field.to_vec()).collect();
        Self { master, fields, entries: Vec::new(), bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= NODE_ENTRIES || self.bytes >= NODE_BYTES
    }

    fn push(&mut self, id: Id, fields: &[&[u8]]) {
        self.bytes += fields.iter().map(|field| field.len()).sum::<usize>();
        self.entries.push((id, fields.iter().map(|field| field.to_vec()).collect()));
    }

    fn finish(self) -> Vec<u8> {
        let mut listpack = Listpack::new();
        listpack.push_int(self.entries.len() as i64);
        listpack.push_int(0);
        listpack.push_int(self.fields.len() as i64);
        self.fields.iter().for_each(|field| listpack.push(field));
        listpack.push_int(0);
        for (id, fields) in &self.entries {
            let same = fields.iter().step_by(2).eq(&self.fields);
            listpack.push_int(if same { SAME_FIELDS } else { 0 });
            listpack.push_int(id.ms().wrapping_sub(self.master.ms()) as i64);
            listpack.push_int(id.seq().wrapping_sub(self.master.seq()) as i64);
            let pairs = fields.len() / 2;
            if same {
                fields.iter().skip(1).step_by(2).for_each(|value| listpack.push(value));
            } else {
                listpack.push_int(pairs as i64);
                fields.iter().for_each(|part| listpack.push(part));
            }
            let parts = if same { pairs + 3 } else { 2 * pairs + 4 };
            listpack.push_int(parts as i64);
        }
        listpack.finish()
    }
}
