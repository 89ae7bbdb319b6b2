//! Clients that come in pairs, checking groups that they name, and keys that some regions hold: under load.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use tidemark_adapt::Settings;
use tidemark_contract::placement::{Keys, Placement};
use tidemark_core::{DcId, Regions};
use tidemark_protocols::{Accf, Eventual, Occult, Protocol};
use tidemark_registry::factory_of;
use tidemark_sim::{Adapting, Costs, Load, Loaded, Slow, load};
use tidemark_workload::Workload;

/// Two partitions, A in the first and the third data centre, B in the second and the fourth, all 20 ms apart; a client in each
/// of A's.
fn four(workload: &str, settings: &[(&str, &str)], params: Value) -> Load {
    let mut workload = Workload::named(workload).unwrap();
    let all = settings.iter().chain(&[("keys", "100")]);
    all.for_each(|(name, value)| workload.set(name, value).unwrap());
    let regions = |list: [u8; 2]| list.iter().fold(Regions::NONE, |all, dc| all.with(DcId(*dc)));
    let rules = vec![(Keys::Slots(0, 8_191), regions([0, 2])), (Keys::Slots(8_192, 16_383), regions([1, 3]))];
    let rtt = |a: usize, b: usize| if a == b { 0 } else { 20_000 };
    Load {
        partitions: 2,
        replicas: 1,
        placement: Placement { rules, ..Placement::default() },
        rtt_us: (0..4).map(|a| (0..4).map(|b| rtt(a, b)).collect()).collect(),
        client_rtt_us: None,
        wan_jitter_percent: 0,
        lan_us: 50,
        client_lan_us: None,
        lan_jitter_us: 0,
        clock_skew_us: 0,
        clock_offsets_us: Vec::new(),
        slow: Vec::new(),
        params: serde_json::from_value::<BTreeMap<String, Value>>(params).unwrap(),
        without: Vec::new(),
        costs: Costs::NONE,
        workload,
        clients: 1,
        gateways: false,
        batched: true,
        generator: false,
        beside: None,
        idle_dcs: vec![1, 3],
        rate: None,
        filled_keys: 100,
        warm_up_us: 200_000,
        measure_us: 2_000_000,
        probe_every_us: None,
        adapt: None,
        seed: 1,
    }
}

fn of<P: Protocol>(what: &Load, column: &str) -> f64 {
    let row = load(factory_of::<P>(), what).unwrap().row();
    assert_eq!(row["failed"], 0, "{row:?}");
    row.get(column).and_then(Value::as_f64).unwrap_or_else(|| panic!("{column} of {row:?}"))
}

/// Whoever is slow, its word reaches the others this much later.
fn slow(dc: usize) -> Vec<Slow> {
    vec![Slow { dc: Some(dc), partition: 1, lag_us: 100_000 }]
}

#[test]
fn a_turn_takes_a_way_and_a_client_looks_again_until_it_is_its_own() {
    let turns = |settings: &[(&str, &str)]| of::<Eventual>(&two(settings), "turn_per_second");
    // A way of 10 ms, a write of 0.1, half of the time between two looks, and half of what a look takes.
    let often = turns(&[("poll-us", "100")]);
    assert!((95.0..99.0).contains(&often), "{often} turns a second");
    let seldom = turns(&[("poll-us", "20000")]);
    assert!(seldom < 60.0, "{seldom} turns a second");
    let all = load(factory_of::<Eventual>(), &Load { rate: Some(10.0), ..two(&[]) }).unwrap_err();
    assert!(all.contains("rate"), "{all}");
}

/// The same without B.
fn two(settings: &[(&str, &str)]) -> Load {
    let all = four("turns", settings, json!({}));
    let rtt_us = vec![vec![0, 20_000], vec![20_000, 0]];
    Load { placement: Placement::default(), rtt_us, idle_dcs: Vec::new(), ..all }
}

