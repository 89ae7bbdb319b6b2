//! Losses of power: what the checker does not miss, and what it misses all the same.

use crate::common::script;
use std::borrow::Cow;
use tidemark_check::{Promise, check, check_each, without_lost};
use tidemark_core::DcId;
use tidemark_core::history::{Action, Event, Fate, History};

/// The violated properties of a history, by version.
fn violated(history: &History) -> Vec<&'static str> {
    let report = check(history, Promise::CausalImmediate);
    let mut names: Vec<_> = report.violations.iter().map(|violation| violation.property.name()).collect();
    names.dedup();
    names
}

/// The events and what is lost; the same without the mark is a violation.
#[track_caller]
fn excused(script: &str) {
    let history = script::history(script);
    assert_eq!(violated(&history), Vec::<&str>::new());
    let unmarked = History { lost: Vec::new(), ..history };
    assert_ne!(violated(&unmarked), Vec::<&str>::new(), "there was nothing to excuse");
}

#[track_caller]
fn convicted(script: &str, of: &[&str]) {
    assert_eq!(violated(&script::history(script)), of);
}

#[test]
fn a_session_may_miss_what_it_has_written_itself() {
    excused(
        "10..12 c1@A put x old 10
         21..22 c1@A put x new 21
         40..41 c1@A get x old 10A
         lost A 20 30 x
         final A x old 10A
         final B x old 10A",
    );
}

#[test]
fn it_may_miss_what_it_has_read_in_its_region_and_what_rests_on_that_stays() {
    excused(
        "21..22 c1@A put x new 21
         23..24 c2@A get x new 21A
         25..26 c2@A put y rests 25
         40..41 c2@A get x -
         42..43 c3@B get y rests 25A
         44..45 c3@B get x -
         lost A 20 30 x
         final A x -
         final B x -",
    );
}

#[test]
fn of_what_was_overwritten_the_version_before_comes_back() {
    excused(
        "10..11 c1@A put x old 10
         12..13 c2@B get x old 10A
         21..22 c1@A del x 21
         40..41 c1@A get x old 10A
         lost A 20 30
         final A x old 10A
         final B x old 10A",
    );
}

#[test]
fn an_unanswered_write_that_was_read_before_the_loss_may_be_gone() {
    excused(
        "10..11 c1@A put x old 10
         21.. c1@A ?put x new
         23..24 c2@A get x new 21A
         40..41 c2@A get x old 10A
         lost A 20 30 x
         final A x old 10A
         final B x old 10A",
    );
}

#[test]
fn what_was_acknowledged_before_or_by_another_node_has_to_stay() {
    let told = |mark: &str| {
        format!(
            "10..12 c1@A put x old 10
             21..22 c1@A put x new 21
             40..41 c1@A get x old 10A
             {mark}"
        )
    };
    let all = ["causal", "immediate"];
    convicted(&told(""), &all);
    convicted(&told("lost A 23 30 x"), &all);
    convicted(&told("lost B 20 30 x"), &all);
    convicted(&told("lost A 20 30 y"), &all);
    convicted(&told("lost A 2 20 x"), &all);
    convicted(&told("lost A 20 30 y, x"), &[]);
}

#[test]
fn what_another_region_has_seen_has_to_stay() {
    let told = |who: &str, mark: &str| {
        format!(
            "21..22 c1@A put x new 21
             23..24 {who} get x new 21A
             40..41 c1@A get x -
             {mark}"
        )
    };
    convicted(&told("c2@B", "lost A 20 30 x"), &["causal", "immediate"]);
    convicted(&told("c2@A", "lost A 20 30 x"), &[]);
}

#[test]
fn so_has_what_an_edge_client_has_seen() {
    let mut history = script::history(
        "21..22 c1@A put x new 21
         23..24 c2@A get x new 21A
         40..41 c2@A get x -
         lost A 20 30 x",
    );
    assert_eq!(violated(&history), Vec::<&str>::new());
    history.events[1].dc = DcId::EDGE;
    assert_eq!(violated(&history), ["causal", "immediate"]);
}

#[test]
fn what_shows_after_the_loss_counts_as_any_write() {
    convicted(
        "21..22 c1@A put x new 21
         40..41 c2@A get x new 21A
         42..43 c1@A get x -
         lost A 20 30 x",
        &["causal", "immediate"],
    );
    // A read that began before the loss may have been answered before it.
    convicted(
        "21..22 c1@A put x new 21
         29..41 c2@A get x new 21A
         42..43 c2@A get x -
         lost A 20 30 x",
        &[],
    );
}

#[test]
fn what_was_read_before_everything_was_synced_for_the_last_time_has_to_stay() {
    convicted(
        "10.. c1@A ?put x new
         15..16 c2@A get x new 12A
         40..41 c2@A get x -
         lost A 20 30 x",
        &["causal"],
    );
}

