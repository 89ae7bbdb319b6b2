//! Of what servers of a region say to each other, what has to be synced before it leaves, one rule a class: so that tests can switch them
//! off, and see that somebody notices.

use crate::Rule;

crate::rules! { from Rule::TYPES + 58; // behind those of programs
    REPORTS_ARE_SYNCED, // what a server has, and what is stable
    VOTES_ARE_SYNCED, // when a transaction can commit here
    DECISIONS_ARE_SYNCED, // when it commits
    DOUBT_IS_SYNCED, // that it does not
    FORGETS_WHEN_SYNCED, // that it is applied, upon which the coordinator forgets it
    CHECKS_ARE_SYNCED, // that a version is here on which another depends
}
