//! Figures of every kind, as XML: what is written in them, and that nothing lies over anything else.
//!
//! With `TIDEMARK_GALLERY=DIR` they are also written there, to be looked at.

use crate::common::{options, rows_of};
use roxmltree::Document;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_experiments::{Point, Row, Runner, Runners, Store, conclude, parse, run};

/// Returns whatever rows it was made with, whatever the point.
struct Given(Vec<Row>);

impl Runner for Given {
    fn run(&self, _: &Point<'_>, _: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        Ok(self.0.clone())
    }

    fn parallel(&self) -> bool {
        false
    }
}

/// A text of a picture: what it says, and roughly where.
#[derive(Debug)]
struct Word {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Draws rows and returns the picture.
fn draw(name: &str, figure: &str, rows: &[serde_json::Value]) -> String {
    let (svg, problems) = try_draw(name, figure, rows);
    assert!(problems.is_empty(), "{problems:?}");
    svg.unwrap()
}

fn try_draw(name: &str, figure: &str, rows: &[serde_json::Value]) -> (Option<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "id = \"{name}\"\ntitle = \"Throughput and latency of what is compared here, {name}\"\nsource = \"s\"\npaper = \"p\"\n\
         [[run]]\nname = \"simulated\"\nrunner = \"given\"\n[[figure]]\nrun = \"simulated\"\n{figure}\n"
    );
    let experiment = parse("figure.toml", &text).unwrap();
    let rows = rows.iter().map(|row| serde_json::from_value(row.clone()).unwrap());
    let given = Given(rows.collect());
    let runners: Runners = BTreeMap::from([("given", &given as &dyn Runner)]);
    let results = folder.path().join("results.sqlite");
    let mut store = Store::open(&results).unwrap();
    let batch = run(&experiment, &runners, &mut store, &options(true, None)).unwrap();
    let outcome = conclude(&experiment, &results, batch).unwrap();
    let svg = outcome.figures.first().map(|figure| figure.svg.clone());
    if let (Some(gallery), Some(svg)) = (std::env::var_os("TIDEMARK_GALLERY"), &svg) {
        std::fs::write(std::path::Path::new(&gallery).join(format!("{name}.svg")), svg).unwrap();
    }
    assert_ne!(rows_of(folder.path(), "SELECT * FROM rows"), json!([]));
    (svg, outcome.problems)
}

/// The texts of a picture that are set level.
fn words(svg: &str) -> Vec<Word> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let level = texts.filter(|node| node.attribute("transform").is_none());
    level
        .map(|node| {
            let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
            let text = node.text().unwrap().trim().to_string();
            let (x, y, size) = (number("x"), number("y"), number("font-size"));
            // A narrow estimate, so that only what surely overlaps is said to.
            let wide = text.chars().count() as f64 * size * 0.4;
            let left = match node.attribute("text-anchor") {
                Some("middle") => x - wide / 2.0,
                Some("end") => x - wide,
                _ => x,
            };
            let top = y - size / 2.0;
            Word { text, left, right: left + wide, top, bottom: top + size * 0.8 }
        })
        .collect()
}

/// Checks what must be true of every picture, and returns its words.
fn sound(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let size = |name: &str| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
    let words = words(svg);
    for (index, one) in words.iter().enumerate() {
        assert!(
            one.left >= 0.0 && one.right <= size("width") && one.bottom <= size("height"),
            "outside: {one:?}"
        );
        for other in &words[..index] {
            let beside = one.right <= other.left || other.right <= one.left;
            let above = one.bottom <= other.top || other.bottom <= one.top;
            assert!(beside || above, "{one:?} lies over {other:?}");
        }
    }
    words.into_iter().map(|word| word.text).collect()
}

#[track_caller]
fn contains(words: &[String], wanted: &[&str]) {
    for wanted in wanted {
        assert!(words.iter().any(|word| word == wanted), "{wanted} in {words:?}");
    }
}

fn colours(svg: &str) -> BTreeSet<String> {
    let document = Document::parse(svg).unwrap();
    let lines = document.descendants().filter(|node| node.has_tag_name("polyline"));
    let wide = lines.filter(|node| node.attribute("stroke-width") == Some("2"));
    wide.filter_map(|node| node.attribute("stroke").map(str::to_string)).collect()
}

#[test]
fn one_series_needs_no_legend() {
    let rows: Vec<_> =
        [1, 2, 4, 8, 16, 32].map(|n| json!({"partitions": n, "kops": 52.2 * f64::from(n)})).into();
    let figure = "x = \"partitions\"\ny = \"kops\"\nx_label = \"partitions\"\ny_label = \"throughput, 1,000 operations/s\"";
    let svg = draw("one-series", figure, &rows);
    let words = sound(&svg);
    contains(&words, &["partitions", "0", "500", "1,500"]);
    assert!(!words.iter().any(|word| word == "paper"), "{words:?}");
}

