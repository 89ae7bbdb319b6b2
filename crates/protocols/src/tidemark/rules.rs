//! What the safety of Tidemark's default protocol rests on.

use tidemark_contract::stabilised;

tidemark_contract::rules! {
    GET_FENCES, // 3
    PUT_TAKES_DSV, // 4
    PUT_TAKES_FENCE, // 4
    DS_IS_NOT_STABLE, // 4: E-3
    PUT_ABOVE_FENCE, // 5
    SLICE_LIFTS, // 9
    FRESH_CAUSES_MAY_LACK, // 9 (b)
    NEED_UNDER_FENCE, // 9 (b)
    SLICE_FENCES, // 10
    COLLECTS_AT_SAFE,
    EXCEPTIONS_UNTIL_SAFE,
    FENCE_SURVIVES, // D1
    ABSORBS, // whoever saw several versions of a key depends on all of them
    VIEWS_HAVE_NAMES; // what a later view shows of a key is looked at
    of stabilised: STABLE_SURVIVES, OFFERS_WHAT_IS_DURABLE, STABLE_STAYS_HOME, // D1, D2
    READS_AT_STABLE, READS_ABOVE_HORIZON // D6
}
