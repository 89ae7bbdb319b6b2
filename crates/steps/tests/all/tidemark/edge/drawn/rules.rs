//! Without each of the rules of D17 to D19 drawn schedules find something that is wrong.

use super::*;
use tidemark_contract::Rule;
use tidemark_protocols::tidemark::{
    COPIES_ARE_JOINED, DEP_IS_READ, EDGE_IS_KEPT_APART, FLOORS_LAG, GIVEN_UP_BY_ALL, GUARDS_ARE_ASKED,
    GUARDS_GO_FIRST, GUARDS_TRAVEL, TIMES_ARE_NEW,
};

#[test]
fn d17_to_d19_are_why_each_rule() {
    let rules: [Rule; 9] = [
        COPIES_ARE_JOINED,
        DEP_IS_READ,
        EDGE_IS_KEPT_APART,
        FLOORS_LAG,
        GIVEN_UP_BY_ALL,
        GUARDS_ARE_ASKED,
        GUARDS_GO_FIRST,
        GUARDS_TRAVEL,
        TIMES_ARE_NEW,
    ];
    each_is_missed(&rules, || search(0..2_000));
}

/// Without each of the rules a search finds something that is wrong.
pub(super) fn each_is_missed<T: std::fmt::Debug>(rules: &[Rule], search: impl Fn() -> Option<T>) {
    let found = rules.iter().map(|rule| (rule, without(&[*rule], &search)));
    let found: Vec<_> = found.inspect(|(rule, found)| println!("without {rule}: {found:?}")).collect();
    let innocent: Vec<_> = found.iter().filter(|(_, found)| found.is_none()).map(|(rule, _)| rule).collect();
    assert!(innocent.is_empty(), "nothing is wrong without these: {innocent:?}");
}
