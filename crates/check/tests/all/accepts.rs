//! What a causal store produces keeps every promise, however it is recorded.

use crate::common::{Shape, generate, shuffled, without_versions};
use tidemark_check::{Options, Promise, Properties, Property, check, check_with};
use tidemark_core::history::History;

fn accept(history: &History, what: &str) {
    let report = check_with(
        history,
        Options { limit: 3, ..Options::new(Properties::all().without(Property::Sequential)) },
    );
    assert!(report.ok(), "{what}\n{report}");
}

#[test]
fn every_history_of_the_reference_store_keeps_every_property() {
    for seed in 0..1500 {
        let shape = Shape { dcs: 2 + seed as usize % 2, keys: 2 + seed as usize % 4, ..Shape::SMALL };
        accept(&generate(seed, shape), &format!("seed {seed}"));
    }
}

#[test]
fn the_order_of_recording_does_not_matter() {
    for seed in 0..500 {
        let history = generate(seed, Shape::SMALL);
        accept(&shuffled(&history, seed), &format!("seed {seed}"));
        let mut grouped = history;
        grouped.events.sort_by_key(|e| e.session);
        accept(&grouped, &format!("seed {seed}, one session after the other"));
    }
}

#[test]
fn without_versions_too() {
    for seed in 0..1000 {
        let history = without_versions(generate(seed, Shape { keys: 4, ..Shape::SMALL }));
        let report = check(&history, Promise::CausalImmediate);
        assert!(report.ok(), "seed {seed}\n{report}");
        let all = check_with(&history, Options::new(Properties::all().without(Property::Sequential)));
        assert!(all.ok(), "seed {seed}\n{all}");
    }
}

/// The eventual store converges, but does not keep causality; neither box convicts it of anything else.
#[test]
fn the_eventual_store_keeps_only_what_it_promises() {
    let (mut white, mut black) = (0, 0);
    for seed in 0..600 {
        let shape = Shape { ops: 60, dcs: 3, causal: false, frills: false, ..Shape::SMALL };
        let history = generate(seed, shape);
        let report = check(&history, Promise::Session);
        assert!(report.ok(), "sessions stay at home: seed {seed}\n{report}");
        let convicted = !check(&history, Promise::CausalSnapshot).ok();
        let blind = check(&without_versions(history), Promise::CausalSnapshot);
        assert!(blind.ok() || convicted, "the black box convicts only what the white one does\n{blind}");
        white += u32::from(convicted);
        black += u32::from(!blind.ok());
    }
    assert!(white > 200 && black > 100, "white {white}, black {black}");
}

#[test]
fn an_empty_history_is_fine() {
    for promise in Promise::ALL {
        assert!(check(&History::default(), promise).ok());
    }
    let properties = Properties::default().with(Property::Causal);
    assert!(check_with(&History::default(), Options { limit: 0, ..Options::new(properties) }).ok());
}
