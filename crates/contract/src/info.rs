//! What a protocol says about itself, for whoever does not run it.

use crate::{Rule, Variant};
use tidemark_core::Promise;

/// What a protocol needs of its physical clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// It bears jumps both ways.
    Any,
    /// It must never go back: the driver holds it where it was until physical time has caught up.
    Monotone,
}

/// Which transactions that write a protocol has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transactions {
    /// None: writes of several keys are done one after the other.
    None,
    /// Its sessions take [`tidemark_core::Op::PutAll`].
    Writes,
    /// And [`tidemark_core::Op::Transact`].
    Interactive,
}

/// What the rest of the system must know of a protocol without running it. [`Info::new`] sets what every protocol says; what
/// few can do is added by the methods.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name by which users choose it: lower case, words joined by hyphens.
    pub name: &'static str,
    /// One line for `tidemark protocols`.
    pub about: &'static str,
    /// The guarantee that the checker holds histories to.
    pub promise: Promise,
    /// What it needs of its physical clock.
    pub clock: Clock,
    /// Which transactions its sessions take.
    pub transactions: Transactions,
    /// Whether its sessions take [`tidemark_core::Op::At`].
    pub reads_at_a_time: bool,
    /// Whether its sessions heed which guarantees an operation asks for ([`crate::SessionCx::guarantees`]). Where they do not,
    /// every operation gets all that the protocol promises.
    pub guarantees: bool,
    /// Whether of each key only the newest version counts: stores hold no other, unless versions are kept for reads at a time
    /// ([`crate::Params::keep_us`]). Logs do, so recovery and followers drop what is overwritten, too.
    pub newest_only: bool,
    /// Whether data centres may hold some keys only ([`crate::placement::Placement`]): whether its servers do without versions that never come, as
    /// they do where time says what has arrived, and not where each dependency is looked for.
    pub partial: bool,
    /// Whether a read of several keys is single reads: its sessions ask each partition for its keys, and put the answers
    /// together ([`crate::OneRoundSession`]).
    pub splits_reads: bool,
    /// Whether a data centre that it excludes stays excluded: what it had and the others had not is decided as never written.
    pub excludes_for_good: bool,
    /// What its safety rests on ([`crate::rules!`](crate::rules!)): each can be switched off where it is simulated.
    pub rules: &'static [Rule],
    /// What it is called without some of them.
    pub variants: &'static [Variant],
}

impl Info {
    /// A protocol that bears any clock, and can do none of the other things.
    pub const fn new(name: &'static str, about: &'static str, promise: Promise) -> Self {
        Self {
            name,
            about,
            promise,
            clock: Clock::Any,
            transactions: Transactions::None,
            reads_at_a_time: false,
            guarantees: false,
            newest_only: false,
            partial: false,
            splits_reads: false,
            excludes_for_good: false,
            rules: &[],
            variants: &[],
        }
    }

    /// See [`Self::clock`].
    #[must_use]
    pub const fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// It has [`Transactions::Writes`].
    #[must_use]
    pub const fn atomic_writes(self) -> Self {
        Self { transactions: Transactions::Writes, ..self }
    }

    /// It has [`Transactions::Interactive`].
    #[must_use]
    pub const fn interactive(self) -> Self {
        Self { transactions: Transactions::Interactive, ..self }
    }

    /// See [`Self::reads_at_a_time`].
    #[must_use]
    pub const fn reads_at_a_time(self, reads_at_a_time: bool) -> Self {
        Self { reads_at_a_time, ..self }
    }

    /// See [`Self::guarantees`].
    #[must_use]
    pub const fn guarantees(self) -> Self {
        Self { guarantees: true, ..self }
    }

    /// See [`Self::newest_only`].
    #[must_use]
    pub const fn newest_only(self) -> Self {
        Self { newest_only: true, ..self }
    }

    /// See [`Self::partial`].
    #[must_use]
    pub const fn partial(self) -> Self {
        Self { partial: true, ..self }
    }

    /// See [`Self::splits_reads`].
    #[must_use]
    pub const fn splits_reads(self) -> Self {
        Self { splits_reads: true, ..self }
    }

    /// See [`Self::excludes_for_good`].
    #[must_use]
    pub const fn excludes_for_good(self) -> Self {
        Self { excludes_for_good: true, ..self }
    }

    /// See [`Self::rules`].
    #[must_use]
    pub const fn rules(self, rules: &'static [Rule]) -> Self {
        Self { rules, ..self }
    }

    /// See [`Self::variants`].
    #[must_use]
    pub const fn variants(self, variants: &'static [Variant]) -> Self {
        Self { variants, ..self }
    }
}
