//! Reads values: every type in every encoding that Redis 7 writes, and those of older versions that are as easily read.

use super::listpack::{self, Entry};
use super::read::Reader;
use super::{stream, ziplist};
use crate::args::float;
use crate::effect::Datum;
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// Why a payload cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Error {
    /// It is none.
    Malformed,
}

/// The content of a payload.
pub(super) enum Content {
    String(Vec<u8>),
    List(Vec<Vec<u8>>),
    Set(Vec<Vec<u8>>),
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    Zset(Vec<(Vec<u8>, f64)>),
    /// The elements of a stream, by their names.
    Stream(Vec<(Vec<u8>, Datum)>),
    /// The updates of a document.
    Doc(Vec<Vec<u8>>),
}

/// Numbers of types.
pub(super) mod tag {
    pub(in crate::rdb) const STRING: u8 = 0;
    pub(in crate::rdb) const LIST: u8 = 1;
    pub(in crate::rdb) const SET: u8 = 2;
    pub(in crate::rdb) const ZSET: u8 = 3;
    pub(in crate::rdb) const HASH: u8 = 4;
    /// A value of a module, which says what follows: here the updates of a document, as strings.
    pub(in crate::rdb) const MODULE_2: u8 = 7;
    pub(in crate::rdb) const ZSET_2: u8 = 5;
    pub(in crate::rdb) const LIST_ZIPLIST: u8 = 10;
    pub(in crate::rdb) const SET_INTSET: u8 = 11;
    pub(in crate::rdb) const ZSET_ZIPLIST: u8 = 12;
    pub(in crate::rdb) const HASH_ZIPLIST: u8 = 13;
    pub(in crate::rdb) const LIST_QUICKLIST: u8 = 14;
    pub(in crate::rdb) const STREAM: u8 = 15;
    pub(in crate::rdb) const HASH_LISTPACK: u8 = 16;
    pub(in crate::rdb) const ZSET_LISTPACK: u8 = 17;
    pub(in crate::rdb) const LIST_QUICKLIST_2: u8 = 18;
    pub(in crate::rdb) const STREAM_2: u8 = 19;
    pub(in crate::rdb) const SET_LISTPACK: u8 = 20;
    pub(in crate::rdb) const STREAM_3: u8 = 21;
    pub(in crate::rdb) const MODULE_END: u64 = 0;
    pub(in crate::rdb) const MODULE_STRING: u64 = 5;
    /// The module `tide-docs`, version 1 of its form: nine letters of six bits, then the version.
    pub(in crate::rdb) const DOC: u64 = module(b"tide-docs", 1);

    const fn module(name: &[u8; 9], version: u64) -> u64 {
        let (mut id, mut at) = (0, 0);
        while at < name.len() {
            let letter = match name[at] {
                upper @ b'A'..=b'Z' => upper - b'A',
                lower @ b'a'..=b'z' => lower - b'a' + 26,
                digit @ b'0'..=b'9' => digit - b'0' + 52,
                b'-' => 62,
                _ => 63,
            };
            id = id << 6 | letter as u64;
            at += 1;
        }
        id << 10 | version
    }
}

type Result<T> = std::result::Result<T, Error>;

/// The value that begins with its type.
pub(super) fn value(bytes: &[u8]) -> Result<Content> {
    let mut reader = Reader::new(bytes);
    let tag = reader.byte()?;
    let reader = &mut reader;
    let content = match tag {
        tag::STRING => Content::String(reader.string()?.into_owned()),
        tag::LIST => Content::List(strings(reader)?),
        tag::SET => Content::Set(strings(reader)?),
        tag::HASH => {
            let pair =
                |reader: &mut Reader<'_>| Ok((reader.string()?.into_owned(), reader.string()?.into_owned()));
            Content::Hash(several(reader, pair)?)
        }
        tag::ZSET => {
            Content::Zset(several(reader, |reader| Ok((reader.string()?.into_owned(), text_score(reader)?)))?)
        }
        tag::ZSET_2 => Content::Zset(several(reader, |reader| {
            Ok((reader.string()?.into_owned(), f64::from_le_bytes(reader.array()?)))
        })?),
        tag::LIST_ZIPLIST => Content::List(owned(ziplist::entries(&reader.string()?)?)),
        tag::LIST_QUICKLIST => {
            Content::List(nodes(reader, |reader| Ok(owned(ziplist::entries(&reader.string()?)?)))?)
        }
        tag::LIST_QUICKLIST_2 => Content::List(nodes(reader, node)?),
        tag::SET_INTSET => Content::Set(ziplist::integers(&reader.string()?)?),
        tag::SET_LISTPACK => Content::Set(owned(listpack::entries(&reader.string()?)?)),
        tag::HASH_ZIPLIST => Content::Hash(pairs(&ziplist::entries(&reader.string()?)?)?),
        tag::HASH_LISTPACK => Content::Hash(pairs(&listpack::entries(&reader.string()?)?)?),
        tag::ZSET_ZIPLIST => Content::Zset(scored(&ziplist::entries(&reader.string()?)?)?),
        tag::ZSET_LISTPACK => Content::Zset(scored(&listpack::entries(&reader.string()?)?)?),
        tag::STREAM | tag::STREAM_2 | tag::STREAM_3 => {
            let form = stream::Form { counted: tag != tag::STREAM, active: tag == tag::STREAM_3 };
            Content::Stream(stream::load(reader, form)?)
        }
        tag::MODULE_2 if reader.number()? == tag::DOC => Content::Doc(updates(reader)?),
        _ => return Err(Error::Malformed),
    };
    check(&content)?;
    Ok(content)
}

