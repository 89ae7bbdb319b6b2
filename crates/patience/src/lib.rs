//! The patience of tests: how long they wait, and how many drawn schedules they play; and the ports that they listen at.
//!
//! All tests wait here, with one patience that no slow machine exhausts, so that a test fails because something is broken and never
//! because something was late.
//!
//! Tests that draw schedules play as many as `TIDEMARK_SCHEDULES` says:
//! - not set: a tenth of them, at least a hundred, the same each time;
//! - `all`: all of them;
//! - a number: all of them, counted from that number on, which are schedules that no run has played before.

mod ports;

pub use ports::{port, ports};

use std::cell::RefCell;
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The time that a test waits for something before it fails. Sockets of tests have it as their timeout.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two looks: short beside what is waited for, long beside a look.
const PAUSE: Duration = Duration::from_millis(10);

/// Polls `look` until it returns something, and returns that; none if there is nothing after [`PATIENCE`].
pub fn poll<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        // The last look begins after the patience has ended: a test that did not run meanwhile has looked.
        let last = began.elapsed() >= PATIENCE;
        let found = look();
        if found.is_some() || last {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Polls `look` until it returns something, and returns that.
///
/// # Panics
/// If there is nothing after [`PATIENCE`], with `what` was waited for.
#[track_caller]
pub fn wait_for<T>(what: impl Display, look: impl FnMut() -> Option<T>) -> T {
    let Some(found) = poll(look) else { panic!("not within {PATIENCE:?}: {what}") };
    found
}

/// The subject of a wait, with what the last look found instead.
#[derive(Debug)]
pub struct Sought {
    what: String,
    last: RefCell<String>,
}

impl Sought {
    /// Nothing was found yet.
    pub fn new(what: &str) -> Self {
        Self { what: what.to_string(), last: RefCell::default() }
    }

    /// Notes what a look found.
    pub fn found(&self, instead: String) {
        self.last.replace(instead);
    }
}

impl Display for Sought {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}; found {}", self.what, self.last.borrow())
    }
}

/// Polls until `holds` returns true.
///
/// # Panics
/// If it does not hold after [`PATIENCE`], with `what` was waited for.
#[track_caller]
pub fn until(what: impl Display, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Polls `look` until it returns `expected`.
///
/// # Panics
/// If it returns something else after [`PATIENCE`], with that.
#[track_caller]
pub fn eventually<T: PartialEq + Debug>(expected: T, mut look: impl FnMut() -> T) {
    let began = Instant::now();
    loop {
        let last = began.elapsed() >= PATIENCE;
        let found = look();
        if found == expected {
            return;
        }
        assert!(!last, "expected {expected:?}, and after {PATIENCE:?} still found {found:?}");
        std::thread::sleep(PAUSE);
    }
}

/// The part of its schedules that a test plays where nothing else is said, and the least number of them.
const SHARE: u64 = 10;
const LEAST: u64 = 100;

/// The schedules of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedules {
    /// Some of each test.
    Share,
    /// All that a test has.
    All,
    /// As many, from this seed on.
    From(u64),
}

impl Schedules {
    /// Those of this run, as `TIDEMARK_SCHEDULES` says.
    ///
    /// # Panics
    /// If that is neither `all` nor a number.
    pub fn of_this_run() -> Self {
        match std::env::var("TIDEMARK_SCHEDULES") {
            Err(_) => Self::Share,
            Ok(word) if word == "all" => Self::All,
            Ok(number) => {
                let first = number.parse();
                Self::From(first.expect("TIDEMARK_SCHEDULES is `all`, or the first seed to play"))
            }
        }
    }

    /// Those of these seeds that the run plays.
    pub fn of(self, seeds: Range<u64>) -> Range<u64> {
        let count = seeds.end - seeds.start;
        match self {
            Self::Share => seeds.start..seeds.start + count.min(LEAST.max(count / SHARE)),
            Self::All => seeds,
            Self::From(first) => first + seeds.start..first + seeds.end,
        }
    }
}

/// Those of these seeds that this run plays.
pub fn drawn(seeds: Range<u64>) -> Range<u64> {
    Schedules::of_this_run().of(seeds)
}

/// The seeds in which a run looks for what has to go wrong in one of the first `within`: the first one in which it does, which is
/// known. Where all schedules are played, a search from the beginning.
pub fn known(seed: u64, within: u64) -> Range<u64> {
    match Schedules::of_this_run() {
        Schedules::All => 0..within,
        Schedules::Share | Schedules::From(_) => seed..seed + 1,
    }
}
