//! Reads of keys that no data centre holds together.

use crate::playing::of_this_run;
use tidemark_contract::core::history::{Action, Event, ReadKind};
use tidemark_protocols::Tidemark;
use tidemark_registry::factory_of;
use tidemark_sim::{Options, Placed, Simulation};

/// Whether two events are parts of one read.
fn of_one_read(pair: &[&Event]) -> bool {
    let is_read =
        |event: &Event| matches!(&event.action, Action::Read { kind, .. } if *kind != ReadKind::Get);
    let when = |event: &Event| (event.session, event.start_us, event.end_us);
    is_read(pair[0]) && is_read(pair[1]) && when(pair[0]) == when(pair[1])
}

/// They failed. Now each part is recorded, and held to what is promised of it: a snapshot, after the part before it.
#[test]
fn a_read_that_is_divided_is_a_snapshot_in_each_part_and_causal_across_them() {
    let options = Options {
        placement: Placed::Random,
        dcs: 3,
        partitions: 2,
        sessions: 6,
        ops: 60,
        ..Options::default()
    };
    let simulation = Simulation::new(factory_of::<Tidemark>(), options);
    let (mut divided, mut schedules) = (0, 0);
    for seed in of_this_run(0..400) {
        schedules += 1;
        let outcome = simulation.run(seed);
        assert!(outcome.ok(), "seed {seed}: {:?}", outcome.verdict());
        let events = &outcome.history.events;
        let mut by_session: Vec<&Event> = events.iter().collect();
        by_session.sort_by_key(|event| event.session);
        divided += by_session.windows(2).filter(|pair| of_one_read(pair)).count();
    }
    assert!(divided > schedules / 4, "{divided}");
}
