//! What keeps links between nodes safe, one rule each: so that tests can switch them off, and see that somebody notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS + 9;
    HEADERS_ARE_CHECKED, // a frame whose length may be damaged ends the link
    PAYLOADS_ARE_CHECKED, // a frame whose values may be damaged ends the link
    HEARSAY_IS_CHECKED, // a leader that says that it leads no more, maybe long ago, is asked
}
