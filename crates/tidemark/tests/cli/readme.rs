//! Examples of documents are carried out as they stand, on a cluster that is started as they say, but on free ports.

use crate::harness::{Up, eventually, has, said, tidemark};
use std::path::Path;

/// Beginnings of the README's commands that are not carried out here, and why.
const NOT_HERE: [(&str, &str); 5] = [
    ("cargo run --release ", "builds; the tests start what is built with these arguments"),
    ("tidemark up --regions 3 --edge", "a cluster with edge clients: edge.rs"),
    ("cd examples/board && npm ci && npm start", "installs packages; tests in browsers play with the board"),
    (SEARCH, "a test of its own"),
    ("./x ", "for developers; `./x test` runs this"),
];

/// The search for a bug in a published protocol.
const SEARCH: &str = "tidemark sim --protocol causal-spartan-x-published --seeds 0..300000 --dcs 2 --partitions 2 --sessions 4 --ops 40 --faults none";

/// A command of a document.
struct Example {
    command: String,
    /// The remark behind `#`.
    comment: String,
    /// The lines that it prints, where the document shows that.
    output: String,
}

/// All commands in blocks of this language: with `console` those after `$`, with what they print; with `sh` every line.
fn examples(document: &str, language: &str) -> Vec<Example> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = std::fs::read_to_string(path).unwrap();
    let mut examples: Vec<Example> = Vec::new();
    let mut inside: Option<&str> = None;
    for line in text.lines() {
        if let Some((indent, fence)) = line.split_once("```") {
            inside = (inside.is_none() && fence == language).then_some(indent);
            continue;
        }
        let Some(line) = inside.and_then(|indent| line.strip_prefix(indent)) else { continue };
        let command = if language == "console" { line.strip_prefix("$ ") } else { Some(line) };
        match (command, examples.last_mut()) {
            (Some(command), _) => {
                let (command, comment) = command.split_once(" #").unwrap_or((command, ""));
                let [command, comment] = [command, comment].map(|text| text.trim().to_string());
                examples.push(Example { command, comment, output: String::new() });
            }
            (None, Some(example)) => example.output = format!("{}{line}\n", example.output),
            (None, None) => panic!("{document}: {line:?} is printed by no command"),
        }
    }
    examples
}

/// Carries out the examples of a document. Ports from 7001 on are those of `nodes`. Where a comment speaks of a moment, what is printed
/// is waited for.
fn carry_out(up: &Up, document: &str, nodes: &[&str]) {
    let examples = examples(document, "console");
    assert!(examples.len() > 5, "{document}");
    for Example { command, comment, output } in examples {
        // Without a terminal it does not quote strings by itself.
        let mut line = command.replace("redis-cli ", "redis-cli --no-raw ");
        for (port, node) in (7001..).zip(nodes) {
            line = line.replace(&format!("-p {port}"), &format!("-p {}", up.port(node)));
        }
        let run = || said(&up.shell(&line));
        if comment.contains("moment") {
            eventually(output, run);
        } else {
            assert_eq!(run(), output, "{document}: {command}");
        }
    }
}

#[test]
fn the_readme_s_examples_print_what_it_shows() {
    if !has("redis-cli") {
        return;
    }
    let up =
        |example: &Example| Some(example.command.strip_prefix("cargo run --release -- up ")?.to_string());
    let arguments = examples("README.md", "sh").iter().find_map(up).expect("how a cluster is started");
    let up = Up::start(&arguments.split(' ').collect::<Vec<_>>());
    carry_out(&up, "README.md", &["virginia", "oregon", "ireland"]);
    up.stop();
}

#[test]
fn the_examples_of_data_types_print_what_is_shown() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "2"]);
    carry_out(&up, "docs/types.md", &["a", "b"]);
    up.stop();
}

/// A new command in the README is carried out, or somebody says why not.
#[test]
fn every_command_of_the_readme_is_carried_out_or_listed() {
    let commands = examples("README.md", "sh");
    let begins = |example: &&Example, listed: &str| example.command.starts_with(listed);
    for example in &commands {
        assert!(NOT_HERE.iter().any(|(listed, _)| begins(&example, listed)), "{}", example.command);
    }
    for (listed, _) in NOT_HERE {
        assert!(commands.iter().any(|example| begins(&example, listed)), "{listed}");
    }
}

#[test]
fn the_readme_s_search_finds_a_bug_in_a_published_protocol() {
    let words: Vec<&str> = SEARCH.split(' ').skip(1).collect();
    let found = tidemark(&words);
    assert_eq!(found.status.code(), Some(1), "{}", said(&found));
    assert!(said(&found).contains("causal"), "{}", said(&found));
}
