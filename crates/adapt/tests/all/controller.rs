//! What a controller decides, told of a system that is made up: two regions apart from each other, A with 1 and 2, B with 1 and 2.

use std::collections::BTreeMap;
use tidemark_adapt::{Controller, Observation, SeenGroup, Settings, Touched, UseReport, VisitReport};
use tidemark_contract::grouping::{Behind, GroupStage, Regrouping};
use tidemark_core::{DcId, PartitionId, ServerId};

/// Partition `n` of the first region: `behind` says how far it is.
fn at(n: u16) -> ServerId {
    ServerId::new(DcId(0), PartitionId(n))
}

fn set(servers: &[u16]) -> Touched {
    servers.iter().map(|n| at(*n)).collect()
}

/// A system whose sessions and delays a test sets, and which does what its controller wants.
struct Scene {
    controller: Controller,
    seen: Observation,
    /// Who reads where: reads a second, and microseconds that each waits as long as it has no group.
    users: Vec<(Touched, u64, u64)>,
    /// Whether sessions wait though they have a group.
    in_vain: bool,
    /// How often in a second the first of them reads once more where it is.
    stays: u64,
    said: Vec<String>,
}

impl Scene {
    /// Each server is a group of its own. Server n is `behind[n]` milliseconds behind the other region.
    fn new(settings: Settings, behind: &[u64]) -> Self {
        let alone = |n: usize| SeenGroup {
            name: n.to_string(),
            servers: set(&[n as u16]),
            added: false,
            stage: GroupStage::Active,
        };
        let late =
            |(n, ms): (usize, &u64)| (at(n as u16), Behind { us: vec![Some(0), Some(ms * 1_000)], own: 0 });
        let groups = (0..behind.len()).map(alone).collect();
        let behind = behind.iter().enumerate().map(late).collect();
        let seen = Observation { at: 0, nodes: BTreeMap::new(), groups, behind };
        let users = Vec::new();
        Self {
            controller: Controller::new(settings),
            seen,
            users,
            in_vain: false,
            stays: 0,
            said: Vec::new(),
        }
    }

    fn reading(mut self, servers: &[u16], reads: u64, waits: u64) -> Self {
        self.users.push((set(servers), reads, waits));
        self
    }

    /// So many seconds pass, and an observation each.
    fn seconds(&mut self, count: u64) -> Vec<String> {
        let from = self.said.len();
        for _ in 0..count {
            self.second();
        }
        self.said[from..].to_vec()
    }

    fn second(&mut self) {
        self.seen.at += 1_000_000;
        let reports = self.seen.nodes.entry("n0".into()).or_default();
        for (id, (servers, reads, waits)) in self.users.iter().enumerate() {
            let grouped = servers.len() == 1
                || self.seen.groups.iter().any(|group| servers.iter().all(|s| group.servers.contains(s)));
            let waits = if grouped && !self.in_vain { 0 } else { *waits };
            let ways = servers.iter().flat_map(|from| servers.iter().map(move |to| (*from, *to)));
            let ways: Vec<_> = ways.filter(|(from, to)| from != to || servers.len() == 1).collect();
            let new = || {
                let visit = |(from, to): &(ServerId, ServerId)| VisitReport {
                    from: *from,
                    to: *to,
                    reads: 0,
                    waited_us: 0,
                };
                UseReport {
                    id: id as u64,
                    servers: servers.clone(),
                    visits: ways.iter().map(visit).collect(),
                }
            };
            if !reports.iter().any(|report| report.id == id as u64) {
                reports.push(new());
            }
            let report = reports.iter_mut().find(|report| report.id == id as u64).unwrap();
            if id == 0 && self.stays > 0 {
                let here = servers[0];
                if !report.visits.iter().any(|visit| (visit.from, visit.to) == (here, here)) {
                    report.visits.push(VisitReport { from: here, to: here, reads: 0, waited_us: 0 });
                }
                let stay = report.visits.iter_mut().find(|visit| visit.from == here && visit.to == here);
                stay.unwrap().reads += self.stays;
            }
            for visit in report.visits.iter_mut().filter(|visit| visit.from != visit.to || ways.len() == 1) {
                let each = reads / ways.len() as u64;
                visit.reads += each;
                visit.waited_us += each * waits;
            }
        }
        let orders = self.controller.observe(&self.seen);
        for order in orders {
            self.said.push(match order {
                Regrouping::Add { name, servers } => {
                    let said: Vec<String> = servers.iter().map(ToString::to_string).collect();
                    let servers = servers.into_iter().map(|server| server.one().unwrap()).collect();
                    let said = format!("+{name} {}", said.join(" "));
                    let stage = GroupStage::Active;
                    self.seen.groups.push(SeenGroup { name, servers, added: true, stage });
                    said
                }
                Regrouping::Remove { name } => {
                    self.seen.groups.retain(|group| group.name != name);
                    format!("-{name}")
                }
                Regrouping::Track { .. } => unreachable!("it does not touch tracking"),
            });
        }
    }

