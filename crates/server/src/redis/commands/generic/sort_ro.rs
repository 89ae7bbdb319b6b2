//! SORT_RO.

use super::{GENERIC, sort};
use crate::redis::commands::flags::READ;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "sort_ro",
    arity: -2,
    flags: READ,
    keys: Keys::FIRST,
    categories: &["@dangerous"],
    since: "7.0.0",
    syntax: "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]",
    summary: "Sorts a list, a set or a sorted set, and stores nothing.",
    remark: "Elements and what patterns name are read in one causally consistent snapshot, over partitions.",
    handler: Handler::Operations(|request| sort::parse(request, Verb::SortRo)),
    ..GENERIC
};
