//! The limit of versions, which is checked when it is known what they write, and before anything changes.
//!
//! A command may write much more than it brings: COPY, RENAME, a script. So the request cannot say it, and the log would find out too
//! late: memory has changed by then.

use super::typed::answered;
use super::{Before, Cx};
use crate::Protocol;
use crate::two_phase::Writes;
use tidemark_core::limit::bytes_of;
use tidemark_core::{Failure, Key, Reply, Write};

/// Drivers have made room for as much as this before the event.
const ORDINARY: usize = 64 << 10;

impl<P: Protocol> Cx<'_, P> {
    /// Whether a version with this write may be stored and logged.
    ///
    /// # Errors
    /// `TooLarge`, or no room in the log.
    #[inline]
    pub fn admits(&mut self, key: &Key, write: &Write) -> Result<(), Failure> {
        self.admits_bytes(bytes_of(key, write))
    }

    /// The same, of all of these at once.
    ///
    /// # Errors
    /// As [`Self::admits`].
    pub fn admits_all(&mut self, writes: &Writes) -> Result<(), Failure> {
        self.admits_bytes(writes.iter().map(|(key, write)| bytes_of(key, write)).sum())
    }

    #[inline]
    pub(crate) fn admits_bytes(&mut self, bytes: usize) -> Result<(), Failure> {
        if bytes <= ORDINARY {
            return Ok(());
        }
        self.limit.admits(bytes)?;
        self.room.as_mut().map_or(Ok(()), |room| room(bytes))
    }

    /// Returns the effect of an update, if that may be written; the answer that it may not, otherwise.
    #[inline]
    pub(super) fn admitted(&mut self, key: &Key, before: Before) -> Before {
        match before.write.as_ref().map(|write| self.admits(key, write)) {
            None | Some(Ok(())) => before,
            Some(Err(why)) => answered(refusal(&why)),
        }
    }
}

/// In the words of an answer. What there is no room for may be tried again.
pub(super) fn refusal(why: &Failure) -> Reply {
    match why {
        Failure::Unavailable(why) => Reply::Error(format!("UNAVAILABLE {why}").into()),
        Failure::Refused(why) | Failure::Misconfigured(why) => Reply::Error(format!("ERR {why}").into()),
        other => Reply::Error(format!("ERR {other:?}").into()),
    }
}
