//! The server's settings as CONFIG shows them: every parameter that clients and test suites are known to read or
//! set, with the checks of Redis. Few change anything here; the others are kept and given back.
//!
//! Source: names, defaults and messages as redis-server 7.0 gives them.

mod parameters;
mod values;

use parameters::{ALIASES, PARAMETERS, SENSITIVE, find};
use std::collections::BTreeMap;
use tidemark_core::{Limit, SharedLimit};
use tidemark_wire::resp::RequestLimits;
pub use values::OutputLimit;
use values::{check, parse_limits};

/// The settings of one server.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Those that differ from their defaults.
    set: BTreeMap<&'static str, String>,
    /// The node's copy of `proto-max-bulk-len`.
    limit: SharedLimit,
    /// The most that a client may send, as it was set last.
    requests: RequestLimits,
}

impl Config {
    /// Gives a parameter its value when the server starts: the port, the directory, the password.
    ///
    /// # Panics
    /// If there is no such parameter.
    pub fn preset(&mut self, name: &str, value: impl Into<String>) {
        let (name, ..) = find(name).expect("a known parameter");
        self.set.insert(name, value.into());
    }

    /// From now on `limit` is what `proto-max-bulk-len` says.
    pub fn rule(&mut self, limit: SharedLimit) {
        self.preset("proto-max-bulk-len", limit.get().value().to_string());
        self.requests.bulk_bytes_max = limit.get().value();
        self.limit = limit;
    }

    /// The value of a parameter, by its name or an old one.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (name, default, _) = find(name)?;
        Some(self.set.get(name).map_or(default, String::as_str))
    }

    /// The password that connections need, if any.
    pub fn password(&self) -> Option<&str> {
        self.set.get("requirepass").map(String::as_str).filter(|password| !password.is_empty())
    }

    /// How many clients may be connected at once. Those that are stay when it is lowered, as in Redis.
    pub fn clients_max(&self) -> usize {
        self.get("maxclients").and_then(|text| text.parse().ok()).expect("checked when it was set")
    }

    /// How much a client may send.
    #[inline]
    pub fn request_limits(&self) -> RequestLimits {
        self.requests
    }

    /// How much output may wait for a connection, a subscriber or another.
    pub fn output_limit(&self, is_subscriber: bool) -> OutputLimit {
        let [normal, _, subscriber] =
            parse_limits(self.get("client-output-buffer-limit").expect("a known parameter"));
        if is_subscriber { subscriber } else { normal }
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> i64 {
        self.get(name).and_then(|text| text.parse().ok()).expect("checked when it was set")
    }

    /// Whether the value of a parameter is a secret.
    pub(super) fn is_sensitive(name: &[u8]) -> bool {
        SENSITIVE.iter().any(|secret| secret.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Every name, old ones too, with its value, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let mut names: Vec<&'static str> = PARAMETERS.iter().map(|(name, ..)| *name).collect();
        names.extend(ALIASES.iter().map(|(old, _)| *old));
        names.sort_unstable();
        names.into_iter().map(|name| (name, self.get(name).expect("a known parameter")))
    }

    /// Sets all of the parameters, or none and says which one was refused and why.
    pub(super) fn set(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<(), String> {
        let mut accepted: Vec<(&'static str, String)> = Vec::with_capacity(pairs.len());
        let mut wanted = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let Some(parameter) = std::str::from_utf8(name).ok().and_then(find) else {
                let shown = String::from_utf8_lossy(name);
                return Err(format!("ERR Unknown option or number of arguments for CONFIG SET - '{shown}'"));
            };
            wanted.push((parameter, name, value));
        }
        for ((name, _, kind), given, value) in wanted {
            let refuse = |why: &str| {
                let shown = String::from_utf8_lossy(given);
                Err(format!("ERR CONFIG SET failed (possibly related to argument '{shown}') - {why}"))
            };
            if accepted.iter().any(|(other, _)| *other == name) {
                return refuse("duplicate parameter");
            }
            match check(kind, value, self.get(name).unwrap_or_default()) {
                Ok(value) => accepted.push((name, value)),
                Err(why) => return refuse(&why),
            }
        }
        self.set.extend(accepted);
        self.requests = RequestLimits {
            bulk_bytes_max: self.number("proto-max-bulk-len") as usize,
            request_bytes_max: self.number("client-query-buffer-limit") as usize,
        };
        self.limit.set(Limit::of_values(self.requests.bulk_bytes_max));
        Ok(())
    }
}
