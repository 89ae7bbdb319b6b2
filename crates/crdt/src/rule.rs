//! The rules that merging rests on: so that tests can switch them off, and see that the oracle notices. The numbers are those of
//! docs/types.md; rules that a protocol keeps, and not the types, are not here.

use tidemark_core::Rule;

tidemark_core::rules! {
    from Rule::TYPES;
    READERS_DEPEND, // R1: whoever saw a version depends on it
    ONLY_OBSERVED_DIES, // R3: a kill takes what it names, and nothing else above its floor
    LOSERS_ARE_NAMED, // R4: a kill names what lost against a later assignment, too
    SETTLED_DIES, // R5: any kill takes what has no dot
    PENDING_HOLD_SETTLING, // R8: nothing settles above the floor of a version that is pending
    LOSERS_WAIT, // R9: what lost keeps its dot until every later operation has observed it
    BOUNDS_STAY, // R9: beside the settled score, the best of GT and of LT are kept
    INCREMENTS_DIE, // R10: a kill takes increments
    CUTS_END, // R10: increments after the cut count
    CUTS_RISE, // R10: of two cuts the later one counts
    UNLISTED_BY_END, // R10: a segment that a kill does not list dies if it ended below the floor
    CUTS_STAY, // R10: a cut is kept until its segment settles
    SEGMENTS_ROTATE, // R11: a segment that began at or below the own floor goes on no more
    SEGMENTS_END, // R11: a segment settles when its end is settled, too
    PLAIN_WRITES_END, // R13: of writes that looked at nothing only the newest lives, also when it is killed
    REPLAY_BY_MARK, // R15: what a snapshot contains is not applied again
    SHADOWED_DIE, // R16: who updates a key of several types kills those that it does not show
    TYPES_WAIT, // R16: of several types none settles before all can
    CREATION_KILLS, // R18: who creates a key kills what may be left of it elsewhere
    CREATION_LIFTS, // R18: a key that is created has no deadline
    EXPIRY_SURVIVES, // R18: a snapshot says whether keys have had deadlines
    EXPIRED_AT_SETTLED, // R19: what has expired is dropped when no update can come that was before the deadline
    NEWER_OUTLIVES, // R19: what is not settled stays when a key has expired
    DEADLINE_STAYS, // R19: so does the deadline
    EMPTY_WAITS, // R20: an emptied key stays until everybody has seen its newest version
    COMPACTION_IS_COVERED, // R23: COMPACT takes the updates that its token covers, and no others
    TOKENS_END_AT_FLOORS, // R24: a token covers what is at or below the floor, and what it names
    TOTALS_NAME_COUNTERS, // R25: a total counts for the counter that it was written on, not for one created since
    OWN_RIGHTS_LIMIT, // R26: a region takes no more from a bounded counter than its own rights
    GIVEN_RIGHTS_GO, // R27: what a region has given to another it has no more
    DELETIONS_COUNT, // R28: of a SET and a DEL of a string that have not seen each other the later one counts
    PURGE_LEAVES_DEADLINE, // R29: a purge takes what had expired, and not the deadline
}
