//! Rules that safety rests on, for tests and the simulator to switch off.
//!
//! A protocol, or a part of what carries it, declares its rules with [`rules!`](crate::rules!) and asks `if PUT_WAITS.kept()`. Where the cargo feature `variants` is off, the
//! answer is the constant `true`, and nothing of a rule is left in the machine code. Where it is on, a thread can play
//! [`without`] some of them: a *mutant*, if a test wants to see that somebody notices, or a [`Variant`] with a name, if the
//! result is of interest by itself.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

/// Whether rules can be switched off in this build.
pub const SWITCHABLE: bool = cfg!(feature = "variants");

/// A rule. Those of a protocol are numbered from 0, those of components from [`Rule::COMPONENTS`], those of what carries protocols from
/// [`Rule::CARRIERS`], those of data types from [`Rule::TYPES`], and those of edge clients and their gateways from [`Rule::EDGE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As it is declared.
    pub name: &'static str,
    bit: u8,
}

/// A protocol without some of its rules, under a name of its own: a paper to the letter where that is wrong, or an
/// ablation. It can be simulated, and serves nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name by which users choose it.
    pub name: &'static str,
    /// One line for `tidemark protocols`.
    pub about: &'static str,
    /// What it does not keep.
    pub without: &'static [Rule],
}

thread_local! {
    /// A bit for each rule that this thread does not keep.
    static WITHOUT: Cell<Bits> = const { Cell::new([0; WORDS]) };
}

const WORDS: usize = 4;
type Bits = [u64; WORDS];

impl Rule {
    /// The number of the first rule of what carries protocols.
    pub const CARRIERS: u8 = 128;

    /// The number of the first rule of a component: several protocols keep it, each for itself.
    pub const COMPONENTS: u8 = 96;

    /// The number of the first rule of edge clients and their gateways.
    pub const EDGE: u8 = 224;

    /// The number of the first rule of data types.
    pub const TYPES: u8 = 160;

    /// For [`rules!`](crate::rules!).
    #[doc(hidden)]
    pub const fn new(name: &'static str, bit: u8) -> Self {
        assert!(
            (bit as usize) < 64 * WORDS,
            "there are at most 96 rules of a protocol, 32 of components, 32 of what carries it, 64 of types, and 32 of edge clients"
        );
        Self { name, bit }
    }

