//! What happens at a node that an operator may want to know.

use std::fmt;

/// How much an operator should care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Somebody has to do something.
    Error,
    /// Something does not work, for now.
    Warn,
    /// The node, or a link of it, has changed its role.
    Info,
    /// What helps to find a mistake.
    Debug,
}

/// One line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much an operator should care.
    pub level: Level,
    /// What happened, in words.
    pub what: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