    fn last_change(&self) -> String {
        self.controller.account().changes.last().unwrap().what.clone()
    }
}

/// Half of the longest wait, on each read.
const HALF: u64 = 20_000;

#[test]
fn who_waits_gets_a_group_and_what_it_saves_is_known() {
    let mut scene = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    assert_eq!(scene.seconds(2), ["+auto-1 A/0 A/1"], "first it learns what there is");
    assert_eq!(
        scene.last_change(),
        "auto-1 comes, with A/0 and A/1: 100 reads a second are at A/0 and A/1 alone: they wait 20 ms each, and would 0.0 ms; \
         what they read would be 20 ms older"
    );
    assert_eq!(scene.controller.account().groups[0].saves_us, None);
    assert_eq!(scene.seconds(10), [""; 0]);
    let account = scene.controller.account();
    // 20 ms of waiting less, and half of the reads are 40 ms older.
    assert_eq!(account.groups[0].saves_us.map(f64::round), Some(19_000.0));
    assert_eq!(account.groups[0].users[0].servers, set(&[0, 1]));
    assert_eq!(account.groups[0].users[0].reads, 100.0);
    let json = serde_json::to_value(&account).unwrap();
    assert_eq!(json["groups"][0]["servers"], serde_json::json!(["A/0", "A/1"]));
}

#[test]
fn what_is_told_alike_is_decided_alike() {
    let play = || {
        let mut scene = Scene::new(Settings { budget: 2, ..Settings::default() }, &[10, 50, 90, 20])
            .reading(&[0, 1], 100, 9_000)
            .reading(&[1, 2], 80, 15_000)
            .reading(&[0, 3], 70, 4_000);
        scene.seconds(40)
    };
    assert_eq!(play(), play());
}

#[test]
fn what_saves_nothing_is_taken_back_and_tried_ever_more_seldom() {
    let mut scene = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    scene.in_vain = true;
    assert_eq!(scene.seconds(4), ["+auto-1 A/0 A/1", "-auto-1"]);
    assert_eq!(scene.last_change(), "auto-1 goes: it was to save 19 ms a read, and saves 0.0 ms");
    assert_eq!(scene.seconds(15), [""; 0]);
    assert_eq!(scene.seconds(4), ["+auto-2 A/0 A/1", "-auto-2"]);
    assert_eq!(scene.seconds(30), [""; 0], "twice as long");
    scene.in_vain = false;
    assert_eq!(scene.seconds(20), ["+auto-3 A/0 A/1"]);
}

#[test]
fn a_group_that_is_larger_than_need_be_makes_what_is_read_old() {
    let mut scene = Scene::new(Settings::default(), &[10, 110]).reading(&[0], 1_000, 0);
    scene.seen.groups = vec![SeenGroup {
        name: "all".into(),
        servers: set(&[0, 1]),
        added: false,
        stage: GroupStage::Active,
    }];
    assert_eq!(scene.seconds(9), ["+auto-1 A/0"]);
    assert!(scene.last_change().ends_with("what they read would be 100 ms newer"), "{}", scene.last_change());
    let mut indifferent = Scene::new(Settings { freshness: 0.0, ..Settings::default() }, &[10, 110]);
    indifferent.users = scene.users.clone();
    indifferent.seen.groups = scene.seen.groups[..1].to_vec();
    assert_eq!(indifferent.seconds(9), [""; 0]);
}

#[test]
fn nothing_changes_for_what_is_hardly_worth_it() {
    // 20 ms, seldom: 0.4 ms each on average.
    assert_eq!(Scene::new(Settings::default(), &[10, 30]).reading(&[0, 1], 100, 400).seconds(9), [""; 0]);
    // What is saved in waiting is lost in freshness.
    let fresh = Settings { freshness: 1.0, ..Settings::default() };
    assert_eq!(Scene::new(fresh, &[10, 50]).reading(&[0, 1], 100, HALF).seconds(9), [""; 0]);
}

