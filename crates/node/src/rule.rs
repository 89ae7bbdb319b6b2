//! What keeps links between nodes and shared pasts safe, one rule each: so that tests can switch them off, and see that somebody notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS + 20;
    HEADERS_ARE_CHECKED, // a frame whose length may be damaged ends the link
    PAYLOADS_ARE_CHECKED, // a frame whose values may be damaged ends the link
    HEARSAY_IS_CHECKED, // a leader that says that it leads no more, maybe long ago, is asked
    POOLS_TAKE, // an operation of a session that shares its past begins with what the others were told
    ANSWERS_ABROAD_ARE_SYNCED, // what is said to another region waits for the sync
    TOKENS_ARE_SYNCED, // the text of a token leaves once what its session has seen is synced
    EDGE_IS_TOLD_SYNCED, // an edge client is told of what is synced
    POOLS_KEEP, // of a shared past only that is dropped which something newer implies
}
