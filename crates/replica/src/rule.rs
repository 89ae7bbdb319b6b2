//! What keeps streams safe that come over a third data centre, one rule each: so that tests can switch them off, and see that somebody
//! notices.

use tidemark_contract::Rule;

tidemark_contract::rules! {
    from Rule::CARRIERS + 10;
