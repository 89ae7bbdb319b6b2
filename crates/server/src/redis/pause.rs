//! CLIENT PAUSE: commands that wait until it is over.

use super::table::Spec;
use tidemark_core::Micros;

/// The pause, if there is one.
#[derive(Debug, Default)]
pub struct Pause {
    current: Option<(Micros, Extent)>,
    /// It has begun, or ended, since [`Self::take_change`] was called.
    changed: bool,
}

/// Which commands wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Those that change something.
    Writes,
    /// All.
    All,
}

impl Pause {
    /// Pauses until then. A pause is never made shorter, nor less strict.
    pub(super) fn begin(&mut self, until: Micros, extent: Extent) {
        let (until_before, extent_before) = self.current.unwrap_or((until, extent));
        self.current = Some((until.max(until_before), extent.max(extent_before)));
        self.changed = true;
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        self.current = None;
        self.changed = true;
    }

    /// Whether a command has to wait, which perhaps `writes`.
    #[inline]
    pub fn holds(&self, now: Micros, writes: impl FnOnce() -> bool) -> bool {
        let Some((until, extent)) = self.current else { return false };
        now < until && (extent == Extent::All || writes())
    }

    /// How long it lasts; it is forgotten when it is over.
    pub fn left(&mut self, now: Micros) -> Option<Micros> {
        self.current = self.current.filter(|(until, _)| now < *until);
        self.current.map(|(until, _)| until - now)
    }

    /// Whether it has begun, or ended, since the last call.
    #[inline]
    pub fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}

/// Whether a command may change something, by its name. A script may, PFCOUNT writes in Redis, and a commit says in its operations only
/// whether it does.
#[cold]
pub fn may_write(spec: &Spec) -> bool {
    const OTHERS: &[&str] = &["eval", "evalsha", "fcall", "pfcount", "publish", "spublish", "tide.commit"];
    spec.has("write") || OTHERS.contains(&spec.name)
}
