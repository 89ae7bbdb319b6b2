//! Consistency checkers: histories in, verdicts out.
//!
//! A history is what clients saw of a store, session by session ([`History`], described in
//! `docs/history-format.md`). [`check`] holds it to a [`Promise`] and returns a [`Report`]: which properties
//! are violated, each told by the few events that matter. The crate knows no protocol and no store.
//!
//! ```
//! use tidemark_check::{Options, Promise, check, parse};
//!
//! // s1 writes x, then y; s2 reads y and then finds no x.
//! let history = parse("w(1,10,1,0)\nw(2,20,1,1)\nr(2,20,2,2)\nr(1,0,2,3)\n".as_bytes()).unwrap();
//! let report = check(&history, Promise::Causal);
//! assert!(!report.ok());
//! println!("{report}");
//! ```
//!
//! How it works: `lost` leaves out what losses of power may have taken; `index` turns a history into numbers and resolves what each read returned; `walk` visits
//! events in causal order with their pasts; `properties` asks one question a file; `story` tells the answers.

mod format;
mod guarantee;
mod hash;
mod index;
mod lost;
mod picture;
mod properties;
mod property;
pub mod refinement;
mod report;
mod story;
mod walk;

pub use format::{ReadError, TextError, parse, read_history, read_text, write_history, write_text};
pub use guarantee::{Guarantee, Holds, Verdict, Verdicts, check_each};
pub use lost::without_lost;
pub use picture::svg;
pub use property::{Properties, Property};
pub use report::{Deed, DeedKind, Fact, Link, Mode, Report, Step, Violation};
pub use tidemark_core::Promise;
pub use tidemark_core::history::History;

use index::{ABSENT, Index};
use properties::black_box::BlackBox;
use properties::black_box::guarantees::Guarantees;
use properties::white_box::WhiteBox;
use properties::{Findings, as_of, convergence, immediate, sequential, transaction, well_formed};
use tidemark_core::history::{Action, Fate};

/// What to check, and how much to tell.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The properties to check.
    pub properties: Properties,
    /// How many violations of each property are told; all are counted.
    pub limit: usize,
    /// Whether to ignore the versions that were recorded, and tell writes apart by their values.
    pub values_only: bool,
}

impl Options {
    /// These properties, ten violations of each told, by version where every write has one.
    pub fn new(properties: Properties) -> Self {
        Self { properties, limit: 10, values_only: false }
    }

    /// The properties of `promise`.
    pub fn of(promise: Promise) -> Self {
        Self::new(Property::of(promise))
    }
}

/// Holds `history` to `promise`.
pub fn check(history: &History, promise: Promise) -> Report {
    Report { promise: Some(promise), ..check_with(history, Options::of(promise)) }
}

/// Checks single properties of `history`.
pub fn check_with(history: &History, options: Options) -> Report {
    examine(&Index::new(&without_lost(history), options.values_only), options)
}

/// Checks properties of what was read once.
fn examine(index: &Index<'_>, options: Options) -> Report {
    let mut findings = Findings::new(index, options.properties, options.limit);
    let mut notes = Vec::new();
    let (cycles, untimed) = if index.white_box {
        let pasts = [Property::Causal, Property::OverwriteOrder, Property::Snapshot, Property::AtomicWrites];
        let pasts = findings.checks_any(&pasts);
        let cycles = walk::walk(index, pasts, &mut WhiteBox::new(&mut findings));
        if findings.checks(Property::Sequential) {
            sequential::check(&mut findings);
        }
        (cycles, if findings.checks(Property::Immediate) { immediate::check(&mut findings) } else { 0 })
    } else {
        by_values(&mut findings)
    };
    if untimed > 0 {
        notes.push(format!("immediate: {untimed} GETs have no start_us and were not checked for it"));
    }
    well_formed::check(&mut findings, &cycles);
    as_of::check(&mut findings);
    if findings.checks(Property::Snapshot) && index.has_txns {
        transaction::check(&mut findings);
    }
    if findings.checks(Property::Convergence) {
        convergence::check(&mut findings);
    }
    unchecked(index, options, &mut notes);
    let (violated, violations) = findings.finish();
    let mode = if index.white_box { Mode::WhiteBox } else { Mode::BlackBox };
    let (reads, writes) = counts(index);
    let (ops, sessions) = (index.history.events.len() as u64, index.session_ids.len() as u64);
    Report { promise: None, mode, ops, reads, writes, sessions, violated, violations, notes }
}

/// The black box: causality and snapshots need pasts, the guarantees do not.
fn by_values(findings: &mut Findings<'_>) -> (Vec<walk::Cycle>, u64) {
    let index = findings.index;
    let mut cycles = None;
    if findings.checks_any(&[Property::Causal, Property::Snapshot]) {
        let mut black_box = BlackBox::new(findings);
        let found = walk::walk(index, true, &mut black_box);
        black_box.finish(&found);
        cycles = Some(found);
    }
    let mut untimed = 0;
    if cycles.is_none() || findings.checks_any(&Guarantees::PROPERTIES) {
        let immediate = findings.checks(Property::Immediate);
        let mut guarantees = Guarantees::new(findings);
        cycles = Some(walk::walk(index, false, &mut guarantees));
        if immediate {
            untimed = guarantees.immediate();
        }
        guarantees.finish();
    }
    (cycles.unwrap_or_default(), untimed)
}

fn counts(index: &Index<'_>) -> (u64, u64) {
    let events = 0..index.history.events.len() as u32;
    let reads = events.clone().map(|e| index.reads_of(e).len() as u64).sum();
    (reads, events.filter(|e| index.wrote[*e as usize] != ABSENT).count() as u64)
}

/// Says what the history does not let us check.
fn unchecked(index: &Index<'_>, options: Options, notes: &mut Vec<String>) {
    let properties = options.properties;
    if properties.contains(Property::Convergence) && index.finals.is_empty() {
        notes.push("convergence: no `final` lines say what replicas return in the end".to_string());
    }
    if index.ambiguous > 0 {
        let n = index.ambiguous;
        notes.push(format!("{n} reads were not checked: more than one write may have written their value"));
    }
    if index.white_box {
        return;
    }
    let is_write = |fate, version| fate == Fate::Ok && version;
    let versioned = index.history.events.iter().filter(
        |e| matches!(&e.action, Action::Write { version, .. } if is_write(e.fate, version.is_some())),
    );
    match versioned.count() {
        0 => {}
        _ if options.values_only => {}
        n => notes.push(format!("only {n} of the writes have a version: all were told apart by value")),
    }
    // Causality by values has it: happens-before is part of every order that explains what was read. So have causality
    // and snapshots that transactions are whole.
    let parts = [(Property::OverwriteOrder, Property::Causal), (Property::AtomicWrites, Property::Snapshot)];
    if properties.contains(Property::Sequential) {
        notes.push(format!("not checked without versions: {}", Property::Sequential));
    }
    for (part, whole) in parts {
        if properties.contains(part) && !properties.contains(whole) {
            notes.push(format!("not checked without versions: {part}"));
        }
    }
}
