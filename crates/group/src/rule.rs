//! What keeps a group's promise, one rule each: so that tests can switch them off, and see that somebody notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS;
    AGREEMENT_FIRST, // what an entry lets out waits until most members have the entry
    LEASE, // a leader lets nothing out while another may have been elected
    LEASE_ENDS, // a leader that hands its group over lets nothing out any more
    SILENCE, // a member takes part in no election for a while after its start
    ALL_APPLIED, // who is elected applies everything before it starts the protocol
    BEGIN_ANEW, // who leads no more forgets what was not agreed on
    RETRACTION, // what the log holds of entries that were replaced is passed over
    VOTES, // a vote is written down before it is given
    ENTRIES_ARE_SYNCED, // entries, terms and votes are synced before they are answered for
    COLLECTION, // those who follow drop what their leader has dropped
}
