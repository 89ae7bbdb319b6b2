//! The map of consistency models as a picture.

use crate::common::svg::{Element, Point, attribute, corners, number, well_formed};
use tidemark_check::refinement::{Map, Standing};

/// What is left between two things of a row; places are written with one digit behind the point.
const GAP: f64 = 18.0 - 0.2;
/// What a line takes that passes a row.
const PASSING: f64 = 10.0;

/// The attributes of an element whose class begins like this.
fn class<'e>((_, attributes): &'e Element, begins: &str) -> Option<&'e [(String, String)]> {
    attribute(attributes, "class").filter(|class| class.starts_with(begins)).map(|_| attributes.as_slice())
}

/// The boxes of models, each with its middle, its width, its top and its bottom.
fn boxes(elements: &[Element]) -> Vec<[f64; 4]> {
    let models = elements.iter().filter(|(name, _)| name == "rect").filter_map(|e| class(e, "model "));
    // The samples of the legend have the same classes, and are lower than any box.
    let models = models.filter(|a| number(a, "height") > 20.0);
    let edges = |a: &[(String, String)]| {
        let (width, top) = (number(a, "width"), number(a, "y"));
        [number(a, "x") + width / 2.0, width, top, top + number(a, "height")]
    };
    models.map(edges).collect()
}

/// Looks at a drawing of the map: all places of its rows stand apart, and its lines lead down from box to box.
fn look(map: &Map, drawing: &str) {
    let elements = well_formed(drawing);
    let boxes = boxes(&elements);
    let models = 0..map.models().len();
    assert_eq!(boxes.len(), models.len());
    let lines: Vec<Vec<Point>> = elements
        .iter()
        .filter_map(|element| class(element, "line"))
        .map(|attributes| corners(attribute(attributes, "d").expect("a path")))
        .collect();
    let implied = models.clone().flat_map(|m| map.directly(m).into_iter().map(move |weaker| (m, weaker)));
    let implied: Vec<(usize, usize)> = implied.collect();
    assert_eq!(lines.len(), implied.len());
    let levels = models.clone().map(|m| map.level(m) + 1).max().unwrap_or(0);
    let mut rows: Vec<Vec<(f64, f64)>> = vec![Vec::new(); levels];
    models.for_each(|m| rows[map.level(m)].push((boxes[m][0], boxes[m][1])));
    let same = |a: f64, b: f64| (a - b).abs() < 0.2;
    for (line, (stronger, weaker)) in lines.iter().zip(implied) {
        let (from, to) = (&boxes[stronger], &boxes[weaker]);
        let (first, last) = (line[0], line[line.len() - 1]);
        assert!(same(first.0, from[0]) && same(first.1, from[3]), "{line:?} begins at {from:?}");
        assert!(same(last.0, to[0]) && same(last.1, to[2] - 2.0), "{line:?} ends at {to:?}");
        assert!(line.windows(2).all(|pair| pair[0].1 < pair[1].1), "{line:?}");
        // Where it enters and where it leaves each row between.
        let between = line[1..line.len() - 1].chunks(2);
        assert_eq!(between.len(), map.level(stronger) - map.level(weaker) - 1, "{line:?}");
        for (level, passing) in (map.level(weaker) + 1..map.level(stronger)).rev().zip(between) {
            let here = boxes.iter().enumerate().find(|(m, _)| map.level(*m) == level);
            let (_, [_, _, top, _]) = here.expect("a model on each level");
            assert!(same(passing[0].0, passing[1].0) && same(passing[0].1, *top), "{line:?}");
            rows[level].push((passing[0].0, PASSING));
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in row.windows(2) {
            let room = pair[1].0 - pair[0].0 - (pair[0].1 + pair[1].1) / 2.0;
            assert!(room > GAP, "{room}");
        }
    }
}

/// With boxes as wide as the names of models, and with boxes that are all as wide as they get.
#[test]
fn no_two_places_of_a_row_overlap_and_lines_go_down() {
    let map = Map::new();
    look(&map, &map.svg(&[]));
    let standing = Standing { name: "p".repeat(44), marked: false };
    let drawing = map.svg(&vec![vec![standing]; map.models().len()]);
    look(&map, &drawing);
    let boxes = boxes(&well_formed(&drawing));
    assert!(boxes.iter().all(|edges| edges[1] == boxes[0][1]), "{boxes:?}");
}
