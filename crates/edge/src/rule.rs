//! The rules that the safety of clients rests on, so that tests can switch them off and see that somebody notices. The numbers are
//! those of the module [`client`](crate::client).

use tidemark_core::Rule;

tidemark_core::rules! {
    from Rule::CARRIERS + 16;
    COMMITS_ARE_DURABLE, // 2: nobody learns of a transaction before it is on disk
    TIMES_RISE, // 2: a transaction is later than all that its client saw
    HIDDEN_STAYS_HIDDEN, // 12: with a later time a transaction does not bring back what its client has seen overwritten
    TIMES_ARE_DURABLE, // 12: a transaction is sent with a later time when the disk has that
    COPIES_MAY_HAVE_SENT, // 3: what an earlier process has committed counts as sent: it, or a copy of the disk, may have sent it
    ALL_IS_SENT_AGAIN, // 4: what another region has acknowledged, too
    ACKS_PRUNE_NOTHING, // 5: the log keeps what one region has
    BASE_BEFORE_PRUNING, // 8: the log loses what the base on disk contains, and not before
    TICKS_ARE_WHOLE, // 8: all of a tick is visible or nothing
    FORKS_RENEW, // 11: who is forked goes on under a new name
    TIES_ARE_TOLD, // of writes in one microsecond gateways say which has won
    AUTHORS_DIFFER, // no two processes put elements of lists at one position
}