#[test]
fn a_server_is_in_no_more_groups_than_it_may_be() {
    let tight = Settings { budget: 2, ..Settings::default() };
    let mut scene = Scene::new(tight, &[10, 90, 50]).reading(&[0, 1], 100, HALF);
    assert_eq!(scene.seconds(5), ["+auto-1 A/0 A/1"]);
    // More who wait as long, and for whom what is read at both would be too old: there is room for one.
    scene = scene.reading(&[0, 2], 2_000, HALF);
    let said = scene.seconds(5);
    assert_eq!(said, ["-auto-1", "+auto-2 A/0 A/2"]);
    let of = |n: u16| scene.seen.groups.iter().filter(|group| group.servers.contains(&at(n))).count();
    assert!((0..3).all(|n| of(n) <= 2));
    let why = &scene.controller.account().changes[1].what;
    assert_eq!(why, "auto-1 goes: there has to be room for A/0 and A/2, which saves more");
    // One group for both needs, and where there is room another, for those to whom it is too late.
    let both = |budget| {
        let settings = Settings { budget, ..Settings::default() };
        let mut scene =
            Scene::new(settings, &[10, 50, 90]).reading(&[0, 1], 100, HALF).reading(&[0, 2], 100, 2 * HALF);
        scene.seconds(12);
        scene.seen.groups[3..].iter().map(|group| group.servers.clone()).collect::<Vec<_>>()
    };
    assert_eq!(both(3), [set(&[0, 1, 2]), set(&[0, 1])]);
    assert_eq!(both(2), [set(&[0, 1, 2])]);
    let none = Settings { budget: 1, ..Settings::default() };
    assert_eq!(Scene::new(none, &[10, 50]).reading(&[0, 1], 100, HALF).seconds(9), [""; 0]);
}

#[test]
fn a_group_goes_when_nobody_needs_it_and_comes_again() {
    let mut scene = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    scene.seconds(5);
    scene.users[0].1 = 0;
    assert_eq!(scene.seconds(4), ["-auto-1"]);
    assert_eq!(scene.last_change(), "auto-1 goes: nobody has read at A/0 and A/1 alone for a while");
    scene.users[0].1 = 100;
    assert_eq!(scene.seconds(5), ["+auto-2 A/0 A/1"], "it did not fail");
}

#[test]
fn a_group_goes_when_it_costs_more_than_it_saves() {
    let mut scene = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    scene.seconds(5);
    // By now they read at the first server nearly always, where each read is 40 ms older for the sake of a few at the other.
    scene.stays = 5_000;
    assert_eq!(scene.seconds(5), ["-auto-1"]);
    assert_eq!(
        scene.last_change(),
        "auto-1 goes: what it saves in waiting is less by now than what is lost by reading what is older"
    );
    assert_eq!(scene.seconds(9), [""; 0]);
    scene.stays = 0;
    assert_eq!(scene.seconds(3), ["+auto-2 A/0 A/1"], "it did not fail");
}

#[test]
fn what_others_decide_and_what_was_there_before_is_heeded() {
    let mut scene = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    scene.seen.groups.push(SeenGroup {
        name: "auto-7".into(),
        servers: set(&[0, 1]),
        added: true,
        stage: GroupStage::Active,
    });
    assert_eq!(scene.seconds(6), [""; 0], "of a controller before this one");
    assert_eq!(scene.controller.account().groups[0].why, "it was there before");
    // Somebody removes it, and no name is used twice.
    scene.seen.groups.pop();
    assert_eq!(scene.seconds(2), ["+auto-8 A/0 A/1"]);
    // Somebody adds the same by hand: there is one already that is as good.
    let mut by_hand = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    let stage = GroupStage::Active;
    by_hand.seen.groups.push(SeenGroup { name: "shop".into(), servers: set(&[0, 1]), added: true, stage });
    assert_eq!(by_hand.seconds(9), [""; 0]);
}

#[test]
fn nodes_that_are_away_or_have_started_again_are_no_news() {
    let mut scene = Scene::new(Settings::default(), &[10, 50]).reading(&[0, 1], 100, HALF);
    scene.seconds(5);
    let away = std::mem::take(&mut scene.seen.nodes);
    scene.seen.at += 1_000_000;
    assert_eq!(scene.controller.observe(&scene.seen), []);
    scene.seen.nodes = away;
    scene.seconds(1);
    let reads = |scene: &Scene| scene.controller.account().groups[0].users[0].reads;
    assert_eq!(reads(&scene), 100.0, "not all that it has ever seen");
    scene.seen.nodes.clear();
    scene.seconds(1);
    assert_eq!(reads(&scene), 100.0, "it counts from the beginning");
    // Nobody at all is heard: what is known stays.
    let groups = std::mem::take(&mut scene.seen.groups);
    assert_eq!(scene.seconds(5), [""; 0]);
    scene.seen.groups = groups;
    assert_eq!(scene.seconds(1), [""; 0]);
    assert_eq!(scene.controller.account().groups.len(), 1);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let wrong = |settings: Settings| settings.check().unwrap_err();
    assert!(wrong(Settings { budget: 0, ..Settings::default() }).contains("1 to 64"));
    assert!(wrong(Settings { freshness: -1.0, ..Settings::default() }).contains("freshness"));
    assert!(wrong(Settings { freshness: f64::NAN, ..Settings::default() }).contains("freshness"));
    assert!(wrong(Settings { least_us: f64::INFINITY, ..Settings::default() }).contains("time"));
    assert_eq!(Settings::default().check(), Ok(()));
}