/// Of one system with groups of both kinds, clients that take turns in A name those that B is not in, and a slow server of B is
/// nothing to them.
#[test]
fn clients_are_answered_by_the_checking_groups_that_they_name() {
    let pairs = json!({"left": ["A/0", "B/1"], "right": ["C/0", "D/1"]});
    let all = json!({"left": ["A/0", "B/1"], "right": ["C/0", "D/1"], "a1": ["A/0"], "a2": ["C/0"]});
    let params = json!({"tracking": pairs, "checking": all});
    let turns = |groups: &str| {
        let what = four("turns", &[("checking", groups)], params.clone());
        of::<Accf>(&Load { slow: slow(1), ..what }, "turn_per_second")
    };
    let (pairs, alone) = (turns("left,right"), turns("a1,a2"));
    assert!(alone > 80.0, "{alone} turns a second");
    assert!(pairs < 12.0, "{pairs} turns a second, each more than 100 ms late");
    let unknown = four("turns", &[("checking", "left,middle")], params);
    let refusal = load(factory_of::<Accf>(), &unknown).unwrap_err();
    assert!(refusal.contains("\"middle\", but a1, a2, left"), "{refusal}");
}

/// Who reads A at once, and then B that A depends on, waits for what comes late from B's other server; not so if A is shown when B
/// has come. If the writer hears late of its own writes, too, nobody waits for them but itself.
#[test]
fn a_reader_waits_for_what_it_was_shown_too_early() {
    let pairs = json!({"left": ["A/0", "B/1"], "right": ["C/0", "D/1"]});
    let system = |checking: &Value| {
        let params = json!({"tracking": "server", "checking": checking});
        four("alternate", &[("pause-us", "300000")], params)
    };
    let reads = |checking: &Value| {
        let mut what = system(checking);
        (what.rtt_us[1][3], what.rtt_us[3][1]) = (420_000, 420_000);
        of::<Accf>(&what, "get_per_second")
    };
    let (together, alone) = (reads(&pairs), reads(&json!("server")));
    assert!(together > 95.0, "{together} reads a second, half of them 20 ms away");
    assert!(alone < 60.0, "{alone} reads a second");
    let patient = Load { slow: slow(3), ..system(&json!("server")) };
    let of_a = of::<Accf>(&patient, "get_per_second");
    assert!(of_a > 47.0, "{of_a} reads of A a second, and as many of B");
}

/// Of both applications in two regions, so far apart and with so many clients in each, which begin 0.2 s before 2 s count: how many
/// turns, reads and writes.
fn counts(clients: usize, swap_after_us: u64, rtt_us: u64) -> [u64; 3] {
    let swap_after_us = swap_after_us.to_string();
    let settings = [("swap-after-us", &*swap_after_us), ("pause-us", "1000"), ("think-us", "200")];
    let rtt_us = vec![vec![0, rtt_us], vec![rtt_us, 0]];
    let all = four("apps", &settings, json!({}));
    let row = load(
        factory_of::<Accf>(),
        &Load { clients, placement: Placement::default(), rtt_us, idle_dcs: Vec::new(), ..all },
    );
    let row = row.unwrap().row();
    assert_eq!(row["failed"], 0, "{row:?}");
    ["turn", "read", "update"]
        .map(|kind| row.get(&format!("{kind}_count")).map_or(0, |n| n.as_u64().unwrap()))
}

#[test]
fn pairs_of_both_applications_work_beside_each_other_and_swap() {
    let counts = |clients, swap_after_us| counts(clients, swap_after_us, 20_000);
    for swap_after_us in [0, 100_000, 1_200_000] {
        let [turns, reads, writes] = counts(4, swap_after_us);
        // Two pairs, whose turns take a way, a heartbeat and a look, and two others.
        assert!((200..400).contains(&turns), "{turns} turns, swapped after {swap_after_us}");
        assert!(reads > 2_000 && writes > 2_000, "{reads} reads, {writes} writes, {swap_after_us}");
    }
    // A pair alone plays the one application, the other, or the one and then the other.
    let [one, other, both] = [0, 100_000, 1_200_000].map(|at| counts(1, at));
    assert!(one[0] > 100 && one[1..] == [0, 0], "{one:?}");
    assert!(other[0] == 0 && other[1] > 1_000 && other[2] > 1_000, "{other:?}");
    assert!((2 * both[0]).abs_diff(one[0]) < 8, "{both:?} turns in half of the time, of {one:?}");
    assert!(both[1] > 500 && (2 * both[2]).abs_diff(other[2]) * 10 < other[2], "{both:?} of {other:?}");
}

/// Nothing that one region writes shows in the other before it is over.
#[test]
fn nobody_waits_for_a_turn_when_the_pairs_have_swapped() {
    let [turns, reads, writes] = counts(1, 1_200_000, 6_000_000);
    assert_eq!(turns, 2, "those that still ran when they swapped");
    assert!(reads > 500 && writes > 500, "{reads} reads, {writes} writes");
}

