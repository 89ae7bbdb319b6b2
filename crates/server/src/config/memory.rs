//! What a node does when its memory is at the limit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a node does when its memory is at the limit, as `maxmemory-policy` of Redis says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryPolicy {
    /// It refuses commands that may add data.
    #[default]
    #[serde(rename = "noeviction")]
    NoEviction,
    /// It evicts the keys that expire first, and refuses such commands when none is left.
    VolatileTtl,
}

impl FromStr for MemoryPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "noeviction" => Ok(Self::NoEviction),
            "volatile-ttl" => Ok(Self::VolatileTtl),
            _ => Err(format!("{text:?} is no policy; choose noeviction or volatile-ttl")),
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEviction => "noeviction",
            Self::VolatileTtl => "volatile-ttl",
        })
    }
}
