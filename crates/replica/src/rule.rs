//! What keeps streams safe that come over a third data centre, one rule each: so that tests can switch them off, and see that somebody
//! notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS + 14;
    BEATS_COME_LAST, // a relay hands a heartbeat on after the last record that it was sent behind
    REPEATS_ARE_DROPPED, // a record that was received before is not received again, whoever sends it
}
