//! Without each of the rules of D17 to D19 drawn schedules find something that is wrong.

use super::super::super::each_is_missed;
use super::*;
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