/// Both applications, of which B's other server is late at B; servers watch their clients, and somebody looks after groups every
/// half a second, if at all.
fn both(clients: usize, swap_after_us: u64, params: &Value, adapts: bool) -> Loaded {
    let swap_after_us = swap_after_us.to_string();
    let settings = [("swap-after-us", &*swap_after_us), ("pause-us", "1000")];
    let mut what = four("apps", &settings, params.clone());
    (what.rtt_us[1][3], what.rtt_us[3][1]) = (220_000, 220_000);
    what.adapt = adapts.then(|| Adapting { every_us: 500_000, settings: Settings::default() });
    load(factory_of::<Accf>(), &Load { clients, gateways: true, measure_us: 20_000_000, ..what }).unwrap()
}

/// Turns want small groups, and reads of both A and B want one of the two. Who follows clients gets there from either side, and says why.
#[test]
fn checking_groups_follow_what_clients_do() {
    let pairs = json!({"left": ["A/0", "B/1"], "right": ["C/0", "D/1"]});
    let small = json!({"tracking": "server", "checking": "server", "ahead": "covered"});
    let large = json!({"tracking": pairs, "checking": pairs, "ahead": "covered"});
    let rates = |loaded: &Loaded| {
        let row = loaded.row();
        ["turn_per_second", "read_per_second"].map(|kind| row[kind].as_f64().unwrap())
    };
    let ([turns, waits], [old, reads]) =
        (rates(&both(2, 0, &small, false)), rates(&both(2, 0, &large, false)));
    assert!(waits < 0.4 * reads && old < 0.4 * turns, "{turns} and {old} turns, {waits} and {reads} reads");
    let names = |loaded: &Loaded| {
        let groups = loaded.adapted.as_ref().unwrap().groups.iter();
        groups.map(|group| group.servers.iter().map(ToString::to_string).collect()).collect::<Vec<Vec<_>>>()
    };
    let (up, down) = (both(2, 0, &small, true), both(2, 0, &large, true));
    for adapted in [&up, &down] {
        let [its_turns, its_reads] = rates(adapted);
        assert!(its_turns > 0.9 * turns && its_reads > 0.9 * reads, "{its_turns} turns, {its_reads} reads");
    }
    assert_eq!(names(&up), [["A/0", "B/1"]]);
    assert_eq!(names(&down), [["C/0"], ["A/0"]], "turns are taken there");
    let account = up.adapted.as_ref().unwrap();
    assert!(account.changes[0].what.starts_with("auto-1 comes, with A/0 and B/1: "), "{:?}", account.changes);
    assert!(account.groups[0].saves_us > Some(10_000.0), "{:?}", account.groups);
    let again = both(2, 0, &small, true);
    assert_eq!(again.row(), up.row(), "it follows from what there is to see");
    assert_eq!(again.adapted.as_ref().unwrap().changes, account.changes);
}

/// A pair that takes turns, and then reads A and B: no grouping is good for both of its times.
#[test]
fn when_clients_do_something_else_groups_follow() {
    let small = json!({"tracking": "server", "checking": "server", "ahead": "covered"});
    let counts = |adapts| {
        let loaded = both(1, 10_200_000, &small, adapts);
        let row = loaded.row();
        (["turn_count", "read_count"].map(|kind| row[kind].as_u64().unwrap()), loaded.adapted)
    };
    let (([turns, waits], _), ([as_many, reads], adapted)) = (counts(false), counts(true));
    assert!(as_many.abs_diff(turns) < 5, "{as_many} turns, not {turns}: that was fine as it was");
    assert!(2 * waits < reads, "{reads} reads, and {waits} if nothing follows");
    let adapted = adapted.unwrap();
    assert!(adapted.changes[0].at > 10_200_000 && adapted.groups.len() == 1, "{adapted:?}");
    let refused = Load {
        adapt: Some(Adapting { every_us: 1, settings: Settings::default() }),
        ..four("turns", &[], json!({}))
    };
    assert!(
        load(factory_of::<Eventual>(), &refused)
            .unwrap_err()
            .contains("no checking groups that could follow")
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = load(factory_of::<Occult>(), &four("alternate", &[], json!({}))).unwrap_err();
    assert!(refused.contains("never gets"), "{refused}");
    let odd = Load { idle_dcs: vec![1, 2, 3], ..four("turns", &[], json!({})) };
    assert!(load(factory_of::<Eventual>(), &odd).unwrap_err().contains("even"));
}
