//! CLIENT TRACKING: what it asks for, and whether that can be.

use super::{Mode, Tracker};
use crate::redis::prelude::*;
use crate::redis::registry::ClientRegistry;
use std::collections::BTreeSet;
use tidemark_wire::resp::parse_i64;

/// The options of CLIENT TRACKING ON.
#[derive(Debug, Default)]
pub(in crate::redis) struct Asked {
    broadcast: bool,
    opt_in: bool,
    opt_out: bool,
    no_loop: bool,
    redirect: u64,
    prefixes: Vec<Bytes>,
}

const SWITCH_BCAST: ErrorReply = ErrorReply::fixed(
    "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a \
     different mode.",
);
const SWITCH_OPT: ErrorReply = ErrorReply::fixed(
    "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a \
     different mode.",
);

fn overlap(one: &[u8], kind: &str, other: &[u8]) -> ErrorReply {
    let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
    ErrorReply::new(format!(
        "ERR Prefix '{one}' overlaps with {kind} prefix '{other}'. Prefixes for a single client must not overlap."
    ))
}

fn overlaps(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

impl Asked {
    /// What is behind ON or OFF.
    ///
    /// # Errors
    /// It is malformed, or names a connection that there is not.
    pub(in crate::redis) fn parse(
        arguments: &[Bytes],
        registry: &ClientRegistry,
    ) -> Result<Self, ErrorReply> {
        let (mut asked, mut rest) = (Self::default(), arguments.iter());
        while let Some(option) = rest.next() {
            if is(option, "bcast") {
                asked.broadcast = true;
            } else if is(option, "optin") {
                asked.opt_in = true;
            } else if is(option, "optout") {
                asked.opt_out = true;
            } else if is(option, "noloop") {
                asked.no_loop = true;
            } else if is(option, "redirect") {
                if asked.redirect > 0 {
                    let why = "ERR A client can only redirect to a single other client";
                    return Err(ErrorReply::fixed(why));
                }
                asked.redirect = connection(rest.next().ok_or(ErrorReply::SYNTAX)?, registry)?;
            } else if is(option, "prefix") {
                let prefix = rest.next().ok_or(ErrorReply::SYNTAX)?;
                asked.prefixes.push(Bytes::copy_from_slice(prefix));
            } else {
                return Err(ErrorReply::SYNTAX);
            }
        }
        Ok(asked)
    }

    /// How a connection caches that asks for this, and has cached like `before`.
    ///
    /// # Errors
    /// That cannot be.
    pub(in crate::redis) fn tracker(self, before: Option<&Tracker>) -> Result<Tracker, ErrorReply> {
        if !self.prefixes.is_empty() && !self.broadcast {
            return Err(ErrorReply::fixed("ERR PREFIX option requires BCAST mode to be enabled"));
        }
        let mode = self.mode()?;
        let mut prefixes = BTreeSet::new();
        if let Some(before) = before {
            match (before.mode, mode) {
                (old, new) if (old == Mode::Broadcast) != (new == Mode::Broadcast) => {
                    return Err(SWITCH_BCAST);
                }
                (Mode::OptIn, Mode::OptOut) | (Mode::OptOut, Mode::OptIn) => return Err(SWITCH_OPT),
                _ => {}
            }
            prefixes.clone_from(&before.prefixes);
        }
        if mode == Mode::Broadcast {
            self.add_prefixes(&mut prefixes)?;
        }
        Ok(Tracker { mode, no_loop: self.no_loop, redirect: self.redirect, broken: false, prefixes })
    }

    fn mode(&self) -> Result<Mode, ErrorReply> {
        match (self.broadcast, self.opt_in, self.opt_out) {
            (true, true, _) | (true, _, true) => {
                Err(ErrorReply::fixed("ERR OPTIN and OPTOUT are not compatible with BCAST"))
            }
            (_, true, true) => {
                Err(ErrorReply::fixed("ERR You can't specify both OPTIN mode and OPTOUT mode"))
            }
            (true, ..) => Ok(Mode::Broadcast),
            (_, true, _) => Ok(Mode::OptIn),
            (_, _, true) => Ok(Mode::OptOut),
            _ => Ok(Mode::Always),
        }
    }

    /// Prefixes of one connection may not overlap, so that it is told of a key once.
    fn add_prefixes(&self, prefixes: &mut BTreeSet<Bytes>) -> Result<(), ErrorReply> {
        for (at, new) in self.prefixes.iter().enumerate() {
            if let Some(old) = prefixes.iter().find(|old| overlaps(old, new)) {
                return Err(overlap(new, "an existing", old));
            }
            if let Some(other) = self.prefixes[at + 1..].iter().find(|other| overlaps(other, new)) {
                return Err(overlap(new, "another provided", other));
            }
        }
        prefixes.extend(self.prefixes.iter().cloned());
        if prefixes.is_empty() {
            prefixes.insert(Bytes::new());
        }
        Ok(())
    }
}

/// The number of a connection that there is.
fn connection(text: &[u8], registry: &ClientRegistry) -> Result<u64, ErrorReply> {
    let id = parse_i64(text).ok_or(ErrorReply::fixed("ERR value is not an integer or out of range"))?;
    let id = u64::try_from(id).ok().filter(|id| registry.get(*id).is_some());
    id.ok_or(ErrorReply::fixed("ERR The client ID you want redirect to does not exist"))
}
