//! Sentences of documents whose numbers are computed again.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by whoever brings documents up to date: two tests may write one.
static UPDATING: Mutex<()> = Mutex::new(());

/// A document of the repository, and what it has to be.
pub(crate) struct Document {
    path: PathBuf,
    text: String,
    wanted: String,
    /// Pictures beside it, and what they have to be.
    drawings: Vec<(PathBuf, String)>,
    _alone: Option<MutexGuard<'static, ()>>,
}

/// Whether documents are to be brought up to date.
pub(crate) fn updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// A file of the repository.
fn of_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

impl Document {
    /// Opens a file, by its path from the root.
    pub(crate) fn open(path: &str) -> Self {
        let alone = updating().then(|| UPDATING.lock().unwrap_or_else(PoisonError::into_inner));
        let path = of_root(path);
        let text = std::fs::read_to_string(&path).unwrap();
        Self { _alone: alone, ..Self::new(path, text) }
    }

    fn new(path: PathBuf, text: String) -> Self {
        Self { path, wanted: text.clone(), text, drawings: Vec::new(), _alone: None }
    }

    /// Requires that a sentence stands in the document, once, with these numbers where it has `{}`. Where it has a space the document
    /// may have the end of a line.
    #[track_caller]
    pub(crate) fn says(&mut self, sentence: &str, numbers: &[String]) {
        let pieces: Vec<&str> = sentence.split("{}").collect();
        assert_eq!(pieces.len(), numbers.len() + 1, "{sentence}");
        let starts: Vec<usize> = self.wanted.char_indices().map(|(at, _)| at).collect();
        let found: Vec<(usize, Vec<&str>, usize)> = starts
            .into_iter()
            .filter_map(|at| matched(&self.wanted[at..], &pieces).map(|(holes, end)| (at, holes, at + end)))
            .collect();
        let [(at, holes, end)] = &found[..] else {
            panic!("{} times in {}: {sentence}", found.len(), self.path.display());
        };
        let (mut filled, mut from) = (String::new(), *at);
        for (hole, number) in holes.iter().zip(numbers) {
            let hole_at = hole.as_ptr() as usize - self.wanted.as_ptr() as usize;
            filled = filled + &self.wanted[from..hole_at] + number;
            from = hole_at + hole.len();
        }
        filled += &self.wanted[from..*end];
        self.wanted = format!("{}{filled}{}", &self.wanted[..*at], &self.wanted[*end..]);
    }

    /// Requires what a picture beside it shows.
    pub(crate) fn drawing(&mut self, path: &str, svg: &str) {
        self.drawings.push((of_root(path), svg.to_string()));
    }

    /// Shows what stands in the block of that number, between two lines of ```.
    pub(crate) fn shown(&self, number: usize) -> &str {
        self.wanted.split("```").nth(2 * number + 1).expect("a block")
    }

    /// Requires what stands in the block of that number.
    #[track_caller]
    pub(crate) fn block(&mut self, number: usize, shown: &str) {
        let mut parts: Vec<&str> = self.wanted.split("```").collect();
        let block = format!("text\n{shown}");
        *parts.get_mut(2 * number + 1).expect("a block") = &block;
        self.wanted = parts.join("```");
    }

    /// Compares the document with what it has to be. With `UPDATE_DOCS=1` it is brought up to date instead.
    #[track_caller]
    pub(crate) fn check(self) {
        if updating() {
            self.drawings.iter().for_each(|(path, svg)| std::fs::write(path, svg).unwrap());
            return std::fs::write(self.path, self.wanted).unwrap();
        }
        for (path, svg) in &self.drawings {
            let same = std::fs::read_to_string(path).is_ok_and(|drawn| drawn == *svg);
            assert!(same, "{}: run it again with UPDATE_DOCS=1, and look at it", path.display());
        }
        let differing: Vec<String> = self
            .text
            .lines()
            .zip(self.wanted.lines())
            .filter(|(is, wanted)| is != wanted)
            .map(|(is, wanted)| format!("- {is}\n+ {wanted}"))
            .collect();
        assert!(
            self.text == self.wanted,
            "{}: run it again with UPDATE_DOCS=1, and read the difference:\n{}",
            self.path.display(),
            differing.join("\n")
        );
    }
}

/// A number with a comma before its last three digits.
pub(crate) fn thousands(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

/// Returns what stands in the holes if a text begins with these pieces and a number between any two of them, and where it ends.
fn matched<'a>(text: &'a str, pieces: &[&str]) -> Option<(Vec<&'a str>, usize)> {
    let (mut at, mut holes) = (0, Vec::new());
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            let length = number(&text[at..]);
            holes.push((length > 0).then(|| &text[at..at + length])?);
            at += length;
        }
        at += begins(&text[at..], piece)?;
    }
    Some((holes, at))
}

/// Returns how much of a text a piece takes: letter by letter, but that a space stands for any white space.
fn begins(text: &str, piece: &str) -> Option<usize> {
    let mut rest = text;
    for letter in piece.chars() {
        let less = match letter {
            ' ' => rest.trim_start(),
            letter => rest.strip_prefix(letter)?,
        };
        if less.len() == rest.len() {
            return None;
        }
        rest = less;
    }
    Some(text.len() - rest.len())
}

/// The length of the number with which a text begins, such as `1,957` or `0.06`; a comma or a dot after it is none of it.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut length = digits(text);
    while length > 0 && text[length..].starts_with(',') && digits(&text[length + 1..]) == 3 {
        length += 4;
    }
    if length > 0 && text[length..].starts_with('.') {
        let decimals = digits(&text[length + 1..]);
        length += if decimals > 0 { 1 + decimals } else { 0 };
    }
    length
}

#[test]
fn a_sentence_is_found_over_the_ends_of_lines_and_gets_its_numbers() {
    let text = "It takes\n45 ms, 1,957 messages, and 0.06%.\nIt takes no time.\n".to_string();
    let mut document = Document::new("x".into(), text);
    document.says("takes {} ms, {} messages, and {}%.", &["46", "2,000", "0"].map(String::from));
    assert_eq!(document.wanted, "It takes\n46 ms, 2,000 messages, and 0%.\nIt takes no time.\n");
    document.says("takes no time", &[]);
    let lists = matched("24, 76, 201 B", &["", ", ", ", ", " B"]).unwrap();
    assert_eq!(lists, (vec!["24", "76", "201"], 13));
    for none in ["takes long", "takes {} s"] {
        let mut document = Document::new("x".into(), document.wanted.clone());
        let numbers = vec!["1".to_string(); none.matches("{}").count()];
        assert!(std::panic::catch_unwind(move || document.says(none, &numbers)).is_err(), "{none}");
    }
}

#[test]
fn a_block_is_replaced() {
    let text = "a\n```sh\nb\n```\nc\n```text\nold\n```\nd\n".to_string();
    let mut document = Document::new("x".into(), text);
    document.block(1, "new\n");
    assert_eq!(document.wanted, "a\n```sh\nb\n```\nc\n```text\nnew\n```\nd\n");
}