#[test]
fn a_node_loses_no_earlier_write_than_one_that_it_keeps() {
    let told = |keys: &str| {
        format!(
            "21..22 c1@A put x first 21
             23..24 c2@A put y later 23
             40..41 c2@A get y later 23A
             42..43 c1@A get x -
             lost A 20 30 {keys}"
        )
    };
    convicted(&told("x, y"), &["causal", "immediate"]);
    // They may be of two nodes.
    convicted(&told(""), &[]);
    convicted(&told("x"), &[]);
}

#[test]
fn regions_have_to_be_equal_in_the_end() {
    convicted(
        "21..22 c1@A put x new 21
         lost A 20 30 x
         final A x new 21A
         final B x -",
        &["convergence"],
    );
    convicted(
        "10..11 c1@A put x old 10
         21..22 c1@A put x new 21
         lost A 20 30 x
         final A x old 10A
         final B x old 10A",
        &[],
    );
}

#[test]
fn a_time_that_is_given_again_is_found() {
    convicted(
        "21..22 c1@A put x new 21
         40..41 c2@A put x other 21
         lost A 20 30 x",
        &["well-formed"],
    );
}

#[test]
fn a_deletion_that_was_seen_elsewhere_is_not_undone() {
    convicted(
        "10..11 c1@A put x old 10
         21..22 c1@A del x 21
         25..26 c3@B get x gone 21A
         40..41 c1@A get x old 10A
         lost A 20 30 x",
        &["causal", "immediate"],
    );
}

/// Puts the events of a session from the first that is named on into one transaction.
fn together(mut history: History, events: &[usize]) -> History {
    events.iter().for_each(|e| history.events[*e].txn = Some(0));
    history
}

#[test]
fn a_transaction_is_lost_whole_or_not_at_all() {
    let told = |found: &str| {
        let script = format!(
            "21..22 c1@A put x new 21
             21..22 c1@A put y new 21
             40..41 c2@A get x {found}
             42..43 c2@A get y -
             lost A 20 30 x"
        );
        violated(&together(script::history(&script), &[0, 1]))
    };
    assert_eq!(told("-"), Vec::<&str>::new());
    assert_eq!(told("new 21A"), ["causal", "atomic-writes", "immediate"]);
}

#[test]
fn what_an_edge_client_has_written_may_be_gone_until_it_is_given_again() {
    let mut history = script::history(
        "10..11 c1@A put x new 21
         23..24 c2@A get x new 21A
         40..41 c2@A get x -
         50..51 c2@A get x new 21A
         lost A 20 30 x
         final A x new 21A
         final B x new 21A",
    );
    history.events[0].dc = DcId::EDGE;
    assert_eq!(violated(&history), Vec::<&str>::new());
    history.finals.iter_mut().for_each(|last| last.found = Default::default());
    assert_eq!(violated(&history), ["convergence"]);
}

#[test]
fn values_tell_what_is_lost_as_versions_do() {
    let told = |who: &str| {
        let script = format!(
            "10..12 c1@A put x old
             21..22 c1@A put x new
             23..24 {who} get x new
             40..41 c1@A get x old
             42..43 c1@A put z marks
             lost A 20 30 x
             final A x old
             final B x old"
        );
        let report = check(&script::history(&script), Promise::Causal);
        report.violations.len()
    };
    assert_eq!(told("c2@A"), 0);
    assert!(told("c2@B") > 0);
}

#[test]
fn each_guarantee_on_its_own_does_not_miss_it_either() {
    let history = script::history(
        "21..22 c1@A put x new 21
         40..41 c1@A get x -
         lost A 20 30 x",
    );
    let guarantees = tidemark_check::Guarantee::all();
    let holds = |history: &History| {
        let verdicts = check_each(history, &guarantees, 1, false).verdicts;
        verdicts.iter().filter(|verdict| verdict.violations.is_empty()).count()
    };
    assert!(holds(&history) > holds(&History { lost: Vec::new(), ..history.clone() }));
}

#[test]
fn what_is_forgotten_is_what_was_lost_and_nothing_else() {
    let history = script::history(
        "21..22 c1@A put x new 21
         21..22 c1@A put y kept 21
         23..24 c2@A rotx x new 21A, y kept 21A
         25..26 c2@A nx x more 25 saw new 21A
         40..41 c2@A get y kept 21A
         lost A 20 30 x",
    );
    let left = without_lost(&history);
    assert!(matches!(left, Cow::Owned(_)));
    assert_eq!((left.events[0].fate, left.events[0].end_us), (Fate::Unknown, None));
    assert_eq!(left.events[1], history.events[1]);
    let Event { action: Action::Read { reads, .. }, .. } = &left.events[2] else { panic!("it is a read") };
    assert_eq!(reads.iter().map(|read| read.key.to_string()).collect::<Vec<_>>(), ["y"]);
    assert!(matches!(&left.events[3].action, Action::Write { observed: None, .. }));
    assert_eq!(left.events[4], history.events[4]);
}
