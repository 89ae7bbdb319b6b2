//! The commands of an edge client, on the command line and in its shell.

use crate::lab::EdgeBench;
use bytes::Bytes;
use clap::{Subcommand, ValueEnum};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Print strings and counters, a line each.
    Get {
        /// Keys.
        #[arg(required = true)]
        keys: Vec<OsString>,
    },
    /// Print a field of a hash.
    Hget {
        /// The key.
        key: OsString,
        /// The field.
        field: OsString,
    },
    /// Print the fields of a hash, each with its value on the next line.
    Hgetall {
        /// The key.
        key: OsString,
    },
    /// Print the members of a set.
    Smembers {
        /// The key.
        key: OsString,
    },
    /// Print the elements of a list.
    Lrange {
        /// The key.
        key: OsString,
        /// The first index; from the end if it is negative.
        #[arg(default_value_t = 0, allow_hyphen_values = true)]
        start: i64,
        /// The last index.
        #[arg(default_value_t = -1, allow_hyphen_values = true)]
        stop: i64,
    },
    #[command(flatten)]
    Write(Write),
    /// Do several writes as one transaction: all of it or nothing, everywhere.
    ///
    /// Each argument is one write as on the command line, such as 'incr posts'. Without arguments the lines of standard input are the writes.
    /// In the shell they stand behind each other: tx incr posts ; sadd authors ann
    Tx {
        /// Writes.
        #[arg(allow_hyphen_values = true)]
        writes: Vec<OsString>,
    },
    /// Print keys, and again whenever what is shown of them changes: a line each.
    Watch {
        /// Keys.
        #[arg(required = true)]
        keys: Vec<OsString>,
        /// Stop after so many lines.
        #[arg(long, value_name = "LINES")]
        count: Option<u64>,
    },
    /// Print the keys that the folder keeps up to date: those that were read once.
    Keys,
    /// Keep keys no longer.
    Forget {
        /// Keys.
        #[arg(required = true)]
        keys: Vec<OsString>,
    },
    /// Print whether the client is live, what it shows, and what is not delivered.
    Status,
    /// Wait until all that was written is delivered, and K regions have it.
    Sync,
    Bench(EdgeBench),
}

/// A command that changes something.
#[derive(Subcommand)]
pub(super) enum Write {
    /// Write a string.
    Set {
        /// The key.
        key: OsString,
        /// The new value.
        #[arg(allow_hyphen_values = true)]
        value: OsString,
    },
    /// Delete keys.
    Del {
        /// Keys.
        #[arg(required = true)]
        keys: Vec<OsString>,
    },
    /// Add to a counter, and print it.
    Incr {
        /// The key.
        key: OsString,
        /// How much to add.
        #[arg(default_value_t = 1, allow_hyphen_values = true)]
        amount: i64,
    },
    /// Write fields of a hash.
    Hset {
        /// The key.
        key: OsString,
        /// Fields, each followed by its value.
        #[arg(required = true, value_name = "FIELD VALUE")]
        fields: Vec<OsString>,
    },
    /// Delete fields of a hash.
    Hdel {
        /// The key.
        key: OsString,
        /// Fields.
        #[arg(required = true)]
        fields: Vec<OsString>,
    },
    /// Add to a field of a hash, and print it.
    Hincr {
        /// The key.
        key: OsString,
        /// The field.
        field: OsString,
        /// How much to add.
        #[arg(default_value_t = 1, allow_hyphen_values = true)]
        amount: i64,
    },
    /// Add members to a set.
    Sadd {
        /// The key.
        key: OsString,
        /// Members.
        #[arg(required = true)]
        members: Vec<OsString>,
    },
    /// Remove members from a set.
    Srem {
        /// The key.
        key: OsString,
        /// Members.
        #[arg(required = true)]
        members: Vec<OsString>,
    },
    /// Add elements to the end of a list.
    Rpush {
        /// The key.
        key: OsString,
        /// Elements.
        #[arg(required = true)]
        elements: Vec<OsString>,
    },
    /// Add elements to the front of a list, one before the other.
    Lpush {
        /// The key.
        key: OsString,
        /// Elements.
        #[arg(required = true)]
        elements: Vec<OsString>,
    },
    /// Add an element to a list, beside another one.
    Linsert {
        /// The key.
        key: OsString,
        /// On which side.
        place: Side,
        /// The first element like this.
        pivot: OsString,
        /// The new element.
        #[arg(allow_hyphen_values = true)]
        element: OsString,
    },
    /// Replace an element of a list.
    Lset {
        /// The key.
        key: OsString,
        /// Its index; from the end if it is negative.
        #[arg(allow_hyphen_values = true)]
        index: i64,
        /// The new element.
        #[arg(allow_hyphen_values = true)]
        element: OsString,
    },
    /// Remove elements from a list that are like this one.
    Lrem {
        /// The key.
        key: OsString,
        /// How many; from the end if it is negative; 0: all.
        #[arg(allow_hyphen_values = true)]
        count: i64,
        /// The element.
        #[arg(allow_hyphen_values = true)]
        element: OsString,
    },
}

/// Of an element of a list.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Side {
    Before,
    After,
}

/// A word of the command line, whatever its bytes are.
pub(super) fn bytes(word: OsString) -> Bytes {
    word.into_vec().into()
}

pub(super) fn all_bytes(words: Vec<OsString>) -> Vec<Bytes> {
    words.into_iter().map(bytes).collect()
}
