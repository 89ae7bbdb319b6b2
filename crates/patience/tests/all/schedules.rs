//! The share of its schedules that a run plays: a campaign that plays none passes.

use tidemark_patience::Schedules;

#[test]
fn a_run_plays_a_tenth_and_at_least_a_hundred() {
    assert_eq!(Schedules::Share.of(0..5_000), 0..500);
    assert_eq!(Schedules::Share.of(200..1_000), 200..300);
    assert_eq!(Schedules::Share.of(7..67), 7..67, "all, if there are no more");
}

#[test]
fn a_night_plays_all_and_others() {
    assert_eq!(Schedules::All.of(200..1_000), 200..1_000);
    assert_eq!(Schedules::From(1_000_000).of(200..1_000), 1_000_200..1_001_000);
}