/// Strings up to the mark that ends them.
fn updates(reader: &mut Reader<'_>) -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    loop {
        match reader.number()? {
            tag::MODULE_STRING => all.push(reader.string()?.into_owned()),
            tag::MODULE_END => return Ok(all),
            _ => return Err(Error::Malformed),
        }
    }
}

/// So many items as a count before them says; one at least.
fn several<'a, T>(reader: &mut Reader<'a>, item: fn(&mut Reader<'a>) -> Result<T>) -> Result<Vec<T>> {
    let count = reader.count()?;
    (0..count).map(|_| item(reader)).collect()
}

fn strings(reader: &mut Reader<'_>) -> Result<Vec<Vec<u8>>> {
    several(reader, |reader| Ok(reader.string()?.into_owned()))
}

fn nodes<'a>(
    reader: &mut Reader<'a>,
    node: fn(&mut Reader<'a>) -> Result<Vec<Vec<u8>>>,
) -> Result<Vec<Vec<u8>>> {
    Ok(several(reader, node)?.into_iter().flatten().collect())
}

/// A node of a list: one value, or a listpack.
fn node(reader: &mut Reader<'_>) -> Result<Vec<Vec<u8>>> {
    match reader.number()? {
        1 => Ok(vec![reader.string()?.into_owned()]),
        2 => Ok(owned(listpack::entries(&reader.string()?)?)),
        _ => Err(Error::Malformed),
    }
}

fn owned(entries: Vec<Entry<'_>>) -> Vec<Vec<u8>> {
    entries.into_iter().map(Entry::into_owned).collect()
}

fn pairs(entries: &[Entry<'_>]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    if !entries.len().is_multiple_of(2) {
        return Err(Error::Malformed);
    }
    Ok(entries.chunks_exact(2).map(|pair| (pair[0].to_vec(), pair[1].to_vec())).collect())
}

fn scored(entries: &[Entry<'_>]) -> Result<Vec<(Vec<u8>, f64)>> {
    let score = |(member, score): (Vec<u8>, Vec<u8>)| {
        float(&score).map(|score| (member, score)).map_err(|_| Error::Malformed)
    };
    pairs(entries)?.into_iter().map(score).collect()
}

/// A score as versions before 4 wrote it.
fn text_score(reader: &mut Reader<'_>) -> Result<f64> {
    match reader.byte()? {
        253 => Err(Error::Malformed),
        254 => Ok(f64::INFINITY),
        255 => Ok(f64::NEG_INFINITY),
        length => float(reader.take(usize::from(length))?).map_err(|_| Error::Malformed),
    }
}

fn distinct<'a>(mut names: impl Iterator<Item = &'a Vec<u8>>) -> bool {
    let mut seen: HashSet<&[u8], FixedState> = HashSet::default();
    names.all(|name| seen.insert(name)) && !seen.is_empty()
}

/// Whether nothing comes twice, every score is a number, and there is an element.
fn check(content: &Content) -> Result<()> {
    let good = match content {
        Content::String(_) => true,
        Content::List(values) | Content::Doc(values) => !values.is_empty(),
        Content::Set(members) => distinct(members.iter()),
        Content::Hash(fields) => distinct(fields.iter().map(|(field, _)| field)),
        Content::Zset(members) => {
            distinct(members.iter().map(|(member, _)| member))
                && members.iter().all(|(_, score)| !score.is_nan())
        }
        Content::Stream(elements) => distinct(elements.iter().map(|(name, _)| name)),
    };
    if good { Ok(()) } else { Err(Error::Malformed) }
}
