//! Without each of the rules of D17 to D19 drawn schedules find something that is wrong.

use super::*;
use tidemark_contract::Rule;
use tidemark_protocols::tidemark::{
    COPIES_ARE_JOINED, DEP_IS_READ, EDGE_IS_KEPT_APART, FLOORS_LAG, GIVEN_UP_BY_ALL, GUARDS_ARE_ASKED,
    GUARDS_GO_FIRST, GUARDS_TRAVEL, TIMES_ARE_NEW,
};

#[test]
fn d17_to_d19_are_why_each_rule() {
    let rules = [
        (COPIES_ARE_JOINED, 2),
        (DEP_IS_READ, 121),
        (EDGE_IS_KEPT_APART, 1),
        (FLOORS_LAG, 168),
        (GIVEN_UP_BY_ALL, 6),
        (GUARDS_ARE_ASKED, 0),
        (GUARDS_GO_FIRST, 0),
        (GUARDS_TRAVEL, 0),
        (TIMES_ARE_NEW, 1),
    ];
    each_is_missed(&rules, search);
}

/// Without each of the rules a search finds something that is wrong, in these schedules first.
pub(super) fn each_is_missed<T: std::fmt::Debug>(
    rules: &[(Rule, u64)],
    search: impl Fn(std::ops::Range<u64>) -> Option<T>,
) {
    let look = |rule, first| without(&[rule], || search(tidemark_patience::known(first, 2_000)));
    let found = rules.iter().map(|(rule, first)| (rule, look(*rule, *first)));
    let found: Vec<_> = found.inspect(|(rule, found)| println!("without {rule}: {found:?}")).collect();
    let innocent: Vec<_> = found.iter().filter(|(_, found)| found.is_none()).map(|(rule, _)| rule).collect();
    assert!(innocent.is_empty(), "nothing is wrong without these: {innocent:?}");
}