#[test]
fn six_series_have_six_colours_and_the_paper_s_points_are_hollow() {
    let names = ["eventual", "gentlerain", "causal-spartan-x", "cops", "contrarian", "cc-lo"];
    let mut rows = Vec::new();
    for (index, protocol) in names.iter().enumerate() {
        for clients in [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1800.0f64] {
            let rate = 2e6 / (1.0 + index as f64 * 0.35) * clients / (clients + 120.0);
            rows.push(json!({"protocol": protocol, "clients": clients, "rate": rate}));
        }
    }
    let figure = "x = \"clients\"\ny = \"rate\"\nseries = \"protocol\"\nx_scale = \"log\"\ny_factor = 0.001\n\
                  x_label = \"clients a data centre\"\ny_label = \"throughput, 1,000 operations/s\"\n\
                  [[paper-point]]\nseries = \"gentlerain\"\nx = 1800\ny = 1670\n\
                  [[paper-point]]\nseries = \"cops\"\nx = 1800\ny = 748";
    let svg = draw("six-series", figure, &rows);
    let words = sound(&svg);
    contains(&words, &names);
    contains(&words, &["paper", "1", "10", "100", "1,800"]);
    assert_eq!(colours(&svg).len(), 6);
}

#[test]
fn a_line_that_another_one_covers_is_seen_around_it() {
    let mut rows = Vec::new();
    for partitions in [1, 2, 4, 8, 16, 32] {
        for (protocol, kops) in [("eventual", 52.7), ("gentlerain", 52.4), ("cops", 23.4)] {
            rows.push(
                json!({"protocol": protocol, "partitions": partitions, "kops": kops * f64::from(partitions)}),
            );
        }
    }
    let figure = "x = \"partitions\"\ny = \"kops\"\nseries = \"protocol\"\nx_scale = \"log\"\nx_label = \"partitions\"\n\
                  y_label = \"throughput, 1,000 operations/s\"";
    let svg = draw("covered", figure, &rows);
    sound(&svg);
    let document = Document::parse(&svg).unwrap();
    let wide = document.descendants().filter(|node| node.attribute("stroke-width") == Some("6")).count();
    assert_eq!(wide, 1, "the first of the two that are alike");
}

#[test]
fn logarithmic_axes_say_what_they_cannot_show() {
    let mut rows = Vec::new();
    for skew in [0.0, 0.1, 1.0, 10.0, 100.0, 1000.0] {
        rows.push(
            json!({"skew_ms": skew, "us": 900.0 + 500.0 * skew, "protocol": "gentlerain", "factor": 100}),
        );
        rows.push(
            json!({"skew_ms": skew, "us": 800.0 + skew, "protocol": "causal-spartan-x", "factor": 100}),
        );
    }
    let figure = "x = \"skew_ms\"\ny = \"us\"\nseries = [\"protocol\", \"factor\"]\nx_scale = \"log\"\ny_scale = \"log\"\n\
                  y_factor = 0.001\nx_label = \"clock skew, ms\"\ny_label = \"latency of a request, ms\"";
    let words = sound(&draw("log-log", figure, &rows));
    contains(
        &words,
        &[
            "without 2 points that are not above 0: the axis is logarithmic",
            "gentlerain, 100",
            "0.1",
            "1,000",
        ],
    );
}

#[test]
fn a_distribution_is_counted_or_taken_as_it_is() {
    let mut rows = Vec::new();
    for (protocol, base) in [("eventual", 81.0), ("cops", 82.0), ("gentlerain", 166.0)] {
        for index in 0..400 {
            let spread = (f64::from(index * 7919 % 400) / 400.0).powi(3) * 12.0;
            rows.push(json!({"protocol": protocol, "visible_ms": base + spread}));
        }
    }
    let figure = "kind = \"cdf\"\nx = \"visible_ms\"\nseries = \"protocol\"\nx_label = \"visible after, ms\"\n\
                  y_label = \"share of updates\"\n[[paper-point]]\nseries = \"gentlerain\"\nx = 168\ny = 0.5";
    contains(&sound(&draw("cdf", figure, &rows)), &["gentlerain", "paper", "0.25", "0.5", "1"]);
    let rows = [10, 50, 90, 99].map(|p| json!({"p": p, "ms": p as f64 * 1.5}));
    let figure =
        "kind = \"cdf\"\nx = \"ms\"\ny = \"p\"\nx_label = \"latency, ms\"\ny_label = \"% of requests\"";
    contains(&sound(&draw("cdf-given", figure, &rows)), &["20", "100"]);
}

/// Load raises throughput up to a point, and latency beyond it.
#[test]
fn a_curve_goes_through_its_points_in_the_order_of_the_sweep() {
    let rows = [(100, 1), (300, 2), (200, 9)].map(|(kops, ms)| json!({"kops": kops, "ms": ms}));
    let across = |kind: &str| -> Vec<f64> {
        let figure = format!(
            "kind = \"{kind}\"\nx = \"kops\"\ny = \"ms\"\nx_label = \"throughput\"\ny_label = \"latency\""
        );
        let svg = draw(kind, &figure, &rows);
        let document = Document::parse(&svg).unwrap();
        let lines = document.descendants().filter(|node| node.has_tag_name("polyline"));
        let points = lines
            .filter_map(|line| line.attribute("points"))
            .map(|points| points.split_whitespace().collect());
        let line =
            points.into_iter().find(|points: &Vec<&str>| points.len() == 3).expect("a line of three points");
        line.iter().map(|point| point.split_once(',').unwrap().0.parse().unwrap()).collect()
    };
    let (curve, line) = (across("curves"), across("lines"));
    assert!(curve[0] < curve[2] && curve[2] < curve[1], "{curve:?}");
    assert!(line[0] < line[1] && line[1] < line[2], "{line:?}");
}

