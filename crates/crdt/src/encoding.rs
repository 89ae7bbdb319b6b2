//! OBJECT ENCODING: what Redis would use for this content, with its default limits. Nothing here is stored so; clients and test
//! suites look at it.

use crate::number::parse_int;
use crate::shape::Plain;
use tidemark_core::Reply;

/// Entries and bytes up to which Redis keeps hashes and sorted sets in one listpack.
const LISTPACK: (usize, usize) = (128, 64);
/// Members up to which Redis keeps a set of integers in an array.
const INTSET: usize = 512;

/// Whether Redis keeps a hash or a sorted set of so many entries, the longest of so many bytes, in one listpack.
pub(crate) fn is_small(len: usize, longest: usize) -> bool {
    len <= LISTPACK.0 && longest <= LISTPACK.1
}

/// The encoding of a key.
pub(crate) fn of(plain: Option<&Plain>) -> Reply {
    let name = match plain {
        None => return Reply::Null,
        Some(Plain::String(value)) if value.len() <= 20 && parse_int(value).is_some() => "int",
        Some(Plain::String(value)) if value.len() <= 44 => "embstr",
        Some(Plain::String(_)) => "raw",
        Some(Plain::Hash(fields)) if is_small(fields.len(), fields.longest()) => "listpack",
        Some(Plain::Hash(_)) => "hashtable",
        Some(Plain::Set(members)) => {
            let all_ints = || members.iter().all(|(member, ())| parse_int(member).is_some());
            match members.len() {
                0..=INTSET if all_ints() => "intset",
                _ if is_small(members.len(), members.longest()) => "listpack",
                _ => "hashtable",
            }
        }
        Some(Plain::Zset(members)) if is_small(members.len(), members.longest()) => "listpack",
        Some(Plain::Zset(_)) => "skiplist",
        Some(Plain::List(values)) if values.memory() <= 8192 => "listpack",
        Some(Plain::List(_)) => "quicklist",
        Some(Plain::Stream(_)) => "stream",
        // As Redis says of values of modules.
        Some(Plain::Doc(_) | Plain::BCounter(_)) => "raw",
    };
    Reply::bulk(name.as_bytes())
}
