//! What is simulated around the servers of a protocol.

use std::fmt;
use std::str::FromStr;

/// What is simulated around the servers of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// Servers, with sessions and links that the simulator has of its own.
    #[default]
    Server,
    /// Whole nodes, as they serve users: sessions, requests, handshakes, frames, leaders.
    Node,
}

impl World {
    /// Their names.
    pub const ALL: [(&'static str, Self); 2] = [("server", Self::Server), ("node", Self::Node)];
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, world)| world == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for World {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, world)| *world).ok_or_else(|| {
            format!("{text:?} is no world: choose {}", Self::ALL.map(|(name, _)| name).join(", "))
        })
    }
}
