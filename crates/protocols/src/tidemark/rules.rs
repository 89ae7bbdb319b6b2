//! What the safety of Tidemark's default protocol rests on.

use tidemark_contract::{bases, stabilised, two_phase};

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
    SAFE_FENCE_COVERS_L, // 8
    EXCEPTIONS_UNTIL_SAFE,
    FENCE_SURVIVES, // D1
    ABSORBS, // whoever saw several versions of a key depends on all of them
    VIEWS_HAVE_NAMES, // what a later view shows of a key is looked at
    SERVERS_TAKE_L, // 1, 4, 8
    GET_NEEDS_L, // 2
    CAUSES_NEED_L, // 2, 9
    SESSIONS_KEEP_L, // 3
    VERSIONS_NEED_L, // 6
    UPTO_IS_ANNOUNCED, // 7
    SNAPSHOT_HAS_L, // 8
    SNAPSHOT_NEEDS_L, // 9
    NEED_L_UNTIL_SAFE,
    TOMBSTONES_UNTIL_L,
    DS_HAS_TIME, // T6
    TRANSACTIONS_HAVE_CAUSES, // T1
    DEPENDS_ON_SEEN, // T2
    TIMES_ARRIVE_WHOLE, // T7
    WRITTEN_TOGETHER, // D8
    ANNOUNCES_BELOW_PREPARED, // T2
    PROPOSES_ABOVE_CLOCK, // T2
    PROPOSES_ABOVE_CAUSES, // T2
    PREPARED_SURVIVES, // T2
    DECIDED_SURVIVES, // T6
    APPLYING_TAKES_NEED, // T7
    SURE_IF_FIRST, // T2: D14
    SURE_IF_NOTHING_IS_ADDED, // T2: D14
    DOUBT_ENDS_AT_L, // T2: D14
    SHOWN_SURVIVES, // T9
    ANSWERS_WHEN_SHOWN, // T10
    LOOKS_AGAIN, // T4
    LOOKS_LIFT, // T4
    HIDDEN_COUNTS, // T4
    INTENTIONS_CONTEND, // T4
    WHO_YIELDS_IS_REFUSED, // T4: D11
    CONDITIONS_WAIT, // T11
    SNAPSHOTS_ARE_PINNED, // T13: D13
    PINNED_STAY, // T13: D13
    MOVERS_WAIT_FOR_L, // T14
    BASES_ARE_KEPT, // D16
    BASES_ARE_CLOSED, // D16
    BASES_ARE_HERE, // D16
    FLOORS_LAG, // D17: what is known to have been seen by all lies behind what can still be accepted
    EDGE_IS_KEPT_APART, // D17: a version is there for as long as another copy can come
    COPIES_ARE_JOINED, // D17: a version shows as soon as one of its copies would
    GUARDS_GO_FIRST, // D17: a transaction follows the one before, and depends on it
    GUARDS_ARE_CAUSES, // D17: it depends on the copy of the one before that shows here
    GUARDS_ARE_ASKED, // D17: what shows here is not accepted once more
    GUARDS_SHOW, // D17: what has arrived, and does not show, may never
    GUARDS_TRAVEL, // D17: what another region has accepted counts
    DIGESTS_TELL_APART, // D17: two transactions of one number are two
    ONE_STAMP_EVERYWHERE, // D17: who wins is the same, whichever copy a region has
    COPIES_ARE_LATER, // D17: who reads a version writes above it
    DEP_IS_A_CAUSE, // D17: it depends on what its client saw
    LOGS_GO_ON, // D17: after a loss a transaction follows none
    DEP_IS_COVERED, // D17: a region that lacks what a transaction depends on does not accept it
    TIMES_ARE_NEW, // D17: none is accepted that others may have, so long ago that its versions are not kept apart
    CHANGES_ARE_KNOWN, // D20: what was forgotten may have changed
    DEP_IS_READ, // D19: what a client does is evaluated in what it saw, and nothing else
    GIVEN_UP_BY_ALL, // D17: another time is asked for only when no region can have accepted it
    RECORDS_END, // D21: nothing more is taken of a region that is about to be excluded
    RECORDS_ARE_EQUAL, // D21: a region is excluded once all survivors have the same of it
    LOST_IS_HIDDEN, // D21: what may depend on something that was lost is shown to nobody
    CUT_IS_STABLE, // D21: nobody has shown by a stable vector above the cut
    MOVERS_ARE_REFUSED, // D21: a session of the excluded region may have seen what was lost
    DOUBTS_ARE_REFUSED, // D21: a stable vector between the cut and what comes after was forgotten by all who had it
    EXCLUSION_SURVIVES; // D21
    of bases: OWN_REGION_COVERS, ONE_CHOICE_FOR_ALL, BASES_NEVER_FALL, GONE_IS_NOT_COUNTED; // D16, D21
    of stabilised: STABLE_SURVIVES, OFFERS_WHAT_IS_DURABLE, STABLE_STAYS_HOME, // D1, D2
    READS_AT_STABLE, READS_ABOVE_HORIZON, // D6
    HOLDS_SNAPSHOTS, TRANSACTIONS_STAND_APART; // T13
    of two_phase: SURE_OF_ONE_TIME // T3: D14
}
