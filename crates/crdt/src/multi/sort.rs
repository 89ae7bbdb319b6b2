//! SORT where its key lives. Patterns of other keys are not read here: the gateway does that.

use crate::draft::{Answer, Draft};
use crate::evaluate::Keys;
use crate::list;
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::sort::Sort;
use tidemark_core::{Reply, Verb};

/// The elements of a list, set or sorted set, and whether they have no order.
fn elements(draft: &Draft<'_>) -> Result<(Vec<Bytes>, bool), Reply> {
    let copied = Bytes::copy_from_slice;
    Ok(match draft.plain() {
        None => (Vec::new(), false),
        Some(Plain::List(values)) => (values.iter().map(|(_, value)| copied(value)).collect(), false),
        Some(Plain::Set(members)) => (members.iter().map(|(member, ())| copied(member)).collect(), true),
        Some(Plain::Zset(members)) => (members.iter().map(|(member, _)| copied(member)).collect(), false),
        Some(_) => return Err(Reply::WRONG_TYPE),
    })
}

/// SORT and SORT_RO. The second key takes the result; without one it is answered, as STORE would store it.
pub(super) fn run(verb: Verb, keys: &mut Keys<'_>, args: &[Bytes]) -> Answer {
    let sort = Sort::parse(args, verb == Verb::Sort)?;
    if sort.reads_others() {
        return Err(Reply::error("ERR BY and GET patterns of SORT are not supported here"));
    }
    let (all, set) = elements(keys.at(0))?;
    let sorted = sort.order(all, set, None)?;
    let rows = |element: &Bytes| -> Vec<Option<Bytes>> {
        if sort.gets.is_empty() {
            return vec![Some(element.clone())];
        }
        sort.gets.iter().map(|get| Sort::constant(get, element)).collect()
    };
    let values = sorted.iter().flat_map(rows);
    if keys.len() < 2 {
        return Ok(Reply::Array(values.map(|value| value.map_or(Reply::Null, Reply::Bulk)).collect()));
    }
    let values: Vec<Bytes> = values.map(Option::unwrap_or_default).collect();
    Ok(list::replace(keys.at(1), &values))
}
