//! What redis-server 7.0.15 answers to scripts that call no command, and what this interpreter does.
//!
//! A line that begins with `> ` is a script; the line below it is the answer, the script's digest left out.

use crate::support::{Fixture, render};

fn replay(transcript: &str) {
    let lines: Vec<&str> = transcript.lines().collect();
    assert!(lines.len() > 20, "a transcript is missing");
    let mut fixture = Fixture::new();
    let mut wrong = Vec::new();
    for pair in lines.chunks(2) {
        let source = pair[0].strip_prefix("> ").expect("a script");
        let answer = render(&fixture.run(source));
        if answer != pair[1] {
            wrong.push(format!("{source}\n  redis    {}\n  tidemark {answer}", pair[1]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scripts_answer_as_in_redis() {
    replay(include_str!("../transcripts/scripts.txt"));
}

#[test]
fn libraries_answer_as_in_redis() {
    replay(include_str!("../transcripts/libraries.txt"));
}
