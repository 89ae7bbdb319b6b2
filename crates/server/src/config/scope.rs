//! Which connections share one causal past.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which connections of a node are one session: they share one causal past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionScope {
    /// Each connection is a session of its own.
    #[default]
    Connection,
    /// All connections to a node that gave the same name, with CLIENT SETNAME or HELLO; a connection without a name is
    /// a session of its own.
    ClientName,
    /// All connections to a node.
    Gateway,
}

impl FromStr for SessionScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "connection" => Ok(Self::Connection),
            "client-name" => Ok(Self::ClientName),
            "gateway" => Ok(Self::Gateway),
            _ => Err(format!("{text:?} is no session scope; choose connection, client-name or gateway")),
        }
    }
}

impl fmt::Display for SessionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "connection",
            Self::ClientName => "client-name",
            Self::Gateway => "gateway",
        })
    }
}

impl SessionScope {
    /// Whether sessions of `protocol` have a past that they could share, as this scope asks for.
    ///
    /// # Errors
    /// They remember nothing, which is said in words.
    pub fn check(self, protocol: &str) -> Result<(), String> {
        let remembers = tidemark_registry::by_name(protocol).is_none_or(|factory| factory.remembers());
        if self == Self::Connection || remembers {
            return Ok(());
        }
        Err(format!("sessions of {protocol} remember nothing, so {self} has nothing to share"))
    }
}
