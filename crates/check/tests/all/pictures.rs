//! Violations as pictures: one is looked at line by line, all of them are well formed and overlap nowhere.

use crate::common::mutate::mutate;
use crate::common::script::history;
use crate::common::{Shape, generate, without_versions};
use fastrand::Rng;
use tidemark_check::{Options, Promise, Properties, Violation, check, check_with, svg};

/// GentleRain's erratum E-1, in six events of three sessions.
const STORY: &str = "
    c1@B put z z0 1
    c1@B put y y1 2
    c1@B put x x2 3
    c0@A get y y1 2B
    c0@A put x x3 4
    c2@A get x x3 4A
    c2@A get z -";

/// Regenerate with `UPDATE_GOLDEN=1`, and look at the picture before you keep it.
#[test]
fn the_picture_of_a_known_violation() {
    let picture = svg(&check(&history(STORY), Promise::Causal).violations[0]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/causal.svg");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &picture).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(picture == golden, "the picture has changed: UPDATE_GOLDEN=1 writes the new one to {path}");
    for part in
        ["causal", "s0", "s1", "s2", "in A", "in B", "#0", "#1", "#3", "#4", "#5", "#6", "z = nothing"]
    {
        assert!(picture.contains(&format!(">{part}<")), "{part}");
    }
    assert!(!picture.contains(">#2<"), "an event that does not matter");
    well_formed(&picture);
}

/// The elements of a document, each with its attributes; checks that it is one.
fn well_formed(document: &str) -> Vec<(String, Vec<(String, String)>)> {
    let (mut open, mut elements) = (Vec::new(), Vec::new());
    let mut rest = document;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(!text.contains('>') && !text.contains('\u{1}'), "{text}");
        for entity in text.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
            assert!(known.iter().any(|k| entity.starts_with(k)), "{entity}");
        }
        let end = rest[start..].find('>').expect("an element ends") + start;
        let inside = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let empty = inside.ends_with('/');
        let inside = inside.trim_end_matches('/');
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        let mut parts = attributes.split('"');
        let mut found = Vec::new();
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            found.push((key.trim().trim_end_matches('=').to_string(), value.to_string()));
        }
        elements.push((name.to_string(), found));
        if !empty {
            open.push(name.to_string());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest:?}");
    elements
}

fn number(attributes: &[(String, String)], name: &str) -> f64 {
    let value = attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    value.unwrap_or_else(|| panic!("{name} in {attributes:?}")).parse().unwrap()
}

/// Every event is a box of its own, inside the picture, and no two overlap.
fn look(violation: &Violation) {
    let picture = svg(violation);
    let elements = well_formed(&picture);
    let (width, height) = (number(&elements[0].1, "width"), number(&elements[0].1, "height"));
    let is_event = |(name, attributes): &&(String, Vec<(String, String)>)| {
        name == "rect" && attributes.iter().any(|(key, value)| key == "class" && value.starts_with("event"))
    };
    let boxes: Vec<[f64; 4]> = elements
        .iter()
        .filter(is_event)
        .map(|(_, a)| {
            let (x, y) = (number(a, "x"), number(a, "y"));
            [x, y, x + number(a, "width"), y + number(a, "height")]
        })
        .collect();
    for (i, a) in boxes.iter().enumerate() {
        assert!(a[0] > 20.0 && a[2] < width - 20.0 && a[1] > 80.0 && a[3] < height - 20.0, "{violation}");
        assert!(boxes[..i].iter().all(|b| a[1] >= b[3] + 10.0 || b[1] >= a[3] + 10.0), "{violation}");
    }
    let events: std::collections::BTreeSet<u64> = violation.steps.iter().filter_map(|s| s.event).collect();
    let last_words = violation.steps.iter().filter(|s| s.event.is_none()).count();
    assert_eq!(boxes.len(), events.len() + last_words, "{violation}");
    assert!(events.iter().all(|e| picture.contains(&format!(">#{e}<"))), "{violation}");
    assert!(picture.contains(" shows\""), "{violation}");
}

#[test]
fn every_violation_has_a_picture() {
    let mut looked = std::collections::BTreeMap::new();
    for seed in 0..1500 {
        let mut rng = Rng::with_seed(seed ^ 0x51c7);
        let shape = Shape { ops: 30, causal: seed % 2 > 0, ..Shape::SMALL };
        let mut history = generate(seed, shape);
        for _ in 0..rng.u32(1..4) {
            mutate(&mut history, &mut rng);
        }
        let history = if seed % 3 == 0 { without_versions(history) } else { history };
        for violation in &check_with(&history, Options::new(Properties::all())).violations {
            look(violation);
            *looked.entry(violation.property).or_insert(0) += 1;
        }
    }
    assert!(looked.len() >= 11 && looked.values().all(|n| *n > 10), "{looked:?}");
}

#[test]
fn keys_and_values_cannot_break_out() {
    let script =
        "c0@A put <k&\"'>]]>-which-is-rather-long <v>&'\"日本 1\nc0@A get <k&\"'>]]>-which-is-rather-long -";
    let violation = &check(&history(script), Promise::ReadYourWrites).violations[0];
    look(violation);
    let picture = svg(violation);
    assert!(
        picture.contains("&lt;k&amp;") && picture.contains("&gt;]]&gt;") && picture.contains("…rather-long"),
        "{picture}"
    );
}
