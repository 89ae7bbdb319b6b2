//! What keeps streams safe that come over a third data centre, one rule each: so that tests can switch them off, and see that somebody
//! notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS + 14;
    BEATS_COME_LAST, // a relay hands a heartbeat on after the last record that it was sent behind
    REPEATS_ARE_DROPPED, // a record that was received before is not received again, whoever sends it
    TAKEN_WHEN_SYNCED, // in a region of several nodes, a server learns of what has come for it once the log is synced
    OWN_WHEN_SYNCED, // there, what a server says to another of its node, or to itself, counts once the log is synced
    CEILING_SYNCED, // a time is given out below a ceiling that is synced
    RECORDS_SYNCED, // a record, a heartbeat or a floor leaves once the log is synced
    CONFIRMED_SYNCED, // a record is confirmed once the log is synced
    SAID_SYNCED, // what a server says to another waits for the sync, unless it is for a client
}
