//! The rules that the safety of clients rests on, so that tests can switch them off and see that somebody notices. The numbers are
//! those of the module [`client`](crate::client).

use tidemark_core::Rule;

tidemark_core::rules! {
    from Rule::EDGE;
    COMMITS_ARE_DURABLE, // 2: nobody learns of a transaction before it is on disk
    TIMES_RISE, // 2: a transaction is later than all that its client saw
    HIDDEN_STAYS_HIDDEN, // 12: with a later time a transaction does not bring back what its client has seen overwritten
    TIMES_ARE_DURABLE, // 12: a transaction is sent with a later time when the disk has that
    COPIES_MAY_HAVE_SENT, // 3: what an earlier process has committed counts as sent: it, or a copy of the disk, may have sent it
    ALL_IS_SENT_AGAIN, // 4: what another region has acknowledged, too
    ACKS_PRUNE_NOTHING, // 5: the log keeps what one region has
    BASE_BEFORE_PRUNING, // 8: the log loses what the base on disk contains, and not before
    TICKS_ARE_WHOLE, // 8: all of a tick is visible or nothing
    BASES_SAY_WHAT_IS_IN_THEM, // 8: what of the log is in a base is not what was acknowledged
    CHAINS_ARE_COMPARED, // 8: a number in a base may be that of another branch
    LOSSES_ARE_TOLD, // 6: who has shown that a transaction is in a base says so when it is lost
    TICKS_SAY_K, // 8: as many regions have a base as its tick says, not as many as are wanted now
    VALUES_WAIT_THEIR_TURN, // 9: a value does not show before the base that it is of
    FORKS_RENEW, // 11: who is forked goes on under a new name
    TIES_ARE_TOLD, // of writes in one microsecond gateways say which has won
    K_IS_KEPT, // gateways: a client is told of bases that as many regions have as it wants
    BASES_DOMINATE, // gateways: whoever has a base gets one above it, or none
    VALUES_ARE_OF_THE_BASE, // gateways: who is sent a value is told of its base first
    READINGS_ARE_WHOLE, // gateways: of a base all that may have changed is read, or it is not told
    READINGS_END_WITH_CHANNELS, // gateways: an answer to what was asked before is not of this base
    LOSSES_ARE_CERTAIN, // gateways: what a region lacks of a client's base comes as a rule
    AUTHORS_DIFFER, // no two processes put elements of lists at one position
}
