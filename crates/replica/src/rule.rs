//! What keeps streams safe that come over a third data centre, one rule each: so that tests can switch them off, and see that somebody
//! notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS + 10;
    BEATS_COME_LAST, // a relay hands a heartbeat on after the last record that it was sent behind
    REPEATS_ARE_DROPPED, // a record that was received before is not received again, whoever sends it
    TAKEN_IS_SYNCED, // in a region of several nodes, a server learns of what has come for it once the log is synced
    OWN_REPORTS_ARE_SYNCED, // there, what a server says to another of its node, or to itself, counts once the log is synced
    CEILING_IS_SYNCED, // a time is given out below a ceiling that is synced
    RECORDS_ARE_SYNCED, // a record leaves once the log is synced
    CONFIRMATIONS_ARE_SYNCED, // a record is confirmed once the log is synced
    BEATS_ARE_SYNCED, // so does a heartbeat
    MARKS_ARE_SYNCED, // in a region of several nodes, clients are told of a version that was hidden once it is synced that it shows
    OPENING_SYNCS, // a start is synced before anything of it leaves
}
