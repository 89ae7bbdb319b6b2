//! Groups of servers change under load, while nodes are killed and regions lose each other.

use crate::every::{endure, registered};
use crate::harness::Cluster;
use crate::harness::up::Up;
use std::time::Duration;
use tidemark_patience::until;

/// What an operator may come to think of: the regions of three, two partitions each.
const CHANGES: [&[&str]; 10] = [
    &["add", "g0", "a/0", "b/0", "c/0"],
    &["track", "system"],
    &["add", "g1", "a/*"],
    &["add", "wide", "*"],
    &["track", "server"],
    &["remove", "g0"],
    &["track", "odd=a/0,c/1", "even=b/*"],
    &["add", "g2", "b/*", "c/1"],
    &["remove", "wide"],
    &["track", "west=a/*,b/*"],
];

#[test]
fn groups_change_while_nodes_are_killed_and_regions_cut_off() {
    let _turn = crate::harness::alone();
    let accf = registered().into_iter().find(|protocol| protocol.name == "accf").expect("it is registered");
    let rounds = crate::spread::number("TORTURE_ROUNDS").unwrap_or(5) as usize;
    // Groups that are to go do so while the test runs, and whatever seems to save a moment is tried.
    let hurried =
        "--param drain_us=300000 --adapt --adapt-set every=300ms --adapt-set least=0us --adapt-set budget=8";
    let flags: Vec<&str> = hurried.split(' ').collect();
    endure(&accf, "regrouping", &flags, |cluster| {
        let mut done = 0;
        // On a busy machine more changes come too early for the nodes that run: then there are more rounds.
        for (round, changes) in CHANGES.chunks(2).cycle().take(20 * rounds).enumerate() {
            if round >= rounds && 2 * done >= rounds {
                break;
            }
            let (victim, place) = (fastrand::usize(0..3), ["A", "B", "C"]);
            match round % 3 {
                0 => cluster.cut(place[victim], place[(victim + 1) % 3], fastrand::bool()),
                _ => cluster.kill(victim),
            }
            done += changes.iter().filter(|change| change_groups(cluster, change)).count();
            std::thread::sleep(Duration::from_millis(fastrand::u64(100..500)));
            match round % 3 {
                0 => cluster.heal(),
                _ => cluster.restart(victim),
            }
            std::thread::sleep(Duration::from_millis(fastrand::u64(100..500)));
        }
        assert!(2 * done >= rounds, "{done} changes in {} rounds", 20 * rounds);
        until("groups follow clients", || cluster.status()["adapts"]["changed"].as_u64() > Some(0));
    });
}

/// Has any node that runs change them. It may refuse: who has not heard of a group cannot remove it.
fn change_groups(cluster: &Up, change: &[&str]) -> bool {
    let told = cluster.try_verb(&[&["groups"], change].concat());
    println!("groups {}: {}", change.join(" "), told.as_deref().unwrap_or_else(|why| why).trim());
    told.is_ok()
}
