//! Sequential consistency within a data centre (003, section 5.1): followers of NuKV's groups answer GETs, and one that does not
//! look at what a session has seen takes it back.

use tidemark_check::{Options as Checked, Properties, Property, check_with};
use tidemark_sim::{Campaign, Options};
use tidemark_simulators::simulator;

/// Of a hundred schedules, how many violate the property itself, whatever else.
fn violate(options: &Options) -> usize {
    let nukv = simulator("nukv").expect("it is one");
    let sequential = Checked::new(Properties::default().with(Property::Sequential));
    let violates = |seed: &u64| {
        let what = Campaign { explain: 0, ..Campaign::new(options.clone(), *seed..*seed + 1) };
        let history = nukv.campaign(&what, &mut |_| {}).history.expect("of the only schedule");
        check_with(&history, sequential).violates(Property::Sequential)
    };
    (0..100).filter(violates).count()
}

#[test]
fn a_follower_that_does_not_look_is_convicted_of_the_property_itself() {
    let options = Options { dcs: 2, partitions: 1, replicas: 3, sessions: 4, ops: 40, ..Options::default() };
    let rule = simulator("nukv").and_then(|nukv| nukv.rule("FOLLOWERS_LOOK").ok()).expect("it is a rule");
    assert_eq!(violate(&options), 0);
    let mutant = violate(&Options { without: vec![rule], ..options });
    assert!(mutant >= 5, "{mutant}");
}
