//! The tables of `tidemark protocols --table`, cell by cell.

use crate::harness::{said, tidemark};
use std::collections::{BTreeMap, BTreeSet};

/// A cell: its table, its protocol, its column. Of columns with one name the second has `2` behind it.
type Place = (String, String, String);

/// A measured table, as it is printed.
#[derive(Debug, PartialEq)]
pub(crate) struct Cells(BTreeMap<Place, String>);

/// The first words of the titles of the tables.
pub(crate) const TRANSACTIONS: &str = "Read-only transactions";
pub(crate) const SINGLE: &str = "Reads and writes of one key";
pub(crate) const BESIDE: &str = "Versions, sessions, background";

impl Cells {
    /// Measures some protocols.
    pub(crate) fn measure(protocols: &[&str]) -> Self {
        Self::of(&said(&tidemark(&[&["protocols", "--table"], protocols].concat())))
    }

    /// Reads what was printed.
    pub(crate) fn of(text: &str) -> Self {
        let mut cells = BTreeMap::new();
        let (mut title, mut columns) = ("", Vec::new());
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            if next.starts_with("PROTOCOL ") {
                title = line;
            } else if line.starts_with("PROTOCOL ") {
                columns = named_apart(&in_columns(line));
            } else if line.is_empty() {
                columns.clear();
            }
            for (column, cell) in columns.iter().zip(in_columns(line)).skip(1) {
                let protocol = in_columns(line)[0].to_string();
                cells.insert((title.to_string(), protocol, column.clone()), cell.to_string());
            }
        }
        cells.retain(|(_, protocol, _), _| protocol != "PROTOCOL");
        Self(cells)
    }

    /// Those of some protocols.
    pub(crate) fn only(mut self, protocols: &[&str]) -> Self {
        self.0.retain(|(_, protocol, _), _| protocols.contains(&protocol.as_str()));
        self
    }

    /// The cells that are not the same as measured, as shown and as measured.
    pub(crate) fn differing(&self, measured: &Self) -> Vec<String> {
        let places: BTreeSet<&Place> = self.0.keys().chain(measured.0.keys()).collect();
        let both = places.into_iter().map(|place| (place, self.0.get(place), measured.0.get(place)));
        both.filter(|(_, shown, measured)| shown != measured)
            .map(|(place, shown, measured)| format!("{place:?}: {shown:?}, measured {measured:?}"))
            .collect()
    }

    /// Counts the rows of a protocol.
    pub(crate) fn rows(&self, protocol: &str) -> usize {
        let titles = self.0.keys().filter(|(_, of, _)| of == protocol).map(|(title, ..)| title);
        titles.collect::<BTreeSet<_>>().len()
    }

    /// A number as sentences have it: without its unit, and without a zero behind the dot.
    #[track_caller]
    pub(crate) fn number(&self, table: &str, protocol: &str, column: &str) -> String {
        let place = (table.to_string(), protocol.to_string(), column.to_string());
        let cell = self.0.get(&place).unwrap_or_else(|| panic!("there is no {place:?}"));
        let number = cell.trim_end_matches('%');
        number.strip_suffix(".0").unwrap_or(number).to_string()
    }

    /// Numbers of some protocols: of each those of all these columns.
    #[track_caller]
    pub(crate) fn numbers(&self, table: &str, protocols: &[&str], columns: &[&str]) -> Vec<String> {
        let mut numbers = Vec::new();
        for protocol in protocols {
            numbers.extend(columns.iter().map(|column| self.number(table, protocol, column)));
        }
        numbers
    }

    /// The same to whole numbers.
    #[track_caller]
    pub(crate) fn whole(&self, table: &str, protocols: &[&str], columns: &[&str]) -> Vec<String> {
        let numbers = self.numbers(table, protocols, columns).into_iter();
        numbers.map(|number| format!("{:.0}", number.parse::<f64>().expect("a number"))).collect()
    }
}

/// Cells are separated by two spaces at least.
fn in_columns(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn named_apart(columns: &[&str]) -> Vec<String> {
    let before = |at: usize| columns[..at].iter().filter(|column| **column == columns[at]).count();
    let name = |at: usize| match before(at) {
        0 => columns[at].to_string(),
        count => format!("{}{}", columns[at], count + 1),
    };
    (0..columns.len()).map(name).collect()
}

#[test]
fn cells_are_found_by_their_table_protocol_and_column() {
    let text = "Measured.\n\nReads\nPROTOCOL  ROUNDS      WAITED  WAITED\na         1.01 (≤ 2)  0       2.50%\nb-c       1           7.0     -\n\n\
                Sizes\nPROTOCOL  A B\na         45.7\n\nWAITED  the  share\n";
    let cells = Cells::of(text);
    assert_eq!(cells.0.len(), 7, "{cells:?}");
    assert_eq!(cells.numbers("Reads", &["a", "b-c"], &["WAITED"]), ["0", "7"]);
    assert_eq!(cells.number("Reads", "a", "WAITED2"), "2.50");
    assert_eq!(cells.number("Reads", "a", "ROUNDS"), "1.01 (≤ 2)");
    assert_eq!(cells.whole("Sizes", &["a"], &["A B"]), ["46"]);
    assert_eq!((cells.rows("a"), cells.rows("b-c"), cells.rows("d")), (2, 1, 0));
    let other = Cells::of(&text.replace("1           7.0", "1           7.5"));
    let place = r#"("Reads", "b-c", "WAITED")"#;
    assert_eq!(cells.differing(&other), [format!(r#"{place}: Some("7.0"), measured Some("7.5")"#)]);
    assert_eq!(cells.only(&["b-c"]).0.len(), 3);
}
