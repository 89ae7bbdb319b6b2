//! A leader whose process is to end hands its group over, so that nobody has to wait until it is missed.
//!
//! It takes no more requests; what it has taken is agreed on and answered; then its lease ends, and the member that has most is
//! told to stand for election at once. Others vote for that one within the time for which they owe the leader silence, so the
//! lease must have ended before, and must never come back: the word to stand for election may arrive at any time.

use crate::member::Member;
use crate::rule::LEASE_ENDS;
use tidemark_contract::Protocol;
use tidemark_replica::{Host, Now};
use tidemark_store::log::Position;

/// How far a leader is with handing over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// It leads on.
    #[default]
    No,
    /// It takes no more requests.
    Asked,
    /// What it has taken is in the log up to here, and has to be agreed on.
    Finishing(Position),
    /// That is so; it leaves in this turn.
    Finished,
    /// Its lease has ended, and another may be elected at any time.
    Over,
}

impl<P: Protocol> Member<P> {
    /// Whether a request may be given to it, if it leads.
    pub fn takes_requests(&self) -> bool {
        self.hand_over == HandOver::No
    }

    /// Hands the group over if this member leads it; called again and again, with a turn after each time. Whether there is nothing
    /// left to wait for. REQUIRES: its process ends soon, whatever comes of this.
    pub fn hand_over(&mut self, now: Now) -> bool {
        if !self.leads() || self.is_replaced() {
            return true;
        }
        self.hand_over = match self.hand_over {
            HandOver::No => HandOver::Asked,
            HandOver::Asked => HandOver::Finishing(self.host().map_or(Position::START, Host::flushed)),
            HandOver::Finishing(until) if self.released(now) >= until => HandOver::Finished,
            HandOver::Finished => {
                let Some(next) = self.successor() else { return true };
                // What came in since the last turn is in the log, and no entry yet: a later one would take it in.
                if !self.propose_turn() {
                    return false; // another leads
                }
                if LEASE_ENDS.kept() {
                    self.lease.end();
                }
                self.raft.transfer_leader(next);
                HandOver::Over
            }
            waits @ (HandOver::Finishing(_) | HandOver::Over) => waits,
        };
        false
    }

    /// Its lease has ended for good.
    pub(crate) fn is_over(&self) -> bool {
        self.hand_over == HandOver::Over && LEASE_ENDS.kept()
    }

    /// Who has most, of those that can be elected without this member.
    fn successor(&self) -> Option<u64> {
        let voters = &self.state().voters;
        let others = voters.iter().copied().filter(|id| *id != self.config.id);
        let alive = others.filter_map(|id| {
            let progress = self.raft.raft.prs().get(id)?;
            progress.recent_active.then_some((progress.matched, id))
        });
        let alive: Vec<(u64, u64)> = alive.collect();
        let most = alive.iter().max().map(|(_, id)| *id);
        most.filter(|_| alive.len() > voters.len() / 2)
    }
}
