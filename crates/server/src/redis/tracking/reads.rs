//! What is noted of the requests of a connection that caches: the keys that they read.

use super::Mode;
use crate::redis::key_places::key_places;
use crate::redis::table::Spec;
use bytes::Bytes;
use tidemark_wire::resp::Request;

/// What is noted of one connection.
#[derive(Debug, Default)]
pub(in crate::redis) struct Reads {
    /// How it caches, if it does.
    pub(in crate::redis) mode: Option<Mode>,
    /// What CLIENT CACHING has said of the next command, or of the transaction.
    pub(in crate::redis) caching: Option<bool>,
    /// What the request reads which was parsed last; for EXEC it is gathered while requests are queued.
    noted: KeysRead,
}

/// Keys that a command reads.
#[derive(Debug, Default)]
pub struct KeysRead {
    /// It reads these.
    pub keys: Vec<Bytes>,
    /// A script names these: they count if it reads anything.
    pub of_scripts: Vec<Bytes>,
}

impl KeysRead {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.of_scripts.is_empty()
    }
}

fn is_script(spec: &Spec) -> bool {
    ["eval", "evalsha", "fcall", "eval_ro", "evalsha_ro", "fcall_ro"].contains(&spec.name)
}

impl Reads {
    /// A request was parsed, inside a transaction or not.
    pub(in crate::redis) fn note(&mut self, spec: &Spec, request: &Request<'_>, queued: bool) {
        let Some(mode) = self.mode else { return };
        let (wanted, exec) = (self.is_wanted(mode), spec.name == "exec");
        if !queued && !exec {
            self.noted = KeysRead::default();
        }
        let KeysRead { keys, of_scripts } = &mut self.noted;
        let list = match () {
            () if !wanted => None,
            () if is_script(spec) => Some(of_scripts),
            () if spec.has("readonly") => Some(keys),
            () => None,
        };
        if let (Some(list), Ok(places)) = (list, key_places(spec, request)) {
            list.extend(places.iter().map(|at| Bytes::copy_from_slice(&request[*at])));
        }
        // A command of the connection's own does not use up what CLIENT CACHING has said, nor does a transaction before its end.
        if !queued && spec.name != "multi" && !spec.name.starts_with("client") {
            self.caching = None;
        }
    }

    fn is_wanted(&self, mode: Mode) -> bool {
        match mode {
            Mode::Always => true,
            Mode::OptIn => self.caching == Some(true),
            Mode::OptOut => self.caching != Some(false),
            Mode::Broadcast => false,
        }
    }

    /// What the command reads which was parsed last, unless it was queued.
    pub(in crate::redis) fn take(&mut self) -> KeysRead {
        std::mem::take(&mut self.noted)
    }
}
