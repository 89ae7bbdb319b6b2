//! What keeps a group's promise, one rule each: so that tests can break them, and see that somebody notices.

/// A rule that a member can be made to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// What an entry lets out waits until most members have the entry.
    AgreementFirst,
    /// A leader lets nothing out while another may have been elected.
    Lease,
    /// A leader that hands its group over lets nothing out any more.
    LeaseEnds,
    /// A member takes part in no election for a while after its start.
    Silence,
    /// Who is elected applies everything before it starts the protocol.
    AllApplied,
    /// Who leads no more forgets what was not agreed on.
    BeginAnew,
    /// What the log holds of entries that were replaced is passed over.
    Retraction,
    /// A vote is written down before it is given.
    Votes,
    /// Those who follow drop what their leader has dropped.
    Collection,
}