#[test]
fn bars_stand_in_groups_whose_names_are_broken_where_they_are_long() {
    let mut rows = Vec::new();
    for (index, mix) in ["1:1", "10:1", "read-only transactions", "writes only"].iter().enumerate() {
        for (step, protocol) in ["eventual", "gentlerain", "cops"].iter().enumerate() {
            rows.push(json!({"mix": mix, "protocol": protocol, "kops": 937.0 / (1.0 + (step * index) as f64 / 3.0)}));
        }
    }
    let figure = "kind = \"bars\"\nx = \"mix\"\ny = \"kops\"\nseries = \"protocol\"\nx_label = \"workload, GET:PUT\"\n\
                  y_label = \"throughput, 1,000 operations/s\"\n\
                  [[paper-point]]\nseries = \"cops\"\nx = \"writes only\"\ny = 717";
    let words = sound(&draw("bars", figure, &rows));
    contains(&words, &["read-only", "transactions", "writes only", "gentlerain", "paper"]);
    let many = [
        "eventual",
        "gentlerain",
        "causal-spartan-x",
        "cops",
        "cops-gt",
        "eiger",
        "contrarian",
        "cc-lo",
        "okapi",
    ];
    let rows: Vec<_> =
        many.iter().enumerate().map(|(i, p)| json!({"protocol": p, "lines": 137 + i * 61})).collect();
    let figure = "kind = \"bars\"\nx = \"protocol\"\ny = \"lines\"\nx_label = \"protocol\"\ny_label = \"lines of code\"\n\
                  [[paper-point]]\nx = \"cops\"\ny = 398";
    contains(&sound(&draw("bars-many", figure, &rows)), &["contrarian", "measured", "paper"]);
}

#[test]
fn extremes_are_drawn_and_nonsense_is_a_problem() {
    let figure = "x = \"x\"\ny = \"y\"\nx_label = \"x\"\ny_label = \"y\"";
    sound(&draw("one-point", figure, &[json!({"x": 5, "y": 0})]));
    sound(&draw("negative", figure, &[json!({"x": -5, "y": -3}), json!({"x": 5, "y": 7.5e9})]));
    sound(&draw("tiny", figure, &[json!({"x": 1e-7, "y": 1e-6}), json!({"x": 2e-7, "y": 3e-6})]));
    let long = "a name of a series that somebody has made very long <&> to see what happens";
    let series = format!("{figure}\nseries = \"s\"");
    let words =
        sound(&draw("long", &series, &[json!({"x": 1, "y": 1, "s": long}), json!({"x": 1, "y": 2, "s": 7})]));
    contains(&words, &[long, "7"]);
    let (none, problems) = try_draw("words", figure, &[json!({"x": "one", "y": 1})]);
    assert!(none.is_none() && problems[0].contains("x is \"one\", which is no number"), "{problems:?}");
    let log = format!("{figure}\ny_scale = \"log\"");
    let (none, problems) = try_draw("zero", &log, &[json!({"x": 1, "y": 0})]);
    assert!(none.is_none() && problems[0].contains("no row is above 0"), "{problems:?}");
    let filtered = format!("{figure}\nwhere = \"x > 9\"");
    let (none, problems) = try_draw("filtered", &filtered, &[json!({"x": 1, "y": 1})]);
    assert!(none.is_none() && problems[0].contains("there are no rows to draw"), "{problems:?}");
}

#[test]
fn series_can_be_drawn_in_proportion_to_one_of_them() {
    let rows = [("whole", 1, 40.0), ("whole", 2, 80.0), ("part", 1, 10.0), ("part", 2, 60.0)];
    let rows = rows.map(|(series, x, y)| json!({"series": series, "at": x, "speed": y}));
    let figure = |more: &str| {
        format!("x = \"at\"\ny = \"speed\"\nseries = \"series\"\nx_label = \"x\"\ny_label = \"y\"\n{more}")
    };
    let words = sound(&draw("relative", &figure("relative_to = \"whole\""), &rows));
    contains(&words, &["0.2", "0.6"]);
    assert!(!words.iter().any(|word| word == "whole" || word == "60"), "{words:?}");
    let refused = |figure: &str, rows: &[serde_json::Value]| try_draw("relative", figure, rows).1.join(", ");
    assert!(refused(&figure("relative_to = \"all\""), &rows).contains("no series is called \"all\""));
    let nothing = refused(&figure("relative_to = \"whole\""), &rows[1..]);
    assert!(nothing.contains("nothing to compare \"part\" with at 1"), "{nothing}");
}
