//! Commands of places, against what Redis replies.

use crate::harness::{Desk, compare, show, transcript};
use std::collections::BTreeSet;

#[test]
fn places_reply_as_redis() {
    transcript("geo");
}

#[test]
fn searches_reply_as_redis() {
    transcript("geo_search");
}

/// A place somewhere in the middle of the earth, or anywhere.
fn place(random: &mut fastrand::Rng, wide: bool) -> String {
    let (east, north) = if wide { (179.0, 84.0) } else { (2.0, 2.0) };
    format!("{:.6} {:.6}", (random.f64() * 2.0 - 1.0) * east, (random.f64() * 2.0 - 1.0) * north)
}

fn search(r: &mut fastrand::Rng, wide: bool) -> String {
    let centre = match r.bool() {
        true => format!("frommember m{}", r.u32(0..300)),
        false => format!("fromlonlat {}", place(r, wide)),
    };
    let unit = r.choice(["m", "km", "mi", "ft"]).expect("some");
    let metres = if wide { 6_000_000.0 } else { 300_000.0 } * r.f64() * r.f64();
    let scale = match unit {
        "m" => 1.0,
        "km" => 1000.0,
        "mi" => 1609.34,
        _ => 0.3048,
    };
    let mut length = || format!("{:.3}", metres * (0.2 + r.f64()) / scale);
    let shape = match metres as u64 % 2 {
        0 => format!("byradius {} {unit}", length()),
        _ => format!("bybox {} {} {unit}", length(), length()),
    };
    let order = r
        .choice(["", "asc", "desc", "count 4", "count 3 desc", "count 5 any", "asc count 2 any"])
        .expect("some");
    let with = r.choice(["", "withdist", "withhash", "withdist withhash"]).expect("some");
    format!("geosearch k {centre} {shape} {order} {with}").replace("  ", " ").trim_end().to_string()
}

/// Searches around members that are there, so that the order of additions does not matter.
#[test]
fn random_searches_reply_alike_with_dots_and_without() {
    for (seed, wide) in [(1, false), (2, true), (3, false), (4, true)] {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = if seed < 3 { 300 } else { 60 };
        compare((0..count + 600).map(|at| match at < count {
            true => format!("geoadd k {} m{at}", place(&mut random, wide)),
            false => search(&mut random, wide),
        }));
    }
}

/// A search looks at a few cells alone; it finds what looking at every member finds.
#[test]
fn a_search_finds_every_member_within() {
    let mut desk = Desk::new(1, true);
    let mut random = fastrand::Rng::with_seed(5);
    for at in 0..300 {
        desk.run(&format!("geoadd k {} m{at}", place(&mut random, false)));
    }
    for round in 0..60 {
        let (centre, radius) = (random.u32(0..300), random.f64() * 400.0);
        let shown = show(&desk.run(&format!("geosearch k frommember m{centre} byradius {radius} km asc")), 2);
        let found: BTreeSet<&str> = shown.trim_matches(['[', ']']).split(' ').collect();
        for at in 0..300 {
            let distance = show(&desk.run(&format!("geodist k m{centre} m{at} km")), 2);
            let distance: f64 = distance.trim_matches('"').parse().expect("a distance");
            let name = format!("\"m{at}\"");
            // Distances are shown with four digits.
            if (distance - radius).abs() > 0.001 {
                assert_eq!(
                    found.contains(&name[..]),
                    distance <= radius,
                    "{round}: m{centre} {radius} {name}"
                );
            }
        }
    }
}
