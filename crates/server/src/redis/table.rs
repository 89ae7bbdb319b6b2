//! The command table: one row a command, from which arity errors, COMMAND and the documentation come.

use super::command::Call;
use super::commands;
use super::connection::{Connection, Context, Next};
use super::error::ErrorReply;
use super::task::Task;
use std::sync::LazyLock;
use tidemark_core::Verb;
use tidemark_wire::resp::Request;

/// Turns a request of the right length into operations of the session.
pub type ParseFn = fn(&mut Request<'_>) -> Result<Task, ErrorReply>;

/// Where the keys of a request stand, and where its arguments that are no keys stand.
pub(super) type KeysFn = fn(&Request<'_>, &Spec) -> Result<(Vec<usize>, Vec<usize>), ErrorReply>;

/// Answers a command that needs no operation.
pub type LocalFn = fn(&mut Connection, &Call, &mut Context<'_>) -> Result<Next, ErrorReply>;

/// How a command is carried out.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    /// By operations of the session, one after the other.
    Operations(ParseFn),
    /// By one operation: a command of a data type on the key behind its name.
    Typed(Verb),
    /// By one operation: a command of data types on several keys of one partition.
    Group(Verb, KeysFn),
    /// By operations, tried until there is something.
    Blocking(ParseFn),
    /// By the connection itself.
    Local(LocalFn),
    /// By the connection itself. The arguments may end with another command, which it then concerns.
    Prefix {
        /// How many arguments are its own, its name included.
        own: fn(&Request<'_>) -> Result<usize, ErrorReply>,
        /// Answers it. If a command follows, that one's reply is the only one.
        answer: LocalFn,
    },
    /// By one of the subcommands.
    Subcommands,
}

/// What a command is about, as Redis groups them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Group {
    String,
    Bitmap,
    Hyperloglog,
    Hash,
    Set,
    SortedSet,
    Geo,
    List,
    Stream,
    Generic,
    Pubsub,
    Connection,
    Server,
    Cluster,
    Scripting,
    Transactions,
    Tidemark,
}

impl Group {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bitmap => "bitmap",
            Self::Hyperloglog => "hyperloglog",
            Self::Hash => "hash",
            Self::Set => "set",
            Self::SortedSet => "sorted-set",
            Self::Geo => "geo",
            Self::List => "list",
            Self::Stream => "stream",
            Self::Generic => "generic",
            Self::Pubsub => "pubsub",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Cluster => "cluster",
            Self::Scripting => "scripting",
            Self::Transactions => "transactions",
            Self::Tidemark => "tidemark",
        }
    }

    /// The category of Redis's access lists for its commands, if there is one.
    pub fn category(self) -> Option<&'static str> {
        match self {
            Self::String => Some("@string"),
            Self::Bitmap => Some("@bitmap"),
            Self::Hyperloglog => Some("@hyperloglog"),
            Self::Hash => Some("@hash"),
            Self::Set => Some("@set"),
            Self::SortedSet => Some("@sortedset"),
            Self::Geo => Some("@geo"),
            Self::List => Some("@list"),
            Self::Stream => Some("@stream"),
            Self::Generic => Some("@keyspace"),
            Self::Pubsub => Some("@pubsub"),
            Self::Connection => Some("@connection"),
            Self::Scripting => Some("@scripting"),
            Self::Transactions => Some("@transaction"),
            Self::Server | Self::Cluster | Self::Tidemark => None,
        }
    }
}

/// The families by which metrics count commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Family {
    Get,
    Set,
    Mget,
    Mset,
    Del,
    Exists,
    Scan,
    Flush,
    Session,
    Other,
}

impl Family {
    /// Their names, in the order of the variants.
    pub const NAMES: [&str; 10] =
        ["get", "set", "mget", "mset", "del", "exists", "scan", "flush", "session", "other"];
}

/// Which arguments are keys, counted from the command's name; `last` may count from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// The first key; 0 if there is none.
    pub first: i32,
    /// The last one: −1 for the last argument.
    pub last: i32,
    /// How far apart they are.
    pub step: i32,
}

impl Keys {
    /// No keys.
    pub const NONE: Self = Self { first: 0, last: 0, step: 0 };
    /// The first argument.
    pub const FIRST: Self = Self { first: 1, last: 1, step: 1 };
    /// The second argument, behind a subcommand.
    pub const SECOND: Self = Self { first: 2, last: 2, step: 1 };
    /// Every argument.
    pub const ALL: Self = Self { first: 1, last: -1, step: 1 };
    /// The first two arguments.
    pub const TWO: Self = Self { first: 1, last: 2, step: 1 };
    /// Every argument from the second on.
    pub const FROM_SECOND: Self = Self { first: 2, last: -1, step: 1 };
    /// Every other argument.
    pub const PAIRS: Self = Self { first: 1, last: -1, step: 2 };
}

/// One row.
#[derive(Debug)]
pub struct Spec {
    /// In lower case; of a subcommand, `client|id`.
    pub name: &'static str,
    /// How many arguments it takes, its name (and its container's) included; at least so many if negative.
    pub arity: i32,
    /// As COMMAND shows them.
    pub flags: &'static [&'static str],
    /// Which arguments are keys.
    pub keys: Keys,
    /// What it is about.
    pub group: Group,
    /// Categories of Redis's access lists, beyond those that follow from its flags and its group.
    pub categories: &'static [&'static str],
    /// Where metrics count it.
    pub family: Family,
    /// The version of Redis that brought it; of our own commands, ours.
    pub since: &'static str,
    /// Its arguments in the notation of Redis's documentation.
    pub syntax: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// How it differs from Redis, or empty.
    pub remark: &'static str,
    /// How it is carried out.
    pub handler: Handler,
    /// Its subcommands.
    pub subcommands: &'static [&'static Spec],
}

