//! The delays of servers behind each other, and what they mean for reads there, by the controller's account.

use std::collections::BTreeMap;
use tidemark_adapt::{Controller, Observation, SeenGroup, Settings, UseReport, VisitReport};
use tidemark_contract::grouping::{Behind, GroupStage};
use tidemark_core::{DcId, PartitionId, ServerId};

type Sample = BTreeMap<ServerId, Behind>;

const A1: ServerId = ServerId { dc: DcId(0), partition: PartitionId(0) };
const B1: ServerId = ServerId { dc: DcId(1), partition: PartitionId(1) };

/// The paper's four servers (000 §7.3): A1 hears A2, and B1 hears B2, which is far away. Everybody is its own tracking group.
fn paper() -> Sample {
    let behind = |us: [Option<u64>; 4], own| Behind { us: us.to_vec(), own };
    let seen = [
        (A1, behind([Some(0), None, Some(33_000), None], 0)),
        (B1, behind([None, Some(0), None, Some(235_000)], 1)),
    ];
    seen.into()
}

/// A controller that has taken these samples, one a second. Sessions touch `servers`: each read is at the second of `way`, of a
/// session that had read at the first before. Each server is a group; `grouped` adds one of all that are touched.
fn told(
    settings: Settings,
    samples: &[Sample],
    servers: &[ServerId],
    way: (ServerId, ServerId),
    grouped: bool,
) -> Controller {
    let group = |name: &str, servers: &[ServerId], added| SeenGroup {
        name: name.to_string(),
        servers: servers.iter().copied().collect(),
        added,
        stage: GroupStage::Active,
    };
    let mut groups = vec![group("a", &[A1], false), group("b", &[B1], false)];
    groups.extend(grouped.then(|| group("auto-1", servers, true)));
    let mut controller = Controller::new(settings);
    for (sample, second) in samples.iter().zip(1..) {
        let (reads, (from, to)) = (100 * second, way);
        let visits = vec![VisitReport { from, to, reads, waited_us: 1_000_000 * reads }];
        let report = UseReport { id: 0, servers: servers.iter().copied().collect(), visits };
        controller.observe(&Observation {
            at: 1_000_000 * second,
            nodes: [("n0".to_string(), vec![report])].into(),
            groups: groups.clone(),
            behind: sample.clone(),
        });
    }
    controller
}

/// Returns how much older reads at `server` are because all of `group` back them, in microseconds.
fn older(samples: &[Sample], server: ServerId, group: &[ServerId]) -> f64 {
    told(Settings::default(), samples, group, (server, server), true).account().groups[0].users[0].older_us
}

/// Returns what a group of both is to save each read at `to` that follows one at `from`, in microseconds of waiting; none if it would
/// save nothing.
fn saved(from: ServerId, to: ServerId) -> Option<f64> {
    let settings = Settings { freshness: 0.0, least_us: 0.0, ..Settings::default() };
    let controller = told(settings, &[paper(), paper()], &[A1, B1], (from, to), false);
    controller.account().groups.first().map(|group| group.promised_us)
}

#[test]
fn what_a_group_shows_is_as_old_as_its_last_server_is_behind() {
    let samples = [paper()];
    assert_eq!(older(&samples, A1, &[A1]), 0.0);
    assert_eq!(older(&samples, A1, &[A1, B1]), 202_000.0, "what A2 writes may depend on what B2 writes");
    assert_eq!(older(&samples, B1, &[A1, B1]), 0.0, "A1 is not as far behind");
}

#[test]
fn who_reads_alone_waits_for_those_who_are_farther_behind() {
    assert_eq!(saved(A1, B1), Some(202_000.0), "all of it: in a group of both nobody waits");
    assert_eq!(saved(B1, A1), None, "A1 has what is as old as that");
}

#[test]
fn samples_are_averaged_until_servers_are_tracked_in_another_way() {
    let later = Behind { us: vec![Some(0), None, Some(133_000), None], own: 0 };
    let mut samples = vec![paper(), [(A1, later)].into()];
    assert_eq!(older(&samples, A1, &[A1, B1]), 172_000.0, "A1 is 63 ms behind A2, on average");
    samples.push([(A1, Behind { us: vec![Some(7_000)], own: 0 })].into());
    assert_eq!(older(&samples, A1, &[A1, B1]), 228_000.0, "the last sample is all that counts");
    assert_eq!(older(&samples, A1, &[A1]), 0.0);
}
