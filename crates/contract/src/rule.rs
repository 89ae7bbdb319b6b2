//! Rules that a protocol's safety rests on, for tests to break.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether a protocol keeps a rule: `if *R::PUT_WAITS`.
///
/// A protocol has its rules as constants of a type parameter, which are [`Rule::Kept`] unless it is said otherwise: what
/// they are is known to the compiler, and costs nothing where the protocol runs.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// As it should be.
    Kept,
    /// By a variant that does without, as a paper has it.
    Broken,
    /// While the switch is on. A protocol takes the better part of a minute to compile into a simulator: tests that break
    /// its rules one after the other compile it once.
    Switched(&'static AtomicBool),
}

impl Deref for Rule {
    type Target = bool;

    /// Whether it is kept now.
    #[inline(always)]
    fn deref(&self) -> &bool {
        match self {
            Self::Kept => &true,
            Self::Broken => &false,
            Self::Switched(on) if on.load(Relaxed) => &true,
            Self::Switched(_) => &false,
        }
    }
}