    /// Whether it is kept: always, unless this thread plays [`without`] it.
    #[inline(always)]
    pub fn kept(self) -> bool {
        !SWITCHABLE || WITHOUT.get()[usize::from(self.bit / 64)] >> (self.bit % 64) & 1 == 0
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Variant {
    /// Whether `rules` are those that it does not keep, in whatever order.
    pub fn is_without(&self, rules: &[Rule]) -> bool {
        bits(self.without) == bits(rules)
    }

    /// Whether it follows a paper to the letter; else it lacks a part, so that an experiment can tell what the part costs.
    pub fn is_published(&self) -> bool {
        self.name.ends_with("-published")
    }
}

fn bits(rules: &[Rule]) -> Bits {
    let mut bits = [0; WORDS];
    rules.iter().for_each(|rule| bits[usize::from(rule.bit / 64)] |= 1 << (rule.bit % 64));
    bits
}

/// Rules that this thread does not keep as long as this lives; then it goes on as before.
#[derive(Debug)]
pub struct Without {
    before: Bits,
    here: PhantomData<*const ()>, // not Send: it is this thread that goes on as before
}

impl Without {
    /// Plays without `rules`, and with all others, until it is dropped.
    ///
    /// # Panics
    /// There are some, and this build keeps all rules ([`SWITCHABLE`]).
    #[must_use = "rules are kept again when it is dropped"]
    pub fn new(rules: &[Rule]) -> Self {
        let kept = SWITCHABLE || rules.is_empty();
        assert!(kept, "this build keeps all rules: it lacks the feature `variants`");
        Self { before: WITHOUT.replace(bits(rules)), here: PhantomData }
    }
}

impl Drop for Without {
    fn drop(&mut self) {
        WITHOUT.set(self.before);
    }
}

/// What `play` comes to without `rules`: see [`Without::new`].
pub fn without<T>(rules: &[Rule], play: impl FnOnce() -> T) -> T {
    let _without = Without::new(rules);
    play()
}

/// Declares rules: a constant for each, and `RULES`, a list of all in their order.
///
/// ```
/// tidemark_core::rules! {
///     GETS_WAIT, // 1
///     PUTS_WAIT, // 2
/// }
/// assert!(GETS_WAIT.kept());
/// assert_eq!(RULES.iter().map(|rule| rule.name).collect::<Vec<_>>(), ["GETS_WAIT", "PUTS_WAIT"]);
/// ```
///
/// A protocol with components lists those of their rules that it rests on: `rules! { GETS_WAIT; of stabilised: STABLE_SURVIVES }`.
#[macro_export]
macro_rules! rules {
    ($($rule:ident),+ $(; of $component:ident: $($shared:ident),+)+ $(,)?) => {
        $(#[allow(unreachable_pub)]
        pub use $component::{$($shared),+};)+
        /// What safety rests on, for tests to break one at a time.
        #[allow(unreachable_pub)]
        pub const RULES: &[$crate::Rule] = &[$($rule,)+ $($($shared),+),+];
        $crate::rules!(number 0, $($rule)+);
    };
    ($($rule:ident),+ $(,)?) => {
        $crate::rules!(from 0; $($rule),+);
    };
    (from $first:expr; $($rule:ident),+ $(,)?) => {
        /// What safety rests on, for tests to break one at a time.
        #[allow(unreachable_pub)]
        pub const RULES: &[$crate::Rule] = &[$($rule),+];
        $crate::rules!(number $first, $($rule)+);
    };
    (number $bit:expr, $rule:ident $($others:ident)*) => {
        #[allow(missing_docs, unreachable_pub)]
        pub const $rule: $crate::Rule = $crate::Rule::new(stringify!($rule), $bit);
        $crate::rules!(number $bit + 1, $($others)*);
    };
    (number $bit:expr,) => {};
}

/// Declares `VARIANTS`: of each its name, a line about it, and the rules that it does without.
///
/// ```
/// tidemark_core::rules! { GETS_WAIT, PUTS_WAIT }
/// tidemark_core::variants! {
///     "x-published", "x as published": PUTS_WAIT;
///     "x-hasty", "x that waits for nothing": GETS_WAIT, PUTS_WAIT;
/// }
/// assert_eq!(VARIANTS[1].without, RULES);
/// ```
#[macro_export]
macro_rules! variants {
    ($($name:literal, $about:literal: $($rule:ident),+;)+) => {
        /// The protocol without some of its rules, by name.
        #[allow(unreachable_pub)]
        pub const VARIANTS: &[$crate::Variant] =
            &[$($crate::Variant { name: $name, about: $about, without: &[$($rule),+] }),+];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::rules! {
        FIRST,
        SECOND,
    }

    #[test]
    fn without_says_what_is_not_kept_until_it_is_dropped() {
        let kept = || RULES.iter().map(|rule| rule.kept()).collect::<Vec<_>>();
        assert_eq!(kept(), [true, true]);
        let first = Without::new(&[FIRST]);
        assert_eq!(kept(), [false, true]);
        let second = Without::new(&[SECOND]);
        assert_eq!(kept(), [true, false], "it says all of it");
        drop(second);
        assert_eq!(kept(), [false, true]);
        assert!(std::thread::spawn(|| FIRST.kept()).join().expect("it runs"), "another thread keeps it");
        drop(first);
        assert_eq!(kept(), [true, true]);
    }

    #[test]
    fn a_variant_is_known_by_its_rules_in_any_order() {
        let variant = Variant { name: "x-published", about: "", without: RULES };
        assert!(variant.is_without(&[SECOND, FIRST]) && !variant.is_without(&[FIRST]));
        assert!(variant.is_published());
    }
}