impl Spec {
    /// A row to be completed with `..`: a command of the server group that takes no arguments.
    pub const DEFAULT: Self = Self {
        name: "",
        arity: 1,
        flags: &[],
        keys: Keys::NONE,
        group: Group::Server,
        categories: &[],
        family: Family::Other,
        since: "1.0.0",
        syntax: "",
        summary: "",
        remark: "",
        handler: Handler::Subcommands,
        subcommands: &[],
    };

    /// Whether a request of `count` arguments has the right length.
    #[inline]
    pub fn takes(&self, count: usize) -> bool {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        if self.arity >= 0 { count == self.arity } else { count >= -self.arity }
    }

    /// Whether it has the flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether it only reads, and names keys.
    #[inline]
    pub fn has_key_reads(&self) -> bool {
        self.keys.step != 0 && self.flags.first() == Some(&"readonly")
    }

    /// Whether a node answers it that only reads: its client has no past but what was read there.
    pub fn is_answered_by_mute(&self) -> bool {
        let foreign = matches!(self.group, Group::Scripting | Group::Tidemark);
        let reads = self.has_key_reads() && !foreign && !self.has("blocking");
        reads || self.name == "ping" || self.has("loading") && self.group != Group::Pubsub
    }

    /// How many words its name has.
    pub fn words(&self) -> usize {
        self.name.split('|').count()
    }

    /// The name behind the container's: `id` of `client|id`.
    pub fn own_name(&self) -> &'static str {
        self.name.rsplit('|').next().unwrap_or(self.name)
    }

    /// The subcommand called `name`.
    pub fn subcommand(&self, name: &[u8]) -> Option<&'static Spec> {
        self.subcommands.iter().copied().find(|spec| spec.own_name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// All commands, by name.
#[derive(Debug)]
pub struct Table {
    sorted: Vec<&'static Spec>,
    /// Each command at the place that its name gives it, or at the next free one.
    places: [Option<&'static Spec>; PLACES],
}

/// A power of two, several times the number of commands that Redis has.
const PLACES: usize = 1024;

/// From three letters and the length: long names cost no more than short ones.
#[inline]
fn place(name: &[u8]) -> usize {
    let letter = |index: usize| name.get(index).map_or(0, |byte| usize::from(byte | 0x20));
    let middle = letter(name.len() / 2);
    (name.len() + 3 * letter(0) + 7 * middle + 31 * letter(name.len().wrapping_sub(1))) % PLACES
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut sorted: Vec<&'static Spec> = commands::GROUPS.iter().copied().flatten().copied().collect();
    sorted.sort_by_key(|spec| spec.name);
    let mut places = [None; PLACES];
    for spec in &sorted {
        let mut at = place(spec.name.as_bytes());
        while places[at].is_some() {
            at = (at + 1) % PLACES;
        }
        places[at] = Some(*spec);
    }
    Table { sorted, places }
});

impl Table {
    /// The one table.
    pub fn get() -> &'static Self {
        &TABLE
    }

    /// The commands in alphabetical order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'static Spec> + '_ {
        self.sorted.iter().copied()
    }

    /// The commands in alphabetical order, each with its subcommands behind it.
    pub fn every(&self) -> impl Iterator<Item = &'static Spec> + '_ {
        self.iter().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands.iter().copied()))
    }

    /// The command called `name`, in any case.
    pub fn command(&self, name: &[u8]) -> Option<&'static Spec> {
        let mut at = place(name);
        while let Some(spec) = self.places[at] {
            if spec.name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(spec);
            }
            at = (at + 1) % PLACES;
        }
        None
    }

    /// The command or subcommand called `name`, the latter as `client|id`.
    pub fn any(&self, name: &[u8]) -> Option<&'static Spec> {
        match name.iter().position(|byte| *byte == b'|') {
            None => self.command(name),
            Some(bar) => self.command(&name[..bar])?.subcommand(&name[bar + 1..]),
        }
    }

    /// The row that a request means, whatever its length. REQUIRES: no argument was taken.
    pub fn meant(&self, request: &Request<'_>) -> Option<&'static Spec> {
        let spec = self.command(&request[0])?;
        match request.get(1) {
            Some(name) if !spec.subcommands.is_empty() => spec.subcommand(name),
            _ => Some(spec),
        }
    }

    /// The row that a request means, if it has the right length.
    pub fn resolve(&self, request: &Request<'_>) -> Result<&'static Spec, ErrorReply> {
        let Some(mut spec) = self.command(&request[0]) else {
            return commands::connection::attack(&request[0])
                .ok_or_else(|| ErrorReply::unknown_command(request));
        };
        if !spec.subcommands.is_empty()
            && let Some(name) = request.get(1)
        {
            spec = spec.subcommand(name).ok_or_else(|| ErrorReply::unknown_subcommand(spec, name))?;
        }
        if !spec.takes(request.len()) || matches!(spec.handler, Handler::Subcommands) {
            return Err(match spec.name {
                "exec" => ErrorReply::ABORTED_BY_ARITY,
                name => ErrorReply::arity(name),
            });
        }
        Ok(spec)
    }
}
