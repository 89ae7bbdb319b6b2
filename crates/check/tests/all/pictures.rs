//! Violations as pictures: one is looked at line by line, all of them are well formed and overlap nowhere.

use crate::common::mutate::mutate;
use crate::common::script::history;
use crate::common::svg::{Element, Point, attribute, number, places, well_formed};
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

/// The boxes of events: left, top, right and bottom.
fn events(elements: &[Element]) -> Vec<[f64; 4]> {
    let is_event = |(name, attributes): &&Element| {
        name == "rect" && attribute(attributes, "class").is_some_and(|class| class.starts_with("event"))
    };
    let edges = |(_, a): &Element| {
        let (x, y) = (number(a, "x"), number(a, "y"));
        [x, y, x + number(a, "width"), y + number(a, "height")]
    };
    elements.iter().filter(is_event).map(edges).collect()
}

/// Every event is a box of its own, inside the picture, and no two overlap.
fn look(violation: &Violation) {
    let picture = svg(violation);
    let elements = well_formed(&picture);
    let (width, height) = (number(&elements[0].1, "width"), number(&elements[0].1, "height"));
    let boxes = events(&elements);
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

/// A session that misses its own write, in a picture that is as narrow as they get: its text has 73 cells.
fn narrow(key: &str, explanation: &str) -> String {
    let script = format!("c0@A put {key} v 1\nc0@A get {key} -");
    let mut violation = check(&history(&script), Promise::ReadYourWrites).violations.remove(0);
    violation.explanation = explanation.into();
    let picture = svg(&violation);
    assert_eq!(number(&well_formed(&picture)[0].1, "width"), 520.0);
    picture
}

/// The first piece of each line of text that has this class.
fn lines<'p>(picture: &'p str, class: &str) -> Vec<&'p str> {
    let begins = format!("<text class=\"{class}\"");
    let of_class = picture.lines().filter(|line| line.starts_with(&begins));
    let piece = |line: &'p str| line.split_once("<tspan>")?.1.split_once("</tspan>");
    of_class.map(|line| piece(line).expect("a piece of text").0).collect()
}

#[test]
fn text_is_wrapped_at_words_and_long_words_are_cut() {
    let wrapped = |explanation: &str, expected: &[&str]| {
        assert_eq!(lines(&narrow("x", explanation), "told"), expected, "{explanation}");
    };
    let word = |cells: usize| "w".repeat(cells);
    let full = format!("{} {}", word(36), word(36));
    wrapped(&format!("{full} three"), &[&full, "three"]);
    wrapped(&format!("{} {}", word(37), word(36)), &[&word(37), &word(36)]);
    wrapped(&word(2 * 73 + 4), &[&word(73), &word(73), &word(4)]);
    // Letters of one cell with accents, and others of two.
    let wide = "日".repeat(35);
    wrapped(&format!("{wide} aé"), &[&format!("{wide} aé")]);
    wrapped(&format!("{wide} aéa"), &[&wide, "aéa"]);
    let picture = narrow("a-key-with-a-rather-long-name-7", "");
    let facts = lines(&picture, "fact");
    let short = |fact: &&str| fact.starts_with("a-key-with-a…long-name-7 = ");
    assert!(!facts.is_empty() && facts.iter().all(short), "{facts:?}");
}

#[test]
fn nothing_that_is_written_ends_an_element() {
    let picture = narrow("x", "a<b>&\"c\"\u{1}'");
    let escaped = "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}&apos;";
    assert_eq!(lines(&picture, "told"), [escaped]);
    assert!(picture.contains(&format!("<title>read-your-writes: {escaped}</title>")), "{picture}");
}

/// An arrow leaves the write sideways, goes down between the lanes, and ends beside the read.
#[test]
fn corners_are_round_and_ends_are_where_they_were() {
    let elements = well_formed(&svg(&check(&history(STORY), Promise::Causal).violations[0]));
    let arrow = elements.iter().find(|(_, a)| attribute(a, "class") == Some("arrow reads"));
    let path = attribute(&arrow.expect("a read from another session").1, "d").expect("a path");
    assert_eq!(path.replace(|c: char| !c.is_ascii_alphabetic(), ""), "MLQLQL");
    let (write, read) = (events(&elements)[1], events(&elements)[2]);
    let (from, to) = ((write[1] + write[3]) / 2.0, (read[1] + read[3]) / 2.0);
    let between = (write[2] + read[0]) / 2.0;
    let expected = [
        (write[2], from),
        (between - 9.0, from),
        (between, from),
        (between, from + 9.0),
        (between, to - 9.0),
        (between, to),
        (between + 9.0, to),
        (read[0] - 2.0, to),
    ];
    let found = places(path);
    assert_eq!(found.len(), expected.len(), "{path}");
    // They are written with one digit behind the point.
    let close = |(a, b): (&Point, &Point)| (a.0 - b.0).abs() < 0.15 && (a.1 - b.1).abs() < 0.15;
    assert!(found.iter().zip(&expected).all(close), "{path}, not {expected:?}");
}
