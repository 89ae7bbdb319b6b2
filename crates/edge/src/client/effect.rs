//! What the driver tells the client, and what the client asks of it.

use super::Transaction;
use crate::durable::Row;
use crate::frames::Secret;
use bytes::Bytes;

/// What has happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The application wants a connection.
    Start,
    /// The application wants none.
    Stop,
    /// The connection that [`Effect::Connect`] asked for is there.
    Connected {
        /// Its number.
        connection: u64,
    },
    /// There is no such connection, or not any more.
    Disconnected {
        /// Its number.
        connection: u64,
    },
    /// A binary message has arrived.
    Frame {
        /// The number of its connection.
        connection: u64,
        /// All of the message.
        bytes: Vec<u8>,
    },
    /// The rows of [`Effect::Persist`] are durable.
    Persisted {
        /// Its number.
        id: u64,
    },
    /// None of the rows of [`Effect::Persist`] is on disk.
    PersistFailed {
        /// Its number.
        id: u64,
    },
    /// The random secret that [`Effect::DrawSecret`] asked for.
    Secret(Secret),
    /// The time of [`Effect::WakeAt`] has come.
    Timer,
    /// The application wants to read a key. It can when [`Effect::Changed`] names the key.
    Watch {
        /// 1 to [`KEY_MAX`](crate::frames::KEY_MAX) bytes.
        key: Bytes,
    },
    /// The application wants to read a key no more.
    Unwatch {
        /// The key.
        key: Bytes,
    },
    /// The application wants bases that this many regions have whole.
    SetRegions {
        /// K, at least 1.
        regions: u64,
    },
    /// The application commits a transaction.
    Commit {
        /// The application's name for it.
        id: u64,
        /// What it does.
        transaction: Transaction,
    },
}

/// What the driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Makes rows durable, together or not at all, after those of earlier effects.
    Persist {
        /// What the answer names.
        id: u64,
        /// Applied in their order.
        rows: Vec<Row>,
    },
    /// Connects to a gateway.
    Connect {
        /// Its index in the list of preference.
        endpoint: usize,
        /// What events and effects call the connection.
        connection: u64,
    },
    /// Sends a binary message.
    Send {
        /// The number of the connection.
        connection: u64,
        /// All of the message.
        bytes: Vec<u8>,
    },
    /// Closes a connection. There are no more events of it.
    Close {
        /// Its number.
        connection: u64,
    },
    /// Sends [`Event::Timer`] at this time; what was said before of another time does not matter any more.
    WakeAt {
        /// On the clock of events, in microseconds.
        at_us: u64,
    },
    /// Draws 32 random bytes, and answers with [`Event::Secret`].
    DrawSecret,
    /// A transaction is committed: durable, and visible to reads.
    Committed {
        /// The application's name for it.
        id: u64,
        /// Its number; 0: it had no operation.
        k: u64,
    },
    /// A transaction is not committed, and nothing has changed.
    CommitFailed {
        /// The application's name for it.
        id: u64,
        /// A sentence.
        why: &'static str,
    },
    /// The values of keys may be others now. All changes of a base or a transaction are visible at once.
    Changed {
        /// In the order of bytes.
        keys: Vec<Bytes>,
    },
    /// Something that the application may want to know.
    Report(Report),
    /// The status has changed.
    Status(Status),
}

/// What a client reports of its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// An operation had no effect; the rest of its transaction had.
    Refused {
        /// The number of the transaction.
        k: u64,
        /// The index of the operation; the number of operations: all of them.
        operation: u64,
        /// A word for programs.
        code: Bytes,
        /// A sentence for people.
        text: Bytes,
    },
    /// Another copy of this client has used its name: the disk was copied or restored. The client has a new name.
    Forked {
        /// Transactions of the log that had been sent, or may have been: they are gone from the log, and may have been applied.
        dropped: Vec<u64>,
    },
    /// Transactions that were in a base, and that the client does not have any more, were lost: K or more regions have been.
    Lost {
        /// The last transaction that is left of those.
        k: u64,
    },
    /// The gateway has sent Error, or something that is no frame.
    Error {
        /// A word for programs.
        code: Bytes,
        /// A sentence for people.
        text: Bytes,
    },
}

/// Whether the client is up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is no connection.
    Offline,
    /// A connection is being made.
    Connecting,
    /// Connected to a region that lacks the base, or that has not sent a tick for five periods.
    Behind,
    /// Connected, and new bases arrive.
    Live,
}
